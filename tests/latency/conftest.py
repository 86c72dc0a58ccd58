from __future__ import annotations

from tabnas.latency import (
    CallTable,
    ColumnTerms,
    EmbeddingTerms,
    LatencyTable,
    LatencyTerms,
    Machine,
)

TERMS = {
    1: LatencyTerms(call_us=8.0, layer_us=2.0, unit_us=0.002, output_us=0.01, weight_us=0.0001),
    256: LatencyTerms(call_us=10.0, layer_us=14.0, unit_us=0.2, output_us=0.02, weight_us=0.006),
}
COLUMNS = ColumnTerms(
    answer_us=1.0,
    quantities_us=10.0,
    quantity_us=2.0,
    category_us=3.0,
    moments_us=20.0,
    moment_us=4.0,
)


EMBEDDINGS = {
    1: EmbeddingTerms(
        embeddings_us=1.0, column_us=0.1, knot_us=0.002, input_us=0.01, entry_us=0.001
    ),
    256: EmbeddingTerms(
        embeddings_us=4.5, column_us=0.1, knot_us=0.12, input_us=0.15, entry_us=0.007
    ),
}


def make_latency_table(**changes: object) -> LatencyTable:
    """Make a table with invented numbers."""
    fields = {
        "machine": Machine(
            processor="a processor", system="a system", onnxruntime="1.0", threads=1
        ),
        "measured": "2025-12-31",
        "tabnas": "0.1.0",
        "calls": {
            rows: CallTable(
                rows=rows,
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
        },
    }
    return LatencyTable(**(fields | changes))
