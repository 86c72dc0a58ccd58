"""How far the network of a default run is from the best within the limit.

    python benchmarks/regret.py --data tables --out results

The space of a default run, with numeric embeddings and widths between its candidates, is too large
to train all of it. A sample stands for it: for every dimension, networks drawn uniformly from those
that use at least 85 % of the limit, widened until they use it up. All learn from the same rows and
the same teacher, with the seeds of `TRUTH_SEEDS`, in the lesson that the default run chooses.

The default run is repeated with other seeds of the search and of the trainings. What it chooses,
and what it would choose among its candidates of the search alone or of equal layers alone, is
trained again with seeds that played no part in the choice. Regret is the difference of its mean
test loss to that of the best network of the sample, in standard deviations of one training over
seeds. The best is chosen by all seeds but one and evaluated by that one, in turns, so that luck
does not count.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from _shared import make_parser, write_results
from peers import load_split
from peers._split import Split
from tables import TABLES

from tabnas.paper import collect_provenance
from tabnas.runs import PlannedRun, RunCheckpoint, RunSettings, make_candidate_training, plan_run
from tabnas.runs._answers import Lesson
from tabnas.runs._final_training import calibrate
from tabnas.runs._pipeline import make_pool
from tabnas.runs._run_teacher import run_teacher
from tabnas.runs.candidates._candidate import Trial
from tabnas.runs.candidates._train_candidates import train_candidates
from tabnas.runs.evaluation._scores import score_test_rows
from tabnas.runs.plan._equal_networks import list_equal_networks
from tabnas.runs.search._find_candidates import find_candidates
from tabnas.search import MIN_COST_RATIO
from tabnas.space import Architecture, widen_to_limits
from tabnas.streams import stream

NAMES = ("california_housing", "letter", "criteo", "higgs")
LIMIT = 20_000
SAMPLE = 30  # networks of each dimension
TRUTH_SEEDS = (1_000, 1_001, 1_002)
RUN_SEEDS = range(10)
CHOICES = ("default", "search alone", "equal layers alone", "a random network")


class Trainings:
    """Test losses of networks, each trained with all truth seeds; kept in a file."""

    def __init__(self, run: PlannedRun, lesson: Lesson, metric: str, known: dict[str, Any]) -> None:
        self._run, self._lesson, self._metric, self.known = run, lesson, metric, known

    def losses(self, architecture: Architecture) -> list[float]:
        """Return the test loss with each seed."""
        if str(architecture) not in self.known:
            self.known[str(architecture)] = [self._train(architecture, s) for s in TRUTH_SEEDS]
        return self.known[str(architecture)]

    def _train(self, architecture: Architecture, seed: int) -> float:
        run = set_seed(self._run, seed)
        trial = Trial(architecture, self._lesson, run.plan.list_precisions(architecture))
        training = make_candidate_training(trial, run.data, run.plan, run.metric, run.answers)
        candidate = training.run()
        scores, _ = score_test_rows(run, calibrate(candidate.weights, candidate), candidate)
        return scores["network"].metrics[self._metric].value


def set_seed(run: PlannedRun, seed: int) -> PlannedRun:
    """Return the run on the same rows, with another seed of the search and of the trainings."""
    plan = run.plan
    search, training = replace(plan.search, seed=seed), replace(plan.training, seed=seed)
    return replace(run, plan=replace(plan, search=search, training=training))


def ignore(progress: Any) -> None: ...


@lru_cache(maxsize=1)
def teach(split: Split) -> PlannedRun:
    """Plan the default run, and train its teacher."""
    settings = RunSettings(limits={"bytes": LIMIT}, reference_models=False)
    run = plan_run(split.labelled, settings)
    checkpoint = RunCheckpoint()
    with make_pool(run, checkpoint) as pool:
        answers, teachers = run_teacher(run, ignore, checkpoint, pool)
    return replace(run, answers=answers, teachers=teachers)


def draw_sample(run: PlannedRun) -> list[Architecture]:
    """Draw networks of every dimension that use up the limit."""
    feasible = run.plan.feasible
    space, rng = feasible.space, stream(0, "sample of networks")
    drawn: list[Architecture] = []
    for dimension in range(len(space.layers[0]) if space.first_hidden else 1):
        logits = np.zeros((len(space.layers), space.max_choices))
        if space.first_hidden:
            logits[0, np.arange(space.max_choices) != dimension] = -np.inf
        found: dict[Architecture, None] = {}
        while len(found) < SAMPLE:
            for one in feasible.sample(200, logits, rng=rng):
                if feasible.cost_ratio(np.array(space.choices(one))) >= MIN_COST_RATIO:
                    found[widen_to_limits(one, space, feasible.budget)] = None
        drawn += list(found)[:SAMPLE]
    return drawn


def choose(run: PlannedRun, seed: int) -> dict[str, str]:
    """Run the default with a seed; return what it chooses of all candidates and of some."""
    run, checkpoint = set_seed(run, seed), RunCheckpoint()
    equal = set(list_equal_networks(run.plan.feasible, run.plan.limit_share))
    with make_pool(run, checkpoint) as pool:
        search = find_candidates(run, ignore, checkpoint)
        candidates = train_candidates(run, search.architectures, ignore, checkpoint, pool)

    def best(counts: Callable[[Architecture], bool]) -> str:
        counted = [one for one in candidates if counts(one.architecture)]
        return str(min(counted, key=lambda one: one.loss).architecture)

    chosen = min(candidates, key=lambda one: one.loss)
    return {
        "default": best(lambda one: True),
        "search alone": best(lambda one: one not in equal),
        "equal layers alone": best(lambda one: one in equal),
        "share": chosen.lesson.share,
    }


def measure(split: Split, path: Path) -> None:
    """Add what is missing to the file of a table."""
    content = json.loads(path.read_text()) if path.exists() else {"runs": {}, "losses": {}}

    def save() -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        origin = collect_provenance("python benchmarks/regret.py --data ... --out results")
        path.write_text(json.dumps(content | origin, indent=1) + "\n")

    for seed in RUN_SEEDS:
        if str(seed) not in content["runs"]:
            content["runs"][str(seed)] = choose(teach(split), seed)
            print(path.stem, seed, content["runs"][str(seed)], flush=True)
            save()
    run = teach(split)
    lesson = Lesson(content["runs"]["0"]["share"])
    trainings = Trainings(run, lesson, split.metric, content["losses"])
    content["sample"] = [str(one) for one in draw_sample(run)]
    named = [name for choices in content["runs"].values() for name in choices.values()]
    for name in dict.fromkeys([*filter(_is_name, named), *content["sample"]]):
        trainings.losses(Architecture.parse(name))
        save()


def _is_name(value: Any) -> bool:
    return isinstance(value, str)


def summarize(content: dict[str, Any]) -> dict[str, Any]:
    """Return the regrets of a table, in standard deviations of one training."""
    losses = {name: np.array(values) for name, values in content["losses"].items()}
    sample = np.array([losses[name] for name in content["sample"]])  # [networks, seeds]
    deviation = float(np.sqrt(sample.var(axis=1, ddof=1).mean()))
    best = _cross_fitted_best(sample)
    regrets = {
        choice: [
            float((losses[choices[choice]].mean() - best) / deviation)
            for choices in content["runs"].values()
        ]
        for choice in CHOICES[:-1]
    }
    regrets["a random network"] = list((sample.mean(axis=1) - best) / deviation)
    return {"best": best, "deviation": deviation, "networks": len(sample), "regrets": regrets}


def _cross_fitted_best(sample: np.ndarray) -> float:
    """Return the loss of the best network by some seeds, evaluated by the other."""
    held_out = []
    for seed in range(sample.shape[1]):
        others = np.delete(sample, seed, axis=1).mean(axis=1)
        held_out.append(sample[others.argmin(), seed])
    return float(np.mean(held_out))


def report(origin: dict[str, Any], summaries: dict[str, dict[str, Any]]) -> str:
    """Return the page."""
    lines = [
        "# Regret of the default",
        "",
        f"`{origin['command']}`, {origin['date']}. Within {LIMIT // 1_000} kB, "
        f"{len(RUN_SEEDS)} default runs with different seeds of search and trainings on the same "
        f"rows, against a sample of networks that use up the limit, {SAMPLE} of each dimension of "
        f"numeric embeddings, each trained with {len(TRUTH_SEEDS)} seeds. Regret: mean difference "
        "in test loss to the best of the sample, in standard deviations of one training over "
        "seeds, by trainings that played no part in any choice. Below zero is better than the "
        "best of the sample. In brackets: the share of runs within two deviations of it.",
        "",
        "| table | networks | best loss | deviation | " + " | ".join(CHOICES) + " |",
        "|---" * (4 + len(CHOICES)) + "|",
    ]
    for name, one in summaries.items():
        lines.append(
            f"| {name} | {one['networks']} | {one['best']:.4f} | {one['deviation']:.4f} | "
            + " | ".join(_format(one["regrets"][choice]) for choice in CHOICES)
            + " |"
        )
    pooled = [_join(one["regrets"][choice] for one in summaries.values()) for choice in CHOICES]
    return "\n".join([*lines, f"| mean | | | | {' | '.join(map(_format, pooled))} |", ""])


def _join(lists: Iterable[Sequence[float]]) -> list[float]:
    return [value for values in lists for value in values]


def _format(regrets: Sequence[float]) -> str:
    return f"{np.mean(regrets):.2f} ({np.mean(np.array(regrets) <= 2):.0%})".replace("%", " %")


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--tables", nargs="*", default=list(NAMES))
    options = parser.parse_args()
    contents = {}
    for name in options.tables:
        path = options.out / "regret" / f"{name}.json"
        measure(load_split(options.data, name, TABLES[name][0], 0), path)
    for name in NAMES:
        path = options.out / "regret" / f"{name}.json"
        if path.exists() and len((content := json.loads(path.read_text()))["runs"]):
            contents[name] = content
    summaries = {name: summarize(content) for name, content in contents.items()}
    origin = collect_provenance("python benchmarks/regret.py --data ... --out results")
    write_results(options.out, "regret", origin | {"tables": summaries}, report(origin, summaries))


if __name__ == "__main__":
    main()
