"""Runs an experiment: what is not done yet, then all that is made of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tabnas.errors import TabNASError
from tabnas.files import atomic_write
from tabnas.jobs import JobConfig, run_jobs
from tabnas.paper._experiment import Experiment, Job, Row, read_definition
from tabnas.paper._figures import refuse_without_matplotlib
from tabnas.paper._provenance import provenance
from tabnas.paper.experiments import experiment_called

Progress = Callable[[int, int], None]
DONE = "done.jsonl"
"""What is done of an experiment that is not finished: a line for the definition, one a job."""


def run_experiment(
    name: str,
    out: Path,
    *,
    data: Path | None = None,
    quick: bool = False,
    job_config: JobConfig | None = None,
    progress: Progress = lambda done, total: None,
) -> dict[str, Any]:
    """Make an experiment and write it to `out`; returns its summary.

    `rows.parquet` holds every single result, `summary.json` what they say and where they come from,
    `README.md` the same for people, beside the figures. After an interruption the same call goes on
    with what is left, also with another `job_config`. Workers elsewhere read tables from the same
    folder.
    """
    refuse_without_matplotlib()  # now, and not when hours of work are to be drawn
    kind = experiment_called(name)
    definition = read_definition(name, quick=quick)
    experiment = kind(definition, data)
    _make_folder(out)
    kept = _Kept(out / DONE, definition)
    jobs = experiment.jobs()
    left = [job for job in jobs if job not in kept]
    progress(len(jobs) - len(left), len(jobs))
    there = None if data is None else data.resolve()  # workers may stand in other folders
    work = partial(_work, name, json.dumps(definition), there)
    for job, rows in run_jobs(work, left, job_config):
        kept.add(job, rows)
        progress(len(kept), len(jobs))
    rows = [row for job in jobs for row in kept[job]]
    return _written(experiment, rows, out, f"tabnas paper {name}{' --quick' if quick else ''}")


def _work(name: str, definition: str, data: Path | None, job: Job) -> list[Row]:
    return [job | row for row in _experiment(name, definition, data).run(job)]


@lru_cache(maxsize=1)
def _experiment(name: str, definition: str, data: Path | None) -> Experiment:
    """Once in a process, so that tables are read once."""
    return experiment_called(name)(json.loads(definition), data)


class _Kept:
    """What is done, on disk as soon as it is."""

    def __init__(self, file: Path, definition: Mapping[str, Any]) -> None:
        self._file = file
        self._rows: dict[str, list[Row]] = {}
        first = json.dumps(definition)
        lines = file.read_text().splitlines() if file.exists() else []
        if lines and lines[0] == first:
            for line in lines[1:]:
                self._read(line)
        atomic_write(file, "".join(f"{line}\n" for line in [first, *self._lines()]))

    def _read(self, line: str) -> None:
        try:
            job, rows = json.loads(line)
        except ValueError:
            return  # cut off by a crash: that job is made again
        self._rows[json.dumps(job)] = rows

    def _lines(self) -> Iterator[str]:
        for job, rows in self._rows.items():
            yield json.dumps([json.loads(job), rows])

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
    """Summary, text and figures once more, from the rows of an experiment that is done."""
    refuse_without_matplotlib()
    file = out / "rows.parquet"
    if not file.exists():
        raise TabNASError(
            f"the experiment {name!r} must be done before it is written again, but "
            f"{str(file)!r} is not there"
        )
    table = pq.read_table(file)
    kept = json.loads(table.schema.metadata[b"tabnas"])
    experiment = experiment_called(name)(kept.pop("definition"), data)
    return _described(experiment, _without_none(table.to_pylist()), out, kept)


def _without_none(value: Any) -> Any:
    """Rows as they were: a table has a place for every name, also where a row had none."""
    if isinstance(value, dict):
        return {key: _without_none(one) for key, one in value.items() if one is not None}
    return [_without_none(one) for one in value] if isinstance(value, list) else value


def _written(experiment: Experiment, rows: list[Row], out: Path, command: str) -> dict[str, Any]:
    facts = provenance(command)
    columns = dict.fromkeys(name for row in rows for name in row)
    table = pa.table({name: [row.get(name) for row in rows] for name in columns})
    kept = facts | {"definition": experiment.definition}
    described = table.replace_schema_metadata({"tabnas": json.dumps(kept)})
    aside = out / "rows.parquet.aside"
    pq.write_table(described, aside, compression="zstd")
    aside.replace(out / "rows.parquet")
    summary = _described(experiment, rows, out, facts)
    (out / DONE).unlink()
    return summary


def _described(
    experiment: Experiment, rows: list[Row], out: Path, facts: Mapping[str, Any]
) -> dict[str, Any]:
    summary = {**facts, **experiment.summarise(rows)}
    atomic_write(out / "summary.json", json.dumps(summary, indent=1) + "\n")
    head = f"# {experiment.definition['shows']}\n\n`{facts['command']}`, {facts['date']}.\n\n"
    atomic_write(out / "README.md", head + experiment.report(rows, summary).strip() + "\n")
    experiment.draw(rows, summary, out)
    return summary


def _make_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TabNASError(
            f"the folder {str(out)!r} cannot be made: {error.strerror}; name another with --out"
        ) from None
