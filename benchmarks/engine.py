"""How fast a training step is: the compiled engine against PyTorch, scikit-learn and bare BLAS.

    python benchmarks/engine.py --out results

Writes `engine.json` and `engine.md`. All contestants of a row take turns in one process, and the
figures are medians over many turns, so the ratios mean more than the microseconds. Contests of
two threads wait a little for other processes to leave the cores alone. Needs the
`torch` and `dev` extras; `--no-compile` leaves out torch.compile, which takes minutes.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numba
import numpy as np
import scipy
import sklearn
import torch
from engine_floor import make_floor
from engine_torch import PlainNetwork, PlainSuperNet, torch_optimizer, torch_step
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits

from tabnas.nets import SGD, Adam, Embedding, Examples, Inputs, Optimizer, SuperNet, Task
from tabnas.space import PAPER_WIDTHS, Architecture, DenseParameters, SearchSpace

RATE = 1e-4
BATCHES = 8  # different batches in turn, so that no network ends up with gradients of nothing
# turns, and the seconds that each takes. With threads they are longer, since a thread that has just
# been woken can share a core with the one that woke it for a while.
TURNS = {"one thread": (25, 0.01), "two threads": (9, 0.15), "workers": (9, 1.0)}
KINDS = {1: "one thread", 2: "two threads"}


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A reference architecture of the paper with its training settings."""

    name: str
    inputs: Inputs
    architecture: str
    outputs: int
    batch: int
    optimizer: Optimizer

    @property
    def task(self):
        loss = "logistic" if self.outputs == 1 else "softmax"
        return Task(inputs=self.inputs, loss=loss, outputs=self.outputs)

    @property
    def child(self):
        return Architecture.parse(self.architecture)

    @property
    def sizes(self):
        return [self.inputs.width, *self.child.widths, self.outputs]

    def examples(self):
        rng = np.random.default_rng(0)
        rows = BATCHES * self.batch
        return Examples(
            self.task,
            numeric=rng.normal(size=(rows, self.inputs.numeric)).astype(np.float32),
            categorical=rng.integers(0, 3, (rows, len(self.inputs.embeddings)), dtype=np.int32),
            target=rng.integers(0, max(self.outputs, 2), rows),
        )

    def space(self):
        ends = {"inputs": self.inputs.width, "outputs": self.outputs}
        return SearchSpace.uniform(layers=self.child.depth, widths=PAPER_WIDTHS_22, **ends)


# the paper's 20 widths, and the few of its reference architectures that are not among them
PAPER_WIDTHS_22 = tuple(sorted({*PAPER_WIDTHS, 4, 20, 22}))
SHAPES = [
    Shape(
        name="Criteo", inputs=Inputs(numeric=1027), architecture="32-144-24", outputs=1,
        batch=512, optimizer=Adam(epsilon=0.001),
    ),
    Shape(
        name="Volkert", inputs=Inputs(numeric=180), architecture="48-160-32-144", outputs=10,
        batch=32, optimizer=SGD(momentum=0.9),
    ),
    Shape(
        name="Connect-4", inputs=Inputs(embeddings=[Embedding(categories=3, dimension=2)] * 42),
        architecture="32-22-4-20", outputs=3, batch=32, optimizer=Adam(epsilon=0.001),
    ),
    Shape(
        name="Higgs", inputs=Inputs(numeric=28), architecture="16-144-16", outputs=1,
        batch=64, optimizer=SGD(),
    ),
    Shape(
        name="Aloi", inputs=Inputs(numeric=128), architecture="160-64-512-64", outputs=1000,
        batch=128, optimizer=Adam(epsilon=0.001),
    ),
]  # fmt: skip


# -- contestants: each a function that takes a number of steps ------------------------------------


def looped(step):
    """Take `step(i)` for a running i."""
    count = 0

    def run(steps):
        nonlocal count
        for _ in range(steps):
            step(count % BATCHES)
            count += 1

    return run


