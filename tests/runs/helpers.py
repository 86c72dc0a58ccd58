"""Tables, short runs, checkpoints and machines that several tests of runs use."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from itertools import count
from pathlib import Path

import numpy as np
import tomli_w
from pyarrow import parquet

from tabnas.data import Table
from tabnas.decoding import encode
from tabnas.latency import LatencyTerms, NetworkShape
from tabnas.model import Model
from tabnas.runs import (
    LabelledTable,
    Outcome,
    PlannedTradeoff,
    Progress,
    Ranks,
    RunCheckpoint,
    RunSettings,
    build_run_result,
    plan_run,
    plan_tradeoff,
)
from tabnas.runs.checkpoints._file import DIGEST, MAGIC
from tabnas.runs.folders._tradeoff_result import build_tradeoff_result
from tests.latency.conftest import TERMS
from tests.processes import start


def made_table(rows: int = 400, seed: int = 0) -> Table:
    """Numbers, a category, a day and a group, and both kinds of target."""
    rng = np.random.default_rng(seed)
    size, warmth = rng.normal(size=rows), rng.normal(size=rows)
    colour = rng.choice(["red", "green", "blue"], size=rows)
    hidden = size * warmth + (colour == "red") + rng.normal(scale=0.1, size=rows)
    day = np.datetime64("2024-01-01") + rng.integers(0, 300, size=rows).astype("timedelta64[D]")
    return Table.from_data(
        {
            "size": size,
            "warmth": np.where(rng.random(rows) < 0.1, np.nan, warmth),
            "colour": colour,
            "day": day,
            "house": rng.integers(0, 20, size=rows),
            "kind": np.where(hidden > 0.5, "high", "low"),
            "value": 100 + 7 * hidden,
        }
    )


def begun(folder: Path, table: Path, settings: RunSettings, plan: dict[str, int]) -> Path:
    """The folder of a run that was killed before it came to anything, its work planned."""
    folder.mkdir()
    data = {"data": str(table), "target": "kind"}
    config = {"data": data, "settings": settings.to_dict(), "plan": plan}
    (folder / "config.toml").write_text(tomli_w.dumps(config))
    return folder


def written_table(path: Path, rows: int) -> Path:
    """A file with a table to learn `kind` from."""
    parquet.write_table(made_table(rows).drop(["value"]).arrow, path)
    return path


LIMITS = {"parameters": 800}


def planned(rows: int, **said: object):
    data = LabelledTable.from_table(made_table(rows).drop(["value"]), "kind")
    settings = {"limits": LIMITS, "candidates": 2, "baselines": False, "refit": True}
    return plan_run(data, RunSettings(**(settings | said)), resolved=SHORT)


SHORT = {"search_epochs": 3, "epochs": 4, "candidates": 2}


def bits(outcome: Outcome) -> dict[str, object]:
    result = encode(replace(build_run_result(outcome), timings={}))
    weights = {name: array.tobytes() for name, array in outcome.model.weights.items()}
    return {"result": json.dumps(result), "weights": weights, "snapshots": outcome.snapshots}


def left(folder: Path) -> dict[str, object]:
    """All that a finished run has left in its folder, but its settings and times."""
    result = json.loads((folder / "result.json").read_text())
    assert result.pop("timings")
    files = [*(folder / "model").iterdir(), folder / "history.jsonl"]
    return {file.name: file.read_bytes() for file in files} | {"result": result}


class StopsAt(RunCheckpoint):
    """A checkpoint that is asked to stop at a certain tick."""

    def __init__(self, folder: Path, run, tick: int) -> None:
        super().__init__(folder, identity=run.identity())
        self.ticks, self.at = 0, tick

    def on_step(self) -> None:
        self.ticks += 1
        if self.ticks == self.at:
            self._signal = signal.SIGTERM
        super().on_step()


def reseal(checkpoint: bytes) -> bytes:
    """With the digest that it should have: who forges a file can compute one."""
    payload = checkpoint[len(MAGIC) + DIGEST :]
    return MAGIC + sha256(payload).digest() + payload


NURSERY = """
import json, os, sys
import tabnas.runs, tabnas.nets.compiled
from tabnas.cli._main import run

for line in sys.stdin:
    process = os.fork()
    if not process:
        os._exit(run(json.loads(line)))
    print(process, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)
