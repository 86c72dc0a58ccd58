from __future__ import annotations

import numpy as np
import pytest

from tabnas import Budget, FeasibleSet, SearchSpace, TabNASError
from tabnas.nets import SGD, Examples, Inputs, NetworkSpec
from tabnas.policy import Adam
from tabnas.search import CHILD_SAMPLERS, Search, SearchSettings, StepRecord

SPEC = NetworkSpec(inputs=Inputs(numeric=6), loss="softmax", outputs=3)
SPACE = SearchSpace([[2, 4, 8, 16], [0, 2, 4, 8]], inputs=6, outputs=3)
FEASIBLE = FeasibleSet(SPACE, Budget(parameters=200))


def examples(rows: int, seed: int) -> Examples:
    x = np.random.default_rng(seed).normal(size=(rows, 6)).astype(np.float32)
    target = (x[:, 0] * x[:, 1] > 0).astype(int) + (x[:, 2] > 0.5)
    return Examples(SPEC, numeric=x, target=target)


TRAINING, VALIDATION = examples(600, 0), examples(300, 1)


def search(**settings: object) -> Search:
    options = {
        "epochs": 4,
        "batch_size": 32,
        "policy_optimizer": Adam(learning_rate=0.05),
    } | settings
    return Search(FEASIBLE, TRAINING, VALIDATION, SearchSettings(**options))


@pytest.mark.parametrize("children", CHILD_SAMPLERS)
@pytest.mark.parametrize(
    ("reward", "options"),
    [("rejection", {}), ("rejection_monte_carlo", {"samples": 64}), ("abs", {"beta": -1.0})],
)
def test_every_combination_runs(children: str, reward: str, options: dict[str, object]) -> None:
    done = search(child_sampler=children, reward=reward, reward_options=options)
    rounds: list[StepRecord] = []
    done.run(rounds.append)
    assert done.step == done.steps == len(rounds) == 4 * 19
    assert len(done.history) == 57  # the policy is frozen for the first quarter
    assert (done.controller.policy.logits != 0).any()
    assert done.controller.policy.most_likely()[0] in FEASIBLE


def test_weights_and_policy_learn() -> None:
    done = search(epochs=60, batch_size=32)
    before = done.net.loss([3, 0], VALIDATION)
    done.run()
    assert done.net.loss(done.controller.policy.most_likely()[0], VALIDATION) < 0.7 * before
    assert done.controller.policy.entropy < np.log(16)


def test_the_policy_is_frozen_during_the_warm_up() -> None:
    done = search(warmup=0.5)
    done.run()
    assert [one.step for one in done.history.evaluations] == list(range(39, 77))


def wholly_trained(done: Search) -> list[float]:
    """Run a search and return the progress at which each step trained the whole SuperNet."""
    draw, at = done.child_sampler.sample, []

    def watched(progress: float, *rest: object) -> np.ndarray:
        choices = draw(progress, *rest)
        at.extend([progress] * int((choices == [3, 3]).all(axis=1).sum()))
        return choices

    done.child_sampler.sample = watched
    done.run()
    return at


@pytest.mark.parametrize("warmup", [0.0, 0.25, 0.6])
def test_the_warm_up_is_one_for_the_weights_and_the_policy(warmup: float) -> None:
    """The paper trains the whole SuperNet for as long as the policy is not trained."""
    done = search(child_sampler="paper", warmup=warmup, epochs=12)
    early = [progress for progress in wholly_trained(done) if progress < 0.6]
    first_step = next(one.step for one in done.history.evaluations)
    assert first_step - 1 == np.ceil(warmup * done.steps)
    by_chance = 0.6 * done.steps / SPACE.size
    expected = warmup * done.steps / 2 * (1 - 1 / SPACE.size) + by_chance
    assert len(early) == pytest.approx(expected, abs=12)


def test_a_late_policy_leaves_the_warm_up_of_the_weights_as_it_is() -> None:
    usual, late = (search(child_sampler="paper", policy_start=start) for start in (None, 0.6))
    wholly = [
        [progress for progress in wholly_trained(one) if progress < 0.25] for one in (usual, late)
    ]
    assert wholly[0] == wholly[1]
    assert [one.step for one in late.history.evaluations] == list(range(47, 77))


def test_a_policy_may_never_start() -> None:
    done = search(policy_start=1.0)
    done.run()
    assert done.step == done.steps
    assert not len(done.history)
    assert done.policy_steps == 0
    assert (done.controller.policy.logits == 0).all()


