"""The rows that a finished run was judged on, read once more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tabnas.cli._source import Source
from tabnas.cli._tables import is_at_hand
from tabnas.cli._tradeoff import tradeoff_of
from tabnas.data import Table, rows_with_target
from tabnas.errors import TabNASError
from tabnas.model import LabelledRows
from tabnas.runs import (
    RunSettings,
    load_config,
    load_result,
    load_run_model,
    prepare_data,
    prepare_unlimited,
    split_rows,
)
from tabnas.stores import open_store

GONE = "the run's table is not on this machine any more"
CHANGED = "the run's table has changed since"
STORE_CHANGED = "the run's store has changed since, or is none any more"
LEARNED = "the model has learned from these rows, after it was judged (--refit)"


@dataclass(frozen=True, kw_only=True)
class JudgedRows:
    """Rows with their target, and what may be said of them."""

    rows: Table | LabelledRows | None
    words: str  # what they are, or why there are none
    caution: str = ""  # why a score on them is too good

    @property
    def encoded(self) -> bool:
        """Whether the columns of the rows are not known, only what they were encoded to."""
        return isinstance(self.rows, LabelledRows)


def judged_rows(run: Path) -> JudgedRows:
    """The test rows of a run, if its table is at hand; nothing is fetched from elsewhere.

    What is read is compared with what the run saw, for among rows of a table that has changed
    nobody can tell those that the model has learned from.
    """
    try:
        config = load_config(run)
        source = Source.from_dict(config.get("data", {}))
        settings = RunSettings.from_dict(config.get("settings", {}))
    except TabNASError:
        return JudgedRows(rows=None, words="the folder names no table")
    stored = Path(source.data).is_dir()
    if source.from_standard_input or not (stored or is_at_hand(source.data)):
        return JudgedRows(rows=None, words=GONE)
    changed = JudgedRows(rows=None, words=STORE_CHANGED if stored else CHANGED)
    try:
        result = load_result(run)
        if stored:
            several = _settings_of_limits(settings, config)
            return _stored_rows(source, several, run, result.table) or changed
        rows, digest = _read(source, settings)
    except (TabNASError, OSError):
        return changed
    if result.table != digest:
        return changed
    learned = result.trained_on_all_rows
    return JudgedRows(rows=rows, words="test rows of the run", caution=LEARNED if learned else "")


def _settings_of_limits(settings: RunSettings, config: Mapping[str, Any]) -> list[RunSettings]:
    """Return the settings, or those of each limit of a trade-off, any of which a model may have."""
    several = tradeoff_of(config)
    if several is None:
        return [settings]
    limits, cost = several
    return [replace(settings, limits={**settings.limits, cost: limit}) for limit in limits]


def _stored_rows(
    source: Source, several: Sequence[RunSettings], run: Path, digest: Any
) -> JudgedRows | None:
    """Return the encoded test rows of a store; None if it is not the one that the run has read."""
    uncut = prepare_unlimited(open_store(source.data), several[0])
    if uncut.digest() != digest:
        return None
    categories = load_run_model(run).encoder.categories
    for parts in (uncut.limit_embeddings(settings.budget) for settings in several):
        if parts.test is None:
            return JudgedRows(rows=None, words="the run's store has no test rows")
        if parts.encoder.categories == categories:
            rows = LabelledRows(encoded=parts.test.encoded, truth=parts.test.truth)
            return JudgedRows(rows=rows, words="encoded test rows of the run's store")
    return None


def _read(source: Source, settings: RunSettings) -> tuple[Table, str]:
    """The test rows as they are in the table, and the digest of all that the run would see."""
    table, target = source.table(settings)
    data, validation, test = source.labelled(table, target, settings)
    digest = prepare_data(data, settings, validation=validation, test=test).digest()
    own = source.test_table(table, settings)
    if own is not None:
        return own, digest
    split = split_rows(data, settings, has_validation=validation is not None, has_test=False)
    return table.take(rows_with_target(table.column(target))[split.test]), digest


def run_metric(run: Path) -> str | None:
    """The metric that the run was told to choose by, if it was told one."""
    try:
        settings: Mapping[str, Any] = load_config(run).get("settings", {})
    except TabNASError:  # a model's own folder
        return None
    metric = settings.get("metric") if isinstance(settings, Mapping) else None
    return metric if isinstance(metric, str) else None
