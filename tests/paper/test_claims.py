from __future__ import annotations

import json
from pathlib import Path

import pytest

from tabnas import TabNASError
from tabnas.paper import claims_page
from tabnas.paper._claims import Claim

RESULTS = Path(__file__).parents[2] / "results"


def test_the_page_holds_the_numbers_of_the_results() -> None:
    assert (RESULTS / "README.md").read_text() == claims_page(RESULTS)


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
    ends = [{"adam": {"rate": rate}, "end": 10 * rate} for rate in (1, 2)]
    content = {"rows": rows, "ends": ends, "course": [0.1, 0.4, 0.7]}
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "summary.json").write_text(json.dumps(content))
    return tmp_path


def test_places_of_a_file(results: Path) -> None:
    assert claim("{rows[name=abs][success]:.2f} of 1").found(results)[0] == "0.25 of 1"
    assert claim("{rows[name=ours&rate=0.2][success]:.0%}").found(results)[0] == "50%"
    assert claim("{ends[adam.rate=2][end]}").found(results)[0] == "20"
    assert claim("{rows[*success][max]:.3f}").found(results)[0] == "0.875"
    assert claim("{rows[?name=ours][*success][min]:.3f}").found(results)[0] == "0.500"
    assert claim("{rows[?name=ours][count]}, {course[last]}").found(results)[0] == "2, 0.7"


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
def test_places_that_are_not_there_are_named(results: Path, ours: str) -> None:
    with pytest.raises(TabNASError, match="must name places"):
        claim(ours).found(results)


def test_a_verdict_rests_on_what_holds(results: Path) -> None:
    rests = "{rows[name=abs][success]} < {rows[name=ours&rate=0.1][success]}"
    assert claim("yes", rests, "{course[last]} >= 0.7").found(results)[0] == "yes"
    with pytest.raises(TabNASError, match=r"must rest on .* but that is '0.25 > 0.5'"):
        claim("yes", rests, "{rows[name=abs][success]} > 0.5").found(results)


def test_results_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(TabNASError, match="make them first"):
        claim("1").found(tmp_path)
