"""Runs the jobs of an experiment that are not done yet, and writes its results."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tabnas.errors import TabNASError
from tabnas.files import atomic_write
from tabnas.jobs import JobConfig, run_jobs
from tabnas.paper._experiment import Experiment, Job, Row, read_definition
from tabnas.paper._figures import require_matplotlib
from tabnas.paper._provenance import collect_provenance
from tabnas.paper._table_files import write_parquet
from tabnas.paper.experiments import get_experiment

Progress = Callable[[int, int], None]
JOURNAL_NAME = "done.jsonl"
"""The finished jobs of an unfinished experiment: a line with the definition, then one a job."""


def run_experiment(
    name: str,
    out: Path,
    *,
    data: Path | None = None,
    quick: bool = False,
    job_config: JobConfig | None = None,
    progress: Progress = lambda done, total: None,
) -> dict[str, Any]:
    """Run an experiment, write its results to `out`, and return its summary.

    `rows.parquet` holds every single result, `summary.json` the summary with its provenance, and
    `README.md` the report, beside the figures. After an interruption the same call continues with
    the jobs that are left, also with another `job_config`. Jobs on other machines read tables
    from the same folder.
    """
    require_matplotlib()  # before hours of work
    kind = get_experiment(name)
    definition = read_definition(name, quick=quick)
    experiment = kind(definition, data)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TabNASError(
            f"the folder {str(out)!r} cannot be made: {error.strerror}; name another with --out"
        ) from None
    journal = _Journal(out / JOURNAL_NAME, definition)
    jobs = experiment.jobs()
    left = [job for job in jobs if job not in journal]
    progress(len(jobs) - len(left), len(jobs))
    folder = None if data is None else data.resolve()  # jobs may have other working directories
    work = partial(_run_job, name, json.dumps(definition), folder)
    for job, rows in run_jobs(work, left, job_config):
        journal.add(job, rows)
        progress(len(journal), len(jobs))
    rows = [row for job in jobs for row in journal[job]]
    provenance = collect_provenance(f"tabnas paper {name}{' --quick' if quick else ''}")
    _write_rows(rows, out, provenance | {"definition": definition})
    summary = _write_summary(experiment, rows, out, provenance)
    (out / JOURNAL_NAME).unlink()
    return summary


def _run_job(name: str, definition: str, data: Path | None, job: Job) -> list[Row]:
    return [job | row for row in _load_experiment(name, definition, data).run(job)]


@lru_cache(maxsize=1)
def _load_experiment(name: str, definition: str, data: Path | None) -> Experiment:
    """Create the experiment once in a process, so that tables are read once."""
    return get_experiment(name)(json.loads(definition), data)


class _Journal:
    """The rows of finished jobs, appended to a file as soon as a job is finished."""

    def __init__(self, file: Path, definition: Mapping[str, Any]) -> None:
        self._file = file
        self._rows: dict[str, list[Row]] = {}
        header = json.dumps(definition)
        lines = file.read_text().splitlines() if file.exists() else []
        if lines and lines[0] == header:
            for line in lines[1:]:
                self._read(line)
        entries = [json.dumps([json.loads(job), rows]) for job, rows in self._rows.items()]
        atomic_write(file, "".join(f"{line}\n" for line in [header, *entries]))

    def _read(self, line: str) -> None:
        try:
            job, rows = json.loads(line)
        except ValueError:
            return  # cut off by a crash: that job is run again
        self._rows[json.dumps(job)] = rows

    def __contains__(self, job: Job) -> bool:
        return json.dumps(job) in self._rows

    def __getitem__(self, job: Job) -> list[Row]:
        return self._rows[json.dumps(job)]

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, job: Job, rows: list[Row]) -> None:
        self._rows[json.dumps(job)] = rows
        with self._file.open("a") as file:
            file.write(json.dumps([job, rows]) + "\n")


def rewrite_experiment(name: str, out: Path, *, data: Path | None = None) -> dict[str, Any]:
    """Write summary, report and figures again, from the rows of a finished experiment."""
    require_matplotlib()
    file = out / "rows.parquet"
    if not file.exists():
        raise TabNASError(
            f"the experiment {name!r} must be run before its report can be written again, but "
            f"{str(file)!r} does not exist"
        )
    table = pq.read_table(file)
    provenance = json.loads(table.schema.metadata[b"tabnas"])
    experiment = get_experiment(name)(provenance.pop("definition"), data)
    return _write_summary(experiment, _drop_none(table.to_pylist()), out, provenance)


def _drop_none(value: Any) -> Any:
    """Drop values that a row does not have, for which Parquet stores null."""
    if isinstance(value, dict):
        return {key: _drop_none(inner) for key, inner in value.items() if inner is not None}
    return [_drop_none(inner) for inner in value] if isinstance(value, list) else value


def _write_rows(rows: list[Row], out: Path, metadata: Mapping[str, Any]) -> None:
    columns = dict.fromkeys(name for row in rows for name in row)
    table = pa.table({name: [row.get(name) for row in rows] for name in columns})
    write_parquet(table, out / "rows.parquet", metadata)


def _write_summary(
    experiment: Experiment, rows: list[Row], out: Path, provenance: Mapping[str, Any]
) -> dict[str, Any]:
    summary = {**provenance, **experiment.summarize(rows)}
    atomic_write(out / "summary.json", json.dumps(summary, indent=1) + "\n")
    title = experiment.definition["title"]
    head = f"# {title}\n\n`{provenance['command']}`, {provenance['date']}.\n\n"
    atomic_write(out / "README.md", head + experiment.report(rows, summary).strip() + "\n")
    experiment.plot(rows, summary, out)
    return summary
