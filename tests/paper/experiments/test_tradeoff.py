from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from tabnas.cli._main import run
from tabnas.paper._experiment import read_definition
from tabnas.paper._tables import get_paper_table
from tabnas.paper.experiments.tradeoff._bottlenecks import Tradeoff, count_bottlenecks

pytest.importorskip("matplotlib")


def test_expected_bottlenecks_are_those_of_the_same_cost() -> None:
    rows = [
        {"parameters": 100, "losses": [0.5], "bottleneck_ratio": 0.5},  # the front
        {"parameters": 105, "losses": [0.6], "bottleneck_ratio": 3.0},
        {"parameters": 1_000, "losses": [0.1, 0.3], "bottleneck_ratio": 3.0},  # the front
        {"parameters": 5_000, "losses": [0.4], "bottleneck_ratio": 0.5},
    ]
    points = Tradeoff(rows)
    counts = count_bottlenecks(points, points.ratios > 1, cost_tolerance=0.1)
    assert [counts[key] for key in ("front", "front_with", "others", "others_with")] == [2, 1, 2, 1]
    assert counts["expected_at_same_cost"] == 0.5 + 1.0
    assert counts["p_value"] == 1


@pytest.mark.slow
def test_the_command_reports_the_fronts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "tradeoff"
    assert run(["paper", "tradeoff", "--quick", "--out", str(out)]) == 0
    text = capsys.readouterr().out
    assert "letter, all" in text
    assert "volkert" in text  # its file is missing
    summary = json.loads((out / "summary.json").read_text())
    tradeoffs = {tradeoff["title"]: tradeoff for tradeoff in summary["tradeoffs"]}
    assert set(tradeoffs) == {"letter, all", "letter, 3 layers", "higgs, sampled"}
    letter = tradeoffs["letter, all"]
    assert letter["architectures"] == 585
    # on letter the paper's pattern does not hold: good networks widen once, then narrow
    counts = letter["bottlenecks"]
    assert counts["front_with"] < counts["expected_at_same_cost"]
    assert counts["p_value"] < 0.01
    for tradeoff in tradeoffs.values():
        front = tradeoff["pareto"]
        costs, losses = ([point[key] for point in front] for key in ("parameters", "loss"))
        assert len(costs) == tradeoff["bottlenecks"]["front"]
        assert costs == sorted(costs)
        assert losses == sorted(losses, reverse=True)
    names = {path.name for path in out.iterdir()}
    assert names == {"README.md", "rows.parquet", "summary.json", "tradeoff.png", "tradeoff.svg"}
    _check_intervals(pq.read_table(out / "rows.parquet").to_pylist())


def _check_intervals(rows: list[dict]) -> None:
    """Check that sampled architectures have costs within their intervals."""
    definition = read_definition("tradeoff", quick=True)["sampled"]
    sampled = [row for row in rows if row["part"] == "sampled"]
    assert len(sampled) == definition["intervals"] * definition["architectures"]
    limit = get_paper_table("higgs").prepare(None).limit
    low, high = definition["range"]
    edges = np.geomspace(low, high, definition["intervals"] + 1) * limit
    for row in sampled:
        assert edges[row["interval"]] < row["parameters"] <= edges[row["interval"] + 1]
