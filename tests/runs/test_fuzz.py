"""Damaged and forged files of a run end in a clear error or in a feasible result.

`TABNAS_FUZZ=20` tries twenty times as many mutations.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from errno import ENAMETOOLONG
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import tomli_w

from tabnas.cli._data_source import DataSource
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
from tests.mutations import ODD, mutate_arrays, mutate_bytes, mutate_values
from tests.runs.helpers import SHORT, StopsAt, make_table, with_valid_digest

REPEATS = int(os.environ.get("TABNAS_FUZZ", "1"))
STEPS = {"search": 2, "candidate": 20, "final": 260}
"""Steps of a run on 300 rows, by the phase they belong to."""


@contextmanager
def record_outcome(is_accepted: list[bool]) -> Iterator[None]:
    """Record whether the block passes; the only errors allowed are clear ones."""
    try:
        with np.errstate(all="ignore"):
            yield
        is_accepted.append(True)
    except (TabNASError, RunStopped):
        is_accepted.append(False)
    except OSError as error:  # a mutated path; the command line reports it in one line
        if error.errno != ENAMETOOLONG:
            raise
        is_accepted.append(False)


class StopsSoon(RunCheckpoint):
    """A checkpoint that stops after three steps, so that kernels use what was loaded."""

    remaining_steps = 3

    def save_if_due(self) -> None:
        self.remaining_steps -= 1
        if not self.remaining_steps:
            raise RunStopped(0)


@pytest.fixture(scope="module", params=[*STEPS, "end"])
def checkpoint(request, run: PlannedRun, tmp_path_factory) -> tuple[dict, dict]:
    """Return values and arrays of a run that was stopped in some phase or at its end."""
    folder = tmp_path_factory.mktemp("checkpoint")
    checkpoint = StopsAt(folder, run, STEPS.get(request.param, -1))
    try:
        run.execute(checkpoint=checkpoint)
        checkpoint.save()
    except RunStopped:
        pass
    values, arrays, _ = read_checkpoint(folder)
    return values, arrays


def resume(run: PlannedRun, folder: Path, is_accepted: list[bool]) -> None:
    """Resume from a checkpoint for a few steps; a result must be feasible."""
    with record_outcome(is_accepted):
        checkpoint = StopsSoon(folder, identity=run.identity())
        outcome = run.execute(checkpoint=checkpoint)
        for candidate in outcome.candidates:
            feasible = run.plan.feasible
            assert feasible.budget.admits(feasible.space, candidate.architecture)
        assert outcome.model.costs["parameters"] <= 800


@pytest.mark.parametrize("kind", ["facts", "arrays"])
def test_forged_checkpoints_are_refused_or_harmless(
    kind: str, run, checkpoint, tmp_path: Path
) -> None:
    """The digest is valid, since anybody can compute one; the content is forged."""
    values, arrays = checkpoint
    rng, is_accepted = Random(0), []
    rounds = REPEATS * (25 if values["done"] or kind == "arrays" else 10)
    for _ in range(rounds):
        if kind == "facts":
            forged = values | {"done": mutate_values(rng, values["done"])}
            forged = forged if values["done"] and rng.random() < 0.9 else mutate_values(rng, values)
            write_checkpoint(tmp_path, forged, arrays)
        else:
            write_checkpoint(tmp_path, values, mutate_arrays(rng, arrays))
        resume(run, tmp_path, is_accepted)
    assert len(is_accepted) == rounds
    assert not all(is_accepted)


def test_damaged_checkpoints_are_refused_or_harmless(run, checkpoint, tmp_path: Path) -> None:
    """Random bytes are changed; every second file gets a valid digest again."""
    write_checkpoint(tmp_path, *checkpoint)
    (path,) = _existing(tmp_path)
    content, rng, is_accepted = path.read_bytes(), Random(1), []
    for number in range(400 * REPEATS):
        damaged = mutate_bytes(rng, content)
        path.write_bytes(with_valid_digest(damaged) if number % 2 else damaged)
        with record_outcome(is_accepted):
            RunCheckpoint(tmp_path, identity=run.identity())
    assert is_accepted.count(False) > 200 * REPEATS


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("finished") / "run"
    settings = RunSettings(
        limits={"parameters": 800}, time=0.1, candidates=1, layers=1, reference_models=False
    )
    run_in_folder(
        folder, LabelledTable.from_table(make_table(100).drop(["value"]), "kind"), settings
    )
    return folder


def test_damaged_results_are_refused_or_harmless(finished: Path, tmp_path: Path) -> None:
    original = (finished / "result.json").read_bytes()
    rng, is_accepted = Random(2), []
    for number in range(500 * REPEATS):
        if number % 2:
            content = mutate_bytes(rng, original)
        else:
            content = json.dumps(mutate_values(rng, json.loads(original))).encode()
        (tmp_path / "result.json").write_bytes(content)
        with record_outcome(is_accepted):
            assert isinstance(load_result(tmp_path), RunResult)
    assert not all(is_accepted)


def test_damaged_models_are_refused_or_unchanged(finished: Path, tmp_path: Path) -> None:
    """If one of the two files of the model is damaged, it is refused or unchanged."""
    files = {path.name: path.read_bytes() for path in (finished / "model").iterdir()}
    original = load_run_model(finished)
    (tmp_path / "model").mkdir()
    rng, is_accepted = Random(3), []
    for _ in range(400 * REPEATS):
        name = rng.choice(sorted(files))
        for other, content in files.items():
            damaged = mutate_bytes(rng, content) if other == name else content
            (tmp_path / "model" / other).write_bytes(damaged)
        with record_outcome(is_accepted):
            model = load_run_model(tmp_path)
            assert model.architecture == original.architecture
            for array, weights in model.weights.items():
                np.testing.assert_array_equal(weights, original.weights[array])
    assert not all(is_accepted)


# -- config.toml -----------------------------------------------------------------------------------


def make_config(path: Path) -> dict[str, Any]:
    settings = RunSettings(
        limits={"parameters": 800, "flops": 5_000},
        widths=(0, 4, 8),
        layers=2,
        time=5.0,
        candidates=2,
        metric="log_loss",
        split="group",
        split_column="house",
        kinds={"size": "numeric"},
        drop=("day",),
        reference_models=False,
    )
    source = DataSource(data=str(path), target="kind", task=None, validation=None, test=None)
    return {"data": source.to_dict(), "settings": settings.to_dict(), "plan": SHORT}


def test_damaged_configs_are_refused_or_feasible(tmp_path: Path) -> None:
    """Configs are read and planned as `tabnas resume` does; no plan exceeds the limits."""
    data = tmp_path / "t.csv"
    make_table(60).arrow.to_pandas().to_csv(data, index=False)
    config_values = make_config(data)
    rng, is_accepted = Random(4), []
    for number in range(700 * REPEATS):
        if number % 3 == 0:
            content = mutate_bytes(rng, tomli_w.dumps(config_values).encode())
        else:
            content = tomli_w.dumps(mutate_values(rng, config_values, ODD)).encode()
        (tmp_path / "config.toml").write_bytes(content)
        with record_outcome(is_accepted):
            loaded = load_config(tmp_path)
            source = DataSource.from_dict(loaded.get("data", {}))
            settings = RunSettings.from_dict(loaded.get("settings", {}))
            if number < 150 * REPEATS:
                run = source.load_and_plan(settings, saved_plan=loaded.get("plan"))
                budget, space = settings.computed_budget, run.plan.feasible.space
                assert budget.admits(space, run.plan.feasible.most_expensive())
    assert not all(is_accepted)
    assert any(is_accepted)
