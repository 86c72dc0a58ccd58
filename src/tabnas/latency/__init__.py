"""Latency measured on a machine, as a table that predicts it and a cost that limits it."""

from __future__ import annotations

from tabnas.latency._clock import Clock
from tabnas.latency._columns import ColumnTerms
from tabnas.latency._cost import COST_NAMES, LatencyCost
from tabnas.latency._deployed import Measure, calm_latencies_us, measure_models, untrained_model
from tabnas.latency._machine import Machine, processor_name
from tabnas.latency._store import kept_path, load_table, save_table, table_here
from tabnas.latency._survey import measure_machine
from tabnas.latency._table import CallTable, LatencyTable
from tabnas.latency._terms import Shape, Terms, fit_terms

__all__ = [
    "COST_NAMES",
    "CallTable",
    "Clock",
    "ColumnTerms",
    "LatencyCost",
    "LatencyTable",
    "Machine",
    "Measure",
    "Shape",
    "Terms",
    "calm_latencies_us",
    "fit_terms",
    "kept_path",
    "load_table",
    "measure_machine",
    "measure_models",
    "processor_name",
    "save_table",
    "table_here",
    "untrained_model",
]
