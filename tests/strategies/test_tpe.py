from __future__ import annotations

import sys

import numpy as np
import pytest

from tabnas import Budget, FeasibleSet, SearchSpace, TabNASError
from tabnas.strategies import TPE, StuckError, _tpe, optimize
from tabnas.types import FloatArray, IntArray

SPACE = SearchSpace([[2, 3, 4], [0, 2, 3, 4]], inputs=2, outputs=1)
FEASIBLE = FeasibleSet(SPACE, Budget(dense_parameters=25))


def widest(choices: IntArray) -> FloatArray:
    return choices.sum(axis=1).astype(float)


def test_without_optuna_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(TabNASError, match=r"pip install 'tabnas\[paper\]'"):
        TPE(FEASIBLE, rng=0)


@pytest.mark.parametrize("ordered", [False, True])
def test_infeasible_trials_are_pruned_and_cost_no_evaluation(ordered: bool) -> None:
    optuna = pytest.importorskip("optuna")
    strategy = TPE(FEASIBLE, rng=0, ordered=ordered)
    optimize(strategy, widest, 40)
    states = [trial.state for trial in strategy._study.trials]
    assert states.count(optuna.trial.TrialState.COMPLETE) == strategy.n_evaluations == 40
    assert states.count(optuna.trial.TrialState.PRUNED) == len(states) - 40 > 0
    assert FEASIBLE.contains(strategy.mean_qualities()[0]).all()


def test_optuna_receives_the_qualities() -> None:
    pytest.importorskip("optuna")
    strategy = TPE(FEASIBLE, rng=0)
    optimize(strategy, lambda choices: choices @ [1.0, 0.3], 30)
    best = strategy._study.best_trial
    widths = [width for width in best.params.values() if width > 0]
    assert str(strategy.recommend()[0]) == "-".join(map(str, widths))


def test_options_go_to_the_sampler() -> None:
    pytest.importorskip("optuna")
    strategy = TPE(FEASIBLE, rng=0, sampler_options={"n_startup_trials": 3})
    assert strategy._study.sampler._n_startup_trials == 3


def test_nothing_is_logged(capsys: pytest.CaptureFixture[str]) -> None:
    optuna = pytest.importorskip("optuna")
    verbosity = optuna.logging.get_verbosity()
    TPE(FEASIBLE, rng=0)
    assert capsys.readouterr().err == ""
    assert optuna.logging.get_verbosity() == verbosity


def test_an_error_is_raised_if_nothing_feasible_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("optuna")
    monkeypatch.setattr(_tpe, "MAX_INFEASIBLE", 50)
    space = SearchSpace.uniform(layers=8, widths=range(4, 84, 4), inputs=10, outputs=1)
    cheapest = FeasibleSet(space, Budget(dense_parameters=200))
    strategy = TPE(cheapest, rng=0)
    with pytest.raises(StuckError, match=r"50 infeasible .* after 0 evaluations"):
        optimize(strategy, widest, 1)
    assert strategy.recommend() == []


def test_evaluations_of_other_architectures_are_accepted() -> None:
    pytest.importorskip("optuna")
    strategy = TPE(FEASIBLE, rng=0)
    strategy.update(np.array([[0, 1], [2, 3]]), np.array([1.0, np.nan]))
    assert strategy.n_evaluations == 1
    optimize(strategy, widest, 5)
