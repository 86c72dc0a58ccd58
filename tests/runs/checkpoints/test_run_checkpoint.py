"""Checkpoints of a run: what cannot be written, and forged content that is refused."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tabnas.errors import TabNASError
from tabnas.runs import (
    PlannedRun,
    RunCheckpoint,
    RunStopped,
)
from tabnas.runs.checkpoints._file import read_checkpoint, write_checkpoint
from tests.processes import default_signals
from tests.runs.helpers import StopsAt, plan_short_run


def test_checkpoints_that_cannot_be_written_end_the_run_with_a_clear_error(tmp_path: Path) -> None:
    run = plan_short_run(300)
    (tmp_path / "checkpoint").touch()  # in the way of the folder
    checkpoint = RunCheckpoint(tmp_path / "checkpoint", identity=run.identity(), every=0)
    with pytest.raises(TabNASError, match=r"no checkpoint can be written.*none before it.*start"):
        run.execute(checkpoint=checkpoint)


def test_the_error_of_a_full_disk_mentions_a_last_checkpoint_only_if_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raise_disk_full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    checkpoint = RunCheckpoint(tmp_path / "checkpoint")
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", raise_disk_full)
        with pytest.raises(TabNASError, match="there was none before it: free some space"):
            checkpoint.save()
    checkpoint.save()
    monkeypatch.setattr(os, "fsync", raise_disk_full)
    with pytest.raises(TabNASError, match="the last one is complete: free some space and resume"):
        checkpoint.save()


@default_signals()
def test_an_ignored_interrupt_stays_ignored_and_sigterm_stops(tmp_path: Path) -> None:
    """A search in the background of a script is not ended by a Ctrl-C for another process."""
    checkpoint = RunCheckpoint(tmp_path, identity={})

    def interrupt_then_terminate() -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.raise_signal(number)
            checkpoint.save_if_due()

    default = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with checkpoint.handle_signals(), pytest.raises(RunStopped) as stopped:
            interrupt_then_terminate()
        assert stopped.value.signal == signal.SIGTERM
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, default)


def test_a_state_is_saved_while_a_step_loads_it(tmp_path: Path) -> None:
    """Ctrl-C just after `tabnas resume`: another thread saves before the search has begun."""
    begun = RunCheckpoint(tmp_path, identity={})
    begun.start_or_restore("search", Counter(7))
    begun.save()
    resumed = RunCheckpoint(tmp_path, identity={})

    class SlowCounter(Counter):
        def load_state_dict(self, state: Any) -> None:
            resumed.save()
            super().load_state_dict(state)

    counter = SlowCounter(0)
    resumed.start_or_restore("search", counter)
    assert counter.count == 7
    content, arrays, _ = read_checkpoint(tmp_path)
    assert content["running"] == ["search"]
    assert arrays["running/search/count"] == 7


class Counter:
    """A step whose state is a number."""

    def __init__(self, count: int) -> None:
        self.count = count

    def state_dict(self) -> dict[str, Any]:
        return {"count": np.array(self.count)}

    def load_state_dict(self, state: Any) -> None:
        self.count = int(state["count"])


@pytest.fixture(scope="module")
def finished_checkpoint(
    run: PlannedRun, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict, dict]:
    """Return content and arrays of the checkpoint of a finished run."""
    folder = tmp_path_factory.mktemp("done")
    checkpoint = StopsAt(folder, run, -1)
    run.execute(checkpoint=checkpoint)
    checkpoint.save()
    content, arrays, _ = read_checkpoint(folder)
    return content, arrays


def test_a_forged_candidate_cannot_break_the_limit(
    run, finished_checkpoint, tmp_path: Path
) -> None:
    content, arrays = finished_checkpoint
    for forged in ("1024-1024", "64-64-64", "99999"):
        search = content["done"]["search"] | {"architectures": [forged, "linear"]}
        write_checkpoint(tmp_path, content | {"done": content["done"] | {"search": search}}, arrays)
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
def test_forged_results_of_a_candidate_are_refused(
    change: dict, run, finished_checkpoint, tmp_path: Path
) -> None:
    content, arrays = finished_checkpoint
    entry = {"candidate 1": content["done"]["candidate 1"] | change}
    write_checkpoint(tmp_path, content | {"done": content["done"] | entry}, arrays)
    with pytest.raises(TabNASError, match="must be one that this run has written"):
        run.execute(checkpoint=RunCheckpoint(tmp_path, identity=run.identity()))


def test_forged_weights_are_refused(run, finished_checkpoint, tmp_path: Path) -> None:
    content, arrays = finished_checkpoint
    name = next(name for name in arrays if name.startswith("done/refit/layer"))
    for wrong in (np.zeros((9, 9), np.float32), np.full_like(arrays[name], np.nan)):
        write_checkpoint(tmp_path, content, arrays | {name: wrong})
        with pytest.raises(TabNASError, match=r"must be (floats of the shape|finite)"):
            run.execute(checkpoint=RunCheckpoint(tmp_path, identity=run.identity()))


@pytest.mark.parametrize(
    ("step", "name", "value"),
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
        (20, "outputs", np.zeros((1, 1, 1), np.float32)),
        (20, "trainer/step", np.array(10**9)),
        (20, "trainer/total", np.array(np.inf)),
        (20, "trainer/training_losses", np.zeros(999)),
        (20, "trainer/best/head.0.bias", np.zeros(1, np.float32)),
    ],
    ids=lambda value: str(value)[:30].replace("\n", ""),
)
def test_forged_states_are_refused(step: int, name: str, value: Any, run, tmp_path: Path) -> None:
    """Compiled code indexes these arrays, so all of them are checked when they are loaded."""
    with pytest.raises(RunStopped):
        run.execute(checkpoint=StopsAt(tmp_path, run, step))
    content, arrays, _ = read_checkpoint(tmp_path)
    (running,) = content["running"]
    name = f"running/{running}/{name}"
    if value is None:  # negative if the bits are read as a signed number
        value = np.full(arrays[name].shape, 2**64 - 10**12, np.uint64)
    write_checkpoint(tmp_path, content, arrays | {name: value})
    with pytest.raises(TabNASError, match="must be one that this run has written"):
        run.execute(checkpoint=RunCheckpoint(tmp_path, identity=run.identity()))


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"identity": {}, "done": [], "running": []},
        {"identity": [], "done": {}, "running": []},
        {"identity": {}, "done": {}, "running": "search"},
        {"identity": {}, "done": {}, "running": [1]},
    ],
)
def test_checkpoints_without_the_expected_content_are_refused(
    content: dict, tmp_path: Path
) -> None:
    write_checkpoint(tmp_path, content, {})
    with pytest.raises(TabNASError, match="must be one that this run has written"):
        RunCheckpoint(tmp_path)
