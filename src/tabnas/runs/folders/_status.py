"""Where a run stands, in a small file of its folder for whoever watches it."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic, time
from typing import Any

from tabnas.errors import TabNASError
from tabnas.files import atomic_write, read_file
from tabnas.runs._pipeline import PlannedRun
from tabnas.runs._progress import Observer, Progress
from tabnas.runs.checkpoints._recall import recalled
from tabnas.runs.search._trace import Snapshot

PROGRESS = "progress.json"
FORMAT = 1
EVERY = 0.5  # seconds: twice a second is live to the eye
POINTS = 100
"""Of the course of the search, evenly over its steps."""
MOST_BYTES = 4 << 20
LONGEST_INTEGER = 20
READING = "reading"
"""What a run does before there is a plan."""


@dataclass(frozen=True, kw_only=True)
class Stand:
    """Where a run stood when it last said so."""

    format: int = FORMAT
    pid: int
    started: float  # seconds since 1970
    updated: float
    phase: str = READING
    done: float = 0.0  # of the phase, from 0 to 1
    note: str = ""
    epoch: float | None = None
    rows_a_second: float | None = None
    target: str = ""  # this and what follows are known once there is a plan
    cost: str = ""  # by the first limit
    limit: float | None = None
    widths: list[list[int]]  # to choose from, by layer
    course: list[list[float | None]]  # progress, quality, P(V) and entropy of the search so far
    snapshot: Snapshot | None = None  # the latest of the search

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON."""
        latest = self.snapshot
        return vars(self) | {"snapshot": None if latest is None else latest.to_dict()}


class LiveFile:
    """An observer that keeps `progress.json` while a run works, and passes on what it is told.

    Written twice a second at most, aside and then renamed, so that whoever reads finds it whole.
    It is a view and nothing depends on it: what cannot be written is left unwritten. A run that
    ends without a result leaves the file as the last that was seen of it.
    """

    def __init__(self, folder: Path, observe: Observer) -> None:
        self._folder = folder
        self._observe = observe
        self._last = -EVERY
        now, earlier = time(), _earlier(folder)
        self._course = [] if earlier is None else earlier.course
        self._snapshot = None if earlier is None else earlier.snapshot
        self._stand = Stand(
            pid=os.getpid(),
            started=now,
            updated=now,
            widths=[] if earlier is None else earlier.widths,
            course=self._course,
            snapshot=self._snapshot,
        )
        self._write()

    def plan(self, run: PlannedRun) -> None:
        """What the run is to do is settled."""
        limit = run.plan.feasible.budget.limits[0]
        self._stand = replace(
            self._stand,
            target=run.parts.target.name,
            cost=limit.cost.name,
            limit=float(limit.upper),
            widths=[list(layer) for layer in run.plan.feasible.space.candidates],
        )

    def __call__(self, told: Progress) -> None:
        """Pass it on, and write it down if that is due or a phase has begun."""
        self._observe(told)
        if told.snapshot is not None:
            self._snapshot = told.snapshot
            self._extend(told.snapshot)
        moment = monotonic()
        if moment - self._last < EVERY and told.phase == self._stand.phase:
            return
        self._last = moment
        self._stand = replace(
            self._stand,
            updated=time(),
            phase=told.phase,
            done=told.done,
            note=told.note,
            epoch=told.epoch,
            rows_a_second=told.rows_a_second,
            snapshot=self._snapshot,
        )
        self._write()

    def _extend(self, now: Snapshot) -> None:
        """Add to the course where it has moved on by one of its points."""
        course = self._course
        while course and (course[-1][0] or 0.0) > now.progress:
            course.pop()  # an earlier process came further than its last checkpoint
        if not course or now.progress - (course[-1][0] or 0.0) >= 1 / POINTS:
            course.append([now.progress, now.quality, now.feasible_probability, now.entropy])

    def _write(self) -> None:
        with suppress(OSError):  # nobody can watch then, and the run goes on
            text = json.dumps(self._stand.to_dict())
            atomic_write(self._folder / PROGRESS, text, sync=False)


def read_stand(folder: str | Path) -> Stand | None:
    """Where a run said that it stands; None if it has not said so.

    The folder may be anybody's, and its run may be at work: the file is only read.
    """
    root = Path(folder)
    if not (root / PROGRESS).exists():
        return None
    try:
        text = read_file(root, PROGRESS, "run", max_size=MOST_BYTES).decode()
        facts = json.loads(text, parse_int=_integer)
        version = facts.get("format") if isinstance(facts, dict) else None
        if type(version) is not int:
            raise TabNASError("it must say its format, but it does not")
        if version > FORMAT:
            raise TabNASError(f"its format {version} is that of a newer tabnas; update this one")
        said = facts.pop("snapshot", None)
        snapshot = None if said is None else recalled(Snapshot, said)
        return _fitting(recalled(Stand, facts, snapshot=snapshot))
    except (TabNASError, ValueError, RecursionError) as error:
        raise TabNASError(f"{str(root / PROGRESS)!r} cannot be read: {error}") from None


def _fitting(stand: Stand) -> Stand:
    """The parts must fit to one another, or pictures of them could not be drawn."""
    if any(len(point) != 4 for point in stand.course) or len(stand.course) > 2 * POINTS:
        raise TabNASError(f"its course must be at most {2 * POINTS} points of four numbers")
    if stand.snapshot is not None and stand.widths:
        layers = [len(layer) for layer in stand.snapshot.probabilities]
        if layers != [len(layer) for layer in stand.widths]:
            raise TabNASError("it must have a probability for each width, but it has others")
    return stand


def _integer(text: str) -> int | float:
    """One that a float can hold, or a float: infinite, if need be."""
    return int(text) if len(text) < LONGEST_INTEGER else float(text)


def _earlier(folder: Path) -> Stand | None:
    """What an earlier process has left, if it can be read."""
    try:
        return read_stand(folder)
    except TabNASError:
        return None
