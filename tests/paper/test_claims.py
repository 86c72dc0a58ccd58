from __future__ import annotations

import json
from pathlib import Path

import pytest

from tabnas import TabNASError
from tabnas.paper import render_claims
from tabnas.paper._claims import Claim

RESULTS = Path(__file__).parents[2] / "results"


def test_the_page_matches_the_results() -> None:
    assert (RESULTS / "README.md").read_text() == render_claims(RESULTS)


def claim(ours: str, *holds: str) -> Claim:
    return Claim(
        about="a", claim="b", paper="c", file="toy", ours=ours, verdict="agrees", holds=holds
    )


@pytest.fixture
def results(tmp_path: Path) -> Path:
    rows = [
        {"name": "abs", "rate": 0.1, "success": 0.25},
        {"name": "ours", "rate": 0.1, "success": 0.875},
        {"name": "ours", "rate": 0.2, "success": 0.5},
    ]
    ends = [{"adam": {"epsilon": epsilon}, "end": 10 * epsilon} for epsilon in (1, 2)]
    content = {"rows": rows, "ends": ends, "course": [0.1, 0.4, 0.7]}
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "summary.json").write_text(json.dumps(content))
    return tmp_path


def test_fields_of_a_file(results: Path) -> None:
    assert claim("{rows[name=abs][success]:.2f} of 1").evaluate(results)[0] == "0.25 of 1"
    assert claim("{rows[name=ours&rate=0.2][success]:.0%}").evaluate(results)[0] == "50%"
    assert claim("{ends[adam.epsilon=2][end]}").evaluate(results)[0] == "20"
    assert claim("{rows[*success][max]:.3f}").evaluate(results)[0] == "0.875"
    assert claim("{rows[?name=ours][*success][min]:.3f}").evaluate(results)[0] == "0.500"
    assert claim("{rows[?name=ours][count]}, {course[last]}").evaluate(results)[0] == "2, 0.7"


@pytest.mark.parametrize(
    "ours",
    [
        "{nothing}",
        "{rows[name=none][success]}",
        "{rows[name=ours][success]}",  # two have it
        "{rows[name=abs][failure]}",
        "{rows[0][success]}",  # a row that moves would show another's number
    ],
)
def test_missing_fields_raise_an_error(results: Path, ours: str) -> None:
    with pytest.raises(TabNASError, match="must name fields"):
        claim(ours).evaluate(results)


def test_the_conditions_of_a_verdict_must_hold(results: Path) -> None:
    condition = "{rows[name=abs][success]} < {rows[name=ours&rate=0.1][success]}"
    assert claim("yes", condition, "{course[last]} >= 0.7").evaluate(results)[0] == "yes"
    with pytest.raises(TabNASError, match=r"needs .* got '0.25 > 0.5'"):
        claim("yes", condition, "{rows[name=abs][success]} > 0.5").evaluate(results)


def test_results_must_exist(tmp_path: Path) -> None:
    with pytest.raises(TabNASError, match="run the experiment first"):
        claim("1").evaluate(tmp_path)