def test_evaluations_and_every() -> None:
    done = search(evaluations_per_step=3, policy_every=5, warmup=0.0)
    done.run()
    evaluations = done.history.evaluations
    assert [one.step for one in evaluations] == [*range(5, 76, 5), 76]
    assert all(one.choices.shape == (3, 2) for one in evaluations)
    assert all(np.isfinite(one.quality).all() for one in evaluations)


@pytest.mark.parametrize(("validation_batch_size", "rows"), [(0, 32), (50, 50), (400, 300)])
def test_evaluations_are_at_rows_from_everywhere(
    validation_batch_size: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many as a batch, unless told; all, if that is not more. Others at every step."""
    done = search(validation_batch_size=validation_batch_size, evaluations_per_step=2)
    everything = np.arange(len(VALIDATION))
    seen: list[np.ndarray] = []

    def losses(choices: list[object], validation: Examples, rows: object) -> list[float]:
        assert validation is VALIDATION
        seen.append(everything[rows])
        return [0.5] * len(choices)

    monkeypatch.setattr(done.net, "losses", losses)
    for step in range(30):
        done.policy_step(step)
    assert [len(one) for one in seen] == [rows] * 30
    if rows < 300:
        assert (seen[0] != seen[1]).any()
    assert len(np.unique(np.concatenate(seen))) > 280


def test_infeasible_evaluations_are_not_evaluated() -> None:
    done = search(reward="rejection", reward_options={"sample_from": "policy"}, warmup=0.0)
    done.run()
    choices = np.concatenate([one.choices for one in done.history.evaluations])
    quality = np.concatenate([one.quality for one in done.history.evaluations])
    assert (np.isfinite(quality) == FEASIBLE.contains(choices)).all()
    assert np.isnan(quality).any()


@pytest.mark.parametrize("workers", [1, 2])
def test_one_seed_fixes_everything(workers: int) -> None:
    runs = [search(seed=seed, workers=workers) for seed in (3, 3, 4)]
    for run in runs:
        run.run()
    logits = [run.controller.policy.logits for run in runs]
    weights = [run.net.weights()["layer.1.weight"] for run in runs]
    assert (logits[0] == logits[1]).all()
    assert (weights[0] == weights[1]).all()
    assert (logits[0] != logits[2]).any()
    assert (weights[0] != weights[2]).any()


def test_workers_share_the_rows_of_an_epoch() -> None:
    assert search(workers=3).steps == 4 * -(-600 // 96)


def test_the_paper_settings() -> None:
    settings = SearchSettings.paper(
        epochs=2,
        batch_size=32,
        optimizer=SGD(momentum=0.9),
        learning_rate=0.01,
        cosine=False,
        samples=50,
    )
    done = Search(FEASIBLE, TRAINING, VALIDATION, settings)
    done.run()
    assert done.controller.policy.most_likely()[0] in FEASIBLE


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epochs": 0}, "epochs must be an integer of at least 1"),
        ({"warmup": 1.0}, "`warmup` must be in"),
        ({"warmup": 0.5, "policy_start": 0.4}, r"`policy_start` must be in \[0.5, 1\].* got 0.4"),
        ({"policy_start": 1.1}, "`policy_start` must be in"),
        ({"reward": "rejecton"}, "did you mean 'rejection'"),
        ({"child_sampler": "papers"}, "did you mean 'paper'"),
        ({"evaluations_per_step": 0}, "evaluations_per_step must be"),
    ],
)
def test_invalid_settings_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(TabNASError, match=message):
        search(**settings)


@pytest.mark.parametrize("children", CHILD_SAMPLERS)
@pytest.mark.parametrize("workers", [1, 2])
def test_a_search_resumes_from_a_state(children: str, workers: int) -> None:
    """Stopped after any round, its state loaded into a new search: the same bits in the end."""
    settings = {
        "child_sampler": children,
        "workers": workers,
        "evaluations_per_step": 3,
        "policy_every": 4,
        "seed": 7,
    }
    whole = search(**settings)
    states: list[dict[str, np.ndarray]] = []
    whole.run(lambda round: states.append(whole.state_dict()))
    final = whole.state_dict()
    for stopped in states[::5]:
        resumed = search(**settings)
        resumed.load_state_dict({name: np.array(value) for name, value in stopped.items()})
        resumed.run()
        again = resumed.state_dict()
        assert again.keys() == final.keys()
        for name, value in final.items():
            np.testing.assert_array_equal(again[name], value)