"""


class Nursery:
    """Processes of the command line, one at a time, each forked from one that has read the code.

    They can be killed like any other, and do not take seconds to begin.
    """

    def __init__(self, folder: Path) -> None:
        self._mother = start(
            [sys.executable, "-c", NURSERY],
            cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._process = 0

    def begin(self, *arguments: str) -> None:
        """Let `tabnas` begin, in the folder."""
        assert self._mother.stdin
        print(json.dumps(arguments), file=self._mother.stdin, flush=True)
        self._process = self._said()

    def kill(self) -> int:
        """End the process as nobody can prevent (SIGKILL), unless it has ended by itself."""
        with suppress(ProcessLookupError):
            os.kill(self._process, signal.SIGKILL)
        return self.ended()

    def ended(self) -> int:
        """Wait for the process; its exit code."""
        return self._said()

    @property
    def alive(self) -> bool:
        """Whether the process is at work."""
        try:
            os.kill(self._process, 0)
        except ProcessLookupError:
            return False
        return True

    def _said(self) -> int:
        assert self._mother.stdout
        return int(self._mother.stdout.readline())


def connected() -> Ranks:
    import torch.distributed as dist

    from tabnas.nets.torch import Group
    from tabnas.runs._ranks import DistributedRanks

    return DistributedRanks(Group(), dist.HashStore())


OVERHEAD = {1: 30.0, 256: 500.0}


True_us = Callable[[Model, float], float]


class FakeMachine:
    """Takes what the table predicts, or what is made of that, and remembers what was asked."""

    def __init__(self, made_of: True_us = lambda model, us: us) -> None:
        self.made_of = made_of
        self.asked: list[tuple[str, int]] = []

    def __call__(
        self, models: Sequence[Model], table: Table, rows: int, terms: LatencyTerms
    ) -> list[float]:
        assert len(table) >= 1
        assert terms == TERMS[rows]
        self.asked += [(str(model.architecture), rows) for model in models]
        return [self.made_of(model, self.predicted_us(model, rows)) for model in models]

    def predicted_us(self, model: Model, rows: int = 1) -> float:
        shape = NetworkShape(model.task.inputs.width, model.architecture, model.task.outputs)
        return TERMS[rows].predict_us(shape) - TERMS[rows].call_us + OVERHEAD[rows]


LATENCY_LIMITS = {"latency_us": 35.0, "parameters": 3_000}


def settings_of(table_file: str, limits: dict[str, float], **said: object) -> RunSettings:
    usual = {"candidates": 2, "baselines": False}
    return RunSettings(limits=limits, latency_table=table_file, **(usual | said))


class SlowWhenTrained(FakeMachine):
    """The files of some architectures are slow once their weights are trained."""

    def __init__(self, extra_us: float = 100.0) -> None:
        super().__init__()
        self.slow: tuple[str, ...] = ()
        self.extra_us = extra_us

    def __call__(
        self, models: Sequence[Model], table: Table, rows: int, terms: LatencyTerms
    ) -> list[float]:
        found = super().__call__(models, table, rows, terms)
        trained = [bool(model.limits) for model in models]
        return [
            us + self.extra_us if done and str(model.architecture) in self.slow else us
            for model, us, done in zip(models, found, trained, strict=True)
        ]


class KilledError(Exception):
    """The process is gone, and has had no time to save anything."""


def killed_at(phase: str, skip: int = 0) -> Callable[[Progress], None]:
    """Ends a run when it is told of a phase for the (skip + 1)-th time."""
    times = count()

    def observe(progress: Progress) -> None:
        if progress.phase == phase and next(times) == skip:
            raise KilledError

    return observe


def columns(rows: int = 400) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, 3))
    kind = np.where(x[:, 0] * x[:, 1] + 0.3 * x[:, 2] > 0, "yes", "no")
    return {"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "kind": kind}


def facts(tradeoff, outcomes) -> str:
    result = encode(replace(build_tradeoff_result(tradeoff, outcomes), timings={}))
    weights = [
        {name: array.tobytes().hex()[:64] for name, array in outcome.model.weights.items()}
        for outcome in outcomes
    ]
    return json.dumps([result, weights])


SHOP_LIMITS = (40, 50, 600)


def shops() -> LabelledTable:
    """What a shop sells depends on the shop alone."""
    rng = np.random.default_rng(0)
    shop, effect = rng.integers(0, 30, 600), rng.normal(size=30)
    sales = effect[shop] + rng.normal(scale=0.1, size=600)
    names = [f"shop {k}" for k in shop]
    return LabelledTable.from_table(
        Table.from_data({"shop": names, "x": rng.normal(size=600), "sales": sales}), "sales"
    )


def shop_curve(**said: object) -> PlannedTradeoff:
    settings = RunSettings(limits={"flops": 10_000}, candidates=1, **{"baselines": False} | said)
    return plan_tradeoff(shops(), settings, SHOP_LIMITS)
