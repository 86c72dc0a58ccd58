"""Messy tables as users have them: how the rows to learn from are written, and new rows.

All new rows of a messy table are the same rows, written in different ways, so a model must answer
all of them alike. They are generated, never stored.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

ROWS, NEW = 120, 30
Column = list[str]


@dataclass(frozen=True, kw_only=True)
class MessyTable:
    """A column `x` that decides the class `y`, beside a number `n`."""

    name: str
    write: Callable[[int], str]  # of a code: the text in the rows to learn from
    others: dict[str, Callable[[int], str]] = field(default_factory=dict)  # in new rows
    values: Sequence[int]  # the codes
    separator: str = ","
    number: Callable[[float], str] = "{:.2f}".format  # how the other column is written
    odd: str | None = None  # one text among the new rows, in their last one
    options: tuple[str, ...] = ()
    kind: str
    note: str = ""  # among those of the run

    def train(self) -> dict[str, Column]:
        return self._columns(ROWS, 0, self.write)

    def new(self) -> dict[str, dict[str, Column]]:
        """The same rows in each of the ways to write them; the last row may be odd."""
        ways = {"as in training": self.write} | self.others
        found = {way: self._columns(NEW, 1, write) for way, write in ways.items()}
        if self.odd is not None:
            odd = {name: list(column) for name, column in found["as in training"].items()}
            odd["x"][-1] = self.odd
            found["with one odd text"] = odd
        return found

    def _columns(self, rows: int, seed: int, write: Callable[[int], str]) -> dict[str, Column]:
        rng = np.random.default_rng(seed)
        codes = rng.choice(list(self.values), size=rows)
        middle = np.median(self.values)
        return {
            "x": [write(int(code)) for code in codes],
            "n": [self.number(n) for n in rng.normal(5, 2, rows)],
            "y": ["yes" if code > middle else "no" for code in codes],
        }


def write_table(path: Path, columns: dict[str, Column], separator: str) -> Path:
    """A CSV file, with quotes where they are needed."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    path.write_text(text.getvalue(), encoding="utf-8")
    return path


def _comma(pattern: str) -> Callable[[float], str]:
    return lambda number: pattern.format(number).replace(".", ",")


def _european(number: float) -> str:
    return f"{number:,.2f}".translate(str.maketrans(",.", ".,"))


CODES = {
    "without zeros": str,
    "as floats": "{:.1f}".format,
    "with spaces": " {:02d} ".format,
}
PRICES = range(200, 9_000, 97)
MESSY_TABLES = [
    MessyTable(
        name="codes with leading zeros, declared",
        write="{:02d}".format,
        others=CODES,
        values=range(1, 7),
        odd="UNK",
        options=("--categorical", "x"),
        kind="categorical: 6 categories;",
    ),
    MessyTable(
        name="codes with leading zeros, found",
        write="{:05d}".format,
        others={"without zeros": str},
        values=(1067, 8001, 10115, 20095, 50667, 80331),
        odd="unknown",
        kind="categorical: 6 categories;",
        note="holds codes with leading zeros such as '0",
    ),
    MessyTable(
        name="codes as floats, declared",
        write="{:.1f}".format,
        others={"as whole numbers": str, "with zeros": "{:03d}".format},
        values=range(1, 7),
        odd="UNK",
        options=("--categorical", "x"),
        kind="categorical: 6 categories;",
    ),
    MessyTable(
        name="truth values, declared",
        write=lambda code: str(bool(code)),
        others={
            "in lower case": lambda code: str(bool(code)).lower(),
            "as numbers": str,
            "as floats": "{:.1f}".format,
        },
        values=(0, 1),
        odd="unknown",
        options=("--categorical", "x"),
        kind="categorical: 2 categories;",
    ),
    MessyTable(
        name="truth values",
        write=lambda code: str(bool(code)),
        others={
            "as numbers": str,
            "as floats": "{:.1f}".format,
            "loud": lambda c: ["FALSE", "TRUE"][c],
        },
        values=(0, 1),
        kind="boolean",
    ),
    MessyTable(
        name="numbers with zeros before them",
        write=lambda code: f"{'0' * (code % 3)}{code}",
        others={"without zeros": str},
        values=range(1, 90),
        kind="numeric",
        note="leading zeros of the column 'x' are dropped",
    ),
    MessyTable(
        name="dollars",
        write=lambda price: f"${price:,.2f}",
        others={
            "plain": "{:.2f}".format,
            "whole": str,
            "behind": lambda price: f"{price:,.2f} $",
            "without cents": lambda price: f"$ {price:,}",
        },
        values=PRICES,
        kind="numeric",
        note="are read as numbers, '$",
    ),
    MessyTable(
        name="thousands",
        write="{:,}".format,
        others={"plain": str, "with spaces": lambda price: f"{price:,}".replace(",", "\u202f")},
        values=PRICES,
        kind="numeric",
        note="with the decimal mark '.'; give another with --decimal",
    ),
    MessyTable(
        name="thousands by spaces",
        write=lambda price: f"{price:,}".replace(",", " "),
        others={"plain": str, "not breaking": lambda price: f"{price:,}".replace(",", "\u00a0")},
        values=PRICES,
        kind="numeric",
        note="are read as numbers, '",
    ),
    MessyTable(
        name="per cent",
        write="{} %".format,
        others={"plain": str, "close": "{}%".format},
        values=range(1, 90),
        kind="numeric",
        note="are read as numbers, '",
    ),
    MessyTable(
        name="losses in brackets",
        write=lambda price: f"({-price:,.2f})" if price < 0 else f"{price:,.2f}",
        others={"plain": "{:.2f}".format, "with a minus": "{:,.2f}".format},
        values=range(-4_000, 4_000, 97),
        kind="numeric",
        note="are read as numbers, '",
    ),
    MessyTable(
        name="euros in a file of semicolons",
        write=lambda price: f"{_european(price)} €",
        others={"without a sign": _european, "plain": _comma("{:.2f}")},
        values=PRICES,
        separator=";",
        number=_comma("{:.2f}"),
        kind="numeric",
        note="are read as numbers, '",
    ),
    MessyTable(
        name="thousands in a file of decimal commas",
        write=lambda price: f"{price:,}".replace(",", "."),
        others={"plain": str, "with decimals": _european},
        values=PRICES,
        separator=";",
        number=_comma("{:.2f}"),
        kind="numeric",
        note="with the decimal mark ','",
    ),
    MessyTable(
        name="decimal commas between tabs",
        write=lambda price: f"{price:,}".replace(",", "."),
        others={"plain": str},
        values=range(1_000, 9_000, 97),
        separator="\t",
        number=_comma("{:.2f}"),
        kind="numeric",
        note="with the decimal mark ','",
    ),
    MessyTable(
        name="gaps",
        write=lambda code: "-" if code % 7 == 0 else str(code),
        others={
            mark: lambda code, mark=mark: mark if code % 7 == 0 else str(code)  # type: ignore[misc]
            for mark in ("", "?", "n/a", "N/A", "null", "NULL", "none", "None", "NaN", "-")
        },
        values=range(1, 90),
        kind="numeric",
    ),
]
