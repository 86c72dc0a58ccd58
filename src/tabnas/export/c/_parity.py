"""Whether compiled files predict the same as the model, and find the same codes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tabnas.data import NA_VALUES, Table, to_texts
from tabnas.data.columns import CategoricalColumn, HashedColumn
from tabnas.data.lowlevel import decode_dictionary, is_text, renumber_rows
from tabnas.errors import TabNASError
from tabnas.export._inputs import MISSING_INTEGER, parse_integer
from tabnas.export._parity import (
    MAX_ROWS,
    Parity,
    choose_rows,
    compare_predictions,
    make_predictable_probes,
)
from tabnas.export._preprocessing import encode_texts
from tabnas.export.c._compiled_model import CompiledModel
from tabnas.export.c._lookups import Lookup
from tabnas.export.c._program import Program
from tabnas.export.c._row import make_rows, missing_code
from tabnas.types import IntArray

UNSEEN_TEXTS = (
    *("a text", "other", "Zürich", "東京", "!", "~", "-", "+", ".", "1.", ".5", "+.5", "-0.0"),
    *("00", "1e3", "1e-07", "0x10", "1_000", "1,000", "12a", "1.5.0", "--1", "TRUE", "truely"),
)
UNSEEN_INTEGER = -(2**63) + 1


def check_compiled(
    program: Program, compiled: CompiledModel, rows: Table | None, compiler: str
) -> Parity:
    """Compare a compiled model on synthetic and given rows; raise an error if it differs.

    `compiler` is what errors call the runtime.
    """
    for lookup in program.lookups:
        _check_lookup(lookup, compiled)
    probes = make_predictable_probes(program.model)
    results = [_compare(program, compiled, probes, "synthetic rows", compiler)]
    n_rows = 0
    if rows is not None and len(rows):
        numbers = choose_rows(len(rows), MAX_ROWS)
        n_rows = len(numbers)
        with renumber_rows(numbers):
            some = rows.take(numbers)
            results.append(_compare(program, compiled, some, "given rows", compiler, numbers))
    difference, tolerance = max(results)
    return Parity(
        runtime=compiler,
        rows=n_rows,
        probe_rows=len(probes),
        difference=difference,
        tolerance=tolerance,
    )


def _compare(
    program: Program,
    compiled: CompiledModel,
    rows: Table,
    description: str,
    compiler: str,
    numbers: IntArray | None = None,
) -> tuple[float, float]:
    model = program.model
    y_pred, classes = compiled.predict(make_rows(model.encoder, program.fields, rows))
    labels = None if classes is None else np.array(model.classes, dtype=object)[classes]
    return compare_predictions(model, rows, y_pred, labels, compiler, description, numbers)


def check_lookups(program: Program, compiled: CompiledModel, rows: Table | None) -> int:
    """Look up all categories of given rows as they are written there, and return their number.

    Raise an error if one has another code than in the model. Texts with a zero byte, which C cannot
    pass, are left out, as are texts for functions that take integers.
    """
    if rows is None or not len(rows):
        return 0
    sample = rows.take(choose_rows(len(rows), MAX_ROWS))
    table = program.model.encoder.match_columns(sample)
    n_texts = 0
    for lookup in program.lookups:
        column = lookup.field.column
        assert isinstance(column, CategoricalColumn | HashedColumn)
        values = decode_dictionary(table.column(column.name))
        texts = (values if is_text(values) else to_texts(values)).unique().drop_null().to_pylist()
        expected: dict[bytes | int | None, int] = {}
        for text, code in zip(texts, encode_texts(column, texts), strict=True):
            if not lookup.integers:
                expected |= {} if "\0" in text else {text.encode(): code}
            elif (number := parse_integer(text.strip())) not in (None, MISSING_INTEGER):
                expected[number] = code
        _compare_codes(lookup, compiled, expected)
        n_texts += len(expected)
    return n_texts


def _check_lookup(lookup: Lookup, compiled: CompiledModel) -> None:
    """Raise an error unless all categories, missing and unseen ones have the codes of the model."""
    column = lookup.field.column
    assert isinstance(column, CategoricalColumn | HashedColumn)
    missing = missing_code(column)
    expected: dict[bytes | int | None, int]
    if lookup.integers:
        expected = {UNSEEN_INTEGER: 0, MISSING_INTEGER: missing}
        for number, code in lookup.integers.items():
            expected[number] = code
    else:
        known = [form for text in lookup.texts for form in _list_forms(text)]
        texts = list(dict.fromkeys([*known, *UNSEEN_TEXTS]))
        codes = encode_texts(column, texts)
        expected = {text.encode(): code for text, code in zip(texts, codes, strict=True)}
        expected |= {text.encode(): missing for text in NA_VALUES} | {None: missing}
    _compare_codes(lookup, compiled, expected)


def _list_forms(text: str) -> list[str]:
    """Return how a category may be written in a table."""
    return [text, f" {text}\t", f"+{text}", f"0{text}", f"{text}.0", f"{text}0", text.upper()]


def _compare_codes(
    lookup: Lookup, compiled: CompiledModel, expected: Mapping[bytes | int | None, int]
) -> None:
    for value, code in expected.items():
        if (found := compiled.look_up(lookup, value)) != code:
            raise TabNASError(
                f"the code of the category {value!r} of {lookup.field.column.name!r} must be "
                f"{code}, but {lookup.name} returns {found}; nothing was written. This is a bug of "
                "tabnas or of the compiler"
            )
