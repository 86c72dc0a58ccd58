"""The toy experiment: two layers, nine architectures, losses known."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from tabnas.errors import TabnasError
from tabnas.feasible import FeasibleSet, log_likelihood
from tabnas.paper._provenance import provenance
from tabnas.policy import REWARDS, Adam, Controller, Policy
from tabnas.space import Budget, SearchSpace
from tabnas.types import FloatArray, IntArray

Progress = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class ToyRun:
    """What became of one setting over all seeds."""

    probabilities: dict[int, FloatArray]  # step -> [seeds, layers, choices]
    optimum_probability: FloatArray  # [seeds]: of the optimum, given V if the reward rejects
    rejects: bool  # whether the reward learns from feasible architectures only
    found: IntArray  # [seeds]: the architecture picked, as an index into all
    p_feasible: FloatArray  # [seeds]: P(V) at the end


class Toy:
    """The experiment as its TOML file describes it."""

    def __init__(self, *, seeds: int | None = None) -> None:
        text = resources.files("tabnas.paper").joinpath("experiments/toy.toml").read_text()
        self.settings: dict[str, Any] = tomllib.loads(text)
        self.seeds = seeds or int(self.settings["seeds"])
        self.space = SearchSpace(**self.settings["space"])
        self.feasible = FeasibleSet(self.space, Budget(**self.settings["limit"]))
        self.losses = np.array(list(self.settings["losses"].values()))  # [choices, choices]
        self.every = np.indices(self.losses.shape).reshape(2, -1).T  # all choices, [n, layers]
        self.inside = self.feasible.contains(self.every)
        best = np.where(self.inside, self.losses.ravel(), np.inf).argmin()
        self.optimum = int(best)

    def name(self, index: int) -> str:
        """The architecture of an index into all."""
        return str(self.space.architecture(self.every[index]))

    def run(
        self,
        reward: str,
        options: dict[str, Any] | None = None,
        *,
        adam: dict[str, float] | None = None,
        average_first: bool = True,
        seed: int = 0,
    ) -> ToyRun:
        """All seeds of one setting side by side."""
        controller = Controller(
            REWARDS[reward](self.feasible, **(options or {})),
            Adam(**(self.settings["adam"] | (adam or {}))),
            rng=seed,
            decay=self.settings["decay"],
            average_first=average_first,
            batch=(self.seeds,),
        )
        seen = {0: controller.policy.probabilities}
        for step in range(1, self.settings["steps"] + 1):
            choices = controller.suggest()
            losses = self.losses[choices[..., 0], choices[..., 1]]
            controller.update(choices, 1 - losses)
            if step in self.settings["shown"]:
                seen[step] = controller.policy.probabilities
        return self._judge(controller.policy, seen, rejects=reward.startswith("rejection"))

    def _judge(self, policy: Policy, seen: dict[int, FloatArray], *, rejects: bool) -> ToyRun:
        """Rejection picks the most likely feasible architecture, other rewards the most likely."""
        every = np.broadcast_to(self.every, (self.seeds, *self.every.shape))
        log_p = log_likelihood(policy.log_p, every)  # [seeds, architectures]
        p_feasible = np.exp(policy.conditional.log_probability)
        p = np.exp(log_p)
        if rejects:
            p = np.where(self.inside, p / p_feasible[:, None], 0.0)
        return ToyRun(seen, p[:, self.optimum], rejects, p.argmax(axis=1), p_feasible)

    def summarise(self, run: ToyRun) -> dict[str, object]:
        """Shares of the seeds by where they ended."""
        success = run.found == self.optimum
        infeasible = ~self.inside[run.found]
        counts = np.bincount(run.found, minlength=len(self.every))
        return {
            "success": round(float(success.mean()), 4),
            "infeasible": round(float(infeasible.mean()), 4),
            "optimum_probability_mean": round(float(run.optimum_probability.mean()), 4),
            "optimum_probability_std": round(float(run.optimum_probability.std()), 4),
            "p_feasible_mean": round(float(run.p_feasible.mean()), 4),
            "found": {self.name(i): int(n) for i, n in enumerate(counts) if n},
        }


def run_toy(
    out: Path, *, seeds: int | None = None, progress: Progress = lambda _: None
) -> dict[str, Any]:
    """Run everything, write `summary.json` and the figures to `out`, and return the summary."""
    from tabnas.paper import _toy_figures

    _toy_figures.figure(1, 1, size=(1, 1))  # refuses now, not in the end, if it cannot draw
    _make_folder(out)
    toy = Toy(seeds=seeds)
    tuning = toy.settings["tuning"]

    progress("Figure 1: heat maps")
    rows = [
        (row["title"], toy.run(row["reward"], row.get("options")))
        for row in toy.settings["figure"]["rows"]
    ]
    progress("success against beta")
    by_beta = {beta: toy.run("abs", {"beta": beta}) for beta in tuning["abs_beta"]}
    progress("success against N")
    by_samples = {
        n: toy.run("rejection_monte_carlo", {"samples": n}) for n in tuning["monte_carlo_samples"]
    }
    exact = toy.run("rejection")
    exact_rejecting = toy.run("rejection", {"draw": "policy"})
    progress("success against the RL rate")
    by_rate = [
        {
            "rate": rate,
            "epsilon": epsilon,
            "monte_carlo_5": toy.summarise(
                toy.run("rejection_monte_carlo", {"samples": 5}, adam=adam)
            )["success"],
            "exact": toy.summarise(toy.run("rejection", adam=adam))["success"],
        }
        for epsilon in tuning["epsilons"]
        for rate in tuning["rates"]
        for adam in [{"rate": rate, "epsilon": epsilon}]
    ]
    progress("the printed order of the moving average")
    printed_order = {
        "monte_carlo_5": toy.summarise(
            toy.run("rejection_monte_carlo", {"samples": 5}, average_first=False)
        )["success"],
        "exact": toy.summarise(toy.run("rejection", average_first=False))["success"],
    }
    summary = {
        **provenance(f"tabnas paper toy{f' --seeds {seeds}' if seeds else ''}"),
        "seeds": toy.seeds,
        "steps": toy.settings["steps"],
        "optimum": toy.name(toy.optimum),
        "feasible": toy.feasible.count(),
        "figure_1": {title: toy.summarise(run) for title, run in rows},
        "abs_by_beta": {str(beta): toy.summarise(run) for beta, run in by_beta.items()},
        "monte_carlo_by_samples": {str(n): toy.summarise(run) for n, run in by_samples.items()},
        "exact": toy.summarise(exact),
        "exact_draws_rejected": toy.summarise(exact_rejecting),
        "by_rate": by_rate,
        "average_after_update": printed_order,
    }
    (out / "summary.json").write_text(json.dumps(summary, indent=2) + "\n")
    progress("drawing")
    _toy_figures.heat_maps(toy, rows, out / "figure-1.png")
    _toy_figures.tuning(toy, by_beta, by_samples, exact, exact_rejecting, out / "tuning.png")
    return summary


def _make_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TabnasError(f"the folder {str(out)!r} cannot be made: {error.strerror}") from None
