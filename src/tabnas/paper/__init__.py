"""The experiments of the paper, and what searches are judged by."""

from __future__ import annotations

from tabnas.paper._claims import claims_page
from tabnas.paper._ground_truth import (
    GroundTruth,
    ground_truth,
    ground_truth_names,
    ground_truth_tables,
    read_ground_truth,
)
from tabnas.paper._ground_truth_making import GroundTruthMaker
from tabnas.paper._provenance import provenance
from tabnas.paper._runner import rewrite_experiment, run_experiment
from tabnas.paper.experiments import experiment_names

__all__ = [
    "GroundTruth",
    "GroundTruthMaker",
    "claims_page",
    "experiment_names",
    "ground_truth",
    "ground_truth_names",
    "ground_truth_tables",
    "provenance",
    "read_ground_truth",
    "rewrite_experiment",
    "run_experiment",
]
