"""What was measured of a machine: the terms, how well they predict, and where they come from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import date
from types import MappingProxyType
from typing import Any

from tabnas.errors import TabnasError, whole
from tabnas.latency._columns import ColumnTerms
from tabnas.latency._cost import COST_NAMES, LatencyCost
from tabnas.latency._machine import Machine
from tabnas.latency._terms import Terms

KIND = "tabnas latency table"
FORMAT = 1
MOST_BYTES = 1 << 16  # of a file
LONGEST = 200  # of a text in it
MOST_US = 1e9
FEWEST_HELD_OUT = 5
MOST_SPREAD = 0.15
"""Beyond, the machine had other things to do: what is calm there nobody knows."""


@dataclass(frozen=True, kw_only=True)
class CallTable:
    """Calls of so many rows."""

    rows: int
    terms: Terms
    columns: ColumnTerms
    fitted: int  # networks that the terms were found on
    held_out: int  # other networks, on which their errors were measured
    median_error: float  # relative, of the bare network
    p90_error: float
    tables: int  # made-up tables that the terms of columns were found on
    tables_median_error: float  # of the whole file, on as many others
    spread: float  # by which calls took longer in busy rounds than in calm ones, relative


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
        """The cost of that name: "latency_us" or "batch_latency_us"."""
        if name not in COST_NAMES:
            raise TabnasError(
                f"a latency must be called {' or '.join(COST_NAMES)}, however {name!r} was given"
            )
        return LatencyCost(name, self.calls[COST_NAMES[name]].terms, overhead_us)

    @property
    def busy(self) -> bool:
        """Whether the machine seems to have had other things to do while it was measured."""
        return any(call.spread > MOST_SPREAD for call in self.calls.values())

    def __str__(self) -> str:
        return f"latencies of {self.machine}, measured {self.measured}"

    # -- as a file -------------------------------------------------------------------------------

    def to_json(self) -> str:
        """The table as text, which `from_json` reads again to the last bit."""
        said = {
            "kind": KIND,
            "format": FORMAT,
            "machine": asdict(self.machine),
            "measured": self.measured,
            "tabnas": self.tabnas,
            "calls": [asdict(self.calls[rows]) for rows in sorted(self.calls)],
        }
        return json.dumps(said, indent=2, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str, name: str = "the latency table") -> LatencyTable:
        """A table that may come from anybody; `name` is what errors call it."""
        try:
            return _table(_parsed(text))
        except RecursionError:
            problem = "it is nested too deep"
        except (TabnasError, ValueError, ArithmeticError) as error:
            problem = str(error)
        raise TabnasError(
            f"{name} must be a table that tabnas latency has written, however it is not: {problem}"
        )


def _parsed(text: str) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise TabnasError("an object has the same key twice")
        return found

    if len(text) > MOST_BYTES:
        raise TabnasError(f"it has more than {MOST_BYTES:,} characters")
    return json.loads(text, object_pairs_hook=unique)


def _table(given: Any) -> LatencyTable:
    if not isinstance(given, dict) or given.get("kind") != KIND:
        raise TabnasError(f"it is not of the kind {KIND!r}")
    version = given.get("format")
    if type(version) is not int or version < 1:
        raise TabnasError(f"the format must be a version, however {version!r} was given")
    if version > FORMAT:
        raise TabnasError(f"it has format {version}, of a newer tabnas; update this one")
    said = _section(given, "the table", ("kind", "format", *_names(LatencyTable)))
    machine = _section(said["machine"], "the machine", _names(Machine))
    rows = said["calls"]
    if not isinstance(rows, list) or len(rows) != len(COST_NAMES):
        raise TabnasError("the calls must be one of one row and one of a batch")
    calls = [_call(each) for each in rows]
    if [call.rows for call in calls] != sorted(COST_NAMES.values()):
        raise TabnasError("the calls must be one of one row and one of a batch")
    return LatencyTable(
        machine=Machine(
            processor=_text(machine, "processor"),
            system=_text(machine, "system"),
            onnxruntime=_text(machine, "onnxruntime"),
            threads=whole("threads", machine["threads"], least=1),
        ),
        measured=date.fromisoformat(_text(said, "measured")).isoformat(),
        tabnas=_text(said, "tabnas"),
        calls={call.rows: call for call in calls},
    )


def _call(given: Any) -> CallTable:
    said = _section(given, "a call", _names(CallTable))
    terms = _section(said["terms"], "the terms", _names(Terms))
    columns = _section(said["columns"], "the terms of columns", _names(ColumnTerms))
    return CallTable(
        rows=whole("the rows of a call", said["rows"], least=1),
        terms=Terms(**{name: _number(terms, name) for name in terms}),
        columns=ColumnTerms(**{name: _number(columns, name) for name in columns}),
        fitted=whole("fitted", said["fitted"], least=1),
        held_out=whole("held_out", said["held_out"], least=FEWEST_HELD_OUT),
        median_error=_number(said, "median_error"),
        p90_error=_number(said, "p90_error"),
        tables=whole("tables", said["tables"], least=1),
        tables_median_error=_number(said, "tables_median_error"),
        spread=_number(said, "spread"),
    )


def _names(kind: Any) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind))


def _section(given: Any, what: str, names: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(given, dict) or set(given) != set(names):
        raise TabnasError(f"{what} must have the fields {', '.join(names)}, and no others")
    return given


def _text(said: Mapping[str, Any], name: str) -> str:
    given = said[name]
    if not isinstance(given, str) or not given.isprintable() or len(given) > LONGEST:
        raise TabnasError(f"{name} must be a text of at most {LONGEST} printable characters")
    return given


def _number(said: Mapping[str, Any], name: str) -> float:
    given = said[name]
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise TabnasError(f"{name} must be a number")
    if not 0 <= given <= MOST_US:  # false for NaN, too
        raise TabnasError(f"{name} must be from 0 to {MOST_US:.0e}")
    return float(given)
