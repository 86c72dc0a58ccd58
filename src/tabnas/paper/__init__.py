"""The experiments of the paper, and the ground truth that searches are evaluated by."""

from __future__ import annotations

from tabnas.paper._claims import render_claims
from tabnas.paper._ground_truth import (
    GroundTruth,
    list_ground_truths,
    load_ground_truth,
    load_ground_truth_tables,
    read_ground_truth,
)
from tabnas.paper._ground_truth_builder import GroundTruthBuilder
from tabnas.paper._provenance import collect_provenance
from tabnas.paper._runner import rewrite_experiment, run_experiment
from tabnas.paper.experiments import list_experiments

__all__ = [
    "GroundTruth",
    "GroundTruthBuilder",
    "collect_provenance",
    "list_experiments",
    "list_ground_truths",
    "load_ground_truth",
    "load_ground_truth_tables",
    "read_ground_truth",
    "render_claims",
    "rewrite_experiment",
    "run_experiment",
]
