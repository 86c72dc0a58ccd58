"""The driver of runs and trade-offs: plan, open the checkpoint, execute, write the results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tabnas.errors import TabNASError
from tabnas.jobs import JobConfig
from tabnas.results import RunResult, TradeoffResult
from tabnas.runs._execute_run import PlannedRun
from tabnas.runs._finished_run import FinishedRun
from tabnas.runs._plan_run import plan_run
from tabnas.runs._process_group import SINGLE_PROCESS, ProcessGroup
from tabnas.runs._progress import ProgressCallback
from tabnas.runs._tradeoff import PlannedTradeoff
from tabnas.runs.checkpoints._run_checkpoint import SAVE_EVERY, RunCheckpoint, check_identity
from tabnas.runs.folders._read_run import CONFIG, describe_resumption, load_config
from tabnas.runs.folders._run_folder import RunFolder
from tabnas.runs.folders._status import StatusFile
from tabnas.runs.folders._tensorboard import EventLog
from tabnas.runs.folders._tradeoff_folder import TradeoffFolder
from tabnas.runs.prepare._labelled_table import LabelledTable
from tabnas.settings import RunSettings
from tabnas.stores import Store
from tabnas.teachers import EstimatorTeacher


def execute_in_folder(
    folder: RunFolder,
    planned: PlannedRun | PlannedTradeoff,
    config: Mapping[str, Any],
    *,
    status: StatusFile | None = None,
    on_begin: Callable[[RunCheckpoint], None] = lambda checkpoint: None,
    checkpoint_seconds: float = SAVE_EVERY,
    tensorboard: bool = False,
    process_group: ProcessGroup = SINGLE_PROCESS,
    job_config: JobConfig | None = None,
) -> tuple[tuple[FinishedRun, ...], RunResult | TradeoffResult]:
    """Execute a run or a trade-off in its folder, from its checkpoint if there is one.

    Parameters
    ----------
    config
        The sections of `config.toml`, without that of the plan.
    status
        The status file of the folder; it passes progress on to a callback.
    on_begin
        Called with the checkpoint once the folder is written and before the work begins.
    tensorboard, process_group, job_config
        Whether a run writes events, the processes of a run, and the parallel jobs of a trade-off.

    Returns
    -------
    The finished run of every limit, and the result that was written.
    """
    is_parallel = job_config is not None and not job_config.in_process
    if is_parallel and not isinstance(planned, PlannedTradeoff):
        raise TabNASError(
            f"job_config must be used with a trade-off, but {folder.name!r} is a run of one limit; "
            "leave it out"
        )
    if tensorboard and isinstance(planned, PlannedTradeoff):
        raise TabNASError(
            f"tensorboard must be used with a run of one limit, but {folder.name!r} is a "
            "trade-off; leave it out"
        )
    status = status or StatusFile(folder.path)
    checkpoint = folder.begin(
        planned,
        {**config, "plan": planned.saved_plan},
        every=checkpoint_seconds,
        process_group=process_group,
    )
    # of a trade-off, the loosest limit, whose search trains the weights
    main_run = planned.runs[-1] if isinstance(planned, PlannedTradeoff) else planned
    status.set_plan(main_run)
    on_begin(checkpoint)
    if isinstance(planned, PlannedTradeoff):
        assert isinstance(folder, TradeoffFolder)
        finished_runs = planned.execute(status, checkpoint, job_config=job_config)
        return finished_runs, folder.finish_all(planned, finished_runs)
    if not tensorboard:
        finished = planned.execute(status, checkpoint)
        return (finished,), folder.finish(finished)
    with EventLog(folder.path, main_run, status) as events:
        finished = planned.execute(events, checkpoint)
        result = folder.finish(finished)
        events.finish(result)
        return (finished,), result


def run_in_folder(
    path: str | Path,
    data: LabelledTable | Store,
    settings: RunSettings,
    *,
    on_progress: ProgressCallback = lambda progress: None,
    on_plan: Callable[[PlannedRun], None] = lambda run: None,
    validation: LabelledTable | None = None,
    teacher: EstimatorTeacher | None = None,
    saved_plan: Mapping[str, Any] | None = None,
    checkpoint_seconds: float = SAVE_EVERY,
) -> FinishedRun:
    """Execute a run in a folder, or resume the run that was stopped there.

    `on_plan` is called with the planned run before it is executed; the other parameters are those
    of `plan_run` and `execute_in_folder`.
    """
    is_stopped = (Path(path) / CONFIG).exists()
    with RunFolder(path, resume=is_stopped) as folder:
        if is_stopped:
            saved_plan = _load_saved_plan(folder, settings)
        status = StatusFile(folder.path, on_progress)
        run = plan_run(
            data,
            settings,
            validation=validation,
            teacher=teacher,
            saved_plan=saved_plan,
            on_progress=status,
        )
        separate = _name_separate(data, validation)
        finished_runs, _ = execute_in_folder(
            folder,
            run,
            {"settings": settings.to_dict(), **({"separate": separate} if separate else {})},
            status=status,
            on_begin=lambda checkpoint: on_plan(run),
            checkpoint_seconds=checkpoint_seconds,
        )
    return finished_runs[0]


def _name_separate(data: LabelledTable | Store, validation: LabelledTable | None) -> list[str]:
    """Return what was given besides the table, for code that repeats the run."""
    given: dict[str, object] = {"validation": validation}
    if isinstance(data, LabelledTable):
        given |= {"weights": data.weight, "unlabelled": data.unlabelled}
    return [name for name, value in given.items() if value is not None]


def _load_saved_plan(folder: RunFolder, settings: RunSettings) -> Any:
    """Return the plan of a stopped run; raise an error if its settings were others.

    The checkpoint is compared completely later, but the run may have been killed before it.
    """
    config = load_config(folder.path)
    if "settings" not in config:
        raise TabNASError(
            f"{folder.name!r} must be a new folder or that of a stopped run, but its {CONFIG} has "
            "no settings of a run; name another folder"
        )
    if "tradeoff" in config:
        raise TabNASError(
            f"{folder.name!r} holds a trade-off, not a run of one limit; name another folder, or "
            f"{describe_resumption(folder.path)}"
        )
    before = RunSettings.from_dict(config["settings"])
    check_identity(before.identity(), settings.identity())
    return config.get("plan")
