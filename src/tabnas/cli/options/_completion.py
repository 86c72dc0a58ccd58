"""Shell completion of option values: known names, columns of a table, folders of runs.

The user waits while this runs, so little is imported, and only the header of a table is read. Where
we offer nothing, the shell offers files.
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
TASKS = ("classification", "regression")
BACKENDS = ("local", "ray", "dask")
TABLE_SUFFIXES = (".csv", ".tsv", ".txt", ".parquet", ".feather", ".gz")
MAX_HEADER_BYTES = 1 << 20


def cost_names() -> tuple[str, ...]:
    """Return the names of all costs that a limit can be on."""
    from tabnas.space import COSTS, LATENCY_ROWS

    return (*COSTS, *LATENCY_ROWS)


def engine_names() -> tuple[str, ...]:
    """Return the engines to choose from; variants like `torch.x` are chosen by their engine."""
    from tabnas.nets import ENGINES

    return tuple(name for name in ENGINES if "." not in name)


def complete_cost(incomplete: str) -> list[str]:
    """Complete the name of a cost."""
    return complete_from(*cost_names())(incomplete)


def complete_limit(incomplete: str) -> list[str]:
    """Complete `NAME=` of a limit."""
    return [f"{name}=" for name in complete_cost(incomplete)]


def complete_engine(incomplete: str) -> list[str]:
    """Complete the name of an engine."""
    return complete_from(*engine_names())(incomplete)


def complete_from(*names: str) -> Callable[[str], list[str]]:
    """Return a completion from fixed names."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    return complete


def complete_data(incomplete: str) -> list[str]:
    """Complete tables and stores of the current folder, and names of datasets."""
    visible = [path for path in Path().iterdir() if not path.name.startswith(".")]
    names = [path.name for path in visible if path.suffix.lower() in TABLE_SUFFIXES]
    names += [path.name for path in visible if (path / "store.json").exists()]
    if not {"/", "."} & set(incomplete):
        from tabnas.data import list_datasets

        with suppress(TabNASError):  # TABNAS_DATA is not a folder
            names += [listing.name for listing in list_datasets()]
    return sorted(name for name in names if name.startswith(incomplete))


def list_finished_runs(incomplete: str) -> list[str]:
    """List folders of finished runs, also of the limits of a trade-off."""
    return [str(run) for run in _find_runs(incomplete) if (run / "result.json").exists()]


def list_reportable_runs(incomplete: str) -> list[str]:
    """List folders of finished runs and trade-offs."""
    results = ("result.json", "tradeoff.json")
    return [
        str(run) for run in _find_runs(incomplete) if any((run / name).exists() for name in results)
    ]


def list_stopped_runs(incomplete: str) -> list[str]:
    """List folders of runs that can be resumed."""
    finished = set(list_reportable_runs(incomplete))
    return [str(run) for run in _find_runs(incomplete) if str(run) not in finished]


def list_runs(incomplete: str) -> list[str]:
    """List folders of runs, finished or not."""
    return [str(run) for run in _find_runs(incomplete)]


def complete_column(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete a column of the table that the command line names."""
    return [name for name in _column_names(ctx) if name.startswith(incomplete)]


def complete_columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete a list of columns separated by commas, each at most once."""
    before, _, last = incomplete.rpartition(",")
    used = before.split(",")
    names = [name for name in _column_names(ctx) if name.startswith(last) and name not in used]
    return [f"{before},{name}" if before else name for name in names]


def _find_runs(incomplete: str) -> Iterable[Path]:
    """Find folders of runs in the current folder and in `runs`, and one level below each."""
    typed = Path(incomplete).parent if "/" in incomplete else Path()
    folders = {Path("runs"), Path(), typed}
    runs = {file.parent for folder in folders for file in folder.glob("*/config.toml")}
    runs |= {file.parent for run in runs for file in run.glob("*/config.toml")}
    return sorted(run for run in runs if str(run).startswith(incomplete))


def _column_names(ctx: typer.Context) -> list[str]:
    """Return the columns of the first table among the arguments; none if it cannot be read.

    Names that need quotes are left out, since the shell inserts them without.
    """
    data = ctx.params.get("data") or ctx.params.get("files") or []
    # while an option still lacks its value, Typer leaves the arguments in `ctx.args`
    tables = [data] if isinstance(data, str) else [*data, *ctx.args]
    try:
        names = read_column_names(Path(tables[0])) if tables else []
    except (OSError, ValueError, KeyError, csv.Error):  # Arrow's errors derive from these
        return []
    return [name for name in names if shlex.quote(name) == name]


def read_column_names(path: Path) -> list[str]:
    """Read the names of a table's columns, without its rows.

    >>> read_column_names(Path("none"))
    []
    """
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        from pyarrow import parquet

        return list(parquet.read_schema(path).names)
    if suffix == ".feather":
        from pyarrow import ipc

        with path.open("rb") as file:
            return list(ipc.open_file(file).schema.names)
    if suffix not in (".csv", ".tsv") or not path.is_file():
        return []
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = file.read(MAX_HEADER_BYTES).splitlines(keepends=True)
    lines = lines[1:] if lines and lines[0].strip('"\r\n').startswith("sep=") else lines
    separator = max(",;\t|", key=lines[0].count) if lines else ","
    return [" ".join(name.split()) for name in next(csv.reader(lines, delimiter=separator), [])]
