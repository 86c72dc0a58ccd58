"""Where the rows of a search come from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tabnas.errors import TabnasError

if TYPE_CHECKING:
    from tabnas.runs import PlannedRun, RunSettings


@dataclass(frozen=True)
class Source:
    """What was given on the command line for the rows of a run."""

    data: str
    target: str | None
    task: str | None
    validation: Path | None
    test: Path | None

    def planned(self, settings: RunSettings) -> PlannedRun:
        """Read everything and settle the plan; tables are let go as soon as they are encoded."""
        from tabnas.cli._tables import named_table
        from tabnas.data import read_table
        from tabnas.runs import Labelled, plan_run

        table, target = named_table(self.data, self.target)
        _refuse_target(table.known(target), settings)
        rows = Labelled.of(table, target, task=self.task)
        others = {}
        for name, file in (("validation", self.validation), ("test", self.test)):
            if file is not None:
                try:
                    others[name] = Labelled.of(read_table(file), rows.target)
                except TabnasError as error:
                    raise TabnasError(f"--{name} {str(file)!r}: {error}") from None
        return plan_run(rows, settings, **others)

    def to_dict(self) -> dict[str, str]:
        """What was given, for config.toml; files by their whole paths."""
        given = {name: value for name, value in vars(self).items() if value is not None}
        return {
            name: str(Path(value).resolve()) if Path(value).exists() else str(value)
            for name, value in given.items()
        }


def _refuse_target(target: str, settings: RunSettings) -> None:
    """Refuse to take the target for something else besides."""
    others = {
        "--drop": settings.drop,
        "--categorical or --numeric": settings.kinds,
        "--time-column or --group-column": (settings.order_column,),
    }
    for option, names in others.items():
        if target in names:
            raise TabnasError(
                f"{option} must name other columns than the target, however {target!r} was given; "
                "remove it there"
            )
