"""The rows that a finished run was judged on, read once more."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tabnas.cli._source import Source
from tabnas.cli._tables import named_table
from tabnas.data import Table, read_table, rows_with_target
from tabnas.errors import TabnasError
from tabnas.runs import Labelled, RunSettings, load_config, split_rows


def judged_rows(run: Path) -> Table | None:
    """The test rows with their target, or None if the run's table is no longer there."""
    try:
        config = load_config(run)
        source = Source.from_dict(config.get("data", {}))
        table, target = named_table(source.data, source.target)
        if source.test is not None:
            return read_table(source.test, text=table.text_columns)
        settings = RunSettings.from_dict(config.get("settings", {}))
        present = rows_with_target(table.column(target))
        split = split_rows(
            Labelled.of(table, target, task=source.task),
            settings,
            own_validation=source.validation is not None,
            own_test=False,
        )
        return table.take(present[split.test])
    except (TabnasError, OSError):
        return None


def run_metric(run: Path) -> str | None:
    """The metric that the run was told to choose by, if it was told one."""
    try:
        settings: Mapping[str, Any] = load_config(run).get("settings", {})
    except TabnasError:  # a model's own folder
        return None
    metric = settings.get("metric") if isinstance(settings, Mapping) else None
    return metric if isinstance(metric, str) else None
