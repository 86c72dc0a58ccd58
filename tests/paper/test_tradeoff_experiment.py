from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabnas.cli._main import run
from tabnas.paper._experiment import read_definition
from tabnas.paper._tables import paper_table
from tabnas.paper.experiments._pareto import Tradeoff, bottlenecks, on_front

pytest.importorskip("matplotlib")


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


@pytest.mark.slow
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
