"""What several benchmarks share: options, samples of tables, and the writing of results."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tabnas.data import Table, load_dataset, read_table
from tabnas.paper import collect_provenance
from tabnas.runs import LabelledTable

Row = dict[str, Any]
"""What one run has measured."""


def make_parser(doc: str | None) -> ArgumentParser:
    """Return a parser with the folders of the tables and of the results."""
    parser = ArgumentParser(description=(doc or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder of the tables")
    parser.add_argument("--out", type=Path, required=True, help="the folder of the results")
    return parser


def sample_table(folder: Path, name: str, rng: np.random.Generator, max_rows: int) -> Table:
    """Read a random sample of a table's rows, in their order."""
    table = read_table(folder / f"{name}.parquet")
    return table.take(np.sort(rng.permutation(len(table))[:max_rows]))


def write_results(
    out: Path, name: str, content: Mapping[str, Any], page: str, *, indent: int = 1
) -> None:
    """Write the results as `name`.json and the page about them as `name`.md."""
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{name}.json").write_text(json.dumps(content, indent=indent) + "\n")
    (out / f"{name}.md").write_text(page)


def measure_pairs(
    options: Namespace,
    name: str,
    tables: Mapping[str, tuple[str, int]],
    kinds: Collection[str],
    execute: Callable[[str, LabelledTable, int, str], Row],
    report: Callable[[dict[str, Any], list[Row]], str],
) -> None:
    """Execute runs of several kinds on the same splits, and write the page after each table.

    The results of an interrupted benchmark are read, and their runs are not repeated.
    """
    path = options.out / f"{name}.json"
    rows = json.loads(path.read_text())["rows"] if path.exists() else []
    done = {(row["table"], row["seed"], row["kind"]) for row in rows}
    for seed in range(options.seeds):
        for table in options.tables:
            left = [kind for kind in kinds if (table, seed, kind) not in done]
            if not left:
                continue
            data = load_labelled(options, table, tables[table][0])
            for kind in left:
                rows.append(execute(table, data, seed, kind))
                print(json.dumps(rows[-1]), flush=True)
            data_option = "" if getattr(options, "data", None) is None else "--data ... "
            origin = collect_provenance(f"python benchmarks/{name}.py {data_option}--out results")
            write_results(options.out, name, origin | {"rows": rows}, report(origin, rows))


def load_labelled(options: Namespace, table: str, target: str) -> LabelledTable:
    """Read a table of the folder, or a dataset by its name if no folder is given."""
    if getattr(options, "data", None) is None:
        return LabelledTable.from_table(load_dataset(table).table, target)
    return LabelledTable.from_table(read_table(options.data / f"{table}.parquet"), target)


def pair_by_seed(rows: list[Row], table: str, kinds: Collection[str]) -> list[dict[str, Row]]:
    """Return the rows of a table by kind, for each seed that has all kinds."""
    seeds = sorted({row["seed"] for row in rows if row["table"] == table})
    pairs = [
        {row["kind"]: row for row in rows if (row["table"], row["seed"]) == (table, seed)}
        for seed in seeds
    ]
    return [pair for pair in pairs if len(pair) == len(kinds)]
