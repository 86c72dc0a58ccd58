"""What a second process gains: steps of two workers in one process and in two.

    python benchmarks/ranks.py --out results

Writes `ranks.json` and `ranks.md`. Both contestants are the torch engine with one thread a process,
and train the same two children on the same rows. They take turns; a figure is the median over
the turns. On a machine with as many cores as processes, what is missing from a gain of 2 is what
the processes wait for each other and tell one another.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from _shared import write_results

from tabnas.nets import Adam, Embedding, Examples, Inputs, NetworkSpec, SuperNet
from tabnas.paper import collect_provenance
from tabnas.space import SearchSpace

BATCHES = 8
TURNS, STEPS, WARM_UP = 7, 60, 5
WIDTHS = (8, 16, 32, 64, 128, 256)


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A table and its training."""

    name: str
    spec: NetworkSpec
    batch: int  # rows of each worker

    def examples(self) -> Examples:
        rng = np.random.default_rng(0)
        rows = BATCHES * self.batch
        tables = self.spec.inputs.category_embeddings
        categories = [rng.integers(0, table.categories, rows) for table in tables]
        return Examples(
            self.spec,
            numeric=rng.normal(size=(rows, self.spec.inputs.numeric)),
            categorical=np.stack(categories, axis=1) if tables else None,
            target=rng.integers(0, max(self.spec.outputs, 2), rows),
        )


SHAPES = [
    Shape(
        name="Letter, 16 numbers, 26 classes",
        spec=NetworkSpec(inputs=Inputs(numeric=16), loss="softmax", outputs=26),
        batch=128,
    ),
    Shape(
        name="Letter, batches of 2,048",
        spec=NetworkSpec(inputs=Inputs(numeric=16), loss="softmax", outputs=26),
        batch=2048,
    ),
    Shape(
        name="Criteo, 13 numbers, 26 tables of 100,000 x 16",
        spec=NetworkSpec(
            inputs=Inputs(
                numeric=13, category_embeddings=[Embedding(categories=100_000, dimension=16)] * 26
            ),
            loss="logistic",
        ),
        batch=512,
    ),
]


def step_us(shape: Shape, engine: str) -> float:
    """Microseconds of a step by two children, both near the widest of a space of three layers."""
    ends = {"inputs": shape.spec.inputs.width, "outputs": shape.spec.outputs}
    space = SearchSpace.uniform(layers=3, widths=WIDTHS, **ends)
    net = SuperNet(space, shape.spec, optimizer=Adam(), engine=engine, workers=2)
    examples, children = shape.examples(), [[5, 4, 3], [4, 5, 4]]
    order = np.random.default_rng(1).permutation(len(examples))
    rows = [np.array_split(order, BATCHES)[i] for i in range(BATCHES)]

    def steps(count: int) -> None:
        for i in range(count):
            both = [rows[i % BATCHES], rows[(i + 1) % BATCHES]]
            net.train_step_workers(children, examples, both, 1e-4)

    steps(WARM_UP)
    began = time.perf_counter()
    steps(STEPS)
    return (time.perf_counter() - began) / STEPS * 1e6


def in_process(number: int) -> None:
    """One process of some that torchrun has started, or the only one: prints what it measures."""
    import torch

    from tabnas.runs import connect_process_group

    shape = SHAPES[number]
    if "WORLD_SIZE" not in os.environ:
        torch.set_num_threads(1)
        print(step_us(shape, "torch"))
        return
    with connect_process_group() as process_group:
        torch.set_num_threads(1)
        us = step_us(shape, "torch.distributed")
        if process_group.is_first:
            print(us)


def measure_us(number: int, processes: int) -> float:
    """The same in processes of their own."""
    launcher = [sys.executable]
    if processes > 1:
        launcher += ["-m", "torch.distributed.run", "--nproc-per-node", str(processes)]
    command = [*launcher, __file__, "--shape", str(number)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout)


def compare(number: int) -> dict[str, object]:
    """One process and two, in turns."""
    turns = [{n: measure_us(number, n) for n in (1, 2)} for _ in range(TURNS)]
    us = {n: statistics.median(turn[n] for turn in turns) for n in (1, 2)}
    gains = sorted(turn[1] / turn[2] for turn in turns)
    shape = SHAPES[number]
    return {
        "shape": shape.name,
        "batch": shape.batch,
        "us": us,
        "gain": statistics.median(gains),
        "gain from": gains[0],
        "gain to": gains[-1],
    }


def markdown(results: dict[str, Any]) -> str:
    """For people."""
    machine = results["machine"]
    lines = [
        "# One step in two processes",
        "",
        f"`{results['command']}`, {results['date']}, {machine['processor']}, {machine['cores']} "
        f"cores. Microseconds of a training step by two workers, the torch engine with one thread "
        f"a process, connected by Gloo on one machine; medians of {TURNS} turns.",
        "",
        "| table | rows of a worker | one process | two | gain | from - to |",
        "|---|---|---|---|---|---|",
    ]
    for row in results["rows"]:
        lines.append(
            f"| {row['shape']} | {row['batch']:,} | {row['us'][1]:,.0f} | {row['us'][2]:,.0f} | "
            f"{row['gain']:.2f} | {row['gain from']:.2f} - {row['gain to']:.2f} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="folder for the results")
    parser.add_argument("--shape", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.shape is not None:
        in_process(options.shape)
        return
    if options.out is None:
        parser.error("--out is missing")
    origin = collect_provenance("python benchmarks/ranks.py --out results")
    origin["versions"] |= {"torch": version("torch")}
    rows = []
    for number in range(len(SHAPES)):
        rows.append(compare(number))
        print(rows[-1], flush=True)
    results = origin | {"rows": rows}
    write_results(options.out, "ranks", results, markdown(results), indent=2)


if __name__ == "__main__":
    main()