def ours(net, child, examples, batch, *, shuffled=False):
    order = np.random.default_rng(1).permutation(len(examples))
    rows = [slice(i * batch, (i + 1) * batch) for i in range(BATCHES)]
    if shuffled:
        rows = [order[part] for part in rows]
    return looped(lambda i: net.train_step(child, examples, rows[i], RATE))


def ours_with_workers(net, child, examples, batch):
    """Two workers, each with `batch` rows of its own."""
    half = BATCHES // 2
    rows = [slice(i * batch, (i + 1) * batch) for i in range(BATCHES)]
    children = [child, child]
    return looped(
        lambda i: net.train_step_workers(
            children, examples, [rows[i], rows[(i + half) % BATCHES]], RATE
        )
    )


def plain_torch(shape, examples, *, compiled=False, fused=False):
    model = PlainNetwork(shape.task, shape.child.widths)
    optimizer = torch_optimizer(shape.optimizer, model, RATE, fused=fused)
    return looped(torch_step(model, optimizer, examples, shape.batch, BATCHES, compiled=compiled))


def torch_supernet(shape, space, widths, examples):
    model = PlainSuperNet(shape.task, [max(layer) for layer in space.candidates], widths)
    optimizer = torch_optimizer(shape.optimizer, model, RATE)
    return looped(torch_step(model, optimizer, examples, shape.batch, BATCHES))


def scikit_learn(shape, examples):
    """The same dense layers without LayerNorm, which scikit-learn does not have."""
    momentum = getattr(shape.optimizer, "momentum", 0.0)
    model = MLPClassifier(
        shape.child.widths, batch_size=shape.batch, learning_rate_init=RATE, alpha=0.0,
        solver="adam" if isinstance(shape.optimizer, Adam) else "sgd",
        momentum=momentum, nesterovs_momentum=False,
    )  # fmt: skip
    target = examples.labels if shape.outputs > 1 else examples.values[:, 0].astype(int)
    classes = np.arange(max(shape.outputs, 2))

    def step(i):
        part = slice(i * shape.batch, (i + 1) * shape.batch)
        model.partial_fit(examples.numeric[part], target[part], classes=classes)

    return looped(step)


# -- measuring -----------------------------------------------------------------------------------


