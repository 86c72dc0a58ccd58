"""The checkpoint of a run: results of finished steps, and the states of those at work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import RLock, local
from time import monotonic
from typing import Any

from numpy.typing import NDArray

from tabnas.decoding import to_builtins
from tabnas.errors import TabNASError
from tabnas.formatting import shorten
from tabnas.runs._process_group import SINGLE_PROCESS, ProcessGroup
from tabnas.runs.checkpoints._file import has_checkpoint, read_checkpoint, write_checkpoint
from tabnas.runs.checkpoints._step_checkpoint import (
    Resumable,
    StepCancelledError,
    reject_malformed,
)
from tabnas.runs.checkpoints._stop_signals import RunStopped, StopSignals, is_main_thread
from tabnas.states import Arrays, subtree

SAVE_EVERY = 60.0
"""Seconds from one checkpoint to the next."""
SIGNAL_CHECK_STEPS = 8
"""Steps after which the processes of a run ask each other whether one has to stop."""


class RunCheckpoint:
    """Keeps the results of finished steps and the states of running ones, and saves all.

    A run is made of named steps. `record` stores the result of a finished step, as JSON and
    arrays; a resumed run finds it and does not repeat the step. Several steps may run side by side,
    each in a thread of its own. A step calls `save_if_due` whenever its state is consistent. If a
    checkpoint is due, it leaves a copy of its state there and goes on; the last one to do so writes
    the file.

    Parameters
    ----------
    folder
        Where to save. Without one nothing is saved, and an interrupt ends the run.
    identity
        What two runs must have in common for one to resume the other.
    every
        Seconds between two checkpoints.
    process_group
        The processes of the run. The first reads and writes the folder and sends what it holds to
        the others. If one receives a signal to stop, all stop after the same step.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        identity: Mapping[str, Any] | None = None,
        every: float = SAVE_EVERY,
        process_group: ProcessGroup = SINGLE_PROCESS,
    ) -> None:
        self._folder = folder
        self._process_group = process_group
        self._steps = 0
        self._every = every
        self._identity = dict(identity or {})
        self._results: dict[str, Any] = {}
        self._arrays: Arrays = {}
        self._lock = RLock()
        self._thread = local()  # its `step` is the one that runs in a thread
        self._running: dict[str, Resumable] = {}
        self._states: dict[str, Arrays] = {}  # copies that running steps have left to be saved
        self._is_saving = False  # whether running steps are asked for their states
        self._unfinished: dict[str, Arrays] = {}  # steps that an earlier process left
        self._is_cancelled = False
        self.signals = StopSignals()
        self._last = monotonic()
        self.note = ""
        """A note for the user on the checkpoint that was read."""
        self._restore()

    # -- finished steps ----------------------------------------------------------------------------

    def __contains__(self, name: str) -> bool:
        return name in self._results

    def result(self, name: str) -> Any:
        """Return the result of a step, as JSON holds it."""
        return self._results[name]

    def arrays(self, name: str) -> Arrays:
        """Return the arrays of a step."""
        with self._lock:
            return subtree(self._arrays, name)

    def record(
        self, name: str, result: Any, arrays: Mapping[str, NDArray[Any]] | None = None
    ) -> None:
        """Store the result of a step, which is finished: values or dataclasses fit for JSON."""
        with self._lock:
            if self._is_cancelled:
                raise StepCancelledError
            self._results[name] = to_builtins(result)
            self._arrays |= {f"{name}/{key}": array for key, array in (arrays or {}).items()}
            self._running.pop(name, None)
            self._states.pop(name, None)
            self._write_if_complete()

    def forget_arrays(self, name: str) -> None:
        """Remove the arrays of a step."""
        with self._lock:
            for key in [key for key in self._arrays if key.startswith(f"{name}/")]:
                del self._arrays[key]

    # -- running steps -----------------------------------------------------------------------------

    def start_or_restore(self, name: str, work: Resumable) -> None:
        """Begin a step, from the state that an earlier process has saved of it if there is one."""
        with self._lock:
            state = self._unfinished.get(name)  # until it is loaded, others may save it
        if state is not None:
            with reject_malformed():
                work.load_state_dict(state)
        with self._lock:
            self._unfinished.pop(name, None)
            self._running[name] = work
            self._thread.step = name

    def save_if_due(self) -> None:
        """Save the checkpoint if it is due; after a signal to stop, stop the step.

        Steps call this often, at moments when their state is consistent.
        """
        if self._is_cancelled:
            self._suspend()
            raise StepCancelledError
        stop = self.signals.received
        if self._process_group.size > 1:
            self._steps += 1
            stop = (
                self._process_group.all_reduce_max(stop)
                if self._steps % SIGNAL_CHECK_STEPS == 0
                else 0
            )
        if stop:
            self._suspend()
            self.save()
            # wait for the first: if others exit, it may be killed while it writes
            self._process_group.broadcast(None)
            raise RunStopped(stop)
        if self._is_saving or (
            self._folder is not None and monotonic() - self._last >= self._every
        ):
            self.save()

    def _suspend(self) -> None:
        """Keep the state of the step that runs in this thread; it does not run any more."""
        step = getattr(self._thread, "step", None)
        with self._lock:
            if step in self._running:
                self._unfinished[step] = dict(self._running.pop(step).state_dict())
                self._states.pop(step, None)

    def abandon(self) -> None:
        """Forget the step that runs in this thread: it has failed, and nothing waits for it."""
        step = getattr(self._thread, "step", "")
        with self._lock:
            self._running.pop(step, None)
            self._states.pop(step, None)

    def save(self) -> None:
        """Save the checkpoint, as soon as every step that runs beside the caller's allows it."""
        if self._folder is None:
            return
        step = getattr(self._thread, "step", None)
        with self._lock:
            if self._is_cancelled:
                raise StepCancelledError
            self._is_saving = True
            if step in self._running and step not in self._states:
                assert step is not None
                self._states[step] = dict(self._running[step].state_dict())
            self._write_if_complete()

    def _write_if_complete(self) -> None:
        """Write the file if it is asked for and every running step has left its state."""
        if not self._is_saving or not self._running.keys() <= self._states.keys():
            return
        states = self._unfinished | self._states
        values = {"identity": self._identity, "done": self._results, "running": sorted(states)}
        arrays = {f"done/{name}": array for name, array in self._arrays.items()}
        for step, state in states.items():
            arrays |= {f"running/{step}/{name}": array for name, array in state.items()}
        self._write(values, arrays)
        self._last = monotonic()
        self._is_saving = False
        self._states.clear()

    def _write(self, values: Mapping[str, Any], arrays: Arrays) -> None:
        assert self._folder is not None
        try:
            write_checkpoint(self._folder, values, arrays)
        except OSError as error:
            remedy = (
                "the last one is complete: free some space and resume from it"
                if has_checkpoint(self._folder)
                else "there was none before it: free some space and start again"
            )
            raise TabNASError(
                f"no checkpoint can be written to {str(self._folder)!r} "
                f"({error.strerror or error}); {remedy}"
            ) from None

    def _restore(self) -> None:
        """Read the checkpoint of an earlier process; the first rank reads it for all."""
        checkpoint = None if self._folder is None else read_checkpoint(self._folder)
        own_values, own_arrays, self.note = checkpoint or (None, {}, "")
        values, arrays = self._process_group.broadcast(own_values, own_arrays)
        if values is None:
            return
        with reject_malformed():
            identity, done, running = (values[name] for name in ("identity", "done", "running"))
            plain = all(isinstance(value, str | int) for value in identity.values())
            named = isinstance(running, list) and all(isinstance(step, str) for step in running)
            if not plain or not isinstance(done, dict) or not named:
                raise TabNASError("it does not hold finished and running steps")
        check_identity(identity, self._identity)
        self._results = done
        self._arrays = subtree(arrays, "done")
        states = subtree(arrays, "running")
        self._unfinished = {step: subtree(states, step) for step in running}

    # -- the end of steps --------------------------------------------------------------------------

    @property
    def has_running_steps(self) -> bool:
        """Whether a step with a state is at work."""
        return bool(self._running)

    @property
    def is_cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._is_cancelled

    def cancel(self) -> None:
        """End every running step at its next call, by a `StepCancelledError`.

        Nothing is recorded or saved any more: whatever still runs is left behind.
        """
        with self._lock:
            self._is_cancelled = True

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Save the checkpoint, then let signals interrupt the block at once: it has no state.

        Signals cannot interrupt other threads than the first. There the block runs to its end, and
        nothing is saved.
        """
        if not is_main_thread():
            yield
            return
        self.save()
        with self.signals.interruptible():  # not `save_if_due`: the other processes have finished
            yield

    @contextmanager
    def handle_signals(self) -> Iterator[None]:
        """Within the block, defer Ctrl-C and SIGTERM to the next `save_if_due`.

        A second Ctrl-C stops at once, unless there are several processes: their launcher ends those
        that take too long.
        """
        is_single = self._process_group.size == 1
        if not is_main_thread() or (is_single and self._folder is None):
            yield
            return
        with self.signals.handle(repeated_stops=is_single):
            yield


def check_identity(then: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Raise an error that names the first difference between a run and its checkpoint."""
    for name in sorted(set(then) | set(now)):
        if then.get(name) != now.get(name):
            raise TabNASError(
                f"a run can be resumed only as it began, but {name} was {shorten(then.get(name))} "
                f"and is {shorten(now.get(name))}; undo the change, or start a new run"
            )
