from __future__ import annotations

import numpy as np
import pytest

from tabnas import Budget, FeasibleSet, Limit, SearchSpace, TabNASError
from tabnas.policy import (
    SGD,
    Adam,
    Controller,
    MnasNet1,
    MovingAverage,
    Oblivious,
    Policy,
    Rejection,
    RejectionMonteCarlo,
    RejectionUncorrected,
)

SPACE = SearchSpace([[2, 3, 4], [2, 3, 4]], inputs=2, outputs=1)
TOY = FeasibleSet(SPACE, Budget(dense_parameters=25))


def test_the_entropy_of_a_uniform_policy_is_a_sum_of_logs() -> None:
    space = SearchSpace([[1], [1, 2], [1, 2, 3]], inputs=1, outputs=1)
    policy = Policy(FeasibleSet(space, Budget()), np.zeros((3, 3)))
    assert policy.entropy == pytest.approx(np.log(2) + np.log(3))


def test_adam_is_torch_adam() -> None:
    torch = pytest.importorskip("torch")
    gradients = np.random.default_rng(0).normal(size=(20, 4, 5))
    logits = torch.zeros(4, 5, dtype=torch.float64, requires_grad=True)
    reference = torch.optim.Adam([logits], lr=0.1, eps=1e-3, maximize=True)
    ours = Adam(learning_rate=0.1).init(np.zeros((4, 5)))
    for gradient in gradients:
        logits.grad = torch.from_numpy(gradient)
        reference.step()
        ours.step(gradient, np.array(True))
    assert ours.logits == pytest.approx(logits.detach().numpy(), abs=1e-12)


@pytest.mark.parametrize("optimizer", [Adam(learning_rate=0.1), SGD(learning_rate=0.1)])
def test_inactive_policies_keep_everything(optimizer: Adam | SGD) -> None:
    """Skipping steps is as if they had never been."""
    rng = np.random.default_rng(0)
    gradients = rng.normal(size=(30, 2, 3))
    active = rng.random(30) < 0.5
    skipping, dense = optimizer.init(np.zeros((1, 2, 3))), optimizer.init(np.zeros((2, 3)))
    for gradient, taken in zip(gradients, active, strict=True):
        skipping.step(gradient[None], np.array([taken]))
        if taken:
            dense.step(gradient, np.array(True))
    assert (skipping.logits[0] == dense.logits).all()


def test_moving_average_is_bias_corrected() -> None:
    average = MovingAverage(decay=0.9)
    assert average.value == 0
    values = [3.0, -1.0, 2.0]
    for value in values:
        average.add(np.array(value), np.array(True))
    weights = [0.1 * 0.9**2, 0.1 * 0.9, 0.1]
    assert average.value == pytest.approx(np.average(values, weights=weights))


@pytest.mark.parametrize("update_baseline_first", [True, False])
def test_one_step_by_hand(update_baseline_first: bool) -> None:
    controller = Controller(
        Oblivious(TOY),
        SGD(learning_rate=0.5),
        rng=0,
        update_baseline_first=update_baseline_first,
        decay=0.9,
    )
    controller.update(np.array([[0, 0]]), np.array([0.2]))
    before = controller.policy
    step = controller.update(np.array([[2, 1]]), np.array([0.6]))
    average = (0.1 * 0.9 * 0.2 + 0.1 * 0.6) / (0.1 * 0.9 + 0.1) if update_baseline_first else 0.2
    assert step.baseline == pytest.approx(average)
    score = -before.probabilities
    score[0, 2] += 1
    score[1, 1] += 1
    expected = before.logits + 0.5 * (0.6 - average) * score
    assert controller.policy.logits == pytest.approx(expected)


def test_workers_average_over_what_counts() -> None:
    """Infeasible workers count 0, and the mean is rescaled by workers / feasible workers."""
    workers = np.array([SPACE.choices(text) for text in ("4-2", "4-4", "2-2", "4-4")])
    quality = np.array([0.9, np.nan, 0.1, np.nan])
    four = Controller(
        Rejection(TOY, sample_from="policy"), SGD(learning_rate=1.0), rng=0, workers=4
    )
    step = four.update(workers, quality)
    assert step.reward == pytest.approx(0.5)
    two = Controller(Rejection(TOY, sample_from="policy"), SGD(learning_rate=1.0), rng=0, workers=2)
    two.update(workers[[0, 2]], quality[[0, 2]])
    assert four.policy.logits == pytest.approx(two.policy.logits)
    # the paper's wording: zeros in the average of four, then times 4 / 2
    zeros = np.array([0.9, 0, 0.1, 0])
    assert step.reward == pytest.approx(zeros.mean() * 4 / 2)


def test_workers_see_several_architectures() -> None:
    controller = Controller(Rejection(TOY), rng=0, workers=8)
    choices = controller.suggest()
    assert choices.shape == (8, 2)
    assert len(np.unique(choices, axis=0)) > 1
    assert TOY.contains(choices).all()


