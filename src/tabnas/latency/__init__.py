"""Latency: measured on a machine, predicted by a table, limited by a cost."""

from __future__ import annotations

from tabnas.latency._clock import Call, Clock
from tabnas.latency._columns import ColumnTerms
from tabnas.latency._cost import LatencyCost, join_precisions
from tabnas.latency._embeddings import EmbeddingTerms
from tabnas.latency._files import (
    cached_table_path,
    load_or_measure_table,
    load_table,
    save_table,
)
from tabnas.latency._machine import Machine, processor_name
from tabnas.latency._measure import Measure, measure_calls, measure_models, untrained_model
from tabnas.latency._survey import measure_machine
from tabnas.latency._table import CallTable, LatencyTable
from tabnas.latency._terms import LatencyTerms, Microseconds, NetworkShape, fit_terms
from tabnas.latency.runtimes import RUNTIMES, Runtime

__all__ = [
    "RUNTIMES",
    "Call",
    "CallTable",
    "Clock",
    "ColumnTerms",
    "EmbeddingTerms",
    "LatencyCost",
    "LatencyTable",
    "LatencyTerms",
    "Machine",
    "Measure",
    "Microseconds",
    "NetworkShape",
    "Runtime",
    "cached_table_path",
    "fit_terms",
    "join_precisions",
    "load_or_measure_table",
    "load_table",
    "measure_calls",
    "measure_machine",
    "measure_models",
    "processor_name",
    "save_table",
    "untrained_model",
]
