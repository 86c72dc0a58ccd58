"""An executor leaves nothing behind on a Dask cluster."""

from __future__ import annotations

import pytest

from tabnas.jobs import JobConfig
from tabnas.jobs._executor import RemoteFunction
from tests.jobs import work

pytestmark = pytest.mark.slow


def test_workers_forget_the_function_whatever_became_of_its_jobs(
    dask_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from distributed import Client

    from tabnas.jobs import _dask

    def unable(client: Client, futures: object) -> None:
        raise OSError("the scheduler does not answer")

    function = RemoteFunction.of(work.refusing)
    executor = _dask.DaskExecutor(function, JobConfig(backend="dask", address=dask_address))
    with Client(dask_address, set_as_default=False) as client:
        assert all(function.name in names for names in client.run(_received).values())
        monkeypatch.setattr(Client, "cancel", unable)
        executor.close()
        assert not any(function.name in names for names in client.run(_received).values())


def _received() -> list[str]:
    from tabnas.jobs import _dask

    return list(_dask._functions)
