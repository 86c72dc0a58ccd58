"""Files of a run, damaged and forged in thousands of ways: a sentence, or something feasible.

`TABNAS_FUZZ=20` tries twenty times as many.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import tomli_w

from tabnas.cli._source import Source
from tabnas.errors import TabNASError
from tabnas.results import RunResult
from tabnas.runs import (
    LabelledTable,
    PlannedRun,
    RunCheckpoint,
    RunSettings,
    RunStopped,
    load_config,
    load_result,
    load_run_model,
    run_in_folder,
)
from tabnas.runs.checkpoints._file import _existing, read_checkpoint, write_checkpoint
from tests.mutations import ODD, mutated_arrays, mutated_bytes, mutated_values
from tests.runs.helpers import SHORT, StopsAt, make_table, with_valid_digest

TIMES = int(os.environ.get("TABNAS_FUZZ", "1"))
TICKS = {"search": 2, "candidate": 20, "final": 260}
"""Of 300 rows in folds: when what is under way."""


@contextmanager
def outcome_of(seen: list[bool]) -> Iterator[None]:
    """Errors must be sentences; whether there was one is noted."""
    try:
        with np.errstate(all="ignore"):
            yield
        seen.append(True)
    except (TabNASError, RunStopped):
        seen.append(False)


class StopsSoon(RunCheckpoint):
    """Lets work begin and go on for a moment, so that its kernels see what was loaded."""

    left = 3

    def on_step(self) -> None:
        self.left -= 1
        if not self.left:
            raise RunStopped(0)


@pytest.fixture(scope="module", params=[*TICKS, "end"])
def checkpoint(request, run: PlannedRun, tmp_path_factory) -> tuple[dict, dict]:
    """Facts and arrays of a run that was stopped in the middle of something, or at its end."""
    folder = tmp_path_factory.mktemp("checkpoint")
    checkpoint = StopsAt(folder, run, TICKS.get(request.param, -1))
    try:
        run.execute(checkpoint=checkpoint)
        checkpoint.save()
    except RunStopped:
        pass
    facts, arrays, _ = read_checkpoint(folder)
    return facts, arrays


def go_on(run: PlannedRun, folder: Path, seen: list[bool]) -> None:
    """What `resume` does with a checkpoint, for a few steps; what comes of it is feasible."""
    with outcome_of(seen):
        checkpoint = StopsSoon(folder, identity=run.identity())
        outcome = run.execute(checkpoint=checkpoint)
        for candidate in outcome.candidates:
            assert candidate.architecture in run.plan.feasible
        assert outcome.model.costs["parameters"] <= 800


@pytest.mark.parametrize("what", ["facts", "arrays"])
def test_forged_checkpoints(what: str, run, checkpoint, tmp_path: Path) -> None:
    """The digest is right, since anybody can compute one; what it is of is not."""
    facts, arrays = checkpoint
    rng, seen = Random(0), []
    rounds = TIMES * (25 if facts["done"] or what == "arrays" else 10)
    for _ in range(rounds):
        if what == "facts":
            forged = facts | {"done": mutated_values(rng, facts["done"])}
            forged = forged if facts["done"] and rng.random() < 0.9 else mutated_values(rng, facts)
            write_checkpoint(tmp_path, forged, arrays)
        else:
            write_checkpoint(tmp_path, facts, mutated_arrays(rng, arrays))
        go_on(run, tmp_path, seen)
    assert len(seen) == rounds
    assert not all(seen)


def test_damaged_checkpoints(run, checkpoint, tmp_path: Path) -> None:
    """Bytes changed at random: half of them unnoticed by the digest, which is made anew."""
    write_checkpoint(tmp_path, *checkpoint)
    (path,) = _existing(tmp_path)
    whole, rng, seen = path.read_bytes(), Random(1), []
    for number in range(400 * TIMES):
        damaged = mutated_bytes(rng, whole)
        path.write_bytes(with_valid_digest(damaged) if number % 2 else damaged)
        with outcome_of(seen):
            RunCheckpoint(tmp_path, identity=run.identity())
    assert seen.count(False) > 200 * TIMES


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("finished") / "run"
    settings = RunSettings(
        limits={"parameters": 800}, time=0.1, candidates=1, layers=1, baselines=False
    )
    run_in_folder(
        folder, LabelledTable.from_table(make_table(100).drop(["value"]), "kind"), settings
    )
    return folder


def test_results(finished: Path, tmp_path: Path) -> None:
    whole = (finished / "result.json").read_bytes()
    rng, seen = Random(2), []
    for number in range(500 * TIMES):
        if number % 2:
            content = mutated_bytes(rng, whole)
        else:
            content = json.dumps(mutated_values(rng, json.loads(whole))).encode()
        (tmp_path / "result.json").write_bytes(content)
        with outcome_of(seen):
            assert isinstance(load_result(tmp_path), RunResult)
    assert not all(seen)


def test_models(finished: Path, tmp_path: Path) -> None:
    """Both files of the model, one or the other damaged: refused, or the very same model."""
    whole = {path.name: path.read_bytes() for path in (finished / "model").iterdir()}
    original = load_run_model(finished)
    (tmp_path / "model").mkdir()
    rng, seen = Random(3), []
    for _ in range(400 * TIMES):
        name = rng.choice(sorted(whole))
        for other, content in whole.items():
            damaged = mutated_bytes(rng, content) if other == name else content
            (tmp_path / "model" / other).write_bytes(damaged)
        with outcome_of(seen):
            model = load_run_model(tmp_path)
            assert model.architecture == original.architecture
            for array, weights in model.weights.items():
                np.testing.assert_array_equal(weights, original.weights[array])
    assert not all(seen)


# -- config.toml -----------------------------------------------------------------------------------


def config(path: Path) -> dict[str, Any]:
    settings = RunSettings(
        limits={"parameters": 800, "flops": 5_000},
        widths=(0, 4, 8),
        layers=2,
        time=5.0,
        candidates=2,
        metric="log_loss",
        order="group",
        order_column="house",
        kinds={"size": "numeric"},
        drop=("day",),
        baselines=False,
    )
    source = Source(data=str(path), target="kind", task=None, validation=None, test=None)
    return {"data": source.to_dict(), "settings": settings.to_dict(), "plan": SHORT}


def test_configs(tmp_path: Path) -> None:
    """Read, understood and planned with, as `tabnas resume` does; no plan is beyond the limits."""
    data = tmp_path / "t.csv"
    make_table(60).arrow.to_pandas().to_csv(data, index=False)
    said = config(data)
    rng, seen = Random(4), []
    for number in range(700 * TIMES):
        if number % 3 == 0:
            content = mutated_bytes(rng, tomli_w.dumps(said).encode())
        else:
            content = tomli_w.dumps(mutated_values(rng, said, ODD)).encode()
        (tmp_path / "config.toml").write_bytes(content)
        with outcome_of(seen):
            found = load_config(tmp_path)
            source = Source.from_dict(found.get("data", {}))
            settings = RunSettings.from_dict(found.get("settings", {}))
            if number < 150 * TIMES:
                run = source.plan(settings, resolved=found.get("plan"))
                budget, space = settings.budget, run.plan.feasible.space
                assert budget.admits(space, run.plan.feasible.most_expensive())
    assert not all(seen)
    assert any(seen)
