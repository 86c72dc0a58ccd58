"""What several experiments share: search problems with known regrets, statistics, wording."""

from __future__ import annotations

from tabnas.paper.experiments.common._one_shot_quality import OneShotQuality, run_strategy
from tabnas.paper.experiments.common._policy_trace import (
    TracedSearch,
    describe_end,
    find_most_likely,
)
from tabnas.paper.experiments.common._problem import (
    N_CANDIDATES,
    NEVER,
    SearchProblem,
    filter_by_ground_truth,
    load_problem,
)
from tabnas.paper.experiments.common._regrets import (
    FIRST,
    PARTS,
    REGRETS,
    RETURNED,
    RegretScorer,
    add_regrets,
    compare_groups,
    get_scorer,
    most_expensive,
    random_search,
    values_by_run,
)
from tabnas.paper.experiments.common._statistics import (
    SIGNIFICANCE,
    Mean,
    add_holm,
    compare_runs,
    half_interval,
    pearson,
    spearman,
    summarize_runs,
)

__all__ = [
    "FIRST",
    "NEVER",
    "N_CANDIDATES",
    "PARTS",
    "REGRETS",
    "RETURNED",
    "SIGNIFICANCE",
    "Mean",
    "OneShotQuality",
    "RegretScorer",
    "SearchProblem",
    "TracedSearch",
    "add_holm",
    "add_regrets",
    "compare_groups",
    "compare_runs",
    "describe_end",
    "filter_by_ground_truth",
    "find_most_likely",
    "get_scorer",
    "half_interval",
    "load_problem",
    "most_expensive",
    "pearson",
    "random_search",
    "run_strategy",
    "spearman",
    "summarize_runs",
    "values_by_run",
]
