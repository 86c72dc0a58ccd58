"""The feasible set and inference over it: exact along the chain or by enumeration, or sampled."""

from __future__ import annotations

from tabnas.feasible._conditional_policy import ConditionalPolicy
from tabnas.feasible._feasible_set import FeasibleSet, Method
from tabnas.feasible._logits import Logits, log_probabilities
from tabnas.feasible._monte_carlo import Estimate, log_likelihood, sample_product

__all__ = [
    "ConditionalPolicy",
    "Estimate",
    "FeasibleSet",
    "Logits",
    "Method",
    "log_likelihood",
    "log_probabilities",
    "sample_product",
]
