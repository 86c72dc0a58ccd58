"""Losses that float32 cannot hold: skipped steps, evaluations without a finite loss, errors."""

from __future__ import annotations

import numpy as np
import pytest

from tabnas import Budget, FeasibleSet, SearchSpace
from tabnas.nets import SGD, Constant, Examples, Inputs, NetworkSpec
from tabnas.policy import Adam
from tabnas.search import (
    Search,
    SearchDivergedError,
    SearchSettings,
    compute_one_shot_losses,
    select,
)

SPEC = NetworkSpec(inputs=Inputs(numeric=4), loss="squared_error")
SPACE = SearchSpace([[2, 4, 8], [0, 2, 4]], inputs=4, outputs=1)
FEASIBLE = FeasibleSet(SPACE, Budget(parameters=90))
OVERFLOWS = 1e25  # its square does
EXPLODES = 1.5e19  # its square fits into float32, the gradient's does not


def examples(seed: int, spoilt: dict[int, float] | None = None, rows: int = 400) -> Examples:
    """A quantity of four numbers; some rows have a target beyond all reason."""
    x = np.random.default_rng(seed).normal(size=(rows, 4))
    y = x[:, 0] * x[:, 1] + x[:, 2]
    for row, value in (spoilt or {}).items():
        y[row] = value
    return Examples(SPEC, numeric=x, target=y)


def search(training: Examples, validation: Examples | None = None, **settings: object) -> Search:
    options = {
        "epochs": 5,
        "batch_size": 16,
        "policy_optimizer": Adam(learning_rate=0.05),
        "evaluations_per_step": 3,
        "policy_every": 4,
    }
    made = SearchSettings(**(options | settings))
    return Search(FEASIBLE, training, validation or examples(1), made)


def finite(done: Search) -> bool:
    held = done.state_dict().items()
    return all(np.isfinite(value).all() for name, value in held if name != "history/quality")


@pytest.mark.parametrize("target", [OVERFLOWS, EXPLODES], ids=["loss", "gradient"])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_bad_row_only_skips_the_steps_it_is_in(target: float, workers: int) -> None:
    done = search(examples(0, {7: target}), workers=workers)
    done.run()
    assert done.step == done.steps
    assert done.history.skipped == 5  # once an epoch
    assert done.net.steps == done.steps - 5
    assert finite(done)
    assert np.isfinite(compute_one_shot_losses(done, select(done, 3))).all()


def test_a_search_without_bad_rows_skips_nothing() -> None:
    done = search(examples(0))
    done.run()
    assert done.history.skipped == 0


def test_bad_steps_in_a_row_end_the_search() -> None:
    done = search(examples(0, dict.fromkeys(range(400), OVERFLOWS)))
    with pytest.raises(SearchDivergedError, match=r"20 weight steps in a row .* scale the columns"):
        done.run()
    assert done.history.skipped == 20


def test_many_bad_steps_end_the_search() -> None:
    done = search(examples(0, dict.fromkeys(range(0, 400, 25), OVERFLOWS)))
    with pytest.raises(SearchDivergedError, match=r"of 125 weight steps had a loss or gradient"):
        done.run()
    assert done.history.skipped == 32  # more than a quarter


def test_too_high_a_rate_ends_the_search() -> None:
    settings = {"optimizer": SGD(), "schedule": Constant(1e12)}
    with pytest.raises(SearchDivergedError, match=r"learning rate well below 1e\+12"):
        search(examples(0), **settings).run()


def test_an_evaluation_that_is_not_finite_counts_as_the_worst_so_far() -> None:
    done = search(examples(0), examples(1, {5: OVERFLOWS}), warmup=0.0)
    done.run()
    qualities = [one.quality for one in done.history.evaluations]
    before = np.inf
    replaced = 0
    for quality in qualities:
        if np.isfinite(before) and (quality == min(before, quality.min())).all():
            replaced += 1
        before = min(before, quality.min())
    assert replaced > 0
    assert replaced < len(qualities) / 2
    assert finite(done)
    assert before > -1e6


def test_the_worst_is_of_this_evaluation_and_all_before(monkeypatch: pytest.MonkeyPatch) -> None:
    done = search(examples(0), reward="abs", reward_options={"beta": -1.0})  # evaluates everything
    losses = iter([[0.5, np.inf, 0.25], [np.nan, 0.75, 0.0], [np.inf] * 3])
    monkeypatch.setattr(done.net, "losses", lambda *given: next(losses))
    found = [done.policy_step(step).quality.tolist() for step in range(3)]
    assert found == [[0.5, 0.5, 0.75], [0.25, 0.25, 1.0], [0.25, 0.25, 0.25]]


def test_evaluations_without_a_finite_one_are_ignored() -> None:
    done = search(examples(0), examples(1, dict.fromkeys(range(400), OVERFLOWS)))
    done.run()
    assert np.isnan(np.concatenate([one.quality for one in done.history.evaluations])).all()
    assert (done.controller.policy.logits == 0).all()
    assert (compute_one_shot_losses(done, select(done, 3)) == np.inf).all()


@pytest.mark.parametrize("workers", [1, 2])
def test_skipped_steps_survive_a_stop(workers: int) -> None:
    """Stopped after any round, gone on elsewhere: the same bits, and the same count."""

    def made() -> Search:
        bad = dict.fromkeys((7, 90, 300), EXPLODES)
        return search(examples(0, bad), examples(1, {5: OVERFLOWS}), workers=workers)

    whole = made()
    states: list[dict[str, np.ndarray]] = []
    whole.run(lambda round: states.append(whole.state_dict()))
    final = whole.state_dict()
    assert whole.history.skipped > 5
    for stopped in states[::4]:
        resumed = made()
        resumed.load_state_dict({name: np.array(value) for name, value in stopped.items()})
        resumed.run()
        again = resumed.state_dict()
        assert again.keys() == final.keys()
        for name, value in final.items():
            np.testing.assert_array_equal(again[name], value)


def test_a_row_in_a_row_survives_a_stop() -> None:
    """A search about to end is not saved by being stopped."""
    bad = dict.fromkeys(range(400), OVERFLOWS)
    first = search(examples(0, bad))
    states: list[dict[str, np.ndarray]] = []
    with pytest.raises(SearchDivergedError):
        first.run(lambda round: states.append(first.state_dict()))
    again = search(examples(0, bad))
    again.load_state_dict(states[-1])
    with pytest.raises(SearchDivergedError):
        again.run()
    assert again.step == first.step == 20
