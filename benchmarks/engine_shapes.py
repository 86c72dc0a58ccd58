"""What `engine.py` measures: the paper's shapes, our contestants, and how turns are taken."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from statistics import NormalDist

import numpy as np

from tabnas.nets import SGD, Adam, Embedding, Examples, Inputs, NetworkSpec, Optimizer, count_steps
from tabnas.space import PAPER_WIDTHS, Architecture, SearchSpace

RATE = 1e-4
BATCHES = 8  # different batches in turn, so that no network ends up with gradients of nothing
# turns, and the seconds that each takes. With threads they are longer, since a thread that has just
# been woken can share a core with the one that woke it for a while.
TURNS = {"one thread": (25, 0.01), "two threads": (9, 0.15), "workers": (9, 1.0)}
KINDS = {1: "one thread", 2: "two threads"}


@dataclass(frozen=True, kw_only=True)
class Shape:
    """An architecture with its training settings."""

    name: str
    inputs: Inputs
    architecture: str
    outputs: int
    batch: int
    optimizer: Optimizer

    @property
    def spec(self):
        loss = "logistic" if self.outputs == 1 else "softmax"
        return NetworkSpec(inputs=self.inputs, loss=loss, outputs=self.outputs)

    @property
    def child(self):
        return Architecture.parse(self.architecture)

    @property
    def sizes(self):
        added = self.child.dimension * len(self.inputs.embedded_numeric)
        return [self.inputs.width + added, *self.child.widths, self.outputs]

    def examples(self, batches=BATCHES):
        rng = np.random.default_rng(0)
        rows = batches * self.batch
        return Examples(
            self.spec,
            numeric=rng.normal(size=(rows, self.inputs.numeric)).astype(np.float32),
            categorical=rng.integers(
                0, 3, (rows, len(self.inputs.category_embeddings)), dtype=np.int32
            ),
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
        name="Connect-4",
        inputs=Inputs(category_embeddings=[Embedding(categories=3, dimension=2)] * 42),
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
SMALL = Shape(
    name="14 columns", inputs=Inputs(numeric=14), architecture="32-16", outputs=1, batch=32,
    optimizer=Adam(),
)  # fmt: skip
# numeric embeddings, with knots at the quantiles of the values
NORMAL_QUANTILES = tuple(NormalDist().inv_cdf((k + 0.5) / 24) for k in range(24))
NUMERIC_SHAPES = [
    Shape(
        name=f"14 columns, {len(NORMAL_QUANTILES)} knots each, {architecture}",
        inputs=Inputs(numeric=14, knots=[NORMAL_QUANTILES] * 14),
        architecture=architecture, outputs=1, batch=batch, optimizer=Adam(epsilon=0.001),
    )
    for architecture in ("d2-32", "d2-64-16", "d8-64-16")
    for batch in (32, 512)
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
    """Steps in calls of as many as a training takes, but at most one for each batch."""
    order = np.random.default_rng(1).permutation(len(examples))
    rows = [slice(i * batch, (i + 1) * batch) for i in range(BATCHES)]
    if shuffled:
        rows = [order[part] for part in rows]
    at_once = min(BATCHES, count_steps(repeat(batch * net.multiply_adds(child))))

    def run(steps):
        taken = 0
        while taken < steps:
            first = taken % BATCHES
            some = rows[first : first + min(at_once, steps - taken)]
            net.train_steps([child] * len(some), examples, some, [RATE] * len(some))
            taken += len(some)

    return run


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


# -- measuring ------------------------------------------------------------------------------------


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
