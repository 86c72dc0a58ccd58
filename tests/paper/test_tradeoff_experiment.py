from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabnas.cli._main import run
from tabnas.paper._experiment import read_definition
from tabnas.paper._tables import paper_table
from tabnas.paper.experiments._bottleneck import has_bottleneck, narrowing
from tabnas.paper.experiments._pareto import EVIDENT, Tradeoff, bottlenecks, on_front
from tabnas.space import Architecture

pytest.importorskip("matplotlib")

PRINTED = {  # inputs, and the paper's table of Pareto-optimal architectures
    1027: "32-144-24-112 48-112-8-80 48-384-16-176 96-144-32-240 96-384-48-16 32-240-16-8-96 "
    "48-128-64-16-128 48-256-16-8-384 64-144-48-96-160 96-512-24-256-48",
    180: "48-112-16-24 32-112-24-224 48-160-32-144 48-256-24-112 80-208-32-64 "
    "64-64-160-48-16-144-16-8-48 80-144-32-112-32-8-128-8-144 112-144-32-32-24-24-24-128-32 "
    "144-128-112-16-16-48-144-24-160 160-144-144-32-112-32-48-32-144",
}
PRINTED_ONES = [(name, inputs) for inputs, names in PRINTED.items() for name in names.split()]


@pytest.mark.parametrize(("name", "inputs"), PRINTED_ONES)
def test_what_the_paper_calls_a_bottleneck_is_one(name: str, inputs: int) -> None:
    assert has_bottleneck(Architecture.parse(name), inputs)
    assert narrowing(Architecture.parse(name), inputs) >= EVIDENT


@pytest.mark.parametrize(
    ("name", "inputs", "expected"),
    [
        ("linear", 10, False),
        ("4", 10, False),  # outputs are not a layer
        ("16-8", 10, False),
        ("8-16", 10, True),  # the first layer, between input and second
        ("8-16", 8, False),
        ("32-8-8-32", 10, True),  # two layers, one bottleneck
        ("32-16-16-8", 10, False),
    ],
)
def test_bottlenecks(name: str, inputs: int, expected: bool) -> None:
    assert has_bottleneck(Architecture.parse(name), inputs) == expected


@given(st.lists(st.integers(1, 6), min_size=0, max_size=6), st.integers(1, 6))
def test_a_bottleneck_is_a_valley_of_the_widths(widths: list[int], inputs: int) -> None:
    levels = [width for width, _ in groupby((inputs, *widths))]
    valleys = [b for a, b, c in zip(levels, levels[1:], levels[2:], strict=False) if a > b < c]
    assert has_bottleneck(Architecture(tuple(widths)), inputs) == bool(valleys)


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=30))
def test_the_front_is_what_nothing_dominates(points: list[tuple[int, int]]) -> None:
    front = on_front(*zip(*points, strict=True))

    def dominates(a: tuple[int, int], b: tuple[int, int]) -> bool:
        return a[0] <= b[0] and a[1] <= b[1] and a != b

    for point, optimal in zip(points, front, strict=True):
        assert optimal == (not any(dominates(other, point) for other in points))


def test_expected_bottlenecks_are_those_of_the_same_cost() -> None:
    rows = [
        {"parameters": 100, "losses": [0.5], "narrowing": 0.5},  # the front
        {"parameters": 105, "losses": [0.6], "narrowing": 3.0},
        {"parameters": 1_000, "losses": [0.1, 0.3], "narrowing": 3.0},  # the front
        {"parameters": 5_000, "losses": [0.4], "narrowing": 0.5},
    ]
    points = Tradeoff(rows)
    counted = bottlenecks(points, points.narrowing > 1, same_cost=0.1)
    assert (counted.front, counted.front_with, counted.others, counted.others_with) == (2, 1, 2, 1)
    assert counted.expected == 0.5 + 1.0
    assert counted.p_value == 1


def test_the_command_shows_what_the_fronts_are_made_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "tradeoff"
    assert run(["paper", "tradeoff", "--quick", "--out", str(out)]) == 0
    text = capsys.readouterr().out
    assert "letter, all" in text
    assert "volkert" in text  # named, since it is not there
    summary = json.loads((out / "summary.json").read_text())
    found = {own["title"]: own for own in summary["tradeoffs"]}
    assert set(found) == {"letter, all", "letter, 3 layers", "higgs, sampled"}
    letter = found["letter, all"]
    assert letter["architectures"] == 585
    # on letter the paper's pattern does not hold: good networks widen once, then narrow
    counted = letter["bottlenecks"]
    assert counted["front_with"] < counted["expected_at_the_same_cost"]
    assert counted["p_value"] < 0.01
    for own in found.values():
        costs, losses = ([one[key] for one in own["pareto"]] for key in ("parameters", "loss"))
        assert len(costs) == own["bottlenecks"]["front"]
        assert costs == sorted(costs)
        assert losses == sorted(losses, reverse=True)
    names = {path.name for path in out.iterdir()}
    assert names == {"README.md", "rows.parquet", "summary.json", "tradeoff.png", "tradeoff.svg"}
    _check_steps(pq.read_table(out / "rows.parquet").to_pylist())


def _check_steps(rows: list[dict]) -> None:
    """Sampled architectures are where their steps say."""
    said = read_definition("tradeoff", quick=True)["sampled"]
    sampled = [row for row in rows if row["part"] == "sampled"]
    assert len(sampled) == said["steps"] * said["architectures"]
    limit = paper_table("higgs").prepare(None).limit
    low, high = said["range"]
    edges = np.geomspace(low, high, said["steps"] + 1) * limit
    for row in sampled:
        assert edges[row["step"]] < row["parameters"] <= edges[row["step"] + 1]
