"""How far the network of a default run is from the best of many that use up the limit.

    python benchmarks/regret.py --data tables --out results

The space of a default run, with numeric embeddings and widths between its candidates, is too large
to train all of it. A sample stands for it: for every dimension, networks drawn uniformly from those
that use at least 85 % of the limit, widened until they use it up. All learn from the same rows and
the same teacher, with the share of its answers that the first default run chooses.

The default run is repeated with other seeds of the search and of the trainings. What it chooses,
and the best of its candidates of the search alone or of equal layers alone, joins the sample. All
networks are trained with `SAMPLE_SEEDS`; the ten best and all that were chosen are trained again
with `FINAL_SEEDS`, which play no part in any choice. Regret is the difference of the mean test loss
of a choice over the final seeds to the lowest such mean, in standard deviations of one training
over seeds. The lowest of many means is somewhat too low, so regret is somewhat too high.
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
from tabnas.runs._answers import Distillation
from tabnas.runs._execute_run import make_pool
from tabnas.runs._final_training import calibrate
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
SPLIT_SEED = 5  # no default was chosen by its test rows
SAMPLE = 30  # networks of each dimension
SAMPLE_SEEDS = range(1_000, 1_003)
FINAL_SEEDS = range(2_000, 2_010)
FINALISTS = 10
RUN_SEEDS = range(10)
CHOICES = ("default", "search alone", "equal layers alone", "a random network")
COMMAND = "python benchmarks/regret.py --data ... --out results"
MEASURED = {"limit": LIMIT, "split_seed": SPLIT_SEED}
"""What a file of losses must have been measured with to be continued."""


class Trainings:
    """Test losses of networks that learn from the same rows and the same share of answers."""

    def __init__(self, run: PlannedRun, distillation: Distillation, metric: str) -> None:
        self._run, self._distillation, self._metric = run, distillation, metric

    def losses(self, architecture: Architecture, seeds: Iterable[int]) -> list[float]:
        """Train a network with each seed; return its test losses."""
        return [self._train(architecture, seed) for seed in seeds]

    def _train(self, architecture: Architecture, seed: int) -> float:
        run = set_seed(self._run, seed)
        trial = Trial(architecture, self._distillation, run.plan.list_precisions(architecture))
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
    settings = RunSettings(limits={"bytes": LIMIT}, seed=split.seed, reference_models=False)
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
    candidates = [one for one in candidates if not one.is_longer]  # as the networks of the sample

    def best(counts: Callable[[Architecture], bool]) -> str:
        counted = [one for one in candidates if counts(one.architecture)]
        return str(min(counted, key=lambda one: one.loss).architecture)

    chosen = min(candidates, key=lambda one: one.loss)
    return {
        "default": best(lambda one: True),
        "search alone": best(lambda one: one not in equal),
        "equal layers alone": best(lambda one: one in equal),
        "share": chosen.distillation.teacher_share,
    }


def measure(split: Split, path: Path) -> None:
    """Add what is missing to the file of a table."""
    content = json.loads(path.read_text()) if path.exists() else {}
    if content.get("measured") != MEASURED:
        content = {"measured": MEASURED, "runs": {}, "losses": {}, "final_losses": {}}

    def save() -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        origin = collect_provenance(COMMAND)
        path.write_text(json.dumps(content | origin, indent=1) + "\n")

    for seed in RUN_SEEDS:
        if str(seed) not in content["runs"]:
            content["runs"][str(seed)] = choose(teach(split), seed)
            print(path.stem, seed, content["runs"][str(seed)], flush=True)
            save()
    run = teach(split)
    trainings = Trainings(run, Distillation(content["runs"]["0"]["share"]), split.metric)
    content["sample"] = [str(one) for one in draw_sample(run)]
    for known, names, seeds in (
        (content["losses"], lambda: [*chosen_names(content), *content["sample"]], SAMPLE_SEEDS),
        (content["final_losses"], lambda: final_names(content), FINAL_SEEDS),
    ):
        for name in names():
            if name not in known:
                known[name] = trainings.losses(Architecture.parse(name), seeds)
                save()
    content["is_complete"] = True
    save()


def chosen_names(content: dict[str, Any]) -> list[str]:
    """Return the networks that some run chooses."""
    names = [choices[choice] for choices in content["runs"].values() for choice in CHOICES[:-1]]
    return list(dict.fromkeys(names))


def final_names(content: dict[str, Any]) -> list[str]:
    """Return the networks that are trained with the final seeds: the best, and all choices."""
    return list(dict.fromkeys([*find_finalists(content), *chosen_names(content)]))


def find_finalists(content: dict[str, Any]) -> list[str]:
    """Return the best networks by the seeds of the sample."""
    losses = content["losses"]
    return sorted(losses, key=lambda name: np.mean(losses[name]))[:FINALISTS]


def summarize(content: dict[str, Any]) -> dict[str, Any]:
    """Return the regrets of a table, in standard deviations of one training."""
    losses = {name: np.array(values) for name, values in content["final_losses"].items()}
    final = np.array(list(losses.values()))  # [networks, seeds]
    deviation = float(np.sqrt(final.var(axis=1, ddof=1).mean()))
    best = float(final.mean(axis=1).min())
    regrets = {
        choice: [
            float((losses[choices[choice]].mean() - best) / deviation)
            for choices in content["runs"].values()
        ]
        for choice in CHOICES[:-1]
    }
    sample = [np.mean(content["losses"][name]) for name in content["sample"]]
    regrets["a random network"] = [float(loss - best) / deviation for loss in sample]
    count = len(content["losses"])
    equal = [runs["default"] == runs["equal layers alone"] for runs in content["runs"].values()]
    return {
        "best": best,
        "deviation": deviation,
        "networks": count,
        "regrets": regrets,
        "equal_chosen": sum(equal),
    }


def report(origin: dict[str, Any], summaries: dict[str, dict[str, Any]]) -> str:
    """Return the page."""
    lines = [
        "# Regret of the default",
        "",
        f"`{origin['command']}`, {origin['date']}. Within {LIMIT // 1_000} kB, "
        f"{len(RUN_SEEDS)} default runs with different seeds of search and trainings on the same "
        f"rows, against a sample of networks that use up the limit, {SAMPLE} of each dimension of "
        f"numeric embeddings, each trained with {len(SAMPLE_SEEDS)} seeds. The ten best networks "
        f"and all that were chosen are trained with {len(FINAL_SEEDS)} other seeds, and with the "
        "share of the teacher's answers that the first run chooses. Regret: the difference of the "
        "mean test loss over these seeds to the lowest, in standard deviations of one training "
        "over seeds. The lowest of many "
        "means is somewhat too low, so regret is somewhat too high. In brackets: the share of "
        "runs, or of the sample, within two deviations. *Search alone* is the best of the "
        "run's candidates from the search, *equal layers alone* of those with equal layers.",
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
    means = [
        f"{pooled['mean']:.2f} ({pooled['near_best']:.0%})".replace("%", " %")
        for pooled in pool(summaries).values()
    ]
    n_runs = sum(len(one["regrets"]["default"]) for one in summaries.values())
    n_equal = sum(one["equal_chosen"] for one in summaries.values())
    return "\n".join(
        [
            *lines,
            f"| mean | | | | {' | '.join(means)} |",
            "",
            f"{n_equal} of {n_runs} runs choose a network of equal layers. A run has up to three "
            "candidates of equal layers and two of the search, so *search alone* has fewer to "
            "choose from; with equally many, the two kinds do not differ in "
            "[equal_bytes.md](equal_bytes.md#what-each-part-is-worth).",
            "",
        ]
    )


def pool(summaries: dict[str, dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Return the mean over tables of each choice's regret and share near the best."""
    return {
        choice: {
            "mean": float(np.mean([np.mean(one["regrets"][choice]) for one in summaries.values()])),
            "near_best": float(
                np.mean([_near_best(one["regrets"][choice]) for one in summaries.values()])
            ),
        }
        for choice in CHOICES
    }


def _near_best(regrets: Sequence[float]) -> float:
    return float(np.mean(np.array(regrets) <= 2))


def _format(regrets: Sequence[float]) -> str:
    return f"{np.mean(regrets):.2f} ({_near_best(regrets):.0%})".replace("%", " %")


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--tables", nargs="*", default=list(NAMES))
    options = parser.parse_args()
    for name in options.tables:
        path = options.out / "regret" / f"{name}.json"
        measure(load_split(options.data, name, TABLES[name][0], SPLIT_SEED), path)
    files = {name: options.out / "regret" / f"{name}.json" for name in TABLES}
    contents = {name: json.loads(path.read_text()) for name, path in files.items() if path.exists()}
    summaries = {
        name: summarize(content)
        for name, content in contents.items()
        if content.get("is_complete")  # others are being measured
    }
    origin = collect_provenance(COMMAND)
    content = origin | {"tables": summaries, "mean": pool(summaries)}
    write_results(options.out, "regret", content, report(origin, summaries))


if __name__ == "__main__":
    main()
