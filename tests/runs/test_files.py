"""Folders of runs that somebody else has made: they are read, and can do nothing."""

from __future__ import annotations

import json
import os
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tabnas.cli._source import Source
from tabnas.errors import TabNASError
from tabnas.runs import (
    LabelledTable,
    PlannedRun,
    RunCheckpoint,
    RunFolder,
    RunSettings,
    RunStopped,
    load_config,
    load_result,
    load_run_model,
    plan_run,
    run_in_folder,
)
from tabnas.runs.checkpoints._file import DIGEST, MAGIC, read_checkpoint, write_checkpoint
from tabnas.runs.plan._plan import ResolvedPlan
from tests.runs.conftest import made_table
from tests.runs.test_resume import StopsAt, planned


def reseal(checkpoint: bytes) -> bytes:
    """With the digest that it should have: who forges a file can compute one."""
    payload = checkpoint[len(MAGIC) + DIGEST :]
    return MAGIC + sha256(payload).digest() + payload


def safetensors(header: Any, body: bytes = b"") -> bytes:
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


# -- checkpoints ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        (10**10).to_bytes(8, "little") + b"{}",
        safetensors({"x": {"dtype": "F32", "shape": [2_500_000_000], "data_offsets": [0, 10**10]}}),
        safetensors({"x": {"dtype": "F32", "shape": [2**62, 4], "data_offsets": [0, 0]}}),
        safetensors({"x": {"dtype": "O", "shape": [1], "data_offsets": [0, 8]}}, bytes(8)),
        safetensors({"__metadata__": {"facts": "[" * 100_000}}),
        safetensors({"__metadata__": {"facts": "9" * 10_000}}),
        safetensors({"__metadata__": {"facts": "[]"}}),
        safetensors({"__metadata__": {}}),
        safetensors({}),
        safetensors([]),
    ],
    ids=["empty", "header of 10 GB", "array of 10 GB", "overflow", "objects", "deep", "huge number",
         "no facts", "no facts at all", "nothing", "no header"],
)  # fmt: skip
def test_malformed_checkpoints_are_refused(payload: bytes, tmp_path: Path) -> None:
    (tmp_path / "000001.checkpoint").write_bytes(reseal(MAGIC + bytes(DIGEST) + payload))
    with pytest.raises(TabNASError, match=r"every checkpoint in .* is damaged"):
        read_checkpoint(tmp_path)


def test_a_checkpoint_cut_anywhere_is_refused(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, {"n": 1}, {"x": np.arange(3)})
    path = tmp_path / "000001.checkpoint"
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(TabNASError, match="is damaged"):
            read_checkpoint(tmp_path)


def test_pipes_and_folders_among_checkpoints_are_passed_over(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "000009.checkpoint")
    (tmp_path / "000008.checkpoint").mkdir()
    (tmp_path / f"{'9' * 200}.checkpoint").write_bytes(b"")
    assert read_checkpoint(tmp_path) is None
    write_checkpoint(tmp_path, {"n": 1}, {})
    assert read_checkpoint(tmp_path)[0] == {"n": 1}


@pytest.fixture(scope="module")
def run() -> PlannedRun:
    return planned(300)


@pytest.fixture(scope="module")
def done(run: PlannedRun, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict, dict]:
    """The checkpoint of a run whose work is all done."""
    folder = tmp_path_factory.mktemp("done")
    checkpoint = StopsAt(folder, run, -1)
    run.execute(checkpoint=checkpoint)
    checkpoint.save()
    facts, arrays, _ = read_checkpoint(folder)
    return facts, arrays


def test_a_forged_candidate_cannot_break_the_limit(run, done, tmp_path: Path) -> None:
    facts, arrays = done
    for forged in ("1024-1024", "64-64-64", "99999"):
        search = facts["done"]["search"] | {"architectures": [forged, "linear"]}
        write_checkpoint(tmp_path, facts | {"done": facts["done"] | {"search": search}}, arrays)
        with pytest.raises(TabNASError, match=f"the candidate {forged} is not within the limits"):
            run.execute(checkpoint=RunCheckpoint(tmp_path, identity=run.identity()))


