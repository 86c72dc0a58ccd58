"""Prepare the data of a run: split, fit the encoder, encode."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np

from tabnas.data import (
    ClassTarget,
    DataWarning,
    EncodedTable,
    NumberTarget,
    Split,
    Table,
    TableEncoder,
    UnseenCategories,
    check_class_counts,
    to_times,
)
from tabnas.data.lowlevel import renumber_rows
from tabnas.errors import TabNASError
from tabnas.runs._process_group import SINGLE_PROCESS, ProcessGroup
from tabnas.runs.prepare._encoded_rows import EncodedRows, concatenate
from tabnas.runs.prepare._fitted_encoder import (
    FittedEncoder,
    check_unscaled_values,
    fit_encoder,
    suggest_categorical,
)
from tabnas.runs.prepare._given_answers import read_given_answers
from tabnas.runs.prepare._knot_rule import fit_knot_rule
from tabnas.runs.prepare._labelled_table import LabelledTable, name_rows
from tabnas.runs.prepare._overlap import check_overlap, note_copies
from tabnas.runs.prepare._prepared_data import MAX_CROSS_VALIDATED_ROWS, PreparedData
from tabnas.runs.prepare._row_split import get_group_ids, note_rare_classes, split_rows
from tabnas.runs.prepare._stored_data import prepare_store
from tabnas.runs.prepare._table_subset import TableSubset, make_tree_data, note_leaks
from tabnas.runs.prepare._unlabelled_rows import encode_unlabelled
from tabnas.settings import RunSettings
from tabnas.space import LATENCY_ROWS
from tabnas.stores import Store
from tabnas.types import FloatArray, IntArray

MIN_ROWS = 10
"""Fewer rows are not enough for training, validation and test."""
FOLDS = 5
SAMPLE_ROWS = max(LATENCY_ROWS.values())


def prepare_data(
    data: LabelledTable | Store,
    settings: RunSettings,
    *,
    validation: LabelledTable | None = None,
    test: LabelledTable | None = None,
    process_group: ProcessGroup = SINGLE_PROCESS,
) -> PreparedData:
    """Return the encoded rows of a table or a store, with embeddings that fit the limits.

    A store is split and encoded already. Each process of a group reads its share of a store, and
    all of a table.
    """
    unlimited = prepare_unlimited(
        data, settings, validation=validation, test=test, process_group=process_group
    )
    return unlimited.limit_embeddings(settings.computed_budget)


def prepare_unlimited(
    data: LabelledTable | Store,
    settings: RunSettings,
    *,
    validation: LabelledTable | None = None,
    test: LabelledTable | None = None,
    process_group: ProcessGroup = SINGLE_PROCESS,
) -> PreparedData:
    """Return the same with all categories, and embeddings as wide as they are without a limit."""
    if not isinstance(data, Store):
        return prepare_table(data, settings, validation=validation, test=test)
    if validation is not None or test is not None:
        raise TabNASError(
            "the rows of a store were split when it was encoded, but validation or test rows are "
            "given too; leave them out"
        )
    return prepare_store(data, settings, process_group)


def prepare_table(
    data: LabelledTable,
    settings: RunSettings,
    *,
    validation: LabelledTable | None = None,
    test: LabelledTable | None = None,
) -> PreparedData:
    """Split a table, fit the encoder, and encode the rows.

    Test rows influence nothing: neither vocabularies and scales nor the units of the target. The
    user's own `validation` and `test` rows replace the shares of the table; they are refused if
    nearly all of them are rows of the table.
    """
    data = _check_table(data, settings)
    validation = None if validation is None else _check_same_target("validation", validation, data)
    test = None if test is None else _check_same_target("test", test, data)
    split = _split_table(data, settings, validation, test)
    fitted = fit_encoder(data, settings, split)
    encoder = fitted.encoder
    development, test_rows, notes = _encode_parts(fitted, data, split, settings, validation, test)
    with suggest_categorical():
        unlabelled = encode_unlabelled(data, encoder, settings, len(split.train))
    if unlabelled.encoded is not None:
        notes += note_unseen_categories(encoder, unlabelled.encoded, "unlabelled")
    groups, times = _read_split_column(data, split, settings, validation)
    prepared = PreparedData(
        encoder=encoder,
        target=fitted.target,
        category_dimensions=fitted.category_dimensions,
        train_and_validation=development,
        train_rows=len(split.train),
        test=test_rows,
        folds=_count_folds(settings, development, groups, has_validation=validation is not None),
        groups=groups,
        times=times,
        unlabelled=unlabelled.encoded,
        latency_rows=_sample(data.features, encoder, fitted.rows)
        if settings.limits.keys() & LATENCY_ROWS
        else None,
        knot_rule=fit_knot_rule(
            development.take(slice(0, len(split.train))), fitted.target, settings
        ),
        notes=(
            *data.notes,
            *encoder.notes,
            *notes,
            *unlabelled.notes,
            *_note_rare_classes(data, split.train, settings),
        ),
        row_numbers=None if test is not None else _number_rows(data, split, validation),
        has_own_validation=validation is not None,
        unlabelled_numbers=(data.numbers_without_target[unlabelled.own], unlabelled.other),
        given_answers=read_given_answers(
            settings.teacher_columns,
            fitted.target,
            data,
            split,
            validation=validation,
            test=test,
            unlabelled=(unlabelled.own, unlabelled.other),
        ),
    )
    return _add_leaks_and_trees(prepared, data, split, settings, validation, test)


def _check_table(data: LabelledTable, settings: RunSettings) -> LabelledTable:
    """Return the rows that have weight; raise an error if they are too few for a run."""
    data = data.drop_zero_weights().set_decimal_mark(settings.decimal)
    if data.unlabelled is not None and settings.teacher == "none":
        raise TabNASError(
            "rows of another table without a target must have a teacher which answers them, but "
            "the teacher is none; choose one, or leave these rows out"
        )
    if settings.split == "group" and (settings.split_column is None) == (data.groups is None):
        given = "both" if settings.split_column else "neither"
        raise TabNASError(
            "a split by group must have a split_column of the table, or groups by "
            f"LabelledTable.with_groups, got {given}"
        )
    if settings.split != "group" and data.groups is not None:
        raise TabNASError(
            f"split must be 'group' for a table with groups, got {settings.split!r}; set it, or "
            "leave the groups out"
        )
    for name in (*data.features, data.target.name):
        if "\0" in name:  # the files of a run cannot hold it
            raise TabNASError(f"the name of the column {name!r} has a zero byte; rename it")
    if len(data) < MIN_ROWS:
        raise TabNASError(
            f"the table must have at least {MIN_ROWS} rows with a target, but it has {len(data)}"
        )
    return data


def _split_table(
    data: LabelledTable,
    settings: RunSettings,
    validation: LabelledTable | None,
    test: LabelledTable | None,
) -> Split:
    """Return the rows of each part; raise an error if a class has too few rows for a test."""
    has_test = test is not None or settings.shares.test > 0
    if has_test and isinstance(data.target, ClassTarget):
        check_class_counts(data.target, data.y)
    with renumber_rows(data.row_numbers):
        return split_rows(
            data, settings, has_validation=validation is not None, has_test=test is not None
        )


def _read_split_column(
    data: LabelledTable, split: Split, settings: RunSettings, validation: LabelledTable | None
) -> tuple[IntArray | None, FloatArray | None]:
    """Return the groups of training and validation rows, and the times of training rows.

    Each is None unless rows are split by it.
    """
    name = settings.split_column
    if settings.split == "group":
        rows = np.concatenate([split.train, split.validation])
        with renumber_rows(data.row_numbers[rows]):
            groups = get_group_ids(data, settings, rows)
        if validation is not None:
            own = groups.max() + 1 + np.arange(len(validation))
            groups = np.concatenate([groups, own])  # they are in no fold
        return groups, None
    if settings.split == "time" and name is not None:
        # of all rows, since those for training may have the same time
        with renumber_rows(data.row_numbers):
            return None, to_times(name, data.features.column(name))[split.train]
    return None, None


def _encode_parts(
    fitted: FittedEncoder,
    data: LabelledTable,
    split: Split,
    settings: RunSettings,
    validation: LabelledTable | None,
    test: LabelledTable | None,
) -> tuple[EncodedRows, EncodedRows | None, list[str]]:
    """Return training and validation rows, test rows if there are any, and notes for the user.

    Rows that the user has provided are compared with those of the table.
    """
    development = fitted.encode(data, np.concatenate([split.train, split.validation]))
    if settings.scaling == "none":
        check_unscaled_values(fitted.encoder, development)
    test_rows = fitted.encode(data, split.test) if len(split.test) else None
    notes: list[str] = []
    provided: dict[str, EncodedRows | None] = {"validation": None, "test": None}
    for name, table in (("validation", validation), ("test", test)):
        if table is not None:
            with name_rows(f"in the {name} rows"):
                provided[name] = rows = fitted.encode(table)
            notes += note_unseen_categories(fitted.encoder, rows.encoded, name)
    notes += check_overlap([development, *filter(None, [test_rows])], provided)
    if test_rows is not None:
        notes += note_copies(development, test_rows)
    if provided["validation"] is not None:
        development = concatenate(development, provided["validation"])
    return development, test_rows if provided["test"] is None else provided["test"], notes


def _add_leaks_and_trees(
    prepared: PreparedData,
    data: LabelledTable,
    split: Split,
    settings: RunSettings,
    validation: LabelledTable | None,
    test: LabelledTable | None,
) -> PreparedData:
    """Return the data with what follows from columns that are not encoded.

    These are notes on leaks of the target, and the rows of boosted trees, if they are wanted.
    """
    train = TableSubset(data.features, split.train)
    held_out = _select_rows(validation, data, split.validation)
    leaks = note_leaks(prepared, train, held_out, seed=settings.seed)
    prepared = replace(prepared, notes=(*prepared.notes, *leaks))
    if not settings.reference_models or prepared.test is None:
        return prepared
    tested = _select_rows(test, data, split.test)
    trees = make_tree_data(prepared, train, held_out, tested, seed=settings.seed)
    return replace(prepared, trees=trees)


def _number_rows(data: LabelledTable, split: Split, validation: LabelledTable | None) -> IntArray:
    """Return the numbers of training, validation and test rows in the tables of the user."""
    held_out = data.row_numbers[split.validation] if validation is None else validation.row_numbers
    return np.concatenate([data.row_numbers[split.train], held_out, data.row_numbers[split.test]])


def _select_rows(
    provided: LabelledTable | None, data: LabelledTable, rows: IntArray
) -> TableSubset:
    """Return all rows that the user has provided, or these rows of the table."""
    if provided is None:
        return TableSubset(data.features, rows)
    return TableSubset(provided.features, np.arange(len(provided)))


def note_unseen_categories(encoder: TableEncoder, encoded: EncodedTable, part: str) -> list[str]:
    """Warn of columns with many categories that the training rows do not have."""
    unseen = UnseenCategories(encoder)
    unseen.add(encoded)
    notes = [f"in the {part} rows, {note}" for note in unseen.notes()]
    for note in notes:
        warnings.warn(note, DataWarning, stacklevel=2)
    return notes


def _note_rare_classes(
    data: LabelledTable, train: IntArray, settings: RunSettings
) -> tuple[str, ...]:
    if not isinstance(data.target, ClassTarget):
        return ()
    rows = np.bincount(data.y[train], minlength=len(data.target.classes))
    return note_rare_classes(data.target, rows, settings)


def _count_folds(
    settings: RunSettings,
    development: EncodedRows,
    groups: IntArray | None,
    *,
    has_validation: bool,
) -> int:
    """Return the number of folds of the cross-validation; 0 if validation rows are used.

    There are no folds if the user provides validation rows, if rows are split by time, or if there
    are too few groups or rows: without two of the folds, a teacher must still have some.
    """
    rows = len(development)
    if rows > MAX_CROSS_VALIDATED_ROWS or has_validation or settings.split == "time":
        return 0
    if groups is not None:
        return FOLDS if len(np.unique(groups)) >= 2 * FOLDS else 0
    folds = min(FOLDS, rows // 2)
    return folds if folds > 2 else 0


def _check_same_target(name: str, provided: LabelledTable, data: LabelledTable) -> LabelledTable:
    """Check that provided rows have the target of the table; return those that have weight."""
    provided = provided.drop_zero_weights()
    if not len(provided):
        raise TabNASError(f"the {name} part must have rows with a target, but it has none")
    same = provided.target == data.target
    if isinstance(provided.target, NumberTarget) and isinstance(data.target, NumberTarget):
        same = True  # their units are those of the training rows
    if not same:
        raise TabNASError(
            f"the {name} part must have the target of the table, classes in the same order, "
            "but it has another; make it with LabelledTable.from_table(table, data.target)"
        )
    return provided


def _sample(features: Table, encoder: TableEncoder, rows: IntArray) -> Table:
    """Return a copy of the first of these rows, so that the table can be freed."""
    if features.has_names:
        features = features.select([column.name for column in encoder.columns])
    taken = features.take(rows[:SAMPLE_ROWS])
    return Table(taken.arrow.combine_chunks(), has_names=features.has_names)
