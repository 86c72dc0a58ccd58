from __future__ import annotations

import json
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
from tabnas.paper.experiments._nats_space import NatsFile, NatsSpace

pytest.importorskip("matplotlib")

CIFAR_10 = NatsFile(**read_definition("nats", quick=True)["files"][0])


@pytest.fixture(scope="module")
def nats() -> NatsSpace:
    return CIFAR_10.read(None, 75.0)


def smaller() -> dict[str, Any]:
    """What `--quick` makes, of three strategies only and with few seeds."""
    said = read_definition("nats", quick=True)
    kept = ("tabnas", "random", "policy, Abs, beta = -0.1")
    said["strategies"] = [one for one in said["strategies"] if one["title"] in kept]
    said["seeds"] = {"ours": 2, "others": 2, "tried": 1}
    said["tried"] = [{"title": "flat", "options": {"degree": 1}}]
    said["tables"] |= {"repetitions": 10, "betas": [-0.1]}
    return said


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("nats")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(_runner, "read_definition", lambda *_, **__: smaller())
        assert run(["paper", "nats", "--quick", "--out", str(out)]) == 0
    return out


def summary(made: Path) -> dict[str, Any]:
    return dict(json.loads((made / "summary.json").read_text()))


def test_the_space_is_the_one_of_the_benchmark(nats: NatsSpace) -> None:
    assert nats.feasible.count() == 13_540
    assert str(nats.best) == "16-48-48-64-64"
    choices = nats.feasible.members
    assert nats.accuracy(choices).max() == pytest.approx(92.85)
    assert nats.mflops(choices).max() <= 75
    assert nats.gap(choices).min() == 0


@pytest.mark.slow
def test_ours_is_near_the_best_within_the_limit(made: Path) -> None:
    targets = summary(made)["targets"]
    assert [(one["looks"], one["noise"]) for one in targets] == [(500, 0), (200, 0), (500, 0.5)]
    for one in targets:
        assert one["over"] == 0
        assert one["gap"] <= one["aim"] + 0.1  # few seeds
        assert one["met"] == (one["gap"] <= one["aim"])


@pytest.mark.slow
def test_ours_is_nearer_than_random_and_penalties_leave_the_limit(made: Path) -> None:
    rows = {(row["title"], row["noise"], row["looks"]): row for row in summary(made)["strategies"]}
    for noise in (0.0, 0.5):
        for looks in (200, 500):
            ours, random = rows["tabnas", noise, looks], rows["random", noise, looks]
            assert ours["gap"] < random["gap"]
            assert random["over"] == 0
    assert rows["policy, Abs, beta = -0.1", 0.0, 500]["over"] > 0


@pytest.mark.slow
def test_the_papers_tables_show_what_the_paper_says(made: Path) -> None:
    rows = summary(made)["tables"]
    rejecting = [row for row in rows if row["title"].startswith("rejection")]
    penalising = [row for row in rows if row["title"].startswith("Abs")]
    assert len(rejecting) == 4
    assert len(penalising) == 1
    for row in rejecting:
        assert row["share_over"] == 0
        assert row["mflops"]["mean"] <= 75
    dearest = [row for row in rejecting if row["picks"] == "Algorithm 3"]
    assert all(row["mflops"]["mean"] > 72 for row in dearest)  # the paper: 74.6
    assert penalising[0]["mflops"]["mean"] > 75  # with a small beta
    assert penalising[0]["share_over"] > 0.5


@pytest.mark.slow
def test_gaps_are_those_of_what_was_found(made: Path, nats: NatsSpace) -> None:
    rows = pq.read_table(made / "rows.parquet").to_pylist()
    searches = [row for row in rows if row["part"] == "strategies"]
    assert len(searches) == 2 * 2 * (2 + 2 + 2)
    for row in searches:
        gap = float(nats.gap(np.array(nats.space.choices(row["found"]))))
        assert row["gap"] == pytest.approx(gap, abs=1e-4)
        assert gap >= 0
        assert row["found"] in nats.feasible


@pytest.mark.slow
def test_the_report_tells_of_it(made: Path) -> None:
    text = (made / "README.md").read_text()
    for said in ("13,540", "92.85", "What was tried", "`degree=1`", "cannot be compared"):
        assert said in text
    assert {"gaps.png", "gaps.svg", "tables-CIFAR-10.png"} <= {one.name for one in made.iterdir()}


def test_a_file_with_missing_networks_is_refused(tmp_path: Path) -> None:
    columns = {f"c{layer}": [8, 16] for layer in range(5)}
    columns |= {CIFAR_10.mflops: [1.0, 2.0], CIFAR_10.searched: [50.0, 60.0]}
    pq.write_table(pa.table(columns), tmp_path / CIFAR_10.file)
    with pytest.raises(TabNASError, match="32,766"):
        CIFAR_10.read(tmp_path, 75.0)


def test_a_file_that_is_nowhere_is_named(tmp_path: Path) -> None:
    other = NatsFile(**read_definition("nats", quick=True)["files"][1])
    with pytest.raises(TabNASError, match=r"cifar100\.parquet' does not come with"):
        other.read(None, 75.0)
    with pytest.raises(TabNASError, match=r"is not in '.*--data"):
        other.read(tmp_path, 75.0)
