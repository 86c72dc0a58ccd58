"""A run: from a table and a limit to a model, with a report on how it was found."""

from __future__ import annotations

from tabnas.locks import is_locked
from tabnas.runs._execute_run import PlannedRun
from tabnas.runs._finished_run import FinishedRun
from tabnas.runs._plan_run import plan_run
from tabnas.runs._plan_tradeoff import plan_tradeoff
from tabnas.runs._process_group import SINGLE_PROCESS, ProcessGroup, connect_process_group
from tabnas.runs._progress import Progress, ProgressCallback
from tabnas.runs._tradeoff import PlannedTradeoff
from tabnas.runs.candidates._candidate import Candidate
from tabnas.runs.candidates._make_training import make_candidate_training
from tabnas.runs.checkpoints._run_checkpoint import RunCheckpoint
from tabnas.runs.checkpoints._stop_signals import RunStopped
from tabnas.runs.folders._driver import execute_in_folder, run_in_folder
from tabnas.runs.folders._pages import write_card, write_report
from tabnas.runs.folders._read_run import (
    CONFIG,
    describe_resumption,
    load_config,
    load_history,
    load_result,
    load_run_model,
)
from tabnas.runs.folders._result import build_run_result
from tabnas.runs.folders._run_folder import RunFolder
from tabnas.runs.folders._status import RunStatus, StatusFile, read_status
from tabnas.runs.folders._tensorboard import TENSORBOARD, EventLog, check_tensorboard
from tabnas.runs.folders._tradeoff_folder import (
    TradeoffFolder,
    complete_run,
    is_tradeoff,
    load_tradeoff,
    write_tradeoff_page,
)
from tabnas.runs.folders._tradeoff_result import build_tradeoff_result
from tabnas.runs.plan._make_plan import make_plan
from tabnas.runs.plan._memory import estimate_network_bytes
from tabnas.runs.plan._plan import Plan
from tabnas.runs.plan._time_estimates import estimate_speedup
from tabnas.runs.prepare._encoded_rows import EncodedRows
from tabnas.runs.prepare._labelled_table import LabelledTable
from tabnas.runs.prepare._prepare import prepare_data, prepare_unlimited
from tabnas.runs.prepare._prepared_data import PreparedData
from tabnas.runs.prepare._row_split import split_rows
from tabnas.settings import RunSettings, TradeoffSettings

__all__ = [
    "CONFIG",
    "SINGLE_PROCESS",
    "TENSORBOARD",
    "Candidate",
    "EncodedRows",
    "EventLog",
    "FinishedRun",
    "LabelledTable",
    "Plan",
    "PlannedRun",
    "PlannedTradeoff",
    "PreparedData",
    "ProcessGroup",
    "Progress",
    "ProgressCallback",
    "RunCheckpoint",
    "RunFolder",
    "RunSettings",
    "RunStatus",
    "RunStopped",
    "StatusFile",
    "TradeoffFolder",
    "TradeoffSettings",
    "build_run_result",
    "build_tradeoff_result",
    "check_tensorboard",
    "complete_run",
    "connect_process_group",
    "describe_resumption",
    "estimate_network_bytes",
    "estimate_speedup",
    "execute_in_folder",
    "is_locked",
    "is_tradeoff",
    "load_config",
    "load_history",
    "load_result",
    "load_run_model",
    "load_tradeoff",
    "make_candidate_training",
    "make_plan",
    "plan_run",
    "plan_tradeoff",
    "prepare_data",
    "prepare_unlimited",
    "read_status",
    "run_in_folder",
    "split_rows",
    "write_card",
    "write_report",
    "write_tradeoff_page",
]