@pytest.mark.parametrize(
    "change",
    [
        {"loss": "low"},
        {"loss": float("nan")},
        {"stop_after": 0},
        {"stop_after": 10**12},
        {"stop_after": 1.5},
        {"temperature": 0.0},
        {"architecture": "linear"},
        {"more": 1},
    ],
    ids=str,
)
def test_forged_facts_of_a_candidate(change: dict, run, done, tmp_path: Path) -> None:
    facts, arrays = done
    entry = {"candidate 1": facts["done"]["candidate 1"] | change}
    write_checkpoint(tmp_path, facts | {"done": facts["done"] | entry}, arrays)
    with pytest.raises(TabNASError, match="must be one that this run has written"):
        run.execute(checkpoint=RunCheckpoint(tmp_path, identity=run.identity()))


def test_forged_weights_are_refused(run, done, tmp_path: Path) -> None:
    facts, arrays = done
    name = next(name for name in arrays if name.startswith("done/refit/layer"))
    for wrong in (np.zeros((9, 9), np.float32), np.full_like(arrays[name], np.nan)):
        write_checkpoint(tmp_path, facts, arrays | {name: wrong})
        with pytest.raises(TabNASError, match=r"must be (floats of the shape|finite)"):
            run.execute(checkpoint=RunCheckpoint(tmp_path, identity=run.identity()))


@pytest.mark.parametrize(
    ("tick", "name", "value"),
    [
        (2, "step", np.array(-1)),
        (2, "step", np.array(10**9)),
        (2, "net/steps/layer.1", None),
        (2, "controller/random", np.zeros(5, np.uint64)),
        (2, "controller/random", np.full(6, 2**64 - 1, np.uint64)),
        (2, "controller/optimizer/logits", np.full((3, 1), np.nan)),
        (2, "history/choices", np.full((8, 3), 10**6)),
        (2, "history/choices", np.full((8, 3), -1)),
        (2, "history/count", np.array([10**18])),
        (2, "stream/other", np.zeros(6, np.uint64)),
        (2, "snapshots", np.frombuffer(b"[{}]", np.uint8)),
        (2, "snapshots", np.frombuffer(b"[" * 5_000, np.uint8)),
        (20, "fold", np.array(99)),
        (20, "fold", np.array(-1)),
        (20, "outputs", np.zeros((1, 1, 1), np.float32)),
        (20, "trainer/step", np.array(10**9)),
        (20, "trainer/total", np.array(np.inf)),
        (20, "trainer/training_losses", np.zeros(999)),
        (20, "trainer/best/head.0.bias", np.zeros(1, np.float32)),
    ],
    ids=lambda value: str(value)[:30].replace("\n", ""),
)
def test_forged_states(tick: int, name: str, value: Any, run, tmp_path: Path) -> None:
    """What is under way goes to buffers that compiled code indexes: nothing there is believed."""
    with pytest.raises(RunStopped):
        run.execute(checkpoint=StopsAt(tmp_path, run, tick))
    facts, arrays, _ = read_checkpoint(tmp_path)
    name = f"running/{name}"
    if value is None:  # negative, to whoever takes the bits for a signed number
        value = np.full(arrays[name].shape, 2**64 - 10**12, np.uint64)
    write_checkpoint(tmp_path, facts, arrays | {name: value})
    with pytest.raises(TabNASError, match="must be one that this run has written"):
        run.execute(checkpoint=RunCheckpoint(tmp_path, identity=run.identity()))


