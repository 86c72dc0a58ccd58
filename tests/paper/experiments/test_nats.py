from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tabnas import TabNASError
from tabnas.cli._main import run
from tabnas.paper import _runner
from tabnas.paper._experiment import read_definition
from tabnas.paper.experiments.nats._space import NatsFile, NatsSpace

pytest.importorskip("matplotlib")

CIFAR_10 = NatsFile(**read_definition("nats", quick=True)["files"][0])


@pytest.fixture(scope="module")
def nats() -> NatsSpace:
    return CIFAR_10.read(None, 75.0)


def small_definition() -> dict[str, Any]:
    """Return the quick form with three strategies only and with few seeds."""
    definition = read_definition("nats", quick=True)
    titles = ("guided (tabnas)", "random", "policy, Abs, beta = -0.1")
    definition["strategies"] = [one for one in definition["strategies"] if one["title"] in titles]
    definition["seeds"] = {"ours": 2, "others": 2, "variants": 1}
    definition["variants"] = [{"title": "flat", "options": {"degree": 1}}]
    definition["tables"] |= {"repetitions": 10, "betas": [-0.1]}
    return definition


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nats")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(_runner, "read_definition", lambda *_, **__: small_definition())
        assert run(["paper", "nats", "--quick", "--out", str(folder)]) == 0
    return folder


def test_the_space_is_the_one_of_the_benchmark(nats: NatsSpace) -> None:
    assert nats.feasible.count() == 13_540
    assert str(nats.best) == "16-48-48-64-64"
    choices = nats.feasible.members
    assert nats.accuracy(choices).max() == pytest.approx(92.85)
    assert nats.mflops(choices).max() <= 75
    assert nats.gap(choices).min() == 0


@pytest.mark.slow
def test_ours_is_near_the_best_within_the_limit(summary: dict[str, Any]) -> None:
    targets = summary["targets"]
    settings = [(one["evaluations"], one["noise"]) for one in targets]
    assert settings == [(500, 0), (200, 0), (500, 0.5)]
    for one in targets:
        assert one["over"] == 0
        assert one["gap"] <= one["aim"] + 0.1  # few seeds
        assert one["met"] == (one["gap"] <= one["aim"])


@pytest.mark.slow
def test_ours_is_nearer_than_random_and_penalties_exceed_the_limit(summary: dict[str, Any]) -> None:
    rows = {(row["title"], row["noise"], row["evaluations"]): row for row in summary["strategies"]}
    for noise in (0.0, 0.5):
        for evaluations in (200, 500):
            ours, random = (
                rows[title, noise, evaluations] for title in ("guided (tabnas)", "random")
            )
            assert ours["gap"] < random["gap"]
            assert random["over"] == 0
    assert rows["policy, Abs, beta = -0.1", 0.0, 500]["over"] > 0


@pytest.mark.slow
def test_the_papers_tables_show_what_the_paper_says(summary: dict[str, Any]) -> None:
    rows = summary["tables"]
    rejections = [row for row in rows if row["title"].startswith("rejection")]
    penalties = [row for row in rows if row["title"].startswith("Abs")]
    assert len(rejections) == 4
    assert len(penalties) == 1
    for row in rejections:
        assert row["share_over"] == 0
        assert row["mflops"]["mean"] <= 75
    algorithm_3 = [row for row in rejections if row["selection"] == "Algorithm 3"]
    assert all(row["mflops"]["mean"] > 72 for row in algorithm_3)  # the paper: 74.6
    assert penalties[0]["mflops"]["mean"] > 75  # with a small beta
    assert penalties[0]["share_over"] > 0.5


@pytest.mark.slow
def test_gaps_are_those_of_what_was_found(out: Path, nats: NatsSpace) -> None:
    rows = pq.read_table(out / "rows.parquet").to_pylist()
    searches = [row for row in rows if row["part"] == "strategies"]
    assert len(searches) == 2 * 2 * (2 + 2 + 2)
    for row in searches:
        gap = float(nats.gap(np.array(nats.space.choices(row["found"]))))
        assert row["gap"] == pytest.approx(gap, abs=1e-4)
        assert gap >= 0
        assert row["found"] in nats.feasible


@pytest.mark.slow
def test_the_report_has_numbers_and_figures(out: Path) -> None:
    text = (out / "README.md").read_text()
    for words in ("13,540", "92.85", "Variants", "`degree=1`", "cannot be compared"):
        assert words in text
    assert {"gaps.png", "gaps.svg", "tables-CIFAR-10.png"} <= {one.name for one in out.iterdir()}


def test_a_file_must_hold_all_networks(tmp_path: Path) -> None:
    columns = {f"c{layer}": [8, 16] for layer in range(5)}
    columns |= {CIFAR_10.mflops: [1.0, 2.0], CIFAR_10.search_accuracy: [50.0, 60.0]}
    pq.write_table(pa.table(columns), tmp_path / CIFAR_10.file)
    with pytest.raises(TabNASError, match="32,766"):
        CIFAR_10.read(tmp_path, 75.0)


def test_the_error_names_a_missing_file(tmp_path: Path) -> None:
    other = NatsFile(**read_definition("nats", quick=True)["files"][1])
    with pytest.raises(TabNASError, match=r"cifar100\.parquet' does not come with"):
        other.read(None, 75.0)
    with pytest.raises(TabNASError, match=r"is not in '.*--data"):
        other.read(tmp_path, 75.0)
