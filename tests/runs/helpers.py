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
from tabnas.decoding import to_builtins
from tabnas.latency import LatencyTerms, NetworkShape
from tabnas.model import Model
from tabnas.runs import (
    FinishedRun,
    LabelledTable,
    PlannedTradeoff,
    ProcessGroup,
    Progress,
    RunCheckpoint,
    RunSettings,
    build_run_result,
    plan_run,
    plan_tradeoff,
)
from tabnas.runs.checkpoints._file import DIGEST, MAGIC
from tabnas.runs.folders._tradeoff_result import build_tradeoff_result
from tests.latency.conftest import EMBEDDINGS, TERMS
from tests.processes import start


def make_table(rows: int = 400, seed: int = 0) -> Table:
    """Return a table with numbers, a category, a day, a group and both kinds of target."""
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


def make_started_run(
    folder: Path, table: Path, settings: RunSettings, plan: dict[str, int]
) -> Path:
    """Make the folder of a run that was planned, and killed before its first checkpoint."""
    folder.mkdir()
    data = {"data": str(table), "target": "kind"}
    config = {"data": data, "settings": settings.to_dict(), "plan": plan}
    (folder / "config.toml").write_text(tomli_w.dumps(config))
    return folder


def write_table(path: Path, rows: int) -> Path:
    """Write a table whose target is `kind` to a Parquet file."""
    parquet.write_table(make_table(rows).drop(["value"]).arrow, path)
    return path


LIMITS = {"parameters": 800}


def plan_short_run(rows: int, **options: object):
    data = LabelledTable.from_table(make_table(rows).drop(["value"]), "kind")
    settings = {"limits": LIMITS, "candidates": 2, "reference_models": False, "refit": True}
    settings["teacher"] = "none"
    return plan_run(data, RunSettings(**(settings | options)), saved_plan=SHORT)


SHORT = {"search_epochs": 3, "epochs": 4, "candidates": 2}


def collect_bits(finished: FinishedRun) -> dict[str, object]:
    result = to_builtins(replace(build_run_result(finished), timings={}))
    weights = {name: array.tobytes() for name, array in finished.model.weights.items()}
    return {"result": json.dumps(result), "weights": weights, "snapshots": finished.snapshots}


def read_finished_files(folder: Path) -> dict[str, object]:
    """Return the files of a finished run, without its settings and timings."""
    result = json.loads((folder / "result.json").read_text())
    assert result.pop("timings")
    files = [*(folder / "model").iterdir(), folder / "history.jsonl"]
    return {file.name: file.read_bytes() for file in files} | {"result": result}


class StopsAt(RunCheckpoint):
    """A checkpoint that stops the run at a certain step, as SIGTERM does."""

    def __init__(self, folder: Path, run, step: int) -> None:
        super().__init__(folder, identity=run.identity())
        self.steps, self.stop_at = 0, step

    def save_if_due(self) -> None:
        self.steps += 1
        if self.steps == self.stop_at:
            self.signals.received = signal.SIGTERM
        super().save_if_due()


def with_valid_digest(checkpoint: bytes) -> bytes:
    """Return the checkpoint with a valid digest, which anybody who forges a file can compute."""
    payload = checkpoint[len(MAGIC) + DIGEST :]
    return MAGIC + sha256(payload).digest() + payload


