"""Several steps in one call: the same bits as single steps, and an end where one is due."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabnas.errors import TabNASError
from tabnas.nets import (
    Cosine,
    Embedding,
    Examples,
    Inputs,
    NetworkSpec,
    NonFiniteLossError,
    SuperNet,
    Trainer,
    TrainingSettings,
    WindowedBatches,
    _stretches,
    count_steps,
)
from tabnas.space import Architecture, SearchSpace

ROWS = 90
CHILD = Architecture((9, 5))
SPEC = NetworkSpec(
    inputs=Inputs(numeric=3, category_embeddings=[Embedding(categories=5, dimension=2)]),
    loss="squared_error",
)


def make_examples(*, weight=None, bad_row=None):
    rng = np.random.default_rng(0)
    target = rng.normal(size=ROWS)
    if bad_row is not None:
        target[bad_row] = 1e25
    categorical = rng.integers(5, size=(ROWS, 1)).astype(np.int32)
    numeric = rng.normal(size=(ROWS, 3))
    return Examples(SPEC, numeric=numeric, categorical=categorical, target=target, weight=weight)


class StreamedRows:
    """Rows that are read in three windows."""

    def __init__(self, examples):
        self.examples, self.spec = examples, examples.spec
        self.total_weight = examples.total_weight

    def __len__(self):
        return ROWS

    def batches(self, batch_size, *, seed, workers=1):
        def load(blocks, is_local):
            return self.examples.take(
                np.concatenate([np.arange(10 * b, 10 * b + 10) for b in blocks])
            )

        return WindowedBatches(
            load, ROWS, block_rows=10, window_rows=30, batch_size=batch_size, seed=seed
        )


def assert_same_state(actual, expected):
    assert actual.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(actual[name], array, err_msg=name)


@given(st.integers(0, 1_000), st.integers(1, 20))
def test_a_call_gives_the_bits_of_single_steps(seed, steps):
    rng = np.random.default_rng(seed)
    space = SearchSpace([[3, 9, 17], [0, 4, 8]], inputs=5, outputs=1)
    together, single = (SuperNet(space, SPEC) for _ in range(2))
    examples = make_examples(weight=rng.random(ROWS) + 0.1)
    children = [[int(rng.integers(3)), int(rng.integers(3))] for _ in range(steps)]
    rows = [rng.integers(ROWS, size=rng.integers(1, 40)) for _ in children]
    rows = [batch if rng.integers(3) else slice(int(batch[0]), ROWS) for batch in rows]
    rates = rng.uniform(0, 0.1, steps).tolist()
    losses = together.train_steps(children, examples, rows, rates)
    assert losses == [
        single.train_step(*step[:1], examples, *step[1:])
        for step in zip(children, rows, rates, strict=True)
    ]
    assert together.steps == single.steps == steps
    assert_same_state(together.state_dict(), single.state_dict())


def test_a_step_that_is_not_finite_is_the_last():
    together, single = (SuperNet.standalone(CHILD, SPEC) for _ in range(2))
    examples = make_examples(bad_row=50)
    rows = [slice(0, 20), slice(20, 50), slice(40, 60), slice(60, 90)]
    losses = together.train_steps([CHILD] * 4, examples, rows, [0.01] * 4)
    expected = [single.train_step(CHILD, examples, batch, 0.01) for batch in rows[:2]]
    assert losses[:2] == expected
    assert len(losses) == 3
    assert losses[2] == np.inf
    assert together.steps == 2
    assert_same_state(together.state_dict(), single.state_dict())


def test_an_error_in_a_later_step_leaves_those_before_it():
    examples, net = make_examples(), SuperNet.standalone(CHILD, SPEC)
    examples.categorical[50] = 99  # changed after it was checked
    rows = [slice(0, 20), np.arange(20, 40), slice(40, 60), slice(60, 90)]
    assert len(net.train_steps([CHILD] * 4, examples, rows, [0.01] * 4)) == net.steps == 2
    with pytest.raises(TabNASError, match="have changed since they were checked"):
        net.train_steps([CHILD] * 2, examples, rows[2:], [0.01] * 2)
    with pytest.raises(TabNASError, match="have changed since they were checked"):
        Trainer(
            net, CHILD, examples, TrainingSettings(epochs=1, batch_size=4, schedule=Cosine(0.01))
        ).run()
    assert 2 <= net.steps < 2 + 23


def test_arguments_of_different_lengths_are_refused():
    net = SuperNet.standalone(CHILD, SPEC)
    for children, rates in (([], []), ([CHILD], [0.1, 0.1]), ([CHILD, CHILD], [0.1])):
        with pytest.raises(TabNASError, match="as many children as batches of rows and learning"):
            net.train_steps(children, make_examples(), [slice(0, 4)] * len(children), rates)


@pytest.mark.parametrize(
    ("kind", "engine", "averaging"),
    [
        ("in memory", "compiled", 0.0),
        ("in memory", "compiled", 0.7),
        ("streamed", "compiled", 0.0),
        ("streamed", "compiled", 0.7),
        ("with rows without weight", "compiled", 0.0),
        ("with rows without weight", "compiled", 0.7),
        ("with rows without weight", "torch", 0.7),
    ],
)
def test_a_training_does_not_depend_on_the_length_of_stretches(
    kind, engine, averaging, monkeypatch
):
    if engine == "torch":
        pytest.importorskip("torch").set_num_threads(1)
    weight = np.random.default_rng(1).random(ROWS)
    if kind == "with rows without weight":
        weight[np.random.default_rng(2).random(ROWS) < 0.7] = 0.0
    examples = make_examples(weight=weight)
    rows = StreamedRows(examples) if kind == "streamed" else examples
    settings = TrainingSettings(epochs=3, batch_size=2, schedule=Cosine(0.05), averaging=averaging)

    def run(**bounds):
        calls = []
        with monkeypatch.context() as patch:
            for name, value in bounds.items():
                patch.setattr(_stretches, name, value)
            net = SuperNet.standalone(CHILD, SPEC, engine=engine)
            trainer = Trainer(net, CHILD, rows, settings, examples)
            result = trainer.run(on_step=lambda: calls.append(trainer.state_dict()))
        return result, calls, trainer

    expected, calls, trainer = run(MAX_STEPS=1)
    assert len(calls) == trainer.step == 135
    for bounds in ({}, {"MAX_STEPS": 7}, {"MAX_MULTIPLY_ADDS": 5 * 2 * (5 * 9 + 9 * 5 + 5)}):
        result, states, other = run(**bounds)
        assert result == expected
        assert 3 <= len(states) <= 60
        assert_same_state(other.net.state_dict(), trainer.net.state_dict())
        assert_same_state(states[-1], calls[int(states[-1]["step"])])
    resumed = Trainer(
        SuperNet.standalone(CHILD, SPEC, engine=engine), CHILD, rows, settings, examples
    )
    resumed.load_state_dict(states[len(states) // 2])
    assert resumed.run() == expected


def test_the_error_of_divergence_names_the_step_within_a_stretch():
    examples = make_examples(bad_row=50)
    net = SuperNet.standalone(CHILD, SPEC)
    trainer = Trainer(
        net, CHILD, examples, TrainingSettings(epochs=1, batch_size=3, schedule=Cosine(0.01))
    )
    with pytest.raises(NonFiniteLossError) as caught:
        trainer.run()
    (bad,) = (s for s in range(30) if 50 in examples.batches(3, seed=0).at(s).rows[0])
    assert caught.value.step == net.steps + 1 == trainer.step + 1 == bad + 1


def test_stretches_end_soon_whatever_the_size_of_the_network():
    assert count_steps([_stretches.MAX_MULTIPLY_ADDS // 3 + 1] * 9) == 2
    assert count_steps([5, _stretches.MAX_MULTIPLY_ADDS, 5]) == 1
    calls = []
    spec = NetworkSpec(inputs=Inputs(numeric=1_000), loss="squared_error")
    examples = Examples(spec, numeric=np.zeros((640, 1_000)), target=np.zeros(640))
    wide = Architecture((800,))
    training = TrainingSettings(epochs=1, batch_size=64, schedule=Cosine(0.0))
    net = SuperNet.standalone(wide, spec)
    Trainer(net, wide, examples, training).run(on_step=lambda: calls.append(net.steps))
    assert calls == list(range(10))


@given(
    st.integers(1, 60), st.integers(1, 9), st.integers(1, 40), st.integers(1, 7), st.integers(0, 99)
)
def test_steps_ahead_share_their_examples(rows, block_rows, window_rows, batch_size, step):
    spec = NetworkSpec(inputs=Inputs(numeric=1), loss="logistic")

    def load(blocks, is_local):
        return Examples(spec, numeric=np.zeros((len(blocks) * block_rows, 1)))

    windows = WindowedBatches(
        load, rows, block_rows=block_rows, window_rows=window_rows, batch_size=batch_size, seed=0
    )
    ahead, first = windows.steps_ahead(step), windows.at(step)
    assert ahead >= 1
    assert all(windows.at(step + i).examples is first.examples for i in range(ahead))
    per_epoch = windows.steps_per_epoch
    assert (step + ahead - 1) // per_epoch == step // per_epoch
    if windows.at(step + ahead).examples is first.examples:  # all rows fit into one window
        assert (step + ahead) % per_epoch == 0
