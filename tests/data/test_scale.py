"""Wide tables and long tables."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from tabnas import TabNASError
from tabnas.data import Table, TableEncoder


def test_a_table_with_thousands_of_columns() -> None:
    rng = np.random.default_rng(0)
    makers = [
        lambda: rng.normal(size=50),
        lambda: rng.choice(["a", "b", "c"], 50),
        lambda: rng.choice(["1", "2.5", "?"], 50),
        lambda: rng.choice([True, False], 50),
    ]
    table = Table.from_data({f"column {i}": makers[i % 4]() for i in range(4_000)})
    encoder = TableEncoder.fit(table)
    rows = rng.permutation(50)
    encoded = encoder.encode(table, rows)
    assert len(encoder.n_categories) == 1_000
    assert encoded.numeric.shape == (50, len(encoder.features))
    assert TableEncoder.from_dict(encoder.to_dict()).describe() == encoder.describe()
    with pytest.raises(TabNASError, match="must have the column 'column 3999'"):
        encoder.encode(table.drop(["column 3999"]))


MEASURE = """
import json, tracemalloc
import numpy as np, pyarrow as pa
from tabnas.data import Table, TableEncoder

rows = 200_000
rng = np.random.default_rng(0)
makers = [
    lambda: rng.normal(size=rows),
    lambda: rng.integers(0, 5, rows),
    lambda: np.array(["one", "two", "three"])[rng.integers(0, 3, rows)],
    lambda: rng.choice([True, False], rows),
]
table = Table.from_data({f"c{i}": makers[i % 4]() for i in range(20)})
order = rng.permutation(rows)
encoder = TableEncoder.fit(table, rows=order[: rows // 2])
pool, before = pa.default_memory_pool(), pa.total_allocated_bytes()
tracemalloc.start()
encoded = encoder.encode(table, order)
peak = tracemalloc.get_traced_memory()[1] + pool.max_memory() - before
output = encoded.numeric.nbytes + encoded.categorical.nbytes
print(json.dumps({"peak": peak, "output": output, "rows": rows}))
"""


@pytest.mark.slow
def test_encoding_copies_only_a_few_columns() -> None:
    """A new process is used, since Arrow reports the peak since its start."""
    completed = subprocess.run(
        [sys.executable, "-c", MEASURE], capture_output=True, text=True, check=True
    )
    measured = json.loads(completed.stdout)
    column = 8 * measured["rows"]
    assert measured["peak"] < measured["output"] + 14 * column  # the table has 20 columns
