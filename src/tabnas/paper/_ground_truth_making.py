"""How a ground truth is made: train what is not trained yet, and write it down."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tabnas.feasible import FeasibleSet
from tabnas.model import probabilities, score
from tabnas.nets import SuperNet, train
from tabnas.paper._ground_truth import ground_truth_table
from tabnas.paper._provenance import provenance
from tabnas.runs import PlannedRun
from tabnas.space import COSTS, Architecture, Budget

WRITTEN_EVERY = 60.0  # seconds from one writing of what is done to the next
Progress = Callable[[int, int], None]


class GroundTruthMaker:
    """Trains what is not trained yet, and writes it down as it goes."""

    def __init__(self, name: str, *, data: Path, out: Path, most: int | None = None) -> None:
        self.table = ground_truth_table(name)
        self.data = data
        self.file = out / f"{name}.parquet"
        self.most = most

    @cached_property
    def planned(self) -> PlannedRun:
        """The rows and the settings."""
        return self.table.run(self.data)

    def todo(self) -> list[tuple[Architecture, int]]:
        """Every architecture and seed: all first seeds, then all second ones."""
        space = self.planned.plan.feasible.space
        members = list(FeasibleSet(space, Budget()))
        every = [(one, seed) for seed in range(self.table.seeds) for one in members]
        return every[: self.most]

    def make(self, progress: Progress = lambda done, total: None) -> None:
        """Go on from what the file holds."""
        todo = self.todo()
        rows = list(_held(self.file))
        done = {(row["architecture"], row["seed"]) for row in rows}
        written = perf_counter()
        for architecture, seed in todo:
            if (str(architecture), seed) in done:
                continue
            rows.append(self._trained(architecture, seed))
            progress(len(rows), len(todo))
            if perf_counter() - written > WRITTEN_EVERY:
                self._write(rows)
                written = perf_counter()
        self._write(rows)

    def _trained(self, architecture: Architecture, seed: int) -> dict[str, Any]:
        parts, plan = self.planned.parts, self.planned.plan
        began = process_time()
        net = SuperNet.standalone(architecture, parts.task, optimizer=plan.optimizer, seed=seed)
        result = train(
            net,
            architecture,
            parts.train.examples,
            replace(plan.training, seed=seed),
            parts.validation.examples,
        )
        seconds = process_time() - began
        space = plan.feasible.space
        row: dict[str, Any] = {
            "architecture": str(architecture),
            "seed": seed,
            **{name: int(COSTS[name](space, architecture)) for name in COSTS},
            "epoch": result.best_epoch,
            "seconds": seconds,
        }
        assert parts.test is not None
        for name, part in (("validation", parts.validation), ("test", parts.test)):
            outputs = net.logits(architecture, part.examples)
            row[f"{name}_loss"] = float(net.loss(architecture, part.examples))
            if parts.target.task != "regression":
                scores = score(
                    parts.target, part.truth, probabilities(outputs), part.weight, resamples=1
                )
                row[f"{name}_balanced_error"] = scores["balanced_error"].value
        return row

    def _write(self, rows: list[dict[str, Any]]) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        facts = provenance(f"tabnas paper ground-truth {self.table.name}")
        described = pa.Table.from_pylist(rows).replace_schema_metadata(
            {"tabnas": json.dumps(facts | self._settings())}
        )
        aside = self.file.with_suffix(".aside")
        pq.write_table(described, aside, compression="zstd")
        aside.replace(self.file)

    def _settings(self) -> dict[str, Any]:
        plan, parts = self.planned.plan, self.planned.parts
        space = plan.feasible.space
        return {
            "space": {
                "candidates": [list(layer) for layer in space.candidates],
                "inputs": space.inputs,
                "outputs": space.outputs,
                "embedding_parameters": space.embedding_parameters,
            },
            "rows": {
                "training": len(parts.train),
                "validation": len(parts.validation),
                "test": 0 if parts.test is None else len(parts.test),
            },
            "training": str(plan.training),
            "optimizer": str(plan.optimizer),
        }


def _held(file: Path) -> Iterator[dict[str, Any]]:
    if file.exists():
        yield from pq.read_table(file).to_pylist()
