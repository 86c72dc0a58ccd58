from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

import pytest
from joblib.externals.loky import ProcessPoolExecutor

from tabnas import TabnasError
from tabnas.jobs import Crew


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"backend": "rai"},
            "one of local, ray, dask, however 'rai' was given; did you mean 'ray'",
        ),
        ({"processes": 0}, "processes must be an integer of at least 1, however 0"),
        ({"attempts": 0}, "attempts must be an integer of at least 1"),
        (
            {"address": "10.0.0.5:6379"},
            "address must be that of a cluster, however '10.0.0.5:6379'",
        ),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, object], said: str) -> None:
    with pytest.raises(TabnasError, match=said):
        Crew(**given)


def test_a_cluster_makes_jobs_even_one_at_a_time() -> None:
    assert Crew(processes=1).alone
    assert not Crew(processes=1, backend="dask").alone


def test_a_joblib_without_loky_leaves_it_to_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "joblib.externals.loky", None)
    monkeypatch.setitem(sys.modules, "loky", None)
    monkeypatch.delitem(sys.modules, "tabnas.jobs._local", raising=False)
    with pytest.raises(TabnasError, match="install it with pip install loky"):
        import_module("tabnas.jobs._local")
    package = ModuleType("loky")
    package.ProcessPoolExecutor = ProcessPoolExecutor  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "loky", package)
    assert import_module("tabnas.jobs._local").ProcessPoolExecutor is ProcessPoolExecutor