@pytest.mark.parametrize(
    "facts",
    [{}, {"identity": {}, "done": [], "running": None}, {"identity": [], "done": {}, "running": 1}],
)
def test_facts_that_say_nothing(facts: dict, tmp_path: Path) -> None:
    write_checkpoint(tmp_path, facts, {})
    with pytest.raises(TabNASError, match="must be one that this run has written"):
        RunCheckpoint(tmp_path)


# -- links ---------------------------------------------------------------------------------------


def tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


DATA = {"limits": {"parameters": 300}, "candidates": 1, "baselines": False, "time": 0.1}


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, LabelledTable, RunSettings]:
    """A run from Python that was stopped, with its table and settings."""
    folder = tmp_path_factory.mktemp("stopped") / "run"
    data = LabelledTable.from_table(made_table(60).drop(["value"]), "kind")
    settings = RunSettings(**DATA)

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_in_folder(folder, data, settings, on_plan=lambda run: _leave(folder, run, stop))
    assert (folder / "config.toml").exists()
    return folder, data, settings


def _leave(folder: Path, run: PlannedRun, stop: Any) -> None:
    checkpoint = RunCheckpoint(folder / "checkpoint", identity=run.identity())
    checkpoint.save()
    stop()


@pytest.mark.parametrize(
    "name", ["model", "checkpoint", "result.json", "history.jsonl", "config.toml", ".lock"]
)
@pytest.mark.parametrize("dangling", [False, True], ids=["to something", "to nothing"])
def test_nothing_outside_a_run_is_touched(
    name: str, dangling: bool, stopped, tmp_path: Path
) -> None:
    original, data, settings = stopped
    folder, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    for path, content in tree(original).items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(content)
    target = elsewhere / name.strip(".")
    if not dangling:
        if (folder / name).exists():
            (folder / name).rename(target)
        elif name == "model":
            target.mkdir()
        else:
            target.write_text("years of work")
    elif name == "checkpoint":
        for path in (folder / name).iterdir():
            path.unlink()
        (folder / name).rmdir()
    else:
        (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(target)
    before = tree(elsewhere), sorted(elsewhere.rglob("*"))
    with pytest.raises(TabNASError):
        run_in_folder(folder, data, settings)
    assert (tree(elsewhere), sorted(elsewhere.rglob("*"))) == before
    assert (folder / name).is_symlink()


def test_a_stopped_run_without_links_goes_on(stopped, tmp_path: Path) -> None:
    """What the test above refuses is the link, and not the run."""
    original, data, settings = stopped
    folder = tmp_path / "run"
    for path, content in tree(original).items():
        (folder / path).parent.mkdir(exist_ok=True, parents=True)
        (folder / path).write_bytes(content)
    (tmp_path / "link").symlink_to("run")  # a name that the user has chosen may be a link
    outcome = run_in_folder(tmp_path / "link", data, settings)
    assert load_run_model(folder).architecture == outcome.model.architecture
    assert load_result(folder).architecture == outcome.model.architecture


def test_a_pipe_for_a_lock_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".lock")
    with pytest.raises(TabNASError, match="must be a file"):
        RunFolder(tmp_path)


@pytest.mark.parametrize("load", [load_config, load_result])
def test_reading_stays_in_the_folder(load: Any, tmp_path: Path) -> None:
    name = {load_config: "config.toml", load_result: "result.json"}[load]
    (tmp_path / "secret").write_text('{"format": 1}')
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / name).symlink_to("../secret")
    with pytest.raises(TabNASError, match="must be a file of the run's folder"):
        load(folder)
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(TabNASError, match="must be a file of the run's folder"):
        load(folder)


def test_a_model_elsewhere_is_not_the_runs(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "model").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(TabNASError, match="model must lie in the folder"):
        load_run_model(tmp_path / "run")


