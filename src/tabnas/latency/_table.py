"""The latency table of a machine: terms, how well they predict, and their provenance."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Literal

from tabnas.decoding import (
    Bounds,
    DecodeError,
    MaxLength,
    check_kind_and_format,
    decode,
    parse_json,
    to_builtins,
)
from tabnas.errors import TabNASError
from tabnas.latency._columns import ColumnTerms
from tabnas.latency._cost import LatencyCost, join_precisions
from tabnas.latency._embeddings import EmbeddingTerms
from tabnas.latency._machine import Machine
from tabnas.latency._terms import LatencyTerms
from tabnas.latency.runtimes import RUNTIMES
from tabnas.space import LATENCY_ROWS, Precision

KIND = "tabnas latency table"
FORMAT = 3
MAX_BYTES = 1 << 16  # of a file
MAX_STRING = 200  # characters of a string in it
MIN_HELD_OUT = 5
MAX_SPREAD = 0.15
"""With a larger spread the machine was busy, and its idle latencies are unknown."""

PositiveCount = Annotated[int, Bounds(ge=1)]
Error = Annotated[float, Bounds(ge=0, le=1e9)]


@dataclass(frozen=True, kw_only=True)
class CallTable:
    """Terms and their errors, for calls of `rows` rows of networks of one precision."""

    rows: PositiveCount
    precision: Precision
    terms: LatencyTerms
    columns: ColumnTerms
    embeddings: EmbeddingTerms
    fitted: PositiveCount  # networks that the terms were fitted on
    held_out: Annotated[int, Bounds(ge=MIN_HELD_OUT)]  # others, to measure their errors on
    median_error: Error  # relative, of networks without preprocessing
    p90_error: Error
    tables: PositiveCount  # random tables that the terms of columns were fitted on
    tables_median_error: Error  # of complete files, on as many others
    embedded: PositiveCount  # networks that the terms of embeddings were fitted on
    embedded_median_error: Error  # on others
    embedded_p90_error: Error
    spread: Error  # relative, by which calls took longer in busy rounds than in idle ones


@dataclass(frozen=True, kw_only=True)
class LatencyTable:
    """The latencies of one machine, for calls of one row and of a batch.

    There is a `CallTable` for each of them and for each precision that the runtime measures.
    """

    machine: Machine
    measured: str  # the day, as 2025-12-31
    tabnas: str  # the version
    calls: tuple[CallTable, ...]  # by rows, then by precision

    def find_call(self, rows: int, precision: Precision = Precision.FLOAT32) -> CallTable:
        """Return the table for calls of this many rows in a precision.

        If only float32 was measured, it is used for every precision.
        """
        calls = {call.precision: call for call in self.calls if call.rows == rows}
        return calls[Precision.FLOAT32 if len(calls) == 1 else precision]

    def cost(self, name: str, overhead_us: float | None = None) -> LatencyCost:
        """Return the cost of that name: "latency_us" or "batch_latency_us"."""
        if name not in LATENCY_ROWS:
            raise TabNASError(f"name must be {' or '.join(LATENCY_ROWS)}, got {name!r}")
        rows = LATENCY_ROWS[name]
        resolution = RUNTIMES[self.machine.runtime].resolution(rows)
        return join_precisions(
            {
                call.precision: LatencyCost(
                    name, call.terms, overhead_us, call.embeddings, resolution=resolution
                )
                for call in self.calls
                if call.rows == rows
            }
        )

    @property
    def is_busy(self) -> bool:
        """Whether the machine seems to have had other work while it was measured."""
        return any(call.spread > MAX_SPREAD for call in self.calls)

    def __str__(self) -> str:
        return f"latencies of {self.machine}, measured {self.measured}"

    # -- as a file -------------------------------------------------------------------------------

    def to_json(self) -> str:
        """Return the table as text, which `from_json` reads again to the last bit."""
        file = _TableFile(
            machine=self.machine,
            measured=self.measured,
            tabnas=self.tabnas,
            calls=self.calls,
        )
        value = to_builtins(file)
        for call in value["calls"]:
            call["terms"] = {name: us for name, us in call["terms"].items() if us is not None}
        return json.dumps(value, indent=2, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str, name: str = "the latency table") -> LatencyTable:
        """Read a table, which need not be trusted; errors refer to it by `name`."""
        if len(text) > MAX_BYTES:
            raise DecodeError(f"{name} must have at most {MAX_BYTES:,} characters, got more")
        value = parse_json(text, source=name)
        check_kind_and_format(value, KIND, FORMAT, source=name)
        if value["format"] < FORMAT:
            raise DecodeError(
                f"{name} has format {value['format']}, of an older tabnas, which lacks the "
                "runtime; measure the machine again with tabnas latency --out"
            )
        file = decode(_TableFile, value, source=name)
        return cls(
            machine=file.machine,
            measured=file.measured,
            tabnas=file.tabnas,
            calls=file.calls,
        )


@dataclass(frozen=True, kw_only=True)
class _TableFile:
    """The content of a file."""

    kind: Literal["tabnas latency table"] = "tabnas latency table"
    format: int = FORMAT
    machine: Machine
    measured: Annotated[str, MaxLength(MAX_STRING)]
    tabnas: Annotated[str, MaxLength(MAX_STRING)]
    calls: tuple[CallTable, ...]

    def __post_init__(self) -> None:
        date.fromisoformat(self.measured)
        texts = (self.machine.processor, self.machine.system, self.machine.version, self.tabnas)
        for text in texts:
            if not text.isprintable() or len(text) > MAX_STRING:
                raise TabNASError(
                    f"strings must be at most {MAX_STRING} printable characters, got "
                    f"{text[:MAX_STRING]!r}"
                )
        runtime = RUNTIMES[self.machine.runtime]
        for call in self.calls:
            if (call.terms.single_weight_us is None) == runtime.has_single_units:
                must = "must" if runtime.has_single_units else "must not"
                raise TabNASError(
                    f"terms {must} have single_weight_us for the runtime {runtime.name}"
                )
        found = [(call.rows, call.precision) for call in self.calls]
        expected = [(r, p) for r in sorted(LATENCY_ROWS.values()) for p in runtime.precisions]
        if found != expected:
            raise TabNASError(
                f"calls must be of {_describe(expected)}, got {_describe(found) or 'none'}"
            )


def _describe(calls: Sequence[tuple[int, Precision]]) -> str:
    return ", ".join(f"{rows} rows as {precision}" for rows, precision in calls)
