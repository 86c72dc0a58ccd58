"""What every step of a run works with."""

from __future__ import annotations

from dataclasses import dataclass

from tabnas.model import Metric
from tabnas.results import TeacherModel
from tabnas.runs._answers import Answers
from tabnas.runs._process_group import SINGLE_PROCESS, ProcessGroup
from tabnas.runs.plan._plan import Plan
from tabnas.runs.prepare._prepared_data import PreparedData
from tabnas.settings import RunSettings
from tabnas.teachers import EstimatorTeacher


@dataclass(frozen=True, eq=False, kw_only=True)
class RunContext:
    """The settings, the encoded rows, the plan and the metric of a run."""

    settings: RunSettings
    data: PreparedData
    plan: Plan
    metric: Metric
    process_group: ProcessGroup = SINGLE_PROCESS  # the processes that execute the run together
    own_teacher: EstimatorTeacher | None = None  # that the user has given
    answers: Answers | None = None  # of the teacher, once it is trained
    teachers: tuple[TeacherModel, ...] = ()  # the models that the teacher is made of
