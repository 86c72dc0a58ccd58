"""Where the rows of a search come from: a table, a dataset, a store, standard input."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tabnas.cli._tables import DASH, input_path, load_table
from tabnas.decoding import decode
from tabnas.errors import TabNASError
from tabnas.formatting import is_utf8, shorten

if TYPE_CHECKING:
    from tabnas.data import Table
    from tabnas.runs import (
        LabelledTable,
        PlannedRun,
        PlannedTradeoff,
        ProcessGroup,
        ProgressCallback,
    )
    from tabnas.settings import RunSettings, TradeoffSettings
    from tabnas.stores import Store


TABLE_FIELDS = ("data", "validation", "test", "unlabelled")
CATEGORY_KINDS = ("categorical", "hashed")


@dataclass(frozen=True)
class DataSource:
    """The table of a run as named on the command line, with its target and held-out files.

    One of the tables may be `-`. It is read from standard input, also when the run is resumed.
    """

    data: str
    target: str | None = None
    task: str | None = None
    validation: Path | None = None
    test: Path | None = None
    unlabelled: Path | None = None

    def load_and_plan(
        self,
        settings: RunSettings,
        tradeoff: TradeoffSettings | None = None,
        *,
        saved_plan: Mapping[str, Any] | None = None,
        on_progress: ProgressCallback = lambda progress: None,
        process_group: ProcessGroup | None = None,
    ) -> PlannedRun | PlannedTradeoff:
        """Load the rows and plan a run or a trade-off; tables are freed once they are encoded."""
        from tabnas.runs import SINGLE_PROCESS, plan_run, plan_tradeoff

        if process_group is not None and process_group.size > 1 and self.stdin_tables:
            raise TabNASError(
                "the table must be a file if several processes read it, got standard input; write "
                "it to a file and name that"
            )
        rows, validation, test = self._load(settings)
        if tradeoff is not None:
            return plan_tradeoff(
                rows,
                settings,
                tradeoff.limits,
                cost=tradeoff.cost,
                validation=validation,
                test=test,
                saved_plan=saved_plan,
                on_progress=on_progress,
            )
        return plan_run(
            rows,
            settings,
            validation=validation,
            test=test,
            saved_plan=saved_plan,
            on_progress=on_progress,
            process_group=process_group or SINGLE_PROCESS,
        )

    def _load(
        self, settings: RunSettings
    ) -> tuple[LabelledTable | Store, LabelledTable | None, LabelledTable | None]:
        if Path(self.data).is_dir():
            return self._open_store(), None, None
        self._check_files_differ()
        with self._copy_stdin() as source:
            table, target = source.load_table(settings)
            return source.label_tables(table, target, settings)

    @property
    def stdin_tables(self) -> list[str]:
        """Return which of the tables are `-`."""
        return [name for name in TABLE_FIELDS if str(getattr(self, name)) == DASH]

    @contextmanager
    def _copy_stdin(self) -> Iterator[DataSource]:
        """Yield this source with a temporary file in place of standard input."""
        names = self.stdin_tables
        if len(names) > 1:
            raise TabNASError(
                f"only one table can be standard input, got {' and '.join(names)}; name files "
                "for the others"
            )
        if not names:
            yield self
            return
        with input_path(Path(DASH)) as file:
            copy: dict[str, Any] = {names[0]: str(file) if names[0] == "data" else file}
            yield replace(self, **copy)

    def load_table(self, settings: RunSettings) -> tuple[Table, str]:
        """Load the table with these settings; return it and the name of its target."""
        # categories are read as texts: 01 and 1 may be two
        categories = [n.strip() for n, kind in settings.kinds.items() if kind in CATEGORY_KINDS]
        return load_table(self.data, self.target, text=categories, decimal=settings.decimal)

    def load_test_table(self, table: Table, settings: RunSettings) -> Table | None:
        """Load the file of test rows; None if they are a share of the table."""
        return None if self.test is None else _read_like(self.test, table, settings)

    def _open_store(self) -> Store:
        """Open a folder of `tabnas encode`; refuse options that were fixed when it was written."""
        from tabnas.stores import open_store

        store = open_store(self.data)
        options = {"--task": self.task, "--validation": self.validation, "--test": self.test}
        for option, value in options.items():
            if value is not None:
                raise TabNASError(
                    f"{option} must not be given for the store {self.data!r}, which was encoded "
                    "with its own; leave it out, or encode the table again with it"
                )
        if self.unlabelled is not None:
            raise TabNASError(
                f"--unlabelled must not be given for the store {self.data!r}: there is no teacher "
                "for the rows of a store; leave it out, or name the table itself"
            )
        if self.target not in (None, store.target.name):
            raise TabNASError(
                f"--target must be {store.target.name!r}, with which the store {self.data!r} was "
                f"encoded, got {self.target!r}; encode the table again with it"
            )
        return store

    def label_tables(
        self, table: Table, target: str, settings: RunSettings
    ) -> tuple[LabelledTable, LabelledTable | None, LabelledTable | None]:
        """Return the table with its target, and the files of validation and test rows if any."""
        from tabnas.runs import LabelledTable

        _check_target_use(table.resolve_name(target), settings)
        rows = LabelledTable.from_table(table, target, task=self.task)
        others = {}
        for name, file in (("validation", self.validation), ("test", self.test)):
            if file is not None:
                try:
                    held_out = _read_like(file, table, settings)
                    others[name] = LabelledTable.from_table(held_out, rows.target)
                except TabNASError as error:
                    raise TabNASError(f"--{name} {str(file)!r}: {error}") from None
        if self.unlabelled is not None:
            if settings.teacher == "none":
                raise TabNASError(
                    "--unlabelled must have a teacher, which answers these rows, got --teacher "
                    "none; remove one of them"
                )
            try:
                rows = rows.with_unlabelled(_read_like(self.unlabelled, table, settings))
            except TabNASError as error:
                raise TabNASError(f"--unlabelled {str(self.unlabelled)!r}: {error}") from None
        return rows, others.get("validation"), others.get("test")

    def _check_files_differ(self) -> None:
        """Refuse a file that is named twice, for example as table and as test rows.

        The targets of unlabelled rows are not read, so these may be the test rows.
        """
        named = [
            (name, Path(str(getattr(self, name)))) for name in TABLE_FIELDS if getattr(self, name)
        ]
        for index, (name, file) in enumerate(named):
            for before, other in named[: 1 if name == "unlabelled" else index]:
                if file.exists() and other.exists() and file.samefile(other):
                    if name == "unlabelled":
                        raise TabNASError(
                            f"--unlabelled must be another file than the table, got {str(file)!r} "
                            "for both; leave it out: rows of the table without a target are used"
                        )
                    first = "the table" if before == "data" else f"--{before}"
                    raise TabNASError(
                        f"--{name} must be another file than {first}, got {str(file)!r} for both; "
                        "leave it out to have a share of the table for it, or name new rows"
                    )

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> DataSource:
        """Return the source that `to_dict` has written; refuse anything else."""
        return decode(cls, values, source="config.toml: data")

    def to_dict(self) -> dict[str, str]:
        """Return the source for config.toml, with absolute paths of files."""
        values = {name: str(value) for name, value in vars(self).items() if value is not None}
        for name in TABLE_FIELDS:
            if values.get(name, DASH) != DASH and Path(values[name]).exists():
                values[name] = str(Path(values[name]).resolve())
            if not is_utf8(values.get(name, "")):  # a parent folder may have other bytes
                raise TabNASError(
                    "the path of a table must be UTF-8 to be written to config.toml, got other "
                    f"bytes in {shorten(values[name], 200)!r}; rename the folder"
                )
        return values


def _read_like(file: Path, table: Table, settings: RunSettings) -> Table:
    """Read a file with the same text columns as the table."""
    from tabnas.data import read_table

    return read_table(file, text=table.text_columns, decimal=settings.decimal)


def _check_target_use(target: str, settings: RunSettings) -> None:
    """Refuse the target as a dropped column, as a feature or as a column to split by."""
    others = {
        "--drop": settings.drop,
        "--categorical, --numeric or --hashed": settings.kinds,
        "--time-column or --group-column": (settings.split_column,),
        "--teacher-columns": settings.teacher_columns,
    }
    for option, names in others.items():
        if target in names:
            raise TabNASError(f"{option} must not name the target, got {target!r}; remove it there")
