"""What the shell may complete: names that are known, or that a file at hand tells.

Whoever presses Tab waits, so little is imported and of a table only its names are read. Where
nothing is offered, the shell offers files.
"""

from __future__ import annotations

import csv
import shlex
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import typer

from tabnas.errors import TabNASError

METRICS = ("accuracy", "balanced_error", "log_loss", "auc", "rmse", "mae", "r2")
MEASURED = ("latency_us", "batch_latency_us")
TASKS = ("classification", "regression")
SCALINGS = ("robust", "standard", "none")
BACKENDS = ("local", "ray", "dask")
TABLES = (".csv", ".tsv", ".txt", ".parquet", ".feather", ".gz")
MOST_BYTES = 1 << 20  # of a line of names


def costs() -> tuple[str, ...]:
    """All that can be limited."""
    from tabnas.space import COSTS

    return (*COSTS, *MEASURED)


def engines() -> tuple[str, ...]:
    """Those that a command may name; an engine knows by itself when to be one of its others."""
    from tabnas.nets import ENGINES

    return tuple(name for name in ENGINES if "." not in name)


def cost(incomplete: str) -> list[str]:
    """What can be limited."""
    return one_of(*costs())(incomplete)


def limit(incomplete: str) -> list[str]:
    """The same, with room for a number."""
    return [f"{name}=" for name in cost(incomplete)]


def engine(incomplete: str) -> list[str]:
    """What does the arithmetic."""
    return one_of(*engines())(incomplete)


def one_of(*names: str) -> Callable[[str], list[str]]:
    """Names that are all known beforehand."""

    def names_like(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    return names_like


def data(incomplete: str) -> list[str]:
    """Tables and stores in this folder, and datasets."""
    here = [path for path in Path().iterdir() if not path.name.startswith(".")]
    found = [path.name for path in here if path.suffix.lower() in TABLES]
    found += [path.name for path in here if (path / "store.json").exists()]
    if not {"/", "."} & set(incomplete):
        from tabnas.data import list_datasets

        with suppress(TabNASError):  # where the folder of tables is none
            found += [listing.name for listing in list_datasets()]
    return sorted(name for name in found if name.startswith(incomplete))


def finished_runs(incomplete: str) -> list[str]:
    """Folders with a model, also those of a trade-off's limits."""
    return [str(run) for run in _runs(incomplete) if (run / "result.json").exists()]


def reported_runs(incomplete: str) -> list[str]:
    """Folders of runs and of trade-offs that are finished."""
    ends = ("result.json", "tradeoff.json")
    return [str(run) for run in _runs(incomplete) if any((run / end).exists() for end in ends)]


def stopped_runs(incomplete: str) -> list[str]:
    """Folders of runs that can be gone on with."""
    finished = set(reported_runs(incomplete))
    return [str(run) for run in _runs(incomplete) if str(run) not in finished]


def all_runs(incomplete: str) -> list[str]:
    """Folders of runs, but far they are."""
    return [str(run) for run in _runs(incomplete)]


def column(ctx: typer.Context, incomplete: str) -> list[str]:
    """A column of the table that was named before."""
    return [name for name in _columns(ctx) if name.startswith(incomplete)]


def columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """Several, separated by commas; none twice."""
    before, _, begun = incomplete.rpartition(",")
    taken = before.split(",")
    names = [name for name in _columns(ctx) if name.startswith(begun) and name not in taken]
    return [f"{before},{name}" if before else name for name in names]


def _runs(incomplete: str) -> Iterable[Path]:
    """Folders with the settings of a run, in this folder and in `runs`, and one deeper."""
    begun = Path(incomplete).parent if "/" in incomplete else Path()
    places = {Path("runs"), Path(), begun}
    found = {file.parent for place in places for file in place.glob("*/config.toml")}
    found |= {file.parent for run in found for file in run.glob("*/config.toml")}
    return sorted(run for run in found if str(run).startswith(incomplete))


def _columns(ctx: typer.Context) -> list[str]:
    """The names of the columns of the first table among the arguments, if it can be read.

    Those that a shell would have to quote are left out: what it inserts is not quoted.
    """
    given = ctx.params.get("data") or ctx.params.get("files") or []
    # an option that waits for its value keeps the parser from handing out the arguments
    tables = [given] if isinstance(given, str) else [*given, *ctx.args]
    try:
        names = column_names(Path(tables[0])) if tables else []
    except (OSError, ValueError, KeyError, csv.Error):  # Arrow's errors are of these, too
        return []
    return [name for name in names if shlex.quote(name) == name]


def column_names(path: Path) -> list[str]:
    """The names of a table's columns, without its rows.

    >>> column_names(Path("none"))
    []
    """
    ending = path.suffix.lower()
    if ending == ".parquet":
        from pyarrow import parquet

        return list(parquet.read_schema(path).names)
    if ending == ".feather":
        from pyarrow import ipc

        with path.open("rb") as file:
            return list(ipc.open_file(file).schema.names)
    if ending not in (".csv", ".tsv") or not path.is_file():
        return []
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = file.read(MOST_BYTES).splitlines(keepends=True)
    lines = lines[1:] if lines and lines[0].strip('"\r\n').startswith("sep=") else lines
    separator = max(",;\t|", key=lines[0].count) if lines else ","
    return [" ".join(name.split()) for name in next(csv.reader(lines, delimiter=separator), [])]
