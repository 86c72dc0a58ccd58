"""What rows without a target are worth, and rows that are made up.

    python benchmarks/unlabelled.py --data tables --out results

Of a sample of each table, a share of the rows for training and validation keeps its labels; the
others are rows without a target, which the teacher answers. Its answers to augmented rows are
measured, too: values exchanged between near training rows, as in MUNGE (Bucila, Caruana and
Niculescu-Mizil, "Model compression", 2006). All kinds of a table and seed share the split, the
search and the teacher. An interrupted benchmark goes on where it was.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
from _shared import make_parser, sample_table, write_results
from scipy.spatial.distance import cdist
from tables import TABLES

from tabnas.data import EncodedTable
from tabnas.model import primary_loss
from tabnas.paper import collect_provenance
from tabnas.runs import LabelledTable, PlannedRun, RunCheckpoint, RunSettings, plan_run
from tabnas.runs._answers import LABELS_ONLY, Distillation
from tabnas.runs._job_pool import JobPool
from tabnas.runs._run_teacher import run_teacher
from tabnas.runs.candidates._candidate import Trial
from tabnas.runs.candidates._make_training import make_candidate_training
from tabnas.runs.candidates._train_candidates import TEACHER_SHARES, run_training
from tabnas.runs.evaluation._scores import load_network
from tabnas.runs.evaluation._teacher_scores import _decode_answers
from tabnas.runs.search._find_candidates import find_candidates

ORDER = ("california_housing", "letter", "higgs", "adult", "sleep", "connect4")
MAX_ROWS = 40_000
LABELLED = 0.2  # the share of rows that keep their labels
RATIOS = (1, 4)  # rows without a target for each training row
NEIGHBOURS = 1_000  # rows among which the nearest is looked for
SWAP, NOISE = 0.5, 0.1  # the probability to take a value of the near row; noise, by their distance
KNOWN = [*(Distillation(share) for share in TEACHER_SHARES), LABELS_ONLY]
WITH_MORE = Distillation(TEACHER_SHARES[0], uses_unlabelled=True)
SHARE = f"share {TEACHER_SHARES[0]:g}"
HIDDEN_KINDS = [f"{ratio} {rule}" for ratio in RATIOS for rule in ("always", "by validation")]
AUGMENTED_KINDS = ["augmented always", "augmented by validation"]


def augment(encoded: EncodedTable, rng: np.random.Generator) -> EncodedTable:
    """Return as many rows with values exchanged between a row and a near one."""
    numeric, categorical = encoded.numeric.copy(), encoded.categorical.copy()
    for start in range(0, len(encoded), NEIGHBOURS):
        part = np.arange(start, min(start + NEIGHBOURS, len(encoded)))
        others = rng.choice(len(encoded), min(NEIGHBOURS, len(encoded)), replace=False)
        distance = np.zeros((len(part), len(others)))
        if numeric.shape[1]:
            distance += cdist(encoded.numeric[part], encoded.numeric[others], "sqeuclidean")
        if categorical.shape[1]:
            different = cdist(encoded.categorical[part], encoded.categorical[others], "hamming")
            distance += categorical.shape[1] * different
        distance[part[:, None] == others] = np.inf
        near = others[distance.argmin(axis=1)]
        swap = rng.random((len(part), numeric.shape[1])) < SWAP
        value, other = encoded.numeric[part], encoded.numeric[near]
        noise = NOISE * np.abs(value - other) * rng.standard_normal(value.shape)
        numeric[part] = np.where(swap, other + noise * ~_is_flag(encoded.numeric), value)
        swap = rng.random((len(part), categorical.shape[1])) < SWAP
        categorical[part] = np.where(swap, encoded.categorical[near], encoded.categorical[part])
    return EncodedTable(numeric, categorical)


def _is_flag(numeric: np.ndarray) -> np.ndarray:
    """Return which columns have two values, like those that tell missing values."""
    low, high = numeric.min(axis=0), numeric.max(axis=0)
    return ((numeric == low) | (numeric == high)).all(axis=0)


def concatenate(parts: Sequence[EncodedTable]) -> EncodedTable:
    """Return all rows of several tables."""
    return EncodedTable(
        np.concatenate([part.numeric for part in parts]),
        np.concatenate([part.categorical for part in parts]),
    )


@dataclass(frozen=True)
class Measured:
    """What a training took and reached."""

    validation: float
    test: float
    seconds: float


@dataclass
class Experiment:
    """A run with its teacher; trains networks from some of the rows without a target."""

    run: PlannedRun
    architectures: Sequence
    pools: dict[str, slice]  # rows without a target, by kind

    def __post_init__(self) -> None:
        self._measured: dict[object, Measured] = {}

    def measure(self, trial: Trial, pool: str, epochs: int = 1) -> Measured:
        """Train a network, for so many times as many epochs; the second time it is known."""
        key = (trial, pool if trial.distillation.uses_unlabelled else "", epochs)
        if key not in self._measured:
            self._measured[key] = self._train(trial, pool, epochs)
        return self._measured[key]

    def _train(self, trial: Trial, pool: str, epochs: int) -> Measured:
        run, rows = self.run, self.pools.get(pool, slice(0))
        data, answers, test = run.data, run.answers, run.data.test
        more = EncodedTable(data.unlabelled.numeric[rows], data.unlabelled.categorical[rows])
        data = replace(data, unlabelled=more)
        answers = replace(answers, unlabelled=answers.unlabelled[rows])
        training = replace(run.plan.training, epochs=run.plan.training.epochs * epochs)
        plan = replace(run.plan, training=training)
        began = perf_counter()
        candidate = run_training(make_candidate_training(trial, data, plan, run.metric, answers))
        seconds = perf_counter() - began
        net = load_network(run, candidate.weights, candidate)
        outputs = net.logits(trial.architecture, test.examples)
        prediction = data.target_prediction(outputs / np.float32(candidate.temperature))
        loss = primary_loss(run.metric, data.target, test.y, prediction, test.weight)
        return Measured(candidate.loss, loss, seconds)

    def choose(self, distillations: Sequence[Distillation], pool: str = "", epochs: int = 1):
        """Train candidates as a run does: the first in every way, the others in the best.

        The best is trained by labels alone, too, if that is one of the ways. Returns what the best
        by validation loss learned from, and its losses.
        """
        first, *others = self.architectures
        trials = [Trial(first, distillation) for distillation in distillations]
        distillation = self._best(trials, pool, epochs).distillation
        trials += [Trial(architecture, distillation) for architecture in others]
        if LABELS_ONLY in distillations:
            trials.append(Trial(self._best(trials, pool, epochs).architecture))
        best = self._best(trials, pool, epochs)
        return best.distillation, self.measure(best, pool, epochs)

    def _best(self, trials: Sequence[Trial], pool: str, epochs: int) -> Trial:
        return min(trials, key=lambda trial: self.measure(trial, pool, epochs).validation)


def prepare(folder, name: str, seed: int, labelled: float) -> Experiment:
    """Split and search a table, and train the teacher."""
    target, limit = TABLES[name]
    rng = np.random.default_rng(seed)
    table = LabelledTable.from_table(sample_table(folder, name, rng, MAX_ROWS), target)
    order = rng.permutation(len(table))
    n_test = len(table) // 5
    n_labelled = round(labelled * (len(table) - n_test))
    test, known, hidden = np.split(order, [n_test, n_test + n_labelled])
    settings = RunSettings(limits={"parameters": limit}, seed=seed, reference_models=False)
    run = plan_run(table.take(known), settings, test=table.take(test))
    unlimited = run.data.unlimited
    train = unlimited.train_in_memory.encoded
    parts = [augment(train, rng)]
    pools = {"augmented": slice(0, len(train))}
    if len(hidden):
        more = hidden[: max(RATIOS) * len(train)]
        parts.append(unlimited.encoder.encode(table.features, rows=more))
        pools |= {f"{k}": slice(len(train), (1 + k) * len(train)) for k in RATIOS}
    unlimited = replace(unlimited, unlabelled=concatenate(parts))
    run = replace(run, data=unlimited.limit_embeddings(settings.computed_budget))

    def ignore(progress) -> None: ...

    checkpoint = RunCheckpoint()
    architectures = find_candidates(run, ignore, checkpoint).architectures
    answers, teachers = run_teacher(run, ignore, checkpoint, JobPool(checkpoint))
    return Experiment(replace(run, answers=answers, teachers=teachers), architectures, pools)


def execute(folder, name: str, seed: int, labelled: float) -> dict[str, object]:
    """Return test losses of all kinds for a table, a seed and a share of labels."""
    began = perf_counter()
    experiment = prepare(folder, name, seed, labelled)
    kinds = {
        "labels": experiment.choose([LABELS_ONLY]),
        "teacher": experiment.choose(KNOWN),
        SHARE: experiment.choose(KNOWN[:1]),
    }
    for pool in experiment.pools:
        kinds[f"{pool} always"] = experiment.choose([WITH_MORE], pool)
        kinds[f"{pool} by validation"] = experiment.choose([*KNOWN, WITH_MORE], pool)
    if str(RATIOS[-1]) in experiment.pools:  # as many steps as with the rows without a target
        kinds["more epochs"] = experiment.choose(KNOWN[:1], epochs=1 + RATIOS[-1])
    run, test = experiment.run, experiment.run.data.test
    return {
        "table": name,
        "seed": seed,
        "labelled": labelled,
        "train rows": run.data.train_rows,
        "metric": run.metric.name,
        "losses": {kind: measured.test for kind, (_, measured) in kinds.items()},
        "teacher loss": primary_loss(
            run.metric, run.data.target, test.y, _decode_answers(run), test.weight
        ),
        "chosen": {kind: distillation.uses_unlabelled for kind, (distillation, _) in kinds.items()},
        "training seconds": {kind: measured.seconds for kind, (_, measured) in kinds.items()},
        "seconds": perf_counter() - began,
    }


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--tables", nargs="*", default=list(ORDER))
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    path = options.out / "unlabelled.json"
    rows = json.loads(path.read_text())["rows"] if path.exists() else []
    done = {(row["table"], row["seed"], row["labelled"]) for row in rows}
    command = "python benchmarks/unlabelled.py --data ... --out results"
    for labelled in (LABELLED, 1.0):
        for seed in range(options.seeds):
            for name in options.tables:
                if (name, seed, labelled) in done:
                    continue
                rows.append(execute(options.data, name, seed, labelled))
                row = rows[-1]
                print(name, seed, labelled, row["losses"], f"{row['seconds']:.0f} s", flush=True)
                origin = collect_provenance(command)
                write_results(
                    options.out, "unlabelled", origin | {"rows": rows}, report(origin, rows)
                )
    origin = collect_provenance(command)
    write_results(options.out, "unlabelled", origin | {"rows": rows}, report(origin, rows))


def report(origin, rows) -> str:
    """Return the page."""
    hidden = [row for row in rows if row["labelled"] == LABELLED]
    complete = [row for row in rows if row["labelled"] == 1.0]
    lines = [
        "# Rows without a target, and augmented rows",
        "",
        f"`{origin['command']}`, {origin['date']}. Samples of at most {MAX_ROWS:,} rows with the "
        "limits of [tables.md](tables.md); a fifth are test rows. Log loss, or RMSE, on test rows; "
        "means over seeds. Changes are to the network with a teacher and without these rows, with "
        "the standard error of the paired differences; below zero is better. *Always*: all "
        "candidates learn from these rows. *By validation*: the first candidate is trained in "
        "every way, the others in the way that was best by the validation rows, as runs do. All "
        "kinds share the split, the search and the teacher.",
        "",
        "## Rows without a target",
        "",
        f"Of the rows for training and validation, {LABELLED:.0%} keep their labels. 1 and 4: rows "
        f"without a target for each training row. They are learned with {TEACHER_SHARES[0]:.0%} of "
        f"the teacher's answers; the column *{SHARE}* is the same without them, and "
        f"*more epochs* the same with {1 + RATIOS[-1]} times as many epochs: as many steps as with "
        f"{RATIOS[-1]} rows for each. *Chosen*: how often validation rows chose them, by ratio.",
        "",
        *_table(hidden, HIDDEN_KINDS, [SHARE, "more epochs"]),
        "",
        _sum_up(hidden, HIDDEN_KINDS),
        "",
        _time(hidden),
        _compare_ratios(hidden),
        "",
        "## Augmented rows",
        "",
        "As many rows as there are training rows: a value is taken from a near row, the nearest of "
        f"{NEIGHBOURS:,}, with probability {SWAP:g}; numbers with a little noise (MUNGE). The "
        "library does not do this.",
        "",
        f"### {LABELLED:.0%} of the rows",
        "",
        *_table(hidden, AUGMENTED_KINDS, [SHARE]),
        "",
        _sum_up(hidden, AUGMENTED_KINDS),
    ]
    if complete:
        lines += [
            "",
            "### All rows",
            "",
            *_table(complete, AUGMENTED_KINDS, [SHARE]),
            "",
            _sum_up(complete, AUGMENTED_KINDS),
        ]
    return "\n".join(lines) + "\n"


def _table(rows, kinds, others) -> list[str]:
    heads = ["table", "seeds", "training rows", "labels", "teacher", "teacher itself"]
    heads += [*kinds, *others, "chosen"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for name in dict.fromkeys(row["table"] for row in rows):
        of_table = [row for row in rows if row["table"] == name]
        teacher = np.array([row["losses"]["teacher"] for row in of_table])
        cells = [name, f"{len(of_table)}", f"{of_table[0]['train rows']:,}"]
        cells += [f"{np.mean([row['losses']['labels'] for row in of_table]):.4f}"]
        cells += [f"{teacher.mean():.4f}"]
        cells += [f"{np.mean([row['teacher loss'] for row in of_table]):.4f}"]
        for kind in [*kinds, *others]:
            change = np.array([row["losses"][kind] for row in of_table]) - teacher
            error = f" ± {_standard_error(change):.4f}" if len(change) > 1 else ""
            cells.append(f"{change.mean():+.4f}{error}")
        chosen = [kind for kind in kinds if kind.endswith("by validation")]
        cells.append(
            ", ".join(f"{sum(row['chosen'][kind] for row in of_table)}" for kind in chosen)
        )
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _standard_error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def _sum_up(rows, kinds) -> str:
    """Return how often each kind was better and worse, in all pairs of table and seed."""
    texts = []
    for kind in kinds:
        ratio = np.array([row["losses"][kind] / row["losses"]["teacher"] - 1 for row in rows])
        texts.append(
            f"{kind}: better in {(ratio < 0).sum()}, worse in {(ratio > 0).sum()} of {len(ratio)} "
            f"runs, loss {ratio.mean():+.2%} on average"
        )
    return "; ".join(texts) + "."


def _time(rows) -> str:
    """Return how much longer a training takes."""
    texts = []
    for ratio in RATIOS:
        times = [row["training seconds"] for row in rows]
        longer = np.median([kinds[f"{ratio} always"] / kinds[SHARE] for kinds in times])
        texts.append(f"{longer:.1f}")
    return (
        f"The training of the best network takes {' and '.join(texts)} times as long as without "
        "these rows (medians, on a machine with other work)."
    )


def _compare_ratios(rows) -> str:
    """Return what more rows change, which the default ratio was chosen by."""
    few, many = (f"{ratio} by validation" for ratio in RATIOS)
    change = np.array([row["losses"][many] / row["losses"][few] - 1 for row in rows])
    return (
        f"By validation, {RATIOS[1]} instead of {RATIOS[0]} change the loss by "
        f"{change.mean():+.2%} ± {_standard_error(change):.2%}. Runs use at most {RATIOS[0]}. That "
        "was chosen by these losses and times, on these seeds."
    )


if __name__ == "__main__":
    main()
