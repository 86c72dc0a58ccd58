"""The status of a run: a small file in its folder that `tabnas watch` reads."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic, time

from tabnas.decoding import Count, decode, parse_json, to_builtins
from tabnas.errors import TabNASError
from tabnas.feasible import FeasibleSet
from tabnas.files import atomic_write, read_file
from tabnas.results import Snapshot
from tabnas.runs._execute_run import PlannedRun
from tabnas.runs._progress import Progress, ProgressCallback

PROGRESS = "progress.json"
FORMAT = 1
WRITE_SECONDS = 0.5
MAX_POINTS = 100
"""Points of the curve of the search, evenly over its steps."""
MAX_BYTES = 4 << 20
READING = "reading"
"""The phase before there is a plan."""


CurvePoint = tuple[float, float | None, float | None, float | None]
"""Progress, quality, P(V) and entropy of the search."""


@dataclass(frozen=True, kw_only=True)
class RunStatus:
    """The state of a run when it was last written."""

    format: int = FORMAT
    pid: Count
    started: float  # seconds since 1970
    updated: float
    phase: str = READING
    done: float = 0.0  # of the phase, from 0 to 1
    note: str = ""
    epoch: float | None = None
    rows_per_second: float | None = None
    target: str = ""  # this and the following fields are set once there is a plan
    cost: str = ""  # of the first limit
    limit: float | None = None
    widths: list[list[int]]  # candidates of each hidden layer
    dimensions: list[int] = field(default_factory=list)  # of the input layer, if it is searched
    curve: list[CurvePoint]
    snapshot: Snapshot | None = None  # the latest of the search

    def __post_init__(self) -> None:
        if len(self.curve) > 2 * MAX_POINTS:
            raise TabNASError(
                f"curve may have at most {2 * MAX_POINTS} points, got {len(self.curve)}"
            )
        if self.snapshot is not None and self.widths:
            layers = [len(layer) for layer in self.snapshot.probabilities]
            if layers != [len(layer) for layer in self.layers]:
                raise TabNASError("snapshot must have a probability for each candidate")

    @property
    def layers(self) -> list[list[int]]:
        """The candidates of every layer: dimensions of the input layer, if any, then widths."""
        return [self.dimensions, *self.widths] if self.dimensions else self.widths


class StatusFile:
    """A progress callback that writes `progress.json` and calls another callback.

    The file is written atomically, at most twice a second. Nothing depends on it, so errors of
    writing are ignored. A run that ends without a result leaves its last status.
    """

    def __init__(self, folder: Path, on_progress: ProgressCallback = lambda progress: None) -> None:
        self._folder = folder
        self._on_progress = on_progress
        self._last = -WRITE_SECONDS
        self._phases: set[str] = set()  # that have begun; some work side by side
        now, earlier = time(), _read_earlier(folder)
        self._curve = [] if earlier is None else earlier.curve
        self._snapshot = None if earlier is None else earlier.snapshot
        self._status = RunStatus(
            pid=os.getpid(),
            started=now,
            updated=now,
            widths=[] if earlier is None else earlier.widths,
            dimensions=[] if earlier is None else earlier.dimensions,
            curve=self._curve,
            snapshot=self._snapshot,
        )
        self._write()

    def set_plan(self, run: PlannedRun) -> None:
        """Add what is known once the run is planned."""
        self._status = replace(self._status, target=run.data.target.name)
        self._set_feasible(run.plan.feasible)

    def __call__(self, progress: Progress) -> None:
        """Write the status if it is due or a phase has begun, and call the other callback."""
        self._on_progress(progress)
        if progress.feasible is not None:
            self._set_feasible(progress.feasible)
        if progress.snapshot is not None:
            self._snapshot = progress.snapshot
            self._extend(progress.snapshot)
        moment = monotonic()
        if moment - self._last < WRITE_SECONDS and progress.phase in self._phases:
            return
        self._phases.add(progress.phase)
        self._last = moment
        self._status = replace(
            self._status,
            updated=time(),
            phase=progress.phase,
            done=progress.done,
            note=progress.note,
            epoch=progress.epoch,
            rows_per_second=progress.rows_per_second,
            snapshot=self._snapshot,
        )
        self._write()

    def _set_feasible(self, feasible: FeasibleSet) -> None:
        """Set the limit and the candidates; forget the snapshot of a search with other ones."""
        limit, embeddings = feasible.budget.limits[0], feasible.space.numeric_embeddings
        widths = [list(layer) for layer in feasible.space.widths]
        dimensions = [] if embeddings is None else list(embeddings.dimensions)
        if (widths, dimensions) != (self._status.widths, self._status.dimensions):
            self._snapshot = None
            self._curve.clear()
        self._status = replace(
            self._status,
            cost=limit.cost.name,
            limit=float(limit.upper),
            widths=widths,
            dimensions=dimensions,
            snapshot=self._snapshot,
        )

    def _extend(self, now: Snapshot) -> None:
        """Add a point to the curve, if the search has moved on far enough."""
        curve = self._curve
        while curve and curve[-1][0] > now.progress:
            curve.pop()  # an earlier process was ahead of its last checkpoint
        if not curve or now.progress - curve[-1][0] >= 1 / MAX_POINTS:
            curve.append((now.progress, now.quality, now.feasible_probability, now.entropy))

    def _write(self) -> None:
        with suppress(OSError):
            text = json.dumps(to_builtins(self._status))
            atomic_write(self._folder / PROGRESS, text, sync=False)


def read_status(folder: str | Path) -> RunStatus | None:
    """Return the status of the run in a folder, or None if it has none.

    The folder may come from anybody, and its run may be at work: the file is only read.
    """
    root = Path(folder)
    source = str(root / PROGRESS)
    try:
        content = read_file(root, PROGRESS, "run", max_size=MAX_BYTES)
    except TabNASError:
        if not (root / PROGRESS).exists():
            return None
        raise
    value = parse_json(content, source=source, allow_nan=True)
    version = value.get("format") if isinstance(value, dict) else None
    if type(version) is int and version > FORMAT:
        raise TabNASError(f"{source} has format {version}, of a newer tabnas; update this one")
    return decode(RunStatus, value, source=source)


def _read_earlier(folder: Path) -> RunStatus | None:
    """Return what an earlier process has left, if it can be read."""
    try:
        return read_status(folder)
    except TabNASError:
        return None