# -- result.json and config.toml -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "cannot be read"),
        (b"\xff", "cannot be read"),
        (b"[" * 100_000, "nested too deep"),
        (b"9" * 10_000, "cannot be read"),
        (b"[]", "must hold the result of a run"),
        (b"{}", "must hold the result of a run"),
        (b'{"format": "1"}', "must hold the result of a run"),
        (b'{"format": 99}', "written by a newer tabnas"),
        (b'{"format": 1}', "written by an older tabnas"),
        (b'{"format": 2}', "architecture is missing"),
        (b'{"format": 2, "seed": NaN}', "NaN is not a JSON number"),
    ],
    ids=lambda value: value[:12] if isinstance(value, bytes) else None,
)
def test_results_that_are_none(content: bytes, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "result.json").write_bytes(content)
    with pytest.raises(TabNASError, match=sentence):
        load_result(tmp_path)


def test_configs_that_are_none(tmp_path: Path) -> None:
    for content in (b"\xff", b"x", b"x = " + b"[" * 100_000, b"x = " + b"9" * 10_000):
        (tmp_path / "config.toml").write_bytes(content)
        with pytest.raises(TabNASError, match="cannot be read"):
            load_config(tmp_path)


@pytest.mark.parametrize(
    "said",
    [
        3,
        [],
        {},
        {"limits": "parameters"},
        {"limits": {"parameters": "many"}},
        {"limits": {"parameters": 10**400}},
        {"limits": {"parameters": float("inf")}},
        *(
            {"limits": {"parameters": 300}, **wrong}
            for wrong in (
                {"layers": 10**9}, {"layers": 2.5}, {"widths": "0-8"}, {"widths": [10**9]},
                {"widths": [8.5]}, {"widths": list(range(10**4))}, {"widths": 8},
                {"candidates": 10**12}, {"workers": 10**6}, {"seed": -1}, {"seed": "x"},
                {"time": float("nan")}, {"time": "long"}, {"metric": 3}, {"engine": 3},
                {"engine": "abacus"}, {"order": []}, {"order_column": 3}, {"scaling": "wild"},
                {"scaling": []}, {"kinds": [1]}, {"kinds": {"size": 3}}, {"drop": "abc"},
                {"drop": [3]}, {"refit": "yes"}, {"baselines": 1}, {"shares": 3},
                {"shares": {"test": "x"}}, {"shares": {"other": 0.1}}, {"unheard_of": 1},
            )
        ),
    ],
    ids=lambda said: str(said)[:60],
)  # fmt: skip
def test_settings_of_any_other_kind(said: Any) -> None:
    with pytest.raises(TabNASError):
        RunSettings.from_dict(said)


@pytest.mark.parametrize(
    "said",
    [3, [], {}, {"data": 3}, {"data": "t.csv", "target": 3}, {"data": "t.csv", "test": ["x"]},
     {"data": "t.csv", "other": "x"}, {"data": "a\0b"}],
    ids=str,
)  # fmt: skip
def test_sources_of_any_other_kind(said: Any) -> None:
    with pytest.raises(TabNASError, match=r"config\.toml"):
        Source.from_dict(said)


@pytest.mark.parametrize(
    "numbers",
    [3, [], {}, {"epochs": 4}, {"search_epochs": 3, "epochs": 10**12, "candidates": 2},
     {"search_epochs": 3, "epochs": 4, "candidates": 10**9},
     {"search_epochs": 0, "epochs": 4, "candidates": 1},
     {"search_epochs": 3, "epochs": 4.5, "candidates": 1}],
    ids=str,
)  # fmt: skip
def test_plans_that_follow_from_nothing(numbers: Any, run: PlannedRun) -> None:
    with pytest.raises(TabNASError, match="plan"):
        run.plan.with_resolved(ResolvedPlan.decode(numbers))


def test_a_search_that_would_not_fit_into_memory_is_refused() -> None:
    data = LabelledTable.from_table(made_table(60).drop(["value"]), "kind")
    settings = RunSettings(limits={"parameters": 300}, widths=(0, 8, 16_384), layers=20)
    with pytest.raises(TabNASError, match="the SuperNet must take at most"):
        plan_run(data, settings)
