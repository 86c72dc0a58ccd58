"""What a crew leaves behind on a Dask cluster: nothing."""

from __future__ import annotations

import pytest

from tabnas.jobs import Crew
from tabnas.jobs._errand import Errand
from tests.jobs import work

pytestmark = pytest.mark.slow


def test_workers_forget_the_function_whatever_became_of_its_jobs(
    dask_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from distributed import Client

    from tabnas.jobs import _dask

    def unable(client: Client, futures: object) -> None:
        raise OSError("the scheduler does not answer")

    errand = Errand.of(work.refusing)
    workshop = _dask.DaskWorkshop(errand, Crew(backend="dask", address=dask_address))
    with Client(dask_address, set_as_default=False) as client:
        assert all(errand.name in sent for sent in client.run(_sent).values())
        monkeypatch.setattr(Client, "cancel", unable)
        workshop.close()
        assert not any(errand.name in sent for sent in client.run(_sent).values())


def _sent() -> list[str]:
    from tabnas.jobs import _dask

    return list(_dask._functions)
