"""What the longer training of the best candidate gains, and what its early stopping costs.

    python benchmarks/longer_training.py --data tables --out results

On every table and seed, one network of two equal layers within 20 kB is trained as candidates are:
in the usual number of epochs, and in four times as many to the end, with the answers of a teacher
and by labels alone. The losses of all epochs of the training to the end tell what early stopping
after other shares of its epochs would have chosen. Probabilities are calibrated by a temperature on
the validation rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import ceil
from typing import Any

import numpy as np
from _shared import make_parser, write_results
from peers import load_split
from regret import LIMIT, teach
from tables import QUICK_FIRST, TABLES

from tabnas.data import ClassTarget
from tabnas.model import fit_temperature, primary_loss
from tabnas.nets import TrainingResult
from tabnas.paper import collect_provenance
from tabnas.runs import PlannedRun
from tabnas.runs._answers import LABELS_ONLY, Distillation
from tabnas.runs.candidates._training import make_trainer
from tabnas.runs.plan._equal_networks import list_equal_networks
from tabnas.runs.prepare._encoded_rows import EncodedRows

SEEDS = range(2)
SHARES = (1 / 4, 1 / 3, 1 / 2)  # of the epochs, after which a training stops
DISTILLATIONS = (Distillation(0.7), LABELS_ONLY)
COMMAND = "python benchmarks/longer_training.py --data ... --out results"


def measure(
    run: PlannedRun, distillation: Distillation, *, is_longer: bool
) -> dict[str, list[float]]:
    """Train a network to the end; return its losses after every epoch."""
    networks = list_equal_networks(run.plan.feasible, run.plan.limit_share)
    network = networks[min(1, len(networks) - 1)]  # with embeddings, if the table has numbers
    settings = replace(run.plan.get_training(is_longer=is_longer), early_stopping=None)
    rows = run.answers.training_rows(run.data, distillation)
    trainer = make_trainer(network, rows, run.plan, settings, run.data.validation.examples)
    losses: dict[str, list[float]] = {"stopping": [], "validation": [], "test": []}

    def on_epoch(result: TrainingResult) -> None:
        temperature = 1.0
        held_out = trainer.net.logits(network, run.data.validation.examples)
        if isinstance(run.data.target, ClassTarget):
            validation = run.data.validation
            temperature = fit_temperature(held_out, validation.y, validation.training_weight)
        tested = trainer.net.logits(network, run.data.test.examples)
        losses["stopping"].append(result.validation_losses[-1])
        losses["validation"].append(score(run, run.data.validation, held_out / temperature))
        losses["test"].append(score(run, run.data.test, tested / temperature))

    trainer.run(on_epoch=on_epoch)
    return {name: np.round(values, 6).tolist() for name, values in losses.items()}


def score(run: PlannedRun, rows: EncodedRows, outputs: np.ndarray) -> float:
    """Return the loss of outputs, by the metric of the run."""
    prediction = run.data.target_prediction(np.asarray(outputs, np.float32))
    return primary_loss(run.metric, run.data.target, rows.y, prediction, rows.weight)


def stop_early(losses: Sequence[float], patience: int) -> int:
    """Return after how many epochs a training ends that waits so long for a lower loss."""
    best = 0
    for epoch, loss in enumerate(losses):
        if loss < losses[best]:
            best = epoch
        if epoch - best >= patience:
            return epoch + 1
    return len(losses)


def compare(row: dict[str, Any], share: float) -> tuple[float, float]:
    """Return the change of the test loss by early stopping, in per cent, and the epochs left."""
    losses = row["longer"]
    epochs = len(losses["stopping"])
    stopped = stop_early(losses["stopping"], ceil(share * epochs))
    best, kept = np.argmin(losses["stopping"]), np.argmin(losses["stopping"][:stopped])
    return 100 * (losses["test"][kept] / losses["test"][best] - 1), stopped / epochs


def format_page(rows: list[dict[str, Any]], head: list[str]) -> Iterator[str]:
    """Yield the lines of the page."""
    yield from head
    titles = [f"stop after 1/{round(1 / share)}" for share in SHARES]
    titles = ["table", "teacher", "seeds", "longer, %", *(f"{t}, %" for t in titles)]
    yield f"| {' | '.join([*titles, *(f'epochs at 1/{round(1 / share)}' for share in SHARES)])} |"
    yield "|---" * (len(titles) + len(SHARES)) + "|"
    for table in QUICK_FIRST:
        for distillation in DISTILLATIONS:
            chosen = [
                r for r in rows if (r["table"], r["share"]) == (table, distillation.teacher_share)
            ]
            if not chosen:
                continue
            gains = [
                100 * (best_test(row["longer"]) / best_test(row["usual"]) - 1) for row in chosen
            ]
            changes = np.array([[compare(row, share) for share in SHARES] for row in chosen])
            cells = [table, "yes" if distillation.teacher_share else "no", str(len(chosen))]
            cells += [f"{np.mean(gains):+.2f}"]
            cells += [f"{value:+.2f}" for value in changes[:, :, 0].mean(axis=0)]
            cells += [f"{value:.0%}" for value in changes[:, :, 1].mean(axis=0)]
            yield f"| {' | '.join(cells)} |"


def best_test(losses: dict[str, list[float]]) -> float:
    """Return the test loss after the epoch that the validation rows choose."""
    return losses["test"][int(np.argmin(losses["stopping"]))]


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--tables", nargs="*", choices=list(TABLES), default=list(QUICK_FIRST))
    parser.add_argument("--seeds", nargs="*", type=int, default=list(SEEDS))
    options = parser.parse_args()
    path = options.out / "longer_training.json"
    rows = json.loads(path.read_text())["rows"] if path.exists() else []
    for seed in options.seeds:
        for table in options.tables:
            if any((row["table"], row["seed"]) == (table, seed) for row in rows):
                continue
            run = teach(load_split(options.data, table, TABLES[table][0], seed))
            for distillation in DISTILLATIONS:
                usual, longer = (
                    measure(run, distillation, is_longer=flag) for flag in (False, True)
                )
                row = {"table": table, "seed": seed, "share": distillation.teacher_share}
                rows.append(row | {"usual": usual, "longer": longer})
                print(row, best_test(usual), best_test(longer), flush=True)
            write_page(options, rows)
    write_page(options, rows)


def write_page(options, rows: list[dict[str, Any]]) -> None:
    origin = collect_provenance(COMMAND)
    head = [
        "# Longer training",
        "",
        f"`{COMMAND}`, {origin['date']}. One network of two equal layers within {LIMIT:,} bytes, "
        "with 70 % of a teacher's answers and by labels alone, seeds 0 and 1. *Longer*: by how "
        "many per cent the loss on test rows changes with four times as many epochs, to the end. "
        "*Stop after 1/n*: by how many it changes again if the longer training stops after 1/n of "
        "its epochs without a lower loss on the validation rows; *epochs*: which share of them is "
        "trained. The default is 1/3.",
        "",
    ]
    page = "\n".join([*format_page(rows, head), ""])
    write_results(options.out, "longer_training", origin | {"rows": rows}, page)


if __name__ == "__main__":
    main()
