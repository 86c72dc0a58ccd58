"""An executor leaves nothing behind on a Dask cluster."""

from __future__ import annotations

import pytest

from tabnas.jobs import JobConfig
from tabnas.jobs._executor import RemoteFunction
from tests.jobs import work

pytestmark = pytest.mark.slow


def test_workers_forget_the_function_even_if_its_jobs_fail(
    dask_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from distributed import Client

    from tabnas.jobs import _dask

    def raise_error(client: Client, futures: object) -> None:
        raise OSError("the scheduler does not answer")

    function = RemoteFunction.from_function(work.refuse)
    executor = _dask.DaskExecutor(function, JobConfig(backend="dask", address=dask_address))
    with Client(dask_address, set_as_default=False) as client:
        assert all(function.name in names for names in client.run(_list_functions).values())
        monkeypatch.setattr(Client, "cancel", raise_error)
        executor.close()
        assert not any(function.name in names for names in client.run(_list_functions).values())


def _list_functions() -> list[str]:
    from tabnas.jobs import _dask

    return list(_dask._functions)
