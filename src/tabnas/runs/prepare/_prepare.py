"""From a table to the parts of a run."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pyarrow as pa

from tabnas.data import (
    ClassTarget,
    DataWarning,
    Encoded,
    NumberTarget,
    Table,
    TableEncoder,
    UnseenCategories,
    group_numbers,
    refuse_lonely_classes,
)
from tabnas.data.reading import RowError, settle_decimals
from tabnas.errors import TabNASError
from tabnas.latency import COST_NAMES
from tabnas.model import network_task
from tabnas.runs._ranks import ALONE, Ranks
from tabnas.runs._settings import RunSettings
from tabnas.runs.prepare._embedding_rule import fit_embeddings
from tabnas.runs.prepare._encoded_rows import Part, joined, make_part
from tabnas.runs.prepare._labelled_table import Labelled
from tabnas.runs.prepare._overlap import check_overlap
from tabnas.runs.prepare._prepared_data import SMALL_TABLE, Parts
from tabnas.runs.prepare._row_split import balance_of, note_rare_classes, split_rows
from tabnas.runs.prepare._stored_data import prepare_stored
from tabnas.runs.prepare._table_rows import TableRows, make_tree_parts, note_leaks
from tabnas.space import Budget
from tabnas.stores import Store
from tabnas.types import IntArray

FEWEST_ROWS = 10
"""Fewer cannot be learned from, chosen by and judged on."""
FOLDS = 5
HUGE = 1e15
SAMPLE_ROWS = max(COST_NAMES.values())


def prepare(
    data: Labelled | Store,
    settings: RunSettings,
    *,
    validation: Labelled | None = None,
    test: Labelled | None = None,
    ranks: Ranks = ALONE,
) -> Parts:
    """The parts of a run: of a table, or of a store, which is split and encoded already.

    Of several processes, `ranks`, each reads its share of a store, and all of a table.
    """
    uncut = prepare_uncut(data, settings, validation=validation, test=test, ranks=ranks)
    return uncut.within(settings.budget)


def prepare_uncut(
    data: Labelled | Store,
    settings: RunSettings,
    *,
    validation: Labelled | None = None,
    test: Labelled | None = None,
    ranks: Ranks = ALONE,
) -> Parts:
    """The same with all categories, and embeddings as wide as they are without a limit.

    `Parts.within` makes of them what a limit bears.
    """
    if not isinstance(data, Store):
        return prepare_table(data, settings, validation=validation, test=test)
    if validation is not None or test is not None:
        raise TabNASError(
            "the rows of a store were split when it was made, but validation or test rows are "
            "given besides; leave them out"
        )
    return prepare_stored(data, settings, ranks)


def prepare_table(
    data: Labelled,
    settings: RunSettings,
    *,
    validation: Labelled | None = None,
    test: Labelled | None = None,
) -> Parts:
    """Split the rows, and encode them by what the rows that may be learned from show.

    Rows of the test part shape nothing: neither vocabularies and scales nor the target's units.
    `validation` and `test` are a user's own, from other files; they replace the shares. If nearly
    all of their rows stand in the table, too, they are refused.
    """
    data = data.weighing()
    if settings.decimal is not None:
        data = replace(data, features=settle_decimals(data.features, settings.decimal))
    validation = None if validation is None else _matching("validation", validation, data)
    test = None if test is None else _matching("test", test, data)
    if len(data) < FEWEST_ROWS:
        raise TabNASError(
            f"the table must have at least {FEWEST_ROWS} rows with a target, but it has {len(data)}"
        )
    judged = test is not None or settings.shares.test > 0
    if judged and isinstance(data.target, ClassTarget):
        refuse_lonely_classes(data.target, data.truth)
    split = split_rows(
        data, settings, own_validation=validation is not None, own_test=test is not None
    )
    development = np.concatenate([split.train, split.validation])
    # small tables train their final network on all of these; large ones have rows enough without
    shown = development if len(development) <= SMALL_TABLE else split.train
    encoder = TableEncoder.fit(
        data.features,
        kinds=settings.kinds,
        scaling=settings.scaling,
        drop=_dropped(settings),
        rows=shown,
    )
    encoder, dimensions = fit_embeddings(encoder, Budget())
    target = data.target
    if isinstance(target, NumberTarget):
        truth = pa.chunked_array([data.truth[shown]])
        target = NumberTarget.fit(target.name, truth, target.written)
    task = network_task(encoder, target, dimensions)
    balance = balance_of(data, split.train, settings)
    notes = [*_notes(data), *encoder.notes]

    def part(own: Labelled, rows: IntArray | None = None, name: str = "") -> Part:
        with declarable():
            encoded = encoder.encode(own.features, rows=rows)
        if name:
            notes.extend(unseen_notes(encoder, encoded, name))
        taken = own if rows is None else own.take(rows)
        return make_part(task, target, encoded, taken.truth, own=taken.weight, balance=balance)

    learned = part(data, development)
    if settings.scaling == "none":
        _refuse_huge(encoder, learned)
    tested = part(data, split.test) if len(split.test) else None
    own = {
        "validation": None if validation is None else part(validation, name="validation"),
        "test": None if test is None else part(test, name="test"),
    }
    notes += check_overlap([learned, *filter(None, [tested])], own)
    if own["validation"] is not None:
        learned = joined(learned, own["validation"])
    groups = None
    if settings.order == "group" and settings.order_column is not None:
        name = settings.order_column
        groups = group_numbers(name, data.features.column(name, development))
    parts = Parts(
        encoder=encoder,
        target=target,
        dimensions=dimensions,
        development=learned,
        train_rows=len(split.train),
        test=tested if own["test"] is None else own["test"],
        folds=_fold_count(settings, learned, groups, own_validation=validation is not None),
        groups=groups,
        sample=_sample(data.features, encoder, shown)
        if settings.limits.keys() & COST_NAMES
        else None,
        notes=(*notes, *_rare_classes(data, split.train, settings)),
    )
    train = TableRows(data.features, split.train)
    held_out = _rows_of(validation, data, split.validation)
    leaks = note_leaks(parts, train, held_out, seed=settings.seed)
    parts = replace(parts, notes=(*parts.notes, *leaks))
    if not settings.baselines or parts.test is None:
        return parts
    judged_on = _rows_of(test, data, split.test)
    trees = make_tree_parts(parts, train, held_out, judged_on, seed=settings.seed)
    return replace(parts, trees=trees)


def _rows_of(own: Labelled | None, data: Labelled, rows: IntArray) -> TableRows:
    """All rows of a user's own part, or these of the table."""
    return (
        TableRows(data.features, rows)
        if own is None
        else TableRows(own.features, np.arange(len(own)))
    )


