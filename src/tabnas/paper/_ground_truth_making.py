"""How a ground truth is made: train what is not trained yet, and write it down."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tabnas.feasible import FeasibleSet
from tabnas.jobs import JobConfig, run_jobs
from tabnas.model import probabilities, score
from tabnas.nets import SuperNet, train
from tabnas.paper._ground_truth import ground_truth_table
from tabnas.paper._provenance import provenance
from tabnas.runs import PlannedRun
from tabnas.space import Architecture, Budget, compute_costs

WRITTEN_EVERY = 60.0  # seconds from one writing of what is done to the next
Progress = Callable[[int, int], None]
Job = tuple[str, int]
"""An architecture and a seed."""
Row = dict[str, Any]


class GroundTruthMaker:
    """Trains what is not trained yet, and writes it down as it goes."""

    def __init__(
        self, name: str, *, data: Path | None = None, out: Path, most: int | None = None
    ) -> None:
        self.table = ground_truth_table(name)
        self.data = data and data.resolve()  # workers may stand in other folders
        self.file = out / f"{name}.parquet"
        self.most = most

    @property
    def planned(self) -> PlannedRun:
        """The rows and the settings."""
        return _planned(self.table.name, self.data)

    def todo(self) -> list[Job]:
        """Every architecture and seed: all first seeds, then all second ones."""
        space = self.planned.plan.feasible.space
        members = [str(one) for one in FeasibleSet(space, Budget())]
        every = [(one, seed) for seed in range(self.table.seeds) for one in members]
        return every[: self.most]

    def make(
        self, progress: Progress = lambda done, total: None, *, job_config: JobConfig | None = None
    ) -> None:
        """Go on from what the file holds; workers elsewhere read the table from the same folder."""
        todo = self.todo()
        done = {(row["architecture"], row["seed"]): row for row in _held(self.file)}
        left = [job for job in todo if job not in done]
        progress(len(done), len(todo))
        written = perf_counter()
        try:
            for job, row in run_jobs(
                partial(_trained, self.table.name, self.data), left, job_config
            ):
                done[job] = row
                progress(len(done), len(todo))
                if perf_counter() - written > WRITTEN_EVERY:
                    self._write(done, todo)
                    written = perf_counter()
        finally:
            if done:
                self._write(done, todo)

    def _write(self, done: Mapping[Job, Row], todo: Sequence[Job]) -> None:
        """In the order of `todo`, whatever the order in which they were done."""
        place = {job: k for k, job in enumerate(todo)}
        rows = [done[job] for job in sorted(done, key=lambda job: place.get(job, len(place)))]
        self.file.parent.mkdir(parents=True, exist_ok=True)
        facts = provenance(f"tabnas paper ground-truth {self.table.name}")
        described = pa.Table.from_pylist(rows).replace_schema_metadata(
            {"tabnas": json.dumps(facts | self._settings())}
        )
        aside = self.file.with_suffix(".aside")
        pq.write_table(described, aside, compression="zstd")
        aside.replace(self.file)

    def _settings(self) -> dict[str, Any]:
        plan, parts = self.planned.plan, self.planned.data
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


def _trained(name: str, data: Path | None, job: Job) -> Row:
    """What becomes of one architecture, trained alone."""
    architecture, seed = Architecture.parse(job[0]), job[1]
    planned = _planned(name, data)
    parts, plan = planned.data, planned.plan
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
    row: Row = {
        "architecture": str(architecture),
        "seed": seed,
        **compute_costs(space, architecture),
        "epoch": result.best_epoch,
        "seconds": seconds,
    }
    assert parts.test is not None
    for where, part in (("validation", parts.validation), ("test", parts.test)):
        outputs = net.logits(architecture, part.examples)
        row[f"{where}_loss"] = float(net.loss(architecture, part.examples))
        if parts.target.task != "regression":
            scores = score(
                parts.target, part.truth, probabilities(outputs), part.weight, resamples=1
            )
            row[f"{where}_balanced_error"] = scores["balanced_error"].value
    return row


@lru_cache(maxsize=1)
def _planned(name: str, data: Path | None) -> PlannedRun:
    """Once in a process, so that the table is read once."""
    return ground_truth_table(name).run(data)


def _held(file: Path) -> Iterator[Row]:
    if file.exists():
        yield from pq.read_table(file).to_pylist()
