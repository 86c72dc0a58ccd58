"""Jobs and their results, as they come; those of a worker that died are made again."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import TypeVar

from tabnas.errors import TabnasError
from tabnas.jobs._crew import Crew
from tabnas.jobs._errand import Errand
from tabnas.jobs._worker import unpacked
from tabnas.jobs._workshop import Workshop

Job = TypeVar("Job")
Result = TypeVar("Result")
PATIENCE = 0.5  # seconds of waiting between two ticks


def made(
    function: Callable[[Job], Result],
    jobs: Sequence[Job],
    crew: Crew | None = None,
    *,
    tick: Callable[[], None] = lambda: None,
) -> Iterator[tuple[Job, Result]]:
    """Each job with what `function` makes of it, in the order in which they are done.

    A crew that is not alone gets the function and the jobs as pickles, so both must be plain:
    a function of a module, jobs of numbers and texts. When a worker dies, only the job that it
    was at is lost, and made again by another. An error of the function itself ends everything, as
    it does alone. `tick` is called about twice a second while workers work; what it raises ends
    everything, too. When it ends, so do the workers.

    >>> sorted(made(abs, [-3, 2]))
    [(-3, 3), (2, 2)]
    """
    crew = crew or Crew()
    if crew.alone:
        yield from ((job, function(job)) for job in jobs)
        return
    if not jobs:
        return
    waiting, working, died = deque(range(len(jobs))), 0, Counter[int]()
    with closing(_opened(Errand.of(function), crew)) as workshop:
        while waiting or working:
            while waiting and working < workshop.room:
                number = waiting.popleft()
                workshop.start(number, jobs[number])
                working += 1
            tick()
            for number, answer in workshop.done(PATIENCE):
                working -= 1
                if isinstance(answer, bytes):
                    yield jobs[number], unpacked(answer)
                    continue
                died[number] += answer.workers
                if died[number] >= crew.attempts:
                    raise TabnasError(_given_up(jobs[number], died[number]))
                waiting.append(number)


def refuse_unreachable(crew: Crew) -> None:
    """Refuse a cluster that is not there, before the work that its jobs come of."""
    if crew.backend != "local":
        _opened(Errand.of(abs), crew).close()


def _opened(errand: Errand, crew: Crew) -> Workshop:
    """Each is imported when it is wanted: Ray and Dask are extras."""
    if crew.backend == "ray":
        from tabnas.jobs._ray import RayWorkshop

        return RayWorkshop(errand, crew)
    if crew.backend == "dask":
        from tabnas.jobs._dask import DaskWorkshop

        return DaskWorkshop(errand, crew)
    from tabnas.jobs._local import LocalWorkshop

    return LocalWorkshop(errand, crew)


def _given_up(job: object, workers: int) -> str:
    died = "a worker" if workers == 1 else f"{workers} workers, one after the other,"
    return (
        f"the job {job} was given up: {died} died while making it, most likely for want of memory; "
        "use fewer processes or larger machines, then the same command goes on with what is left"
    )
