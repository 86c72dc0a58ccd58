"""Predict with an exported file: onnxruntime and NumPy, no tabnas.

python examples/deploy/python/answer.py parcels.onnx
"""

import calendar
import json
import sys
from datetime import UTC, datetime
from typing import Any

import numpy as np
import onnxruntime

DTYPES = {"float64": np.float64, "int64": np.int64, "string": object}
MISSING = {"float64": np.nan, "int64": np.iinfo(np.int64).min, "string": ""}


class Answerer:
    """Predicts labels, and probabilities in the order of `classes`, with an exported file."""

    def __init__(self, path: str) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # networks of this size gain nothing from more
        self._session = onnxruntime.InferenceSession(path, options)
        metadata = self._session.get_modelmeta().custom_metadata_map
        self.columns = json.loads(metadata["tabnas.columns"])  # by name: kind, type
        self.classes = json.loads(metadata["tabnas.classes"])

    def __call__(self, rows: list[dict[str, Any]]) -> tuple[np.ndarray, np.ndarray]:
        inputs = {}
        for name, column in self.columns.items():
            values = [[_value(row[name], column["type"])] for row in rows]
            inputs[name] = np.array(values, DTYPES[column["type"]])
        label, probabilities = self._session.run(None, inputs)
        return label, probabilities


def _value(value: Any, dtype: str) -> Any:
    """Return one value as the file expects it; None is a missing value."""
    if value is None:
        return MISSING[dtype]
    if isinstance(value, datetime):  # whole seconds; without a time zone it is UTC
        return calendar.timegm(value.utctimetuple())
    return str(value).strip() if dtype == "string" else value


NAMES = ("weight_kg", "insured", "country", "zone", "sent")
ROWS = [
    (3.2, True, "Norway", 3, datetime(2025, 6, 13, 8, 30, tzinfo=UTC)),
    (None, False, "Spain", 1, datetime(2025, 3, 3, tzinfo=UTC)),
    (9.75, None, "Peru", 9, None),  # Peru and zone 9 do not occur in training
    (None, None, None, None, None),
]

if __name__ == "__main__":
    answer = Answerer(sys.argv[1])
    print(json.dumps(answer.classes))
    answers = answer([dict(zip(NAMES, row, strict=True)) for row in ROWS])
    for label, shares in zip(*answers, strict=True):
        print(f"{label:8}", *(f"{share:.4f}" for share in shares))
