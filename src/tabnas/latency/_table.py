"""The latency table of a machine: terms, how well they predict, and their provenance."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import date
from types import MappingProxyType
from typing import Any

from tabnas.errors import TabNASError, check_int
from tabnas.latency._columns import ColumnTerms
from tabnas.latency._cost import COST_NAMES, LatencyCost
from tabnas.latency._machine import Machine
from tabnas.latency._terms import LatencyTerms

KIND = "tabnas latency table"
FORMAT = 1
MAX_BYTES = 1 << 16  # of a file
MAX_TEXT = 200  # of a text in it
MAX_US = 1e9
MIN_HELD_OUT = 5
MAX_SPREAD = 0.15
"""With a larger spread the machine was busy, and its idle latencies are unknown."""


@dataclass(frozen=True, kw_only=True)
class CallTable:
    """Terms and their errors, for calls of `rows` rows."""

    rows: int
    terms: LatencyTerms
    columns: ColumnTerms
    fitted: int  # networks that the terms were fitted on
    held_out: int  # other networks, on which their errors were measured
    median_error: float  # relative, of networks without preprocessing
    p90_error: float
    tables: int  # random tables that the terms of columns were fitted on
    tables_median_error: float  # of complete files, on as many others
    spread: float  # relative, by which calls took longer in busy rounds than in idle ones


@dataclass(frozen=True, kw_only=True)
class LatencyTable:
    """The latencies of one machine, for calls of one row and of a batch."""

    machine: Machine
    measured: str  # the day, as 2025-12-31
    tabnas: str  # the version
    calls: Mapping[int, CallTable]  # by rows

    def __post_init__(self) -> None:
        object.__setattr__(self, "calls", MappingProxyType(dict(self.calls)))

    def cost(self, name: str, overhead_us: float | None = None) -> LatencyCost:
        """Return the cost of that name: "latency_us" or "batch_latency_us"."""
        if name not in COST_NAMES:
            raise TabNASError(f"name must be {' or '.join(COST_NAMES)}, got {name!r}")
        return LatencyCost(name, self.calls[COST_NAMES[name]].terms, overhead_us)

    @property
    def is_busy(self) -> bool:
        """Whether the machine seems to have had other work while it was measured."""
        return any(call.spread > MAX_SPREAD for call in self.calls.values())

    def __str__(self) -> str:
        return f"latencies of {self.machine}, measured {self.measured}"

    # -- as a file -------------------------------------------------------------------------------

    def to_json(self) -> str:
        """Return the table as text, which `from_json` reads again to the last bit."""
        content = {
            "kind": KIND,
            "format": FORMAT,
            "machine": asdict(self.machine),
            "measured": self.measured,
            "tabnas": self.tabnas,
            "calls": [asdict(self.calls[rows]) for rows in sorted(self.calls)],
        }
        return json.dumps(content, indent=2, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str, name: str = "the latency table") -> LatencyTable:
        """Read a table, which need not be trusted; errors refer to it by `name`."""
        try:
            return _decode_table(_parse(text))
        except RecursionError:
            problem = "it is nested too deeply"
        except (TabNASError, ValueError, ArithmeticError) as error:
            problem = str(error)
        raise TabNASError(
            f"{name} must be a table that tabnas latency has written, but is not: {problem}"
        )


def _parse(text: str) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        items = dict(pairs)
        if len(items) < len(pairs):
            raise TabNASError("an object has the same key twice")
        return items

    if len(text) > MAX_BYTES:
        raise TabNASError(f"it has more than {MAX_BYTES:,} characters")
    return json.loads(text, object_pairs_hook=unique)


def _decode_table(data: Any) -> LatencyTable:
    if not isinstance(data, dict) or data.get("kind") != KIND:
        raise TabNASError(f"it is not of the kind {KIND!r}")
    version = data.get("format")
    if type(version) is not int or version < 1:
        raise TabNASError(f"format must be a version number, got {version!r}")
    if version > FORMAT:
        raise TabNASError(f"it has format {version}, of a newer tabnas; update this one")
    table = _section(data, "the table", ("kind", "format", *_names(LatencyTable)))
    machine = _section(table["machine"], "the machine", _names(Machine))
    rows = table["calls"]
    if not isinstance(rows, list) or len(rows) != len(COST_NAMES):
        raise TabNASError("the calls must be one of one row and one of a batch")
    calls = [_decode_call(each) for each in rows]
    if [call.rows for call in calls] != sorted(COST_NAMES.values()):
        raise TabNASError("the calls must be one of one row and one of a batch")
    return LatencyTable(
        machine=Machine(
            processor=_text(machine, "processor"),
            system=_text(machine, "system"),
            onnxruntime=_text(machine, "onnxruntime"),
            threads=check_int("threads", machine["threads"], minimum=1),
        ),
        measured=date.fromisoformat(_text(table, "measured")).isoformat(),
        tabnas=_text(table, "tabnas"),
        calls={call.rows: call for call in calls},
    )


def _decode_call(data: Any) -> CallTable:
    call = _section(data, "a call", _names(CallTable))
    terms = _section(call["terms"], "the terms", _names(LatencyTerms))
    columns = _section(call["columns"], "the terms of columns", _names(ColumnTerms))
    return CallTable(
        rows=check_int("the rows of a call", call["rows"], minimum=1),
        terms=LatencyTerms(**{name: _number(terms, name) for name in terms}),
        columns=ColumnTerms(**{name: _number(columns, name) for name in columns}),
        fitted=check_int("fitted", call["fitted"], minimum=1),
        held_out=check_int("held_out", call["held_out"], minimum=MIN_HELD_OUT),
        median_error=_number(call, "median_error"),
        p90_error=_number(call, "p90_error"),
        tables=check_int("tables", call["tables"], minimum=1),
        tables_median_error=_number(call, "tables_median_error"),
        spread=_number(call, "spread"),
    )


def _names(kind: Any) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind))


def _section(data: Any, what: str, names: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(data, dict) or set(data) != set(names):
        raise TabNASError(f"{what} must have the fields {', '.join(names)}, and no others")
    return data


def _text(data: Mapping[str, Any], name: str) -> str:
    text = data[name]
    if not isinstance(text, str) or not text.isprintable() or len(text) > MAX_TEXT:
        raise TabNASError(f"{name} must be a text of at most {MAX_TEXT} printable characters")
    return text


def _number(data: Mapping[str, Any], name: str) -> float:
    number = data[name]
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise TabNASError(f"{name} must be a number")
    if not 0 <= number <= MAX_US:  # false for NaN, too
        raise TabNASError(f"{name} must be from 0 to {MAX_US:.0e}")
    return float(number)
