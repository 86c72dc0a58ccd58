from __future__ import annotations

import json
from pathlib import Path

import pytest

from tabnas import TabnasError
from tabnas.paper import claims_page
from tabnas.paper._claims import Claim

RESULTS = Path(__file__).parents[2] / "results"


def test_the_page_holds_the_numbers_of_the_results() -> None:
    assert (RESULTS / "README.md").read_text() == claims_page(RESULTS)


def claim(ours: str) -> Claim:
    return Claim(about="a", claim="b", paper="c", file="toy", ours=ours, verdict="agrees")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    content = {"rows": [{"name": "abs", "success": 0.25}, {"name": "ours", "success": 0.875}]}
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "summary.json").write_text(json.dumps(content))
    return tmp_path


def test_places_of_a_file(results: Path) -> None:
    assert claim("{rows[1][success]:.1%}").found(results)[0] == "87.5%"
    assert claim("{rows[name=abs][success]:.2f} of 1").found(results)[0] == "0.25 of 1"
    assert claim("{rows[*success][max]:.3f}").found(results)[0] == "0.875"
    assert claim("{rows[?name=ours][*success][mean]:.3f}").found(results)[0] == "0.875"


@pytest.mark.parametrize("ours", ["{nothing}", "{rows[7][success]}", "{rows[0][failure]}"])
def test_places_that_are_not_there_are_named(results: Path, ours: str) -> None:
    with pytest.raises(TabnasError, match="must name places"):
        claim(ours).found(results)


def test_results_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(TabnasError, match="make them first"):
        claim("1").found(tmp_path)
