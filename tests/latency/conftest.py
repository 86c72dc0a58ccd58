from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any, TypeVar

from tabnas.latency import (
    CallTable,
    ColumnTerms,
    EmbeddingTerms,
    LatencyTable,
    LatencyTerms,
    Machine,
)
from tabnas.space import Precision

T = TypeVar("T", LatencyTerms, ColumnTerms, EmbeddingTerms)
TERMS = {
    1: LatencyTerms(call_us=8.0, layer_us=2.0, unit_us=0.002, output_us=0.01, weight_us=0.0001),
    256: LatencyTerms(call_us=10.0, layer_us=14.0, unit_us=0.2, output_us=0.02, weight_us=0.006),
}
COLUMNS = ColumnTerms(
    answer_us=1.0,
    numeric_once_us=10.0,
    numeric_each_us=2.0,
    category_each_us=3.0,
    datetime_once_us=20.0,
    datetime_each_us=4.0,
)


EMBEDDINGS = {
    1: EmbeddingTerms(
        embeddings_us=1.0, column_us=0.1, knot_us=0.002, input_us=0.01, entry_us=0.001
    ),
    256: EmbeddingTerms(
        embeddings_us=4.5, column_us=0.1, knot_us=0.12, input_us=0.15, entry_us=0.007
    ),
}


C_TERMS = {
    Precision.FLOAT32: LatencyTerms(
        call_us=0.01,
        layer_us=0.02,
        unit_us=0.001,
        output_us=0.002,
        weight_us=0.0001,
        single_weight_us=0.0003,
    ),
    Precision.INT8: LatencyTerms(
        call_us=0.01,
        layer_us=0.03,
        unit_us=0.003,
        output_us=0.002,
        weight_us=0.0004,
        single_weight_us=0.0006,
    ),
}
"""For one row; 256 rows take 256 times as long."""
C_COLUMNS = ColumnTerms(
    answer_us=0.02,
    numeric_once_us=0.01,
    numeric_each_us=0.006,
    category_each_us=0.002,
    datetime_once_us=0.05,
    datetime_each_us=0.03,
)
C_EMBEDDINGS = EmbeddingTerms(
    embeddings_us=0.01, column_us=0.002, knot_us=0.0001, input_us=0.0005, entry_us=0.0
)


def multiply(terms: T, factor: float) -> T:
    """Return terms that are `factor` times as large."""
    return replace(terms, **{name: factor * us for name, us in list_terms(terms).items()})


def list_terms(terms: Any) -> dict[str, float]:
    """Return the terms by name, without those that are None."""
    return {name: us for name, us in asdict(terms).items() if us is not None}


def list_values(terms: Any) -> list[float]:
    """Return the values of all terms that are not None."""
    return list(list_terms(terms).values())


def make_c_table(**changes: object) -> LatencyTable:
    """Make a table of the runtime c with invented numbers, by rows and precision."""
    table = make_latency_table()
    machine = replace(table.machine, runtime="c", version="cc 1.0 -O2")
    calls = tuple(
        replace(
            table.find_call(rows),
            precision=precision,
            terms=multiply(terms, rows),
            columns=multiply(C_COLUMNS, rows),
            embeddings=multiply(C_EMBEDDINGS, rows),
        )
        for rows in TERMS
        for precision, terms in C_TERMS.items()
    )
    return replace(table, **({"machine": machine, "calls": calls} | changes))


def make_latency_table(**changes: object) -> LatencyTable:
    """Make a table with invented numbers."""
    fields = {
        "machine": Machine(
            processor="a processor",
            system="a system",
            runtime="onnxruntime",
            version="1.0",
            threads=1,
        ),
        "measured": "2025-12-31",
        "tabnas": "0.1.0",
        "calls": tuple(
            CallTable(
                rows=rows,
                precision=Precision.FLOAT32,
                terms=terms,
                columns=COLUMNS,
                embeddings=EMBEDDINGS[rows],
                fitted=60,
                held_out=40,
                median_error=0.03,
                p90_error=0.08,
                tables=16,
                tables_median_error=0.05,
                embedded=32,
                embedded_median_error=0.04,
                embedded_p90_error=0.09,
                spread=0.02,
            )
            for rows, terms in TERMS.items()
        ),
    }
    return LatencyTable(**(fields | changes))
