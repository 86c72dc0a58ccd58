"""Jobs of a run side by side: results, errors, signals, and the same bits as one by one."""

from __future__ import annotations

import signal
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from time import monotonic, sleep

import numpy as np
import pytest

from tabnas.processes import use_processes
from tabnas.runs import PlannedRun, Progress, RunCheckpoint, RunStopped, _job_pool
from tabnas.runs._job_pool import Job, JobPool
from tabnas.runs.checkpoints._step_checkpoint import StepCancelledError
from tabnas.threads import claim_cores, limit_threads, release_cores
from tests.runs.helpers import StopsAt, collect_bits, make_shop_tradeoff, plan_short_run

SECONDS = 20.0  # after which a test that waits has failed


class Counter:
    """Work that counts its steps until it is told to end."""

    def __init__(self, checkpoint: RunCheckpoint, name: str, pause: float = 0.001) -> None:
        self.checkpoint, self.name, self.pause = checkpoint, name, pause
        self.steps = 0
        self.has_begun = threading.Event()

    def __call__(self) -> None:
        self.checkpoint.start_or_restore(self.name, self)
        for _ in range(int(SECONDS / 0.001)):
            self.checkpoint.save_if_due()
            self.steps += 1
            self.has_begun.set()
            sleep(self.pause)

    def state_dict(self) -> dict[str, np.ndarray]:
        return {"steps": np.array(self.steps)}

    def load_state_dict(self, state: dict[str, np.ndarray]) -> None:
        self.steps = int(state["steps"])


def wait_for(condition: Callable[[], bool]) -> bool:
    for _ in range(int(SECONDS / 0.01)):
        if condition():
            return True
        sleep(0.01)
    return False


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_are_those_of_their_jobs(threads: int) -> None:
    with JobPool(RunCheckpoint(), threads=threads) as pool:
        jobs = [pool.start("search", lambda k=k: k * k) for k in range(20)]
        assert [job.result() for job in jobs] == [k * k for k in range(20)]
        assert wait_for(lambda: pool._active == 0)


@pytest.mark.usefixtures("idle_cores")
def test_as_many_tasks_as_threads_work_at_a_time() -> None:
    barrier = threading.Barrier(3, timeout=SECONDS)
    with limit_threads(4), JobPool(RunCheckpoint(), threads=3) as pool:
        jobs = [pool.start("search", barrier.wait) for _ in range(3)]
        assert sorted(job.result() for job in jobs) == [0, 1, 2]
        gate = threading.Event()
        first, second = (pool.start("search", gate.wait) for _ in range(2))
        assert wait_for(lambda: pool._active == 2), "the third thread ends"
        granted = claim_cores(9)
        release_cores(granted)
        gate.set()
        assert granted == 2, "two of four threads are at work"
        assert first.result()
        assert second.result()
        assert wait_for(lambda: pool._active == 0)
        assert claim_cores(9) == 3
        release_cores(3)


@pytest.mark.parametrize("threads", [1, 2])
def test_jobs_in_the_background_come_last(threads: int) -> None:
    order: list[str] = []
    gate = threading.Event()
    with JobPool(RunCheckpoint(), threads=threads) as pool:
        if threads > 1:  # all threads are busy until everything is started
            for _ in range(threads):
                pool.start("search", gate.wait)
        background = pool.start("comparison", lambda: order.append("last"), in_background=True)
        jobs = [pool.start("search", lambda: order.append("first")) for _ in range(3)]
        gate.set()
        for job in jobs:
            job.result()
        background.result()
        background.result()
    assert order[:3] == ["first"] * 3 if threads == 1 else order.count("first") == 3
    assert order.count("last") == 1


@pytest.mark.parametrize("threads", [1, 3])
def test_the_error_of_a_job_is_raised_and_others_are_cancelled(threads: int) -> None:
    checkpoint = RunCheckpoint()
    counter = Counter(checkpoint, "long")

    def fail() -> None:
        if threads > 1:
            counter.has_begun.wait(SECONDS)
        raise ZeroDivisionError

    def run() -> None:
        with JobPool(checkpoint, threads=threads) as pool:
            long = pool.start("search", counter) if threads > 1 else None
            failing = pool.start("candidates", fail)
            (long or failing).result()  # whoever is waited for

    with pytest.raises(ZeroDivisionError):
        run()
    assert not checkpoint.has_running_steps
    if threads > 1:
        steps = counter.steps
        sleep(0.05)
        assert counter.steps == steps
        with pytest.raises(StepCancelledError):
            checkpoint.save_if_due()


def test_nobody_waits_for_the_state_of_a_job_that_has_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_job_pool, "CANCEL_SECONDS", 5 * SECONDS)
    checkpoint = RunCheckpoint(tmp_path)
    other, failing = Counter(checkpoint, "other"), Counter(checkpoint, "failing")

    def fail() -> None:
        checkpoint.start_or_restore("failing", failing)
        other.has_begun.wait(SECONDS)
        raise ZeroDivisionError

    def run() -> None:
        with JobPool(checkpoint, threads=2) as pool:
            pool.start("candidates", other)
            pool.start("search", fail).result()

    began = monotonic()
    with pytest.raises(ZeroDivisionError):
        run()
    assert monotonic() - began < SECONDS
    assert not checkpoint.has_running_steps


