"""Load the test rows of a finished run again, to check an exported file on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tabnas.cli._data_source import DataSource
from tabnas.cli._tables import is_local
from tabnas.data import LabelledArrays, Table, find_labelled_rows
from tabnas.errors import TabNASError
from tabnas.runs import (
    RunSettings,
    TradeoffSettings,
    load_config,
    load_result,
    load_run_model,
    prepare_data,
    prepare_unlimited,
    split_rows,
)
from tabnas.stores import open_store

TABLE_MISSING = "the run's table is no longer on this machine"
TABLE_CHANGED = "the run's table has changed since"
STORE_CHANGED = "the run's store has changed since, or is no longer a store"
TRAINED_ON_TEST_ROWS = "the final model was trained on these rows, too (--refit)"


@dataclass(frozen=True, kw_only=True)
class CheckRows:
    """Rows with their target, or the reason why there are none."""

    rows: Table | LabelledArrays | None
    description: str  # what they are, or why there are none
    caution: str = ""  # why a score on them is too good

    @property
    def is_encoded(self) -> bool:
        """Return whether the rows are encoded, without the columns they were made from."""
        return isinstance(self.rows, LabelledArrays)


def load_test_rows(run: Path) -> CheckRows:
    """Load the test rows of a run if its table is on this machine; nothing is downloaded.

    The table must have the digest that the run recorded: if it has changed, training rows could be
    among the test rows.
    """
    try:
        config = load_config(run)
        source = DataSource.from_dict(config.get("data", {}))
        settings = RunSettings.from_dict(config.get("settings", {}))
    except TabNASError:
        return CheckRows(rows=None, description="the folder names no table")
    is_store = Path(source.data).is_dir()
    if source.stdin_tables or not (is_store or is_local(source.data)):
        return CheckRows(rows=None, description=TABLE_MISSING)
    changed = CheckRows(rows=None, description=STORE_CHANGED if is_store else TABLE_CHANGED)
    try:
        result = load_result(run)
        if is_store:
            choices = _expand_limits(settings, config)
            return _load_store_rows(source, choices, run, result.table) or changed
        rows, digest = _load_table_rows(source, settings)
    except (TabNASError, OSError):
        return changed
    if result.table != digest:
        return changed
    return CheckRows(
        rows=rows,
        description="test rows of the run",
        caution=TRAINED_ON_TEST_ROWS if result.trained_on_all_rows else "",
    )


def _expand_limits(settings: RunSettings, config: Mapping[str, Any]) -> list[RunSettings]:
    """Return the settings of a run, or those of every limit of a trade-off."""
    if "tradeoff" not in config:
        return [settings]
    tradeoff = TradeoffSettings.from_dict(config["tradeoff"])
    return [
        replace(settings, limits={**settings.limits, tradeoff.cost: limit})
        for limit in tradeoff.limits
    ]


def _load_store_rows(
    source: DataSource, choices: Sequence[RunSettings], run: Path, digest: Any
) -> CheckRows | None:
    """Return the encoded test rows of a store; None if the run has read another one."""
    unlimited = prepare_unlimited(open_store(source.data), choices[0])
    if unlimited.digest() != digest:
        return None
    categories = load_run_model(run).encoder.n_categories
    for data in (unlimited.limit_embeddings(settings.computed_budget) for settings in choices):
        if data.test is None:
            return CheckRows(rows=None, description="the run's store has no test rows")
        if data.encoder.n_categories == categories:
            rows = LabelledArrays(encoded=data.test.encoded, y=data.test.y)
            return CheckRows(rows=rows, description="encoded test rows of the run's store")
    return None


def _load_table_rows(source: DataSource, settings: RunSettings) -> tuple[Table, str]:
    """Return the test rows of the table, and the digest of all rows as the run prepares them."""
    table, target = source.load_table(settings)
    data, validation, test = source.label_tables(table, target, settings)
    digest = prepare_data(data, settings, validation=validation, test=test).digest()
    test_table = source.load_test_table(table, settings)
    if test_table is not None:
        return test_table, digest
    split = split_rows(data, settings, has_validation=validation is not None, has_test=False)
    return table.take(find_labelled_rows(table.column(target))[split.test]), digest


def load_metric(run: Path) -> str | None:
    """Return the metric that the run was given with --metric, if any."""
    try:
        settings: Mapping[str, Any] = load_config(run).get("settings", {})
    except TabNASError:  # the folder of a model, without a run
        return None
    metric = settings.get("metric") if isinstance(settings, Mapping) else None
    return metric if isinstance(metric, str) else None
