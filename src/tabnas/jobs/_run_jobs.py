"""Run jobs and yield their results as they finish; jobs whose process died run again."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import TypeVar

from tabnas.errors import TabNASError
from tabnas.jobs._config import JobConfig
from tabnas.jobs._executor import Executor, RemoteFunction
from tabnas.jobs._job_process import unpack_result

Job = TypeVar("Job")
Result = TypeVar("Result")
POLL_SECONDS = 0.5


def run_jobs(
    function: Callable[[Job], Result],
    jobs: Sequence[Job],
    config: JobConfig | None = None,
    *,
    on_poll: Callable[[], None] = lambda: None,
) -> Iterator[tuple[Job, Result]]:
    """Yield each job with the result of `function(job)`, in the order in which they finish.

    Unless jobs run in this process, the function and the jobs are pickled, so the function must be
    one of a module, and jobs must be plain values. When a process dies, only the job that it was
    running is lost, and another process runs it again. An error of the function itself ends
    everything, as it does in this process. `on_poll` is called about twice a second while processes
    are busy; an error that it raises ends everything, too. At the end, all processes end.

    >>> sorted(run_jobs(abs, [-3, 2]))
    [(-3, 3), (2, 2)]
    """
    config = config or JobConfig()
    if config.in_process:
        yield from ((job, function(job)) for job in jobs)
        return
    if not jobs:
        return
    pending, running, deaths = deque(range(len(jobs))), 0, Counter[int]()
    with closing(_open_executor(RemoteFunction.from_function(function), config)) as executor:
        while pending or running:
            while pending and running < executor.capacity:
                number = pending.popleft()
                executor.submit(number, jobs[number])
                running += 1
            on_poll()
            for number, outcome in executor.wait(POLL_SECONDS):
                running -= 1
                if isinstance(outcome, bytes):
                    yield jobs[number], unpack_result(outcome)
                    continue
                deaths[number] += outcome.processes
                if deaths[number] >= config.max_attempts:
                    raise TabNASError(_explain_deaths(jobs[number], deaths[number]))
                pending.append(number)


def check_cluster(config: JobConfig) -> None:
    """Raise an error if the cluster cannot be reached, before work that prepares its jobs."""
    if config.backend != "local":
        _open_executor(RemoteFunction.from_function(abs), config).close()


def _open_executor(function: RemoteFunction, config: JobConfig) -> Executor:
    """Return the executor of a backend, whose module is imported now: Ray and Dask are extras."""
    if config.backend == "ray":
        from tabnas.jobs._ray import RayExecutor

        return RayExecutor(function, config)
    if config.backend == "dask":
        from tabnas.jobs._dask import DaskExecutor

        return DaskExecutor(function, config)
    from tabnas.jobs._local import LocalExecutor

    return LocalExecutor(function, config)


def _explain_deaths(job: object, processes: int) -> str:
    died = "a process" if processes == 1 else f"{processes} processes, one after the other,"
    return (
        f"gave up on the job {job}: {died} died while running it, most likely for lack of memory; "
        "use fewer processes or larger machines, then the same command continues with what is left"
    )
