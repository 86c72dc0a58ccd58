"""Jobs of a run that work side by side, each in a thread."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import copy_context
from functools import partial
from threading import Condition, Lock, Thread, get_ident
from time import monotonic, perf_counter
from types import TracebackType
from typing import Any, Generic, TypeVar, cast

from tabnas.processes import use_processes
from tabnas.runs._progress import Phase, Progress, ProgressCallback
from tabnas.runs.checkpoints._run_checkpoint import RunCheckpoint
from tabnas.runs.checkpoints._stop_signals import RunStopped
from tabnas.threads import claim_cores, get_threads, release_cores

POLL_SECONDS = 0.05
"""How often a waiting pool looks for signals and reports progress."""
CANCEL_SECONDS = 10.0
"""How long a pool that has failed waits for its jobs to end; a job may not notice at all."""
SWITCH_SECONDS = 0.0005
"""How long Python code may keep the global lock from a job whose kernel has returned. A kernel
trains for some milliseconds at a time, so Python's default of 5 ms would double its time beside a
job that never releases the lock, like an import."""

Result = TypeVar("Result")


class Job(Generic[Result]):
    """A function call whose result is there once it is done; see `JobPool.start`."""

    def __init__(self, pool: JobPool, phase: Phase, call: Callable[[], Result]) -> None:
        self._pool = pool
        self._phase = phase
        self._call: Callable[[], Result] | None = call
        self._result: Result | None = None
        self.error: BaseException | None = None
        self.is_done = False

    def result(self) -> Result:
        """Wait for the job and return its result."""
        self._pool.wait(self)
        return cast(Result, self._result)

    def run(self) -> None:
        """Call the function in this thread, and forget it with all that it holds."""
        assert self._call is not None
        try:
            with self._pool.measure(self._phase):
                self._result = self._call()
        except BaseException as error:
            self.error = error
        self._call = None
        self.is_done = True


class JobPool:
    """Runs jobs side by side, one in each thread.

    The thread that makes the pool starts jobs and waits for their results. Meanwhile it handles
    signals and reports the progress of all. Jobs never wait for each other. With one thread,
    every job runs when it is started, and one in the background when its result is needed.

    After a signal to stop, jobs end at their next `checkpoint.save_if_due`, the checkpoint is
    saved and `RunStopped` is raised. If a job fails, its error is raised at once and the others
    end likewise. A job that never calls `save_if_due` has no state to lose; its thread is left
    behind and ends with the process.

    Parameters
    ----------
    checkpoint
        The checkpoint that the jobs report to.
    threads
        The number of jobs at a time; by default, that of the process.
    """

    def __init__(self, checkpoint: RunCheckpoint, *, threads: int | None = None) -> None:
        self._checkpoint = checkpoint
        self.threads = threads or get_threads()
        self._owner = get_ident()
        self._changed = Condition()
        self._waiting: deque[Job[Any]] = deque()
        self._waiting_in_background: deque[Job[Any]] = deque()
        self._active = 0  # threads at work
        self._owner_waits = False
        self._failed: Job[Any] | None = None
        self._reports: deque[tuple[ProgressCallback, Progress]] = deque()
        self._seconds: dict[str, float] = {}
        self._began = perf_counter()
        self._contexts = ExitStack()

    def __enter__(self) -> JobPool:
        if self.threads > 1:
            self._contexts.enter_context(use_processes())
            self._contexts.enter_context(_switch_often())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._contexts.close()
        if kind is not None and self._active:
            is_stopped = isinstance(error, RunStopped) and self._checkpoint.signals.received
            if is_stopped and not self._checkpoint.is_cancelled:
                self._leave_states()  # the signal has interrupted what the owner does itself
            self._checkpoint.cancel()
            self._drop_waiting()
            self._wait_for_steps(CANCEL_SECONDS)

    def start(
        self, phase: Phase, call: Callable[[], Result], *, in_background: bool = False
    ) -> Job[Result]:
        """Start a job, as soon as a thread is free.

        One in the background starts when nothing else can: no other job is waiting, and the thread
        that made the pool waits itself.
        """
        job = Job(self, phase, call)
        if self.threads == 1:
            if not in_background:
                job.run()
                self._raise_error_of(job)
            return job
        with self._changed:
            (self._waiting_in_background if in_background else self._waiting).append(job)
            if not in_background:
                self._start_thread()
        return job

    def _start_thread(self) -> None:
        """Start a thread, unless there are enough."""
        if self._active < self.threads:
            self._count_active(+1)
            Thread(target=partial(copy_context().run, self._work), daemon=True).start()

    def _count_active(self, change: int) -> None:
        """Change the number of threads at work, and claim a core for each but one.

        That one has the core of the thread that waits.
        """
        before = max(0, self._active - 1)
        self._active += change
        more = max(0, self._active - 1) - before
        if more > 0:
            claim_cores(more, force=True)
        else:
            release_cores(-more)

    def wait(self, job: Job[Any]) -> None:
        """Wait until a job is done; raise its error, or that of another which fails before."""
        if self.threads == 1 and not job.is_done:
            job.run()
        self._owner_waits = True
        with self._changed:
            for _ in self._waiting_in_background:
                self._start_thread()
        while not job.is_done and self._failed is None:
            with self._changed:
                self._changed.wait(POLL_SECONDS)
            self._report()
            if self._checkpoint.signals.received:
                self._stop()
        self._owner_waits = False
        self._report()
        if self._failed is not None and isinstance(self._failed.error, RunStopped):
            self._stop()  # the other steps may not have saved their states yet
        self._raise_error_of(self._failed or job)

    @contextmanager
    def measure(self, phase: Phase) -> Iterator[None]:
        """Add the time of the block to that of its phase."""
        start = perf_counter()
        yield
        with self._changed:
            self._seconds[phase] = self._seconds.get(phase, 0.0) + perf_counter() - start

    def take_seconds(self) -> tuple[dict[str, float], float]:
        """Return how long the jobs of each phase took, and all together, since the last call.

        Jobs that work side by side take longer in sum than all together.
        """
        now = perf_counter()
        seconds, total = self._seconds, now - self._began
        self._seconds, self._began = {}, now
        return seconds, total

    def serialize(self, on_progress: ProgressCallback) -> ProgressCallback:
        """Return a callback for jobs; the thread that waits passes their reports on."""

        def report(progress: Progress) -> None:
            if get_ident() == self._owner:
                self._report()
                on_progress(progress)
            else:
                self._reports.append((on_progress, progress))

        return report

    def _work(self) -> None:
        """Run jobs until none is waiting."""
        while True:
            with self._changed:
                if self._waiting:
                    job = self._waiting.popleft()
                elif self._waiting_in_background and self._owner_waits:
                    job = self._waiting_in_background.popleft()
                else:
                    self._count_active(-1)
                    self._changed.notify_all()
                    break
            job.run()
            if job.error is not None:
                self._checkpoint.abandon()
            with self._changed:
                if job.error is not None and self._failed is None:
                    self._failed = job
                self._changed.notify_all()

    def _report(self) -> None:
        while self._reports:
            on_progress, progress = self._reports.popleft()
            on_progress(progress)

    def _stop(self) -> None:
        self._leave_states()
        raise RunStopped(self._checkpoint.signals.received)

    def _leave_states(self) -> None:
        """Save the states of all jobs after a signal, when they have ended."""
        self._drop_waiting()
        self._wait_for_steps()
        self._checkpoint.save()
        self._checkpoint.cancel()

    def _drop_waiting(self) -> None:
        with self._changed:
            self._waiting.clear()
            self._waiting_in_background.clear()

    def _wait_for_steps(self, seconds: float = float("inf")) -> None:
        """Wait until every step that has a state has ended."""
        end = monotonic() + seconds
        while self._checkpoint.has_running_steps and monotonic() < end:
            with self._changed:
                self._changed.wait(POLL_SECONDS)

    def _raise_error_of(self, job: Job[Any]) -> None:
        if job.error is not None:
            raise job.error


class _SwitchInterval:
    """Python's interval between switches of threads, before the first pool and now."""

    lock = Lock()
    pools = 0
    before = 0.0


@contextmanager
def _switch_often() -> Iterator[None]:
    """Let threads switch every `SWITCH_SECONDS` while any pool of this process is at work."""
    with _SwitchInterval.lock:
        if _SwitchInterval.pools == 0:
            _SwitchInterval.before = sys.getswitchinterval()
            sys.setswitchinterval(min(SWITCH_SECONDS, _SwitchInterval.before))
        _SwitchInterval.pools += 1
    try:
        yield
    finally:
        with _SwitchInterval.lock:
            _SwitchInterval.pools -= 1
            if _SwitchInterval.pools == 0:
                sys.setswitchinterval(_SwitchInterval.before)