@contextmanager
def declarable() -> Iterator[None]:
    """Say of a value that its column cannot hold what else the column could be declared."""
    try:
        yield
    except RowError as error:
        if "must hold" not in error.before:
            raise
        after = f"{error.after}, or declare the column categorical"
        raise RowError(error.before, error.row, after) from None


def unseen_notes(encoder: TableEncoder, encoded: Encoded, part: str) -> list[str]:
    """Warn of the columns of a part of which training knows hardly any value."""
    unseen = UnseenCategories(encoder)
    unseen.add(encoded)
    notes = [f"in the {part} rows, {note}" for note in unseen.notes()]
    for note in notes:
        warnings.warn(note, DataWarning, stacklevel=2)
    return notes


def _notes(data: Labelled) -> tuple[str, ...]:
    """What is to be said of the table as it was given."""
    if not data.without_target:
        return data.notes
    rows = "1 row" if data.without_target == 1 else f"{data.without_target:,} rows"
    name = data.target.name
    return (*data.notes, f"{rows} without a value of {name!r}, the target, left out")


def _rare_classes(data: Labelled, train: IntArray, settings: RunSettings) -> tuple[str, ...]:
    if not isinstance(data.target, ClassTarget):
        return ()
    rows = np.bincount(data.truth[train], minlength=len(data.target.classes))
    return note_rare_classes(data.target, rows, settings)


def _fold_count(
    settings: RunSettings, development: Part, groups: IntArray | None, *, own_validation: bool
) -> int:
    """How many folds choose among candidates; 0 where the validation part does.

    A user's own validation rows are there to choose by, and rows in the order of time cannot be
    dealt out; groups can, as long as every fold gets some.
    """
    rows = len(development)
    if rows > SMALL_TABLE or own_validation or settings.order == "time":
        return 0
    if groups is not None:
        return FOLDS if len(np.unique(groups)) >= 2 * FOLDS else 0
    return min(FOLDS, rows // 2)


def _matching(name: str, own: Labelled, data: Labelled) -> Labelled:
    """A user's own rows, whose target must be that of the table."""
    own = own.weighing()
    if not len(own):
        raise TabNASError(f"the {name} part must have rows with a target, but it has none")
    same = own.target == data.target
    if isinstance(own.target, NumberTarget) and isinstance(data.target, NumberTarget):
        same = True  # their units are found from the training rows
    if not same:
        raise TabNASError(
            f"the {name} part must have the target of the table, classes in the same order, "
            "but it has another; make it with Labelled.of(table, data.target)"
        )
    return own


def _refuse_huge(encoder: TableEncoder, part: Part) -> None:
    """Unscaled, products of such values would leave what float32 can hold."""
    largest = np.abs(part.encoded.numeric).max(axis=0, initial=0.0)
    for feature, value in zip(encoder.features, largest.tolist(), strict=True):
        if value > HUGE:
            raise TabNASError(
                f"the column {feature!r} must stay below {HUGE:g} to be taken as it is, but it "
                f"holds {value:g}; use the scaling robust, or give it in another unit"
            )


def _dropped(settings: RunSettings) -> tuple[str, ...]:
    """Columns that are no features; what orders the split would tell the parts apart."""
    return tuple(dict.fromkeys([*settings.drop, *filter(None, [settings.order_column])]))


def _sample(features: Table, encoder: TableEncoder, rows: IntArray) -> Table:
    """Copies of the first of these rows, so that the table itself can be let go."""
    if features.named:
        features = features.select([column.name for column in encoder.columns])
    taken = features.take(rows[:SAMPLE_ROWS])
    return Table(taken.arrow.combine_chunks(), named=features.named)
