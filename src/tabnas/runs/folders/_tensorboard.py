"""Events for TensorBoard, which is an optional dependency."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from time import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from tabnas.errors import TabNASError
from tabnas.files import refuse_links
from tabnas.report import summarize_teacher
from tabnas.results import RunResult, Score, Snapshot
from tabnas.runs._execute_run import PlannedRun
from tabnas.runs._progress import Progress, ProgressCallback
from tabnas.space import SearchSpace

if TYPE_CHECKING:
    from tensorboard.compat.proto.summary_pb2 import Summary

TENSORBOARD = "tensorboard"
"""The subfolder of the events."""
POINTS = 1_000
"""Points of the search, evenly over its steps, as many as a screen shows."""
FLUSH_SECONDS = 2


def check_tensorboard() -> None:
    """Raise an error now, not after the run, if TensorBoard is not installed."""
    if find_spec("tensorboard") is None:
        raise TabNASError(
            "events for TensorBoard need a package that is not installed; "
            'pip install "tabnas[tensorboard]"'
        )


class EventLog:
    """A progress callback that writes events to the folder `tensorboard`, and calls another one.

    Steps are those of the search's weights. A resumed run starts at its last checkpoint, which may
    be before the last event: its first event makes TensorBoard forget that step and later ones, so
    that every step is shown once. An error of writing ends the events with a warning, not the run.
    """

    def __init__(self, folder: Path, run: PlannedRun, on_progress: ProgressCallback) -> None:
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        refuse_links(folder, TENSORBOARD)
        self._on_progress = on_progress
        self._layers = _name_layers(run.plan.feasible.space)
        self._cost = run.plan.feasible.budget.limits[0].cost.name
        self._settings = _list_settings(run)
        self._last = -1.0  # progress of the search
        where = folder / TENSORBOARD
        self._is_resumed = where.is_dir()
        try:
            self._writer = EventFileWriter(str(where), flush_secs=FLUSH_SECONDS)
        except OSError as error:
            raise TabNASError(
                f"events cannot be written to {str(where)!r} ({error.strerror or error}); make "
                "room, or leave --tensorboard out"
            ) from None
        self._failed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._writer.close()
        except OSError as failure:
            self._fail(failure)

    def __call__(self, progress: Progress) -> None:
        """Write the state of the search, and call the other callback."""
        self._on_progress(progress)
        now = progress.snapshot
        if now is None or self._failed:
            return
        if now.progress - self._last < 1 / POINTS and now.progress < 1:
            return
        if self._last < 0 and self._is_resumed:
            self._forget(now.step)
        self._last = now.progress
        self._add(now.step, *self._summarize_search(now))

    def finish(self, result: RunResult) -> None:
        """Write the candidates, scores and costs of the result, and the settings."""
        from tensorboard.plugins.hparams.summary_v2 import hparams_pb
        from tensorboard.plugins.text.summary_v2 import text_pb

        for rank, candidate in enumerate(result.candidates, start=1):
            values = {result.metric: candidate.score, "one_shot_loss": candidate.one_shot_loss}
            values[self._cost] = candidate.costs[self._cost]
            if result.teacher is not None:
                values["teacher_share"] = candidate.teacher_share
            self._add(rank, *_scalars("candidates", values))
        network: Mapping[str, Score] = result.scores.get("network", {})
        costs = {name: cost.value for name, cost in result.costs.items()}
        self._add(0, *_scalars("test", {name: score.value for name, score in network.items()}))
        self._add(0, *_scalars("costs", costs))
        self._add(0, hparams_pb(self._settings), text_pb("result", _format_result(result)))

    def _summarize_search(self, now: Snapshot) -> list[Summary]:
        values = {
            "training_loss": now.training_loss,
            "quality": now.quality,
            "feasible_probability": now.feasible_probability,
            "entropy": now.entropy,
            f"most_likely_{self._cost}": now.most_likely_cost,
        }
        layers = zip(self._layers.items(), now.probabilities, strict=True)
        return [
            *_scalars("search", values),
            *(
                _histogram(f"policy/{name}", candidates, probabilities)
                for (name, candidates), probabilities in layers
            ),
        ]

    def _add(self, step: int, *summaries: Summary) -> None:
        """Write all values as one event, which takes half the time of many."""
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary

        if self._failed:
            return
        together = Summary(value=[value for summary in summaries for value in summary.value])
        try:
            self._writer.add_event(Event(wall_time=time(), step=step, summary=together))
        except OSError as error:
            self._fail(error)

    def _forget(self, step: int) -> None:
        """Hide events of an earlier process that was ahead of its checkpoint."""
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog

        start = SessionLog(status=SessionLog.START)
        try:
            self._writer.add_event(Event(wall_time=time(), step=step, session_log=start))
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        if not self._failed:
            self._failed = True
            warnings.warn(
                f"no more events are written for TensorBoard: {error.strerror or error}",
                stacklevel=2,
            )


def _name_layers(space: SearchSpace) -> Mapping[str, Sequence[int]]:
    """Return the candidates of every layer by its name, the input first if numbers are embedded."""
    hidden = {f"layer_{k}": widths for k, widths in enumerate(space.widths, start=1)}
    if space.numeric_embeddings is None:
        return hidden
    return {"input": space.numeric_embeddings.dimensions} | hidden


def _scalars(group: str, values: Mapping[str, float | None]) -> list[Summary]:
    from tensorboard.compat.proto.summary_pb2 import Summary

    return [
        Summary(value=[Summary.Value(tag=f"{group}/{name}", simple_value=value)])
        for name, value in values.items()
        if value is not None
    ]


def _histogram(tag: str, widths: Sequence[int], chances: Sequence[float]) -> Summary:
    """Return the probabilities of a layer's candidates as a histogram with a bin for each."""
    from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary

    ends = [(a + b) / 2 for a, b in pairwise(widths)]
    last = widths[-1] + (widths[-1] - ends[-1] if ends else 0.5)
    drawn = HistogramProto(
        min=widths[0],
        max=widths[-1],
        num=sum(chances),
        sum=sum(p * w for p, w in zip(chances, widths, strict=True)),
        sum_squares=sum(p * w * w for p, w in zip(chances, widths, strict=True)),
        bucket_limit=[*ends, last],
        bucket=chances,
    )
    return Summary(value=[Summary.Value(tag=tag, histo=drawn)])


def _list_settings(run: PlannedRun) -> dict[str, bool | int | float | str]:
    """Return the settings that TensorBoard compares runs by."""
    limits = {f"max_{name}": float(upper) for name, upper in run.settings.limits.items()}
    search, training = run.plan.search, run.plan.training
    return {
        **limits,
        "seed": run.settings.seed,
        "search_epochs": search.epochs,
        "epochs": training.epochs,
        "longer_epochs": run.plan.longer_epochs,
        "batch_size": training.batch_size,
        "candidates": run.plan.candidates,
    }


def _format_result(result: RunResult) -> str:
    """Return the result as a Markdown table."""
    rows = [("architecture", str(result.architecture))]
    for name, cost in result.costs.items():
        limit = "" if cost.limit is None else f" of {cost.limit:,}"
        rows.append((name, f"{cost.value:,}{limit}"))
    for model, scores in result.scores.items():
        rows += [(f"{model}: {name}", str(score)) for name, score in scores.items()]
    if result.teacher is not None:
        rows.append(("teacher", summarize_teacher(result)))
    rows += [
        (f"candidate {rank}", f"{result.candidate_name(candidate)}: {candidate.score:.4g}")
        for rank, candidate in enumerate(result.candidates, start=1)
    ]
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {text} |" for name, text in rows)])
