"""Builds a ground truth: trains every architecture of a space stand-alone, with several seeds."""

from __future__ import annotations

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
from tabnas.paper._ground_truth import get_ground_truth_table
from tabnas.paper._provenance import collect_provenance
from tabnas.paper._table_files import write_parquet
from tabnas.runs import PlannedRun
from tabnas.space import Architecture, Budget, compute_costs

SAVE_SECONDS = 60.0
"""Time between two writings of the file."""
Progress = Callable[[int, int], None]
Job = tuple[str, int]
"""An architecture and a seed."""
Row = dict[str, Any]


class GroundTruthBuilder:
    """Trains the architectures that a file does not hold yet, and adds them to it.

    Parameters
    ----------
    name
        The table, one of `load_ground_truth_tables()`.
    data
        A folder of tables, which takes precedence over the bundled ones.
    out
        The folder of the file.
    max_trainings
        Stop after this many trainings; by default all are made.
    """

    def __init__(
        self, name: str, *, data: Path | None = None, out: Path, max_trainings: int | None = None
    ) -> None:
        self.name = name
        self.table = get_ground_truth_table(name)
        self.data = data and data.resolve()  # jobs may have other working directories
        self.file = out / f"{name}.parquet"
        self.max_trainings = max_trainings

    def jobs(self) -> list[Job]:
        """Return every architecture and seed: all with the first seed, then with the second."""
        space = _plan_run(self.name, self.data).plan.feasible.space
        members = [str(architecture) for architecture in FeasibleSet(space, Budget())]
        jobs = [(member, seed) for seed in range(self.table.seeds) for member in members]
        return jobs[: self.max_trainings]

    def build(
        self, progress: Progress = lambda done, total: None, *, job_config: JobConfig | None = None
    ) -> None:
        """Run the jobs that are left; jobs elsewhere read the table from the same folder."""
        jobs = self.jobs()
        done = {(row["architecture"], row["seed"]): row for row in self._read_rows()}
        left = [job for job in jobs if job not in done]
        progress(len(done), len(jobs))
        saved = perf_counter()
        try:
            for job, row in run_jobs(partial(_train, self.name, self.data), left, job_config):
                done[job] = row
                progress(len(done), len(jobs))
                if perf_counter() - saved > SAVE_SECONDS:
                    self._write(done, jobs)
                    saved = perf_counter()
        finally:
            if done:
                self._write(done, jobs)

    def _read_rows(self) -> Iterator[Row]:
        if self.file.exists():
            yield from pq.read_table(self.file).to_pylist()

    def _write(self, done: Mapping[Job, Row], jobs: Sequence[Job]) -> None:
        """Write the rows in the order of the jobs, whatever the order of their completion."""
        order = {job: k for k, job in enumerate(jobs)}
        rows = [done[job] for job in sorted(done, key=lambda job: order.get(job, len(order)))]
        self.file.parent.mkdir(parents=True, exist_ok=True)
        provenance = collect_provenance(f"tabnas paper ground-truth {self.name}")
        write_parquet(pa.Table.from_pylist(rows), self.file, provenance | self._settings())

    def _settings(self) -> dict[str, Any]:
        run = _plan_run(self.name, self.data)
        plan, parts = run.plan, run.data
        space = plan.feasible.space
        return {
            "space": {
                "candidates": [list(layer) for layer in space.widths],
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


def _train(name: str, data: Path | None, job: Job) -> Row:
    """Train one architecture stand-alone and return its results."""
    architecture, seed = Architecture.parse(job[0]), job[1]
    run = _plan_run(name, data)
    parts, plan = run.data, run.plan
    start = process_time()
    net = SuperNet.standalone(architecture, parts.spec, optimizer=plan.optimizer, seed=seed)
    result = train(
        net,
        architecture,
        parts.train.examples,
        replace(plan.training, seed=seed),
        parts.validation.examples,
    )
    seconds = process_time() - start
    row: Row = {
        "architecture": str(architecture),
        "seed": seed,
        **compute_costs(plan.feasible.space, architecture),
        "epoch": result.best_epoch,
        "seconds": seconds,
    }
    assert parts.test is not None
    for where, part in (("validation", parts.validation), ("test", parts.test)):
        outputs = net.logits(architecture, part.examples)
        row[f"{where}_loss"] = float(net.loss(architecture, part.examples))
        if parts.target.task != "regression":
            scores = score(parts.target, part.y, probabilities(outputs), part.weight, resamples=1)
            row[f"{where}_balanced_error"] = scores["balanced_error"].value
    return row


@lru_cache(maxsize=1)
def _plan_run(name: str, data: Path | None) -> PlannedRun:
    """Plan the run once in a process, so that the table is read once."""
    return get_ground_truth_table(name).plan_run(data)