def test_progress_reaches_the_thread_that_waits() -> None:
    seen: list[tuple[str, int]] = []

    def observe(progress: Progress) -> None:
        seen.append((progress.note, threading.get_ident()))

    with JobPool(RunCheckpoint(), threads=2) as pool:
        report = pool.serialize(observe)
        jobs = [
            pool.start("search", lambda k=k: report(Progress("search", 0.5, note=str(k))))
            for k in range(10)
        ]
        for job in jobs:
            job.result()
        report(Progress("search", 1.0, note="end"))
    assert sorted(note for note, _ in seen) == sorted([*map(str, range(10)), "end"])
    assert seen[-1][0] == "end"
    assert {thread for _, thread in seen} == {threading.get_ident()}


def test_seconds_are_those_of_the_work() -> None:
    with JobPool(RunCheckpoint(), threads=2) as pool:
        jobs = [pool.start("teacher", lambda: sleep(0.1)) for _ in range(4)]
        for job in jobs:
            job.result()
        phases, total = pool.take_seconds()
        assert phases["teacher"] >= 0.4
        assert total < phases["teacher"]
        assert pool.take_seconds()[0] == {}


def test_a_signal_stops_all_tasks_and_saves_their_states(tmp_path: Path) -> None:
    checkpoint = RunCheckpoint(tmp_path)
    counters = [Counter(checkpoint, name) for name in ("first", "second")]
    stateless = threading.Event()

    def send_signal() -> None:
        for counter in counters:
            counter.has_begun.wait(SECONDS)
        checkpoint.signals.received = signal.SIGTERM
        stateless.wait(SECONDS)  # it never looks at the checkpoint, and is left behind

    def run() -> None:
        with JobPool(checkpoint, threads=3) as pool:
            jobs = [pool.start("candidates", counter) for counter in counters]
            pool.start("comparison", send_signal)
            jobs[0].result()

    with pytest.raises(RunStopped) as stopped:
        run()
    stateless.set()
    assert stopped.value.signal == signal.SIGTERM
    resumed = RunCheckpoint(tmp_path)
    for counter in counters:
        again = Counter(resumed, counter.name)
        resumed.start_or_restore(counter.name, again)
        assert again.steps == counter.steps > 0


def test_a_signal_that_interrupts_the_owner_saves_the_states_of_all_jobs(tmp_path: Path) -> None:
    """The owner fits an estimator, say, which signals interrupt at once."""
    checkpoint = RunCheckpoint(tmp_path)
    counter = Counter(checkpoint, "counter")

    def run() -> None:
        with checkpoint.handle_signals(), JobPool(checkpoint, threads=2) as pool:
            done = pool.start("search", lambda: checkpoint.record("done", 7))
            done.result()
            pool.start("candidates", counter)
            with checkpoint.interruptible():
                checkpoint.record("later", 8)
                counter.has_begun.wait(SECONDS)
                steps = counter.steps
                assert wait_for(lambda: counter.steps > steps + 5)
                signal.raise_signal(signal.SIGTERM)

    with pytest.raises(RunStopped) as stopped:
        run()
    assert stopped.value.signal == signal.SIGTERM
    resumed = RunCheckpoint(tmp_path)
    assert (resumed.result("done"), resumed.result("later")) == (7, 8)
    again = Counter(resumed, counter.name)
    resumed.start_or_restore(counter.name, again)
    assert again.steps == counter.steps > 0


def test_a_second_signal_does_not_wait_for_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_job_pool, "CANCEL_SECONDS", 0.1)
    checkpoint = RunCheckpoint(tmp_path)
    counter, gate = Counter(checkpoint, "stuck"), threading.Event()

    def get_stuck() -> None:
        checkpoint.start_or_restore(counter.name, counter)
        counter.has_begun.set()
        gate.wait(SECONDS)
        checkpoint.save_if_due()  # ends the step, if the pool still waits for it

    def run() -> None:
        with JobPool(checkpoint, threads=2) as pool:
            pool.start("candidates", get_stuck)
            counter.has_begun.wait(SECONDS)
            checkpoint.signals.received = signal.SIGINT
            raise KeyboardInterrupt

    began = monotonic()
    with pytest.raises(KeyboardInterrupt):
        run()
    assert monotonic() - began < SECONDS / 2
    gate.set()


def test_a_signal_saves_the_states_of_all_while_nobody_waits(tmp_path: Path) -> None:
    """One job notices the signal and ends long before the other leaves its state."""
    checkpoint = RunCheckpoint(tmp_path)
    quick = Counter(checkpoint, "quick")
    slow = Counter(checkpoint, "slow", pause=0.3)

    def run() -> None:
        with JobPool(checkpoint, threads=2) as pool:
            jobs = [pool.start("candidates", counter) for counter in (quick, slow)]
            for counter in (quick, slow):
                counter.has_begun.wait(SECONDS)
            checkpoint.signals.received = signal.SIGTERM
            assert wait_for(lambda: jobs[0].is_done)
            jobs[0].result()

    with pytest.raises(RunStopped):
        run()
    resumed = RunCheckpoint(tmp_path)
    for counter in (quick, slow):
        again = Counter(resumed, counter.name)
        resumed.start_or_restore(counter.name, again)
        assert again.steps == counter.steps > 0


