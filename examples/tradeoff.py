"""Compare limits: the trade-off between cost and quality, as a curve in text.

One SuperNet is used for all limits. With --out the curve is also written to a CSV file.
"""

import argparse
import csv
from pathlib import Path

from tabnas.data import load_dataset
from tabnas.runs import LabelledTable, RunSettings, build_tradeoff_result, plan_tradeoff

LIMITS = (700, 1_000, 1_500, 3_000)

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--out", type=Path, help="file for the curve, CSV")
out = parser.parse_args().out

digits = load_dataset("digits")
settings = RunSettings(
    limits={"parameters": LIMITS[0]}, metric="accuracy", candidates=1, reference_models=False
)
planned = plan_tradeoff(LabelledTable.from_table(digits.table, digits.target), settings, LIMITS)
curve = build_tradeoff_result(planned, planned.execute())

rows = [
    {
        "limit": model.limit,
        "network": str(model.architecture),
        "parameters": model.costs["parameters"].value,
        "accuracy": model.validation_score,
        "pareto_optimal": model.pareto_optimal,
    }
    for model in curve.models
]
print(f"digits: errors by {curve.chosen_by}, a star where nothing cheaper is as good\n")
for row in rows:
    error = 1 - row["accuracy"]
    star = "*" if row["pareto_optimal"] else " "
    print(
        f"{row['network']:>8}  {row['parameters']:5,} of {row['limit']:5,} parameters"
        f"  {star}{error:.1%} {'#' * round(500 * error)}"
    )

if out is not None:
    with out.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    print(f"\n{out} has the curve")
