from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tabnas import TabNASError
from tabnas.cli._main import run
from tabnas.jobs import JobConfig
from tabnas.paper import list_experiments, run_experiment
from tabnas.paper._experiment import Experiment, Job, Row, read_definition
from tabnas.paper.experiments.toy import ToyExperiment

pytest.importorskip("matplotlib")


def test_the_command_writes_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["paper", "toy", "--quick", "--out", str(tmp_path / "toy")]) == 0
    assert "4-2" in capsys.readouterr().out
    summary = json.loads((tmp_path / "toy" / "summary.json").read_text())
    assert summary["optimum"] == "4-2"
    assert summary["command"] == "tabnas paper toy --quick"
    names = {path.name for path in (tmp_path / "toy").iterdir()}
    assert names == {"README.md", "figure-1.png", "figure-1.svg", "rows.parquet", "summary.json"}
    written = {name: (tmp_path / "toy" / name).read_bytes() for name in names}
    for name in names - {"rows.parquet"}:
        (tmp_path / "toy" / name).unlink()
    assert run(["paper", "toy", "--rewrite", "--out", str(tmp_path / "toy")]) == 0
    assert written == {name: (tmp_path / "toy" / name).read_bytes() for name in names}


def test_rewriting_needs_the_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["paper", "toy", "--rewrite", "--out", str(tmp_path)]) == 2
    assert "must be run before" in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_raises_an_error_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("in the way")
    assert run(["paper", "toy", "--out", str(tmp_path / "file" / "toy")]) == 2
    assert "cannot be made" in capsys.readouterr().err


def test_every_experiment_has_a_definition_and_a_quick_form() -> None:
    from tabnas.paper.experiments import get_experiment

    for name in list_experiments():
        experiment = get_experiment(name)
        assert experiment.name == name
        assert issubclass(experiment, Experiment)
        for quick in (False, True):
            definition = read_definition(name, quick=quick)
            assert {"title", "duration"} <= set(definition)
        assert read_definition(name, quick=True) != read_definition(name, quick=False)


def test_unknown_experiments_raise_an_error(tmp_path: Path) -> None:
    with pytest.raises(TabNASError, match="there is no experiment"):
        run_experiment("toys", tmp_path)


@pytest.fixture
def interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    """Stop a run at its fourth job, and return the list of all jobs that are run."""
    jobs: list[Job] = []
    original = ToyExperiment.run

    def run_three(self: ToyExperiment, job: Job) -> list[Row]:
        if len(jobs) == 3:
            raise RuntimeError("stopped")
        jobs.append(job)
        return original(self, job)

    with monkeypatch.context() as patched:
        patched.setattr(ToyExperiment, "run", run_three)
        with pytest.raises(RuntimeError, match="stopped"):
            run_experiment("toy", tmp_path / "again", quick=True)

    def run_all(self: ToyExperiment, job: Job) -> list[Row]:
        jobs.append(job)
        return original(self, job)

    monkeypatch.setattr(ToyExperiment, "run", run_all)
    return jobs


@pytest.mark.slow
def test_an_interrupted_experiment_continues(tmp_path: Path, interrupted: list[Job]) -> None:
    with (tmp_path / "again" / "done.jsonl").open("a") as file:
        file.write('[{"part": "figure 1", "ti')  # as a crash in mid-line leaves it
    run_experiment("toy", tmp_path / "again", quick=True)
    jobs = ToyExperiment(read_definition("toy", quick=True)).jobs()
    assert sorted(map(json.dumps, interrupted)) == sorted(map(json.dumps, jobs))  # each once
    run_experiment("toy", tmp_path / "at once", quick=True)
    again, at_once = (
        pq.read_table(tmp_path / name / "rows.parquet").to_pylist() for name in ("again", "at once")
    )
    assert again == at_once


@pytest.mark.slow
def test_processes_change_nothing(tmp_path: Path) -> None:
    for processes in (1, 2):
        job_config = JobConfig(processes=processes)
        run_experiment("toy", tmp_path / str(processes), quick=True, job_config=job_config)
    alone, together = (pq.read_table(tmp_path / name / "rows.parquet") for name in "12")
    assert alone.to_pylist() == together.to_pylist()


@pytest.mark.slow
def test_another_definition_starts_over(tmp_path: Path, interrupted: list[Job]) -> None:
    done = tmp_path / "again" / "done.jsonl"
    first, *others = done.read_text().splitlines()
    definition = json.loads(first) | {"seeds": 7}
    done.write_text("\n".join([json.dumps(definition), *others]) + "\n")
    run_experiment("toy", tmp_path / "again", quick=True)
    jobs = ToyExperiment(read_definition("toy", quick=True)).jobs()
    assert len(interrupted) == 3 + len(jobs)