@pytest.mark.parametrize("threads", [1, 2])
def test_a_job_that_is_done_holds_nothing_but_its_result(threads: int) -> None:
    class Training:
        """What a job works on."""

    def start(pool: JobPool) -> tuple[Job[None], weakref.ref[Training]]:
        training = Training()
        return pool.start("candidates", partial(setattr, training, "done", True)), weakref.ref(
            training
        )

    with JobPool(RunCheckpoint(), threads=threads) as pool:
        job, training = start(pool)
        job.result()
        assert wait_for(lambda: training() is None)


def test_the_switch_interval_is_restored_by_the_last_pool() -> None:
    before = sys.getswitchinterval()
    first, second = (JobPool(RunCheckpoint(), threads=2) for _ in range(2))
    with ExitStack() as outer:
        with first:
            outer.enter_context(second)
            assert sys.getswitchinterval() < before
        assert sys.getswitchinterval() < before
    assert sys.getswitchinterval() == before


def test_a_periodic_checkpoint_holds_the_states_of_all_jobs(tmp_path: Path) -> None:
    checkpoint = RunCheckpoint(tmp_path, every=0.02)
    counters = [Counter(checkpoint, name) for name in ("first", "second", "third")]

    def read_states() -> list[int]:
        again = [Counter(checkpoint, counter.name) for counter in counters]
        saved = RunCheckpoint(tmp_path)
        for counter in again:
            saved.start_or_restore(counter.name, counter)
        return [counter.steps for counter in again]

    def run() -> None:
        with JobPool(checkpoint, threads=3) as pool:
            for counter in counters:
                pool.start("candidates", counter)
            assert wait_for(lambda: min(read_states()) > 0)
            before = read_states()
            assert wait_for(lambda: min(np.subtract(read_states(), before)) > 0), "saved again"
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run()


def test_a_finished_job_does_not_hold_up_a_checkpoint(tmp_path: Path) -> None:
    """One job is asked for its state and ends instead."""
    checkpoint = RunCheckpoint(tmp_path, every=1e9)
    quick, slow = Counter(checkpoint, "quick"), Counter(checkpoint, "slow")
    checkpoint.start_or_restore("quick", quick)

    def save_slow() -> None:
        checkpoint.start_or_restore("slow", slow)
        checkpoint.save()

    thread = threading.Thread(target=save_slow)
    thread.start()
    thread.join()
    assert not list(tmp_path.iterdir()), "quick has not left its state yet"
    checkpoint.record("quick", {"is": "done"})
    saved = RunCheckpoint(tmp_path)
    assert saved.result("quick") == {"is": "done"}
    assert list(saved._unfinished) == ["slow"]


# -- runs ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", autouse=True)
def processes() -> Iterator[None]:
    """Start processes once, not for every run."""
    with use_processes():
        yield


@pytest.fixture(scope="module", params=[300, 4_000], ids=["folds", "validation"])
def run(request: pytest.FixtureRequest) -> PlannedRun:
    return plan_short_run(request.param, candidates=3, reference_models=True, teacher="trees")


@pytest.fixture(scope="module")
def expected(run: PlannedRun) -> dict[str, object]:
    return collect_bits(run.execute())


@pytest.mark.parametrize("threads", [2, 5])
def test_bits_do_not_depend_on_the_number_of_threads(
    run: PlannedRun, expected: dict[str, object], threads: int
) -> None:
    with limit_threads(threads):
        finished = run.execute()
    assert collect_bits(finished) == expected
    assert finished.total_seconds < sum(finished.phase_seconds.values())


@pytest.mark.parametrize("seed", range(3))
def test_a_stopped_run_is_resumed_with_another_number_of_threads(
    run: PlannedRun, expected: dict[str, object], seed: int, tmp_path: Path
) -> None:
    rng = np.random.default_rng(seed)
    finished, stops = None, 0
    while finished is None and stops < 100:
        with limit_threads(int(rng.integers(1, 4))):
            checkpoint = StopsAt(tmp_path, run, int(rng.integers(2, 60)))
            try:
                finished = run.execute(checkpoint=checkpoint)
            except RunStopped:
                stops += 1
    assert finished is not None
    assert stops > 1
    assert collect_bits(finished) == expected


def test_the_limits_of_a_tradeoff_work_side_by_side() -> None:
    tradeoff = make_shop_tradeoff(teacher="trees")
    one_by_one = [collect_bits(finished) for finished in tradeoff.execute()]
    with limit_threads(3):
        assert [collect_bits(finished) for finished in tradeoff.execute()] == one_by_one
