"""Where the rows of a search come from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabnas.cli._standard_input import DASH, input_file
from tabnas.cli._text import is_text, plain
from tabnas.decoding import decode
from tabnas.errors import TabNASError

if TYPE_CHECKING:
    from tabnas.data import Table
    from tabnas.runs import (
        LabelledTable,
        PlannedRun,
        PlannedTradeoff,
        ProgressCallback,
        Ranks,
        RunSettings,
    )
    from tabnas.stores import Store


TABLES = ("data", "validation", "test")
CODED = ("categorical", "hashed")


@dataclass(frozen=True)
class Source:
    """What was given on the command line for the rows of a run.

    One of the tables may be `-`, which is read from standard input, also by whoever goes on.
    """

    data: str
    target: str | None = None
    task: str | None = None
    validation: Path | None = None
    test: Path | None = None

    def planned(
        self,
        settings: RunSettings,
        resolved: Mapping[str, Any] | None = None,
        *,
        observe: ProgressCallback = lambda progress: None,
        ranks: Ranks | None = None,
    ) -> PlannedRun:
        """Read everything and settle the plan; tables are let go as soon as they are encoded."""
        from tabnas.runs import SINGLE_PROCESS, plan_run

        if ranks is not None and ranks.size > 1 and self.from_standard_input:
            raise TabNASError(
                "the table of several processes must be a file, which each of them reads, got "
                "standard input; write it to a file and name that"
            )
        rows, validation, test = self._rows(settings)
        return plan_run(
            rows,
            settings,
            validation=validation,
            test=test,
            resolved=resolved,
            on_progress=observe,
            ranks=ranks or SINGLE_PROCESS,
        )

    def planned_tradeoff(
        self,
        settings: RunSettings,
        limits: Sequence[float],
        cost: str,
        resolved: Mapping[str, Any] | None = None,
        *,
        observe: ProgressCallback = lambda progress: None,
    ) -> PlannedTradeoff:
        """The same for several limits."""
        from tabnas.runs import plan_tradeoff

        rows, validation, test = self._rows(settings)
        return plan_tradeoff(
            rows,
            settings,
            limits,
            cost=cost,
            validation=validation,
            test=test,
            resolved=resolved,
            on_progress=observe,
        )

    def _rows(
        self, settings: RunSettings
    ) -> tuple[LabelledTable | Store, LabelledTable | None, LabelledTable | None]:
        if Path(self.data).is_dir():
            return self._stored(), None, None
        self._refuse_same_files()
        with self._in_files() as source:
            table, target = source.table(settings)
            return source.labelled(table, target, settings)

    @property
    def from_standard_input(self) -> list[str]:
        """Which of the tables were named `-`."""
        return [name for name in TABLES if str(getattr(self, name)) == DASH]

    @contextmanager
    def _in_files(self) -> Iterator[Source]:
        """Yield the same with a file in place of standard input, for as long as it is read."""
        names = self.from_standard_input
        if len(names) > 1:
            raise TabNASError(
                f"one table at most must come from standard input, got {' and '.join(names)}; name "
                "files for the others"
            )
        if not names:
            yield self
            return
        with input_file(Path(DASH)) as file:
            copy: dict[str, Any] = {names[0]: str(file) if names[0] == "data" else file}
            yield replace(self, **copy)

    def table(self, settings: RunSettings) -> tuple[Table, str]:
        """The table as it is read for these settings, and its target column."""
        from tabnas.cli._tables import named_table

        # categories as they are written: 01 and 1 may be two
        coded = [n.strip() for n, kind in settings.kinds.items() if kind in CODED]
        return named_table(self.data, self.target, text=coded, decimal=settings.decimal)

    def test_table(self, table: Table, settings: RunSettings) -> Table | None:
        """The rows to judge by as they are in their own file, if they have one."""
        return None if self.test is None else _read_alike(self.test, table, settings)

    def _stored(self) -> Store:
        """A folder that `tabnas encode` has written, in which all about its rows is settled."""
        from tabnas.stores import open_store

        store = open_store(self.data)
        options = {"--task": self.task, "--validation": self.validation, "--test": self.test}
        for option, given in options.items():
            if given is not None:
                raise TabNASError(
                    f"{option} was settled when the store {self.data!r} was made, but it is "
                    "given once more; leave it out, or encode the table again with it"
                )
        if self.target not in (None, store.target.name):
            raise TabNASError(
                f"--target must be {store.target.name!r}, for which the store {self.data!r} was "
                f"made, got {self.target!r}; encode the table again with it"
            )
        return store

    def labelled(
        self, table: Table, target: str, settings: RunSettings
    ) -> tuple[LabelledTable, LabelledTable | None, LabelledTable | None]:
        """The table, and the files for validation and test where they were given."""
        from tabnas.runs import LabelledTable

        _refuse_target(table.known(target), settings)
        rows = LabelledTable.from_table(table, target, task=self.task)
        others = {}
        for name, file in (("validation", self.validation), ("test", self.test)):
            if file is not None:
                try:
                    own = _read_alike(file, table, settings)
                    others[name] = LabelledTable.from_table(own, rows.target)
                except TabNASError as error:
                    raise TabNASError(f"--{name} {str(file)!r}: {error}") from None
        return rows, others.get("validation"), others.get("test")

    def _refuse_same_files(self) -> None:
        """Refuse a file that is named for two parts."""
        named = [(name, Path(str(getattr(self, name)))) for name in TABLES if getattr(self, name)]
        for place, (name, file) in enumerate(named):
            for before, other in named[:place]:
                if file.exists() and other.exists() and file.samefile(other):
                    first = "the table" if before == "data" else f"--{before}"
                    raise TabNASError(
                        f"--{name} must be another file than {first}, got {str(file)!r} for both; "
                        "leave it out to have a share of the table for it, or name new rows"
                    )

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Source:
        """Return the source that `to_dict` has described; refuse anything else."""
        return decode(cls, values, source="config.toml: data")

    def to_dict(self) -> dict[str, str]:
        """What was given, for config.toml; files by their whole paths."""
        given = {name: str(value) for name, value in vars(self).items() if value is not None}
        for name in TABLES:
            if given.get(name, DASH) != DASH and Path(given[name]).exists():
                given[name] = str(Path(given[name]).resolve())
            if not is_text(given.get(name, "")):  # a folder above it
                raise TabNASError(
                    "the path of a table must be written in UTF-8 to stand in config.toml, got "
                    f"{plain(given[name], longest=200)!r} with other bytes; rename the folder"
                )
        return given


def _read_alike(file: Path, table: Table, settings: RunSettings) -> Table:
    """Read a file with texts where the table has some."""
    from tabnas.data import read_table

    return read_table(file, text=table.text_columns, decimal=settings.decimal)


def _refuse_target(target: str, settings: RunSettings) -> None:
    """Refuse to take the target for something else besides."""
    others = {
        "--drop": settings.drop,
        "--categorical, --numeric or --hashed": settings.kinds,
        "--time-column or --group-column": (settings.order_column,),
    }
    for option, names in others.items():
        if target in names:
            raise TabNASError(
                f"{option} must name other columns than the target, got {target!r}; remove it there"
            )