def others_busy(seconds=0.05):
    """The share of all cores that other processes keep busy while this one sleeps (Linux)."""

    def ticks():
        numbers = [int(n) for n in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
        return sum(numbers) - numbers[3] - numbers[4], sum(numbers)

    if not Path("/proc/stat").exists():
        return 0.0
    before = ticks()
    time.sleep(seconds)
    after = ticks()
    return (after[0] - before[0]) / max(after[1] - before[1], 1)


def wait_for_quiet(patience=20.0):
    """Contests of threads need all cores: wait, within limits, until no one else uses them."""
    end = time.monotonic() + patience
    while others_busy() > 0.1 and time.monotonic() < end:
        pass


def compare(contestants, kind="one thread"):
    """Median microseconds a step of each contestant, taking turns."""
    turns, turn_seconds = TURNS[kind]
    repeats, samples = {}, {name: [] for name in contestants}
    if kind != "one thread":
        wait_for_quiet()
    for name, run in contestants.items():
        run(BATCHES)
        start = time.perf_counter()
        run(BATCHES)
        seconds = (time.perf_counter() - start) / BATCHES
        repeats[name] = max(1, round(turn_seconds / seconds))
    for _ in range(turns):
        for name, run in contestants.items():
            start = time.perf_counter()
            run(repeats[name])
            samples[name].append((time.perf_counter() - start) / repeats[name] * 1e6)
    return {name: statistics.median(times) for name, times in samples.items()}


def reference_architectures(threads, with_compile):
    rows = []
    for shape in SHAPES:
        examples = shape.examples()
        net = SuperNet.standalone(shape.child, shape.task, optimizer=shape.optimizer, workers=2)
        contestants = {
            "ours": ours(net, shape.child, examples, shape.batch),
            "ours, rows gathered": ours(net, shape.child, examples, shape.batch, shuffled=True),
            "pytorch eager": plain_torch(shape, examples),
            "pytorch eager, fused optimiser": plain_torch(shape, examples, fused=True),
            "floor": make_floor(shape.sizes, shape.batch, inputs_too=bool(shape.inputs.embeddings)),
        }
        if threads == 2:
            # the same rows a step, shared between two workers
            contestants["ours, two workers"] = ours_with_workers(
                net, shape.child, examples, shape.batch // 2
            )
        if not shape.inputs.embeddings:
            contestants["scikit-learn, no LayerNorm"] = scikit_learn(shape, examples)
        if with_compile:
            contestants["torch.compile"] = plain_torch(shape, examples, compiled=True)
        report = {"shape": shape.name, "sizes": shape.sizes, "batch": shape.batch}
        rows.append({**report, "threads": threads, "us": compare(contestants, KINDS[threads])})
        print(rows[-1], flush=True)
    return rows


def supernets(threads):
    rows = []
    for shape in SHAPES:
        examples, space = shape.examples(), shape.space()
        largest = Architecture((max(PAPER_WIDTHS),) * shape.child.depth)
        net = SuperNet(space, shape.task, optimizer=shape.optimizer, workers=2)
        for child in (shape.child, largest):
            contestants = {
                "ours": ours(net, child, examples, shape.batch),
                "pytorch eager": torch_supernet(shape, space, child.widths, examples),
            }
            if threads == 2:
                contestants["ours, two workers"] = ours_with_workers(
                    net, child, examples, shape.batch // 2
                )
            report = {"shape": shape.name, "child": str(child), "batch": shape.batch}
            rows.append({**report, "threads": threads, "us": compare(contestants, KINDS[threads])})
            print(rows[-1], flush=True)
    return rows


def children():
    """Steps of children of one SuperNet, against the same child alone."""
    rows = []
    for shape in SHAPES[:2]:
        examples, space = shape.examples(), shape.space()
        net = SuperNet(space, shape.task, optimizer=shape.optimizer)
        for width in (8, 16, 32, 64, 128, 256, 512):
            child = Architecture((width,) * shape.child.depth)
            alone = SuperNet.standalone(child, shape.task, optimizer=shape.optimizer)
            times = compare(
                {
                    "in the SuperNet": ours(net, child, examples, shape.batch),
                    "alone": ours(alone, child, examples, shape.batch),
                }
            )
            parameters = int(DenseParameters()(space, child))
            report = {"shape": shape.name, "child": str(child), "parameters": parameters}
            rows.append({**report, "us": times})
            print(rows[-1], flush=True)
    return rows


def workers():
    """Rows a second of two workers, each with a batch of its own, against one."""
    rows = []
    for shape in SHAPES[:2]:
        examples = shape.examples()
        nets = [
            SuperNet.standalone(shape.child, shape.task, optimizer=shape.optimizer, workers=n)
            for n in (1, 2)
        ]
        times = compare(
            {
                "one": ours(nets[0], shape.child, examples, shape.batch),
                "two": ours_with_workers(nets[1], shape.child, examples, shape.batch),
            },
            "workers",
        )
        gain = 2.0 * times["one"] / times["two"]
        rows.append({"shape": shape.name, "batch": shape.batch, "us": times, "rows gained": gain})
        print(rows[-1], flush=True)
    return rows


# -- report --------------------------------------------------------------------------------------


def about():
    cpu = platform.processor()
    if sys.platform == "linux":
        found = subprocess.run(["lscpu"], capture_output=True, text=True, check=True).stdout
        cpu = next(
            line.split(":")[1].strip() for line in found.splitlines() if "Model name" in line
        )
    modules = {"numpy": np, "numba": numba, "scipy": scipy, "torch": torch, "scikit-learn": sklearn}
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": "python " + " ".join(sys.argv),
        "machine": f"{cpu}, {torch.get_num_threads()} cores, {platform.system()}",
        "versions": {
            "python": platform.python_version(),
            **{name: module.__version__ for name, module in modules.items()},
        },
    }


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows] + [""]


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def times_ours(us, name):
    return f"{us[name] / us['ours']:.1f}x" if name in us else "-"


