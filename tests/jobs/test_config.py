from __future__ import annotations

import pytest

from tabnas import TabNASError
from tabnas.jobs import JobConfig


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"backend": "rai"},
            "backend must be one of local, ray, dask, got 'rai'; did you mean 'ray'",
        ),
        ({"processes": 0}, "processes must be an integer of at least 1, got 0"),
        ({"max_attempts": 0}, "max_attempts must be an integer of at least 1"),
        (
            {"address": "10.0.0.5:6379"},
            "address must be that of a cluster, got '10.0.0.5:6379'",
        ),
    ],
)
def test_invalid_settings_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(TabNASError, match=message):
        JobConfig(**arguments)


def test_a_cluster_runs_jobs_even_one_at_a_time() -> None:
    assert JobConfig(processes=1).in_process
    assert not JobConfig(processes=1, backend="dask").in_process
