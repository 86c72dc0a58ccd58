"""The result of a run and of a trade-off: the dataclasses behind their JSON files.

Runs build these objects and write them with `tabnas.decoding.to_builtins`; reports, the command
line and TensorBoard read them. `decode_result`, `decode_history` and `decode_tradeoff` turn the
contents of the untrusted files into the same objects.
"""

from __future__ import annotations

from tabnas.results._c_size import CSize
from tabnas.results._diagnostics import (
    ColumnImportance,
    Confusion,
    Diagnostics,
    Histogram,
    Importance,
    Reliability,
    ReliabilityBin,
    Residuals,
)
from tabnas.results._numeric_curves import (
    MAX_CURVE_DIMENSIONS,
    MAX_CURVE_KNOTS,
    MAX_CURVES,
    NumericCurve,
)
from tabnas.results._run import (
    RESULT_FORMAT,
    BoostedTreesSummary,
    CandidateResult,
    LimitEffect,
    PlanSummary,
    RowCounts,
    RunResult,
    Snapshot,
    TargetSummary,
    WiderNeighbour,
    decode_history,
    decode_result,
)
from tabnas.results._scores import CostUse, Score, Scores
from tabnas.results._teacher import (
    TEACHER,
    WITHOUT_TEACHER,
    TeacherDistance,
    TeacherModel,
    TeacherSummary,
    describe_distillation,
)
from tabnas.results._timings import MEASURED_PREFIX, TOTAL
from tabnas.results._tradeoff import (
    TRADEOFF_FORMAT,
    TradeoffModel,
    TradeoffResult,
    decode_tradeoff,
)

__all__ = [
    "MAX_CURVES",
    "MAX_CURVE_DIMENSIONS",
    "MAX_CURVE_KNOTS",
    "MEASURED_PREFIX",
    "RESULT_FORMAT",
    "TEACHER",
    "TOTAL",
    "TRADEOFF_FORMAT",
    "WITHOUT_TEACHER",
    "BoostedTreesSummary",
    "CSize",
    "CandidateResult",
    "ColumnImportance",
    "Confusion",
    "CostUse",
    "Diagnostics",
    "Histogram",
    "Importance",
    "LimitEffect",
    "NumericCurve",
    "PlanSummary",
    "Reliability",
    "ReliabilityBin",
    "Residuals",
    "RowCounts",
    "RunResult",
    "Score",
    "Scores",
    "Snapshot",
    "TargetSummary",
    "TeacherDistance",
    "TeacherModel",
    "TeacherSummary",
    "TradeoffModel",
    "TradeoffResult",
    "WiderNeighbour",
    "decode_history",
    "decode_result",
    "decode_tradeoff",
    "describe_distillation",
]
