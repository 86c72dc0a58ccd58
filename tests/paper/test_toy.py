from __future__ import annotations

import json
from pathlib import Path

import pytest

from tabnas.cli._main import run
from tabnas.paper._toy import Toy


@pytest.fixture(scope="module")
def toy() -> Toy:
    return Toy(seeds=400)


def test_the_problem_is_the_paper_s(toy: Toy) -> None:
    assert toy.name(toy.optimum) == "4-2"
    assert toy.feasible.count() == 6
    assert {str(a) for a in toy.feasible} == {"2-2", "2-3", "2-4", "3-2", "3-3", "4-2"}


@pytest.mark.parametrize(
    ("rate", "exact", "monte_carlo"),
    [(0.01, 1.0, 0.95), (0.02, 1.0, 0.91), (0.05, 0.92, 0.83), (0.1, 0.83, 0.71)],
)
def test_success_by_rate(toy: Toy, rate: float, exact: float, monte_carlo: float) -> None:
    """Known from an independent implementation with 100 seeds: standard error up to 0.05.

    Ours with 500 seeds are in results/toy/summary.json.
    """
    adam = {"rate": rate, "epsilon": 1e-8}
    found = toy.summarise(toy.run("rejection", adam=adam))
    assert found["success"] == pytest.approx(exact, abs=0.07)
    assert found["infeasible"] == 0
    sampled = toy.summarise(toy.run("rejection_monte_carlo", {"samples": 5}, adam=adam))
    assert sampled["success"] == pytest.approx(monte_carlo, abs=0.12)
    assert sampled["infeasible"] == 0


def test_abs_ends_infeasible_or_suboptimal(toy: Toy) -> None:
    weak = toy.summarise(toy.run("abs", {"beta": -1.0}))
    strong = toy.summarise(toy.run("abs", {"beta": -2.0}))
    assert weak["infeasible"] == 1
    assert strong["infeasible"] < 0.2
    assert strong["success"] < 0.5


def test_the_average_is_better_updated_first(toy: Toy) -> None:
    first = toy.summarise(toy.run("rejection"))["success"]
    after = toy.summarise(toy.run("rejection", average_first=False))["success"]
    assert first > after + 0.03


def test_the_command_writes_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    assert run(["paper", "toy", "--seeds", "3", "--out", str(tmp_path / "toy")]) == 0
    assert "4-2" in capsys.readouterr().out
    summary = json.loads((tmp_path / "toy" / "summary.json").read_text())
    assert summary["optimum"] == "4-2"
    assert summary["command"] == "tabnas paper toy --seeds 3"
    for name in ("figure-1.png", "tuning.png"):
        assert (tmp_path / "toy" / name).read_bytes().startswith(b"\x89PNG")


def test_a_folder_that_cannot_be_made_is_said_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("in the way")
    assert run(["paper", "toy", "--out", str(tmp_path / "file" / "toy")]) == 2
    assert "cannot be made" in capsys.readouterr().err