def test_the_same_seed_gives_the_same_policy() -> None:
    logits = []
    for _ in range(2):
        controller = Controller(Rejection(TOY), rng=7, workers=2)
        for _ in range(20):
            choices = controller.suggest()
            controller.update(choices, choices.sum(axis=-1) / 4)
        logits.append(controller.policy.logits)
    assert (logits[0] == logits[1]).all()


def test_a_quality_that_counts_must_be_finite() -> None:
    controller = Controller(Rejection(TOY), rng=0)
    with pytest.raises(TabNASError, match="must be finite"):
        controller.update(controller.suggest(), np.array([np.nan]))


@pytest.mark.parametrize("options", [{"workers": 0}, {"decay": 1.0}, {"decay": -0.1}])
def test_invalid_options_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(TabNASError, match=next(iter(options))):
        Controller(Rejection(TOY), rng=0, **options)


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf")])
def test_invalid_learning_rates_are_refused(rate: float) -> None:
    with pytest.raises(TabNASError, match="`learning_rate` must be positive"):
        Adam(learning_rate=rate)


@pytest.mark.parametrize(
    ("choices", "quality", "message"),
    [
        ([[0, 0]], [[0.5]], "one value per architecture"),
        ([[0, 0]], 0.5, "one value per architecture"),
        ([[0, 0], [1, 1]], [0.5], "one value per architecture"),
        ([0, 0], [0.5], "`choices` must have the shape"),
        ([[7, 0]], [0.5], "must be indices of candidates"),
        ([[-1, 0]], [0.5], "must be indices of candidates"),
    ],
)
def test_updates_of_another_shape(choices: object, quality: object, message: str) -> None:
    with pytest.raises(TabNASError, match=message):
        Controller(Rejection(TOY), rng=0).update(choices, quality)


def test_lists_are_accepted() -> None:
    assert Controller(Rejection(TOY), rng=0).update([[0, 0]], [0.5]).applied


def test_unknown_expectations_skip_the_step() -> None:
    """One Monte Carlo sample that is infeasible: no gradient, whatever y was."""
    reward = RejectionMonteCarlo(TOY, samples=1, proposal=[[0.0, 0.0, 99.0], [0.0, 0.0, 99.0]])
    controller = Controller(reward, rng=0)
    step = controller.update([SPACE.choices("4-2")], [0.5])
    assert not step.applied
    assert (controller.policy.logits == 0).all()
    assert controller.average.weight == 0


def test_monte_carlo_uses_the_stream_of_the_controller() -> None:
    reward = RejectionMonteCarlo(TOY, samples=3)
    rng = np.random.default_rng(0)
    policy = Policy(TOY, np.zeros((2, 3)))
    estimates = [reward.expectation(policy, rng)[0] for _ in range(20)]
    assert len({estimate.tobytes() for estimate in estimates}) > 5


def test_the_ablation_drops_what_is_infeasible() -> None:
    controller = Controller(RejectionUncorrected(TOY), rng=0)
    assert not controller.update([SPACE.choices("4-4")], [0.5]).applied
    assert controller.update([SPACE.choices("4-2")], [0.5]).applied


def test_infinite_rewards_are_refused() -> None:
    free = FeasibleSet(SPACE, Budget(Limit(lambda a: a.widths[0] - 2, 1)))
    controller = Controller(MnasNet1(free, beta=-1.0), rng=0)
    with pytest.raises(TabNASError, match="'mnasnet_1' must be finite"):
        controller.update([[0, 0]], [0.5])


@pytest.mark.parametrize("options", [{"beta1": 1.0}, {"beta2": 1.0}, {"epsilon": 0.0}])
def test_invalid_settings_of_adam_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(TabNASError, match="the betas of Adam"):
        Adam(**options)


def test_rewards_can_be_compared_with_the_others_of_their_step() -> None:
    """The gradient of the leave-one-out baseline, by its definition."""
    space = SearchSpace([[2, 3, 4], [2, 3, 4]], inputs=2, outputs=1)
    feasible = FeasibleSet(space, Budget(dense_parameters=25))
    controller = Controller(
        Rejection(feasible), SGD(learning_rate=1.0), rng=0, workers=3, baseline="others"
    )
    choices = np.array([[0, 1], [2, 0], [1, 1]])
    quality = np.array([0.2, 0.9, 0.4])
    marginals = feasible.marginals()
    expected = np.zeros((2, 3))
    for k in range(3):
        advantage = quality[k] - np.delete(quality, k).mean()
        score = np.zeros((2, 3))
        score[[0, 1], choices[k]] = 1
        expected += advantage / 3 * (score - marginals)
    controller.update(choices, quality)
    np.testing.assert_allclose(controller.policy.logits, expected, atol=1e-12)
    alone = Controller(Rejection(feasible), SGD(learning_rate=1.0), rng=0, baseline="others")
    alone.update(choices[:1], quality[:1])  # nobody else: the moving average, which is itself
    assert not alone.policy.logits.any()
    with pytest.raises(TabNASError, match="did you mean 'others'"):
        Controller(Rejection(feasible), rng=0, baseline="other")