FORK_SERVER = """
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


class ForkServer:
    """Runs `tabnas` in processes, one at a time, forked from one that has imported the package.

    They can be killed like any other process, and start without delay.
    """

    def __init__(self, folder: Path) -> None:
        self._server = start(
            [sys.executable, "-c", FORK_SERVER],
            cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._process = 0

    def start(self, *arguments: str) -> None:
        """Start `tabnas` with these arguments in the folder."""
        assert self._server.stdin
        print(json.dumps(arguments), file=self._server.stdin, flush=True)
        self._process = self._read_number()

    def kill(self) -> int:
        """Send SIGKILL to the process, unless it has ended, and return its exit code."""
        with suppress(ProcessLookupError):
            os.kill(self._process, signal.SIGKILL)
        return self.wait()

    def wait(self) -> int:
        """Wait for the process and return its exit code."""
        return self._read_number()

    @property
    def is_alive(self) -> bool:
        """Whether the process is running."""
        try:
            os.kill(self._process, 0)
        except ProcessLookupError:
            return False
        return True

    def _read_number(self) -> int:
        assert self._server.stdout
        return int(self._server.stdout.readline())


def connect_process_group() -> ProcessGroup:
    import torch.distributed as dist

    from tabnas.nets.torch import Group
    from tabnas.runs._process_group import DistributedProcessGroup

    return DistributedProcessGroup(Group(), dist.HashStore())


OVERHEAD = {1: 30.0, 256: 500.0}


Adjustment = Callable[[Model, float], float]


class FakeMachine:
    """Measures what the table predicts, adjusted by a function, and records its calls."""

    def __init__(self, adjust: Adjustment = lambda model, us: us) -> None:
        self.adjust = adjust
        self.calls: list[tuple[str, int]] = []

    def __call__(
        self, models: Sequence[Model], table: Table, rows: int, terms: LatencyTerms
    ) -> list[float]:
        assert len(table) >= 1
        assert terms == TERMS[rows]
        self.calls += [(str(model.architecture), rows) for model in models]
        return [self.adjust(model, self.predicted_us(model, rows)) for model in models]

    def predicted_us(self, model: Model, rows: int = 1) -> float:
        inputs, dimension = model.spec.inputs, model.architecture.dimension
        columns, knots = len(inputs.embedded_numeric), sum(map(len, inputs.knots))
        shape = NetworkShape(inputs.width, model.architecture, model.spec.outputs, columns)
        embedding_us = EMBEDDINGS[rows].predict_us(columns, knots, dimension)
        layers_us = TERMS[rows].predict_us(shape) - TERMS[rows].call_us
        return layers_us + embedding_us + OVERHEAD[rows]


LATENCY_LIMITS = {"latency_us": 35.0, "parameters": 3_000}


def make_latency_settings(
    table_file: str, limits: dict[str, float], **options: object
) -> RunSettings:
    defaults = {"candidates": 2, "reference_models": False}
    return RunSettings(limits=limits, latency_table=table_file, **(defaults | options))


class SlowWhenTrained(FakeMachine):
    """A machine on which some architectures are slow once their weights are trained."""

    def __init__(self, extra_us: float = 100.0) -> None:
        super().__init__()
        self.slow: tuple[str, ...] = ()
        self.extra_us = extra_us

    def __call__(
        self, models: Sequence[Model], table: Table, rows: int, terms: LatencyTerms
    ) -> list[float]:
        predicted = super().__call__(models, table, rows, terms)
        trained = [bool(model.limits) for model in models]
        return [
            us + self.extra_us if done and str(model.architecture) in self.slow else us
            for model, us, done in zip(models, predicted, trained, strict=True)
        ]


class KilledError(Exception):
    """Stands for SIGKILL: the process has no time to save anything."""


def kill_at(phase: str, skip: int = 0) -> Callable[[Progress], None]:
    """Return a callback that kills the run at the (skip + 1)-th report of a phase."""
    times = count()

    def observe(progress: Progress) -> None:
        if progress.phase == phase and next(times) == skip:
            raise KilledError

    return observe


def make_columns(rows: int = 400) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, 3))
    kind = np.where(x[:, 0] * x[:, 1] + 0.3 * x[:, 2] > 0, "yes", "no")
    return {"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "kind": kind}


def collect_tradeoff_bits(tradeoff, finished_runs) -> str:
    result = to_builtins(replace(build_tradeoff_result(tradeoff, finished_runs), timings={}))
    weights = [
        {name: array.tobytes().hex()[:64] for name, array in finished.model.weights.items()}
        for finished in finished_runs
    ]
    return json.dumps([result, weights])


SHOP_LIMITS = (40, 50, 600)


def make_shops() -> LabelledTable:
    """Return a table in which the sales of a shop depend on the shop only."""
    rng = np.random.default_rng(0)
    shop, effect = rng.integers(0, 30, 600), rng.normal(size=30)
    sales = effect[shop] + rng.normal(scale=0.1, size=600)
    names = [f"shop {k}" for k in shop]
    return LabelledTable.from_table(
        Table.from_data({"shop": names, "x": rng.normal(size=600), "sales": sales}), "sales"
    )


def make_shop_tradeoff(**options: object) -> PlannedTradeoff:
    settings = RunSettings(
        limits={"flops": 10_000}, candidates=1, **{"reference_models": False} | options
    )
    return plan_tradeoff(make_shops(), settings, SHOP_LIMITS)
