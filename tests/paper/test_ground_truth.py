from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
import pytest

from tabnas import Budget, TabNASError
from tabnas.feasible import FeasibleSet
from tabnas.jobs import JobConfig
from tabnas.paper import (
    GroundTruthBuilder,
    load_ground_truth,
    load_ground_truth_tables,
    read_ground_truth,
)
from tabnas.paper._ground_truth import get_ground_truth_table
from tabnas.space import COSTS, Architecture

LETTER = load_ground_truth("letter")


def test_the_bundled_ground_truth_is_complete() -> None:
    table = load_ground_truth_tables()["letter"]
    assert set(LETTER.architectures) == set(FeasibleSet(LETTER.space, Budget()))
    assert len(LETTER.architectures) >= 500
    for part in ("validation", "test"):
        assert LETTER.losses[part].shape == (len(LETTER.architectures), table.seeds)
        assert np.isfinite(LETTER.losses[part]).all()
        assert (LETTER.losses[part] > 0).all()
        assert ((LETTER.errors[part] >= 0) & (LETTER.errors[part] <= 1)).all()
    assert {"command", "date", "machine", "versions", "training"} <= set(LETTER.provenance)


def test_costs_are_those_of_the_space() -> None:
    assert {"parameters", "dense_parameters", "flops", "bytes"} <= LETTER.costs.keys()
    for name, costs in LETTER.costs.items():
        cost = COSTS[name]
        assert costs.tolist() == [cost(LETTER.space, one) for one in LETTER.architectures]


def test_architectures_are_found_by_their_choices() -> None:
    assert LETTER.find(LETTER.choices).tolist() == list(range(len(LETTER.architectures)))
    assert LETTER.find(np.array([0, 1, 0])) == -1  # a layer after one that is absent


def test_seeds_differ() -> None:
    assert (LETTER.losses["validation"].std(axis=1) > 0).all()
    assert (LETTER.seed_std() > 0).all()


@pytest.mark.parametrize("limit", [1_000, 4_000, 20_000])
def test_regret_is_zero_for_the_best_and_never_negative(limit: int) -> None:
    budget = Budget(parameters=limit)
    regrets = LETTER.regrets(budget)
    inside = [budget.admits(LETTER.space, one) for one in LETTER.architectures]
    assert (np.isfinite(regrets) == inside).all()
    assert np.nanmin(regrets) == 0
    means = LETTER.losses["validation"].mean(axis=1)
    assert np.nanargmin(regrets) == np.where(inside, means, np.inf).argmin()
    best = LETTER.architectures[int(np.nanargmin(regrets))]
    assert LETTER.regret(best, budget) == 0


def test_the_seed_that_selects_does_not_judge() -> None:
    budget = Budget(parameters=4_000)
    regrets = LETTER.regrets(budget)
    by_seed = np.array([LETTER.regrets(budget, selection_seed=seed) for seed in range(3)])
    np.testing.assert_allclose(by_seed.mean(axis=0), regrets)
    best = int(np.nanargmin(regrets))
    assert (by_seed[:, best] == 0).all()  # the reference is the same, judged by the same seeds
    # judged by the training that selected it, an architecture seems too good
    losses = LETTER.losses["validation"]
    inside = np.isfinite(regrets)
    selected = [int(np.where(inside, losses[:, seed], np.inf).argmin()) for seed in range(3)]
    honest = [by_seed[seed, one] for seed, one in enumerate(selected)]
    assert np.mean(honest) > np.mean(regrets[selected])


def test_regret_needs_an_architecture_within_the_limits() -> None:
    with pytest.raises(TabNASError, match="must be within"):
        LETTER.regret(Architecture((128, 128, 128)), Budget(parameters=1_000))


def test_unknown_names_raise_an_error() -> None:
    with pytest.raises(TabNASError, match="did you mean 'letter'"):
        load_ground_truth("leter")


def test_weights_are_not_averaged() -> None:
    """As when the bundled files were built; runs have another default."""
    assert get_ground_truth_table("letter").plan_run(None).plan.training.averaging == 0


@pytest.mark.slow
def test_building_continues_and_reproduces_the_bundled_losses(tmp_path) -> None:
    def build(max_trainings: int) -> None:
        GroundTruthBuilder("letter", out=tmp_path, max_trainings=max_trainings).build()

    build(2)
    first = pq.read_table(tmp_path / "letter.parquet").to_pylist()
    build(3)
    rows = pq.read_table(tmp_path / "letter.parquet").to_pylist()
    assert rows[:2] == first
    assert len(rows) == 3
    found = read_ground_truth(tmp_path / "letter.parquet")
    for row, one in zip(rows, found.architectures, strict=True):
        # the settings are the same; another processor may round differently
        bundled = LETTER.losses["validation"][LETTER.architectures.index(one), 0]
        assert row["validation_loss"] == pytest.approx(bundled, rel=0.2)


@pytest.mark.slow
def test_processes_change_nothing_but_the_seconds(tmp_path) -> None:
    results = []
    for processes in (1, 2):
        builder = GroundTruthBuilder("letter", out=tmp_path, max_trainings=2)
        builder.file.unlink(missing_ok=True)
        builder.build(job_config=JobConfig(processes=processes))
        table = pq.read_table(builder.file)
        results.append(table.drop_columns(["seconds"]).to_pylist())
        assert (np.array(table["seconds"]) > 0).all()
    assert results[0] == results[1]
    assert len(results[0]) == 2


@pytest.mark.slow
def test_finished_trainings_survive_an_error(tmp_path) -> None:
    def stop(done: int, total: int) -> None:
        if done == 1:
            raise KeyboardInterrupt

    builder = GroundTruthBuilder("letter", out=tmp_path, max_trainings=2)
    with pytest.raises(KeyboardInterrupt):
        builder.build(stop)
    assert pq.read_table(builder.file).num_rows == 1