def markdown(results):
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    lines = [
        "# Training steps of the compiled engine", "",
        f"`{results['command']}`, {results['date']}, {results['machine']}; {versions}.", "",
        "Microseconds a training step (forward, backward, update), medians of contestants taking "
        "turns in one process. Ratios are to ours: 10x means ten times our time. The floor is the "
        "step's matrix products alone, by SciPy's OpenBLAS in one compiled call. One worker of "
        "ours uses one thread, whatever there is; two workers share the rows of the step.", "",
    ]  # fmt: skip
    for threads in (1, 2):
        lines += [f"## Reference architectures, {threads} thread{'s' * (threads > 1)}", ""]
        header = [
            "shape", "batch", "ours", "rows gathered", "PyTorch eager", "eager, fused optimiser",
            "torch.compile", "scikit-learn without LayerNorm", "ours / floor",
        ]  # fmt: skip
        if threads == 2:
            header.insert(4, "ours, two workers")
        rows = []
        for row in results["reference architectures"]:
            us = row["us"]
            if row["threads"] != threads:
                continue
            cells = [
                f"{row['shape']} {'-'.join(map(str, row['sizes']))}", row["batch"],
                number(us["ours"]), number(us["ours, rows gathered"]),
                *(
                    f"{number(us[name])} ({times_ours(us, name)})" if name in us else "-"
                    for name in (
                        "pytorch eager", "pytorch eager, fused optimiser", "torch.compile",
                        "scikit-learn, no LayerNorm",
                    )
                ),
                f"{us['ours'] / us['floor']:.2f}",
            ]  # fmt: skip
            if threads == 2:
                cells.insert(4, number(us["ours, two workers"]))
            rows.append(cells)
        lines += table(header, rows)
    lines += ["## Children of SuperNets with the paper's widths", ""]
    lines += table(
        ["SuperNet", "child", "batch", "threads", "ours", "ours, two workers", "PyTorch eager"],
        [
            [
                row["shape"], row["child"], row["batch"], row["threads"],
                number(row["us"]["ours"]),
                number(row["us"]["ours, two workers"]) if row["threads"] == 2 else "-",
                f"{number(row['us']['pytorch eager'])} ({times_ours(row['us'], 'pytorch eager')})",
            ]
            for row in results["supernets"]
        ],
    )  # fmt: skip
    lines += ["## The time of a child follows the child", ""]
    lines += table(
        ["SuperNet", "child", "parameters", "in the SuperNet", "alone"],
        [
            [
                row["shape"], row["child"], f"{row['parameters']:,}",
                number(row["us"]["in the SuperNet"]), number(row["us"]["alone"]),
            ]
            for row in results["children"]
        ],
    )  # fmt: skip
    lines += ["## Two workers", ""]
    lines += table(
        ["shape", "batch of each", "one worker", "two workers", "rows a second, two to one"],
        [
            [
                row["shape"], row["batch"], number(row["us"]["one"]), number(row["us"]["two"]),
                f"{row['rows gained']:.2f}x",
            ]
            for row in results["workers"]
        ],
    )  # fmt: skip
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--no-compile", action="store_true", help="leave out torch.compile")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # scikit-learn on too few iterations
    results = {**about(), "reference architectures": [], "supernets": []}
    for threads in (1, 2):
        torch.set_num_threads(threads)
        with threadpool_limits(threads, user_api="blas"):
            results["reference architectures"] += reference_architectures(
                threads, not arguments.no_compile
            )
            results["supernets"] += supernets(threads)
    results["children"] = children()
    results["workers"] = workers()
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "engine.json").write_text(json.dumps(results, indent=2) + "\n")
    (arguments.out / "engine.md").write_text(markdown(results))


if __name__ == "__main__":
    main()
