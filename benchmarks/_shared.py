"""What several benchmarks share: options, samples of tables, and the writing of results."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tabnas.data import Table, read_table


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
