"""A run: from a table and a limit to a model, with everything said about how it was found."""

from __future__ import annotations

from tabnas.locks import is_locked
from tabnas.runs._pipeline import Outcome, PlannedRun, plan_run
from tabnas.runs._progress import Observer, Progress
from tabnas.runs._ranks import ALONE, Ranks, joined
from tabnas.runs._settings import RunSettings
from tabnas.runs._tradeoff import PlannedTradeoff, plan_tradeoff
from tabnas.runs.candidates._training import Candidate, trial_of
from tabnas.runs.checkpoints._run_checkpoint import Ledger, Stopped
from tabnas.runs.folders._result import describe_outcome
from tabnas.runs.folders._run_folder import (
    CONFIG,
    RunFolder,
    load_config,
    load_history,
    load_result,
    load_run_model,
    run_in_folder,
    write_card,
    write_report,
)
from tabnas.runs.folders._status import LiveFile, Stand, read_stand
from tabnas.runs.folders._tensorboard import TENSORBOARD, EventLog, refuse_without_tensorboard
from tabnas.runs.folders._tradeoff_folder import (
    TradeoffFolder,
    complete_run,
    is_tradeoff,
    load_tradeoff,
    write_tradeoff_page,
)
from tabnas.runs.folders._tradeoff_result import describe_tradeoff
from tabnas.runs.plan._memory import network_bytes
from tabnas.runs.plan._plan import Plan, make_plan
from tabnas.runs.prepare._encoded_rows import Part
from tabnas.runs.prepare._labelled_table import Labelled
from tabnas.runs.prepare._prepare import prepare, prepare_uncut
from tabnas.runs.prepare._prepared_data import Parts
from tabnas.runs.prepare._row_split import split_rows
from tabnas.runs.search._limit_effect import LimitEffect
from tabnas.runs.search._trace import Snapshot

__all__ = [
    "ALONE",
    "CONFIG",
    "TENSORBOARD",
    "Candidate",
    "EventLog",
    "Labelled",
    "Ledger",
    "LimitEffect",
    "LiveFile",
    "Observer",
    "Outcome",
    "Part",
    "Parts",
    "Plan",
    "PlannedRun",
    "PlannedTradeoff",
    "Progress",
    "Ranks",
    "RunFolder",
    "RunSettings",
    "Snapshot",
    "Stand",
    "Stopped",
    "TradeoffFolder",
    "complete_run",
    "describe_outcome",
    "describe_tradeoff",
    "is_locked",
    "is_tradeoff",
    "joined",
    "load_config",
    "load_history",
    "load_result",
    "load_run_model",
    "load_tradeoff",
    "make_plan",
    "network_bytes",
    "plan_run",
    "plan_tradeoff",
    "prepare",
    "prepare_uncut",
    "read_stand",
    "refuse_without_tensorboard",
    "run_in_folder",
    "split_rows",
    "trial_of",
    "write_card",
    "write_report",
    "write_tradeoff_page",
]
