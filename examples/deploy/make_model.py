"""Create the files for the deployment examples, from a synthetic table of parcels.

The table has a column of every kind: numbers with missing values, booleans, text categories,
integer categories, and dates.

    python examples/deploy/make_model.py --out parcels.onnx --c parcels
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from tabnas import TabNASClassifier

COUNTRIES = ["Austria", "Denmark", "Norway", "Spain"]


def parcels(rows: int = 800) -> tuple[pd.DataFrame, pd.Series]:
    """Return a table of parcels, and the outcome of each."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "weight_kg": rng.gamma(2, 2, rows).round(2),
            "insured": rng.random(rows) < 0.3,
            "country": rng.choice(COUNTRIES, rows),
            "zone": rng.integers(1, 6, rows),
            "sent": pd.Timestamp("2025-01-01") + pd.to_timedelta(rng.integers(0, 365, rows), "D"),
        }
    )
    slow = 0.3 * table.weight_kg + table.zone + (table.country == "Norway") - ~table.insured
    slow += 1.5 * (table.sent.dt.day_of_week >= 4) + rng.normal(0, 0.7, rows)
    outcome = pd.cut(slow, [-np.inf, 3.5, 6.0, np.inf], labels=["early", "on time", "late"])
    table.loc[rng.random(rows) < 0.1, ["weight_kg"]] = np.nan
    table.loc[rng.random(rows) < 0.1, ["country"]] = None
    return table, outcome.astype(str).rename("outcome")


def make(out: Path, c: Path | None = None) -> TabNASClassifier:
    """Find a network with at most 800 parameters, and export it, also as C if there is a folder."""
    table, outcome = parcels()
    model = TabNASClassifier(
        max_parameters=800, categorical_features=["zone"], candidates=1, random_state=0
    ).fit(table, outcome)
    exported = model.export_onnx(out, table)
    print(f"{out}: {model.architecture_}, {exported.parameters} parameters, {exported.bytes} bytes")
    print(f"takes {exported.inputs}")
    print(f"gives {exported.outputs}, as the model does to {exported.parity.difference:.0e}")
    if c is not None:
        files = model.export_c(c, table)
        print(f"{files.header}, {files.source}: {files.size.weight_bytes} bytes of weights")
    return model


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="where to write; ends in .onnx")
    parser.add_argument("--c", type=Path, help="the folder for model.h and model.c")
    options = parser.parse_args()
    make(options.out, options.c)
