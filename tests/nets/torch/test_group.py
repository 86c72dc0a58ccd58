"""Several processes train the same networks as one process."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tabnas.errors import TabNASError
from tabnas.nets import (
    SGD,
    Adam,
    Cosine,
    Embedding,
    Examples,
    Inputs,
    NetworkSpec,
    NonFiniteLossError,
    SuperNet,
    Trainer,
    TrainingSettings,
    mix_targets,
    top_classes,
)
from tabnas.space import Architecture, SearchSpace
from tests.ranks import run_in_ranks

pytest.importorskip("torch")
ROUNDING = {"rtol": 2e-4, "atol": 2e-5}
NAMES = ("20-16-9", "3", "d3-8-5", "d1-3-16-9", "d3-20", "8-16")
SPEC = NetworkSpec(
    inputs=Inputs(
        numeric=3,
        category_embeddings=[
            Embedding(categories=4, dimension=2),
            Embedding(categories=6, dimension=9),
        ],
        knots=[(-1.0, -0.25, 0.0, 0.5, 1.25), (), (-0.5, 1.0)],
    ),
    loss="softmax",
    outputs=5,
)
SPACE = SearchSpace(
    [[3, 8, 20], [0, 5, 16], [0, 9]],
    inputs=SPEC.inputs.width,
    outputs=5,
    numeric_embeddings=SPEC.inputs.numeric_embeddings([0, 1, 3]),
)
OPTIMIZERS = {"adam": Adam(epsilon=1e-4, weight_decay=0.1), "momentum": SGD(momentum=0.9)}


def make_examples(rows: int = 40, *, huge: int | None = None, soft: str = "") -> Examples:
    """Return weighted rows, the first of weight zero; one may exceed the range of float32.

    Soft targets are "probabilities" or "top classes".
    """
    rng = np.random.default_rng(0)
    weight = rng.uniform(0.1, 2.0, rows)
    weight[:6] = 0.0
    numeric = rng.normal(size=(rows, 3))
    if huge is not None:
        numeric[huge] = 3e38
    categorical = np.stack([rng.integers(0, 4, rows), rng.integers(0, 6, rows)], axis=1)
    labels, answers = rng.integers(0, 5, rows), rng.dirichlet(np.ones(5), rows)
    targets = {
        "": labels,
        "probabilities": answers,
        "top classes": mix_targets(SPEC, labels, top_classes(answers, 2), 0.7),
    }
    return Examples(
        SPEC,
        numeric=numeric,
        categorical=categorical,
        target=targets[soft],
        weight=weight,
    )


def train(
    engine: str, workers: int, optimizer: str, soft: str = ""
) -> tuple[list[float], dict[str, np.ndarray]]:
    """Return losses and state of a network after steps of several children and of one."""
    net = SuperNet(
        SPACE, SPEC, optimizer=OPTIMIZERS[optimizer], engine=engine, workers=workers, seed=3
    )
    examples, rng, losses = make_examples(soft=soft), np.random.default_rng(1), []
    for _ in range(5):
        children = [Architecture.parse(name) for name in rng.choice(NAMES, workers)]
        rows = [rng.integers(6, 40, size=rng.integers(1, 9)) for _ in children]
        losses += net.train_step_workers(children, examples, rows, 0.01)
    # a process may have no rows, only rows of weight zero, or a slice
    for rows in (np.array([7]), np.arange(12), np.array([9, 9, 30]), slice(3, 29)):
        losses.append(net.train_step(Architecture((20, 16), dimension=1), examples, rows, 0.01))
    losses += net.losses([Architecture.parse(name) for name in NAMES], examples, slice(0, 31))
    return losses, net.state_dict()


def train_in_rank(rank: int, *cases: tuple[int, str, str]) -> list[object]:
    return [train("torch.distributed", *case) for case in cases]


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [2, 4])
def test_ranks_train_the_same_network_as_the_compiled_engine(ranks: int, tmp_path: Path) -> None:
    cases = [(workers, name, "") for workers in (1, 2, 4, 5) for name in OPTIMIZERS]
    cases += [(2, "adam", "probabilities"), (2, "adam", "top classes")]
    by_rank = run_in_ranks(ranks, tmp_path, train_in_rank, *cases)
    for case, *results in zip(cases, *by_rank, strict=True):
        losses, state = train("compiled", *case)
        for actual, theirs in results:
            assert actual == pytest.approx(losses, rel=1e-4), case
            assert set(theirs) == set(state)
            for name, array in theirs.items():
                np.testing.assert_allclose(array, state[name], **ROUNDING, err_msg=name)
                np.testing.assert_array_equal(
                    array, results[0][1][name]
                )  # equal to the bit on all ranks


def train_with_averaging(
    engine: str, stop_at: int | None = None
) -> tuple[list[float], dict[str, np.ndarray]]:
    """Return validation losses and weights; stop after a part of the steps and resume elsewhere."""
    child = Architecture((20, 16), dimension=1)
    settings = TrainingSettings(epochs=3, batch_size=3, schedule=Cosine(0.02), averaging=1.0)
    states: list[dict[str, np.ndarray]] = []

    def make_trainer() -> Trainer:
        net = SuperNet.standalone(child, SPEC, engine=engine, seed=3)
        return Trainer(net, child, make_examples(), settings, make_examples(31))

    trainer = make_trainer()
    result = trainer.run(on_step=lambda: states.append(trainer.state_dict()))
    if stop_at is not None:
        trainer = make_trainer()
        trainer.load_state_dict(states[len(states) // stop_at])
        result = trainer.run()
    return result.validation_losses, trainer.net.weights()


def average_in_rank(rank: int) -> list[object]:
    return [train_with_averaging("torch.distributed", stop_at) for stop_at in (None, 2)]


@pytest.mark.slow
def test_ranks_average_the_same_weights_as_the_compiled_engine(tmp_path: Path) -> None:
    losses, weights = train_with_averaging("compiled")
    results = [result for rank in run_in_ranks(2, tmp_path, average_in_rank) for result in rank]
    for theirs, arrays in results:
        assert theirs == pytest.approx(losses, rel=1e-4)
        for name, array in arrays.items():
            np.testing.assert_allclose(array, weights[name], **ROUNDING, err_msg=name)
            np.testing.assert_array_equal(array, results[0][1][name])  # equal to the bit


def overflow_in_rank(rank: int) -> list[object]:
    net = SuperNet(SPACE, SPEC, engine="torch.distributed", workers=2, seed=3)
    examples, before = make_examples(huge=39), net.state_dict()
    children = [Architecture((3,)), Architecture((20, 16))]
    rows = [np.arange(10, 20), np.array([20, 39])]  # on rank 1 only
    problems = []
    for step in (
        lambda: net.train_step_workers(children, examples, rows, 0.01),
        lambda: net.train_step(children[1], examples, np.array([20, 21, 22, 39]), 0.01),
    ):
        try:
            step()
        except NonFiniteLossError as error:
            problems.append(str(error))
    changed = [name for name, array in net.state_dict().items() if (array != before[name]).any()]
    return [problems, changed]


@pytest.mark.slow
def test_an_overflow_on_one_rank_changes_no_weights_on_any(tmp_path: Path) -> None:
    for problems, changed in run_in_ranks(2, tmp_path, overflow_in_rank):
        assert len(problems) == 2
        assert changed == []


def call_with_zero_weight(rank: int) -> str:
    net = SuperNet(SPACE, SPEC, engine="torch.distributed", workers=2)
    batches = [np.arange(10, 20), np.arange(0, 5)]  # the second, on rank 1, has weight zero
    try:
        net.train_step_workers([[0, 0, 0, 0]] * 2, make_examples(), batches, 0.01)
    except TabNASError as error:
        return str(error)
    return ""


@pytest.mark.slow
def test_an_error_on_one_rank_is_raised_on_all(tmp_path: Path) -> None:
    messages = run_in_ranks(2, tmp_path, call_with_zero_weight)
    assert messages[0] == messages[1]
    assert "weight above 0" in messages[0]


def call_differently(rank: int, difference: str) -> None:
    net = SuperNet(SPACE, SPEC, engine="torch.distributed", workers=2)
    children = [Architecture((3,)), Architecture((20,) if rank and difference == "child" else (3,))]
    rows = [np.arange(10, 20), np.arange(20, 31 if rank and difference == "rows" else 30)]
    if rank and difference == "verb":
        net.losses(children, make_examples(), rows[0])
    rate = 0.02 if rank and difference == "rate" else 0.01
    net.train_step_workers(children, make_examples(), rows, rate)


@pytest.mark.slow
@pytest.mark.parametrize("difference", ["child", "rows", "verb", "rate"])
def test_ranks_with_different_calls_are_stopped(difference: str, tmp_path: Path) -> None:
    for error in run_in_ranks(2, tmp_path, call_differently, difference):
        assert error.kind == "RanksOutOfSyncError"


def end_early(rank: int) -> None:
    net = SuperNet(SPACE, SPEC, engine="torch.distributed")
    if rank == 0:
        net.train_step([0, 0, 0, 0], make_examples(), np.arange(10, 20), 0.01)


@pytest.mark.slow
def test_the_end_of_a_rank_is_noticed(tmp_path: Path) -> None:
    assert run_in_ranks(2, tmp_path, end_early)[0].kind == "LostRankError"


def test_the_engine_needs_a_group() -> None:
    with pytest.raises(TabNASError, match=r"requires a process group.*engine='torch'"):
        SuperNet(SPACE, SPEC, engine="torch.distributed")
