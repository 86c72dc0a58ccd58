"""Options of commands whose jobs can be made side by side, here or on a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tabnas.cli import _completing as completing
from tabnas.cli._numbers import at_least, whole
from tabnas.cli._options import WORK

if TYPE_CHECKING:
    from tabnas.jobs import JobConfig

Processes = Annotated[
    int | None,
    typer.Option(
        help="The most jobs at once.",
        metavar="N",
        parser=at_least(1, whole),
        show_default="1 here, as many as fit on a cluster",
        rich_help_panel=WORK,
    ),
]
Backend = Annotated[
    str,
    typer.Option(
        help="Where jobs are made: local, on this machine; ray or dask, on a cluster that runs "
        "already and has the same tabnas installed.",
        metavar="NAME",
        autocompletion=completing.one_of(*completing.BACKENDS),
        rich_help_panel=WORK,
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        help="Of the cluster: HOST:6379 for ray, tcp://HOST:8786 for dask.",
        show_default="RAY_ADDRESS or DASK_SCHEDULER_ADDRESS",
        metavar="HOST",
        rich_help_panel=WORK,
    ),
]


def make_job_config(processes: int | None, backend: str, address: str | None) -> JobConfig:
    """Who makes the jobs of a command."""
    from tabnas.jobs import JobConfig

    return JobConfig(processes=processes, backend=backend, address=address)
