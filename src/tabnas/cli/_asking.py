"""From the words of a command line to the settings of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tabnas.cli._options import declared_kinds, parse_names, parse_widths, share_or_file
from tabnas.cli._source import Source
from tabnas.errors import TabnasError

if TYPE_CHECKING:
    from tabnas.runs import RunSettings


def asked(
    data: str,
    limits: dict[str, float],
    *,
    target: str | None,
    task: str | None,
    validation: str | None,
    test: str | None,
    time_column: str | None,
    group_column: str | None,
    categorical: str | None,
    numeric: str | None,
    hashed: str | None,
    drop: str | None,
    widths: str | None,
    **others: Any,
) -> tuple[RunSettings, Source]:
    """What was asked for, and where the rows are; refuses what contradicts itself."""
    from tabnas.data import Shares
    from tabnas.runs import RunSettings

    if time_column and group_column:
        raise TabnasError(
            "rows must be split in one way, however both --time-column and --group-column were "
            "given; remove one"
        )
    validation_share, validation_file = share_or_file("--validation", validation, 0.2)
    test_share, test_file = share_or_file("--test", test, 0.2)
    settings = RunSettings(
        limits=limits,
        widths=None if widths is None else tuple(parse_widths(widths)),
        shares=Shares(validation=validation_share, test=test_share),
        order="time" if time_column else "group" if group_column else "random",
        order_column=time_column or group_column,
        kinds=declared_kinds(drop, categorical=categorical, numeric=numeric, hashed=hashed),
        drop=parse_names(drop),
        **others,
    )
    return settings, Source(data, target, task, validation_file, test_file)
