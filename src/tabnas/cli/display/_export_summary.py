"""Print what an export has written, and what it was checked on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from tabnas.cli.display._formatting import make_console, make_two_column_table, safe_text
from tabnas.formatting import shorten

if TYPE_CHECKING:
    from tabnas.cli._test_rows import CheckRows
    from tabnas.export import CExportResult, ExportResult, Parity

MAX_FIELDS_LISTED = 6
ENCODED_ROWS_NOTE = (
    "encoded rows check only the network, and generated rows the complete file; to check it on "
    "real rows, name a table with --check FILE"
)


def print_c_export(exported: CExportResult, check_rows: CheckRows) -> None:
    """Print the files of C, their sizes, and what they were checked on."""
    table = make_two_column_table()
    for path in (exported.header, exported.source, exported.self_test):
        table.add_row("file", safe_text(shorten(path, 200)))
    table.add_row("model", f"{exported.model_id.removesuffix('u')}, the MODEL_ID of the header")
    table.add_row("row", safe_text(_format_fields(exported.fields), max_length=400))
    size = exported.size
    weights = f"{exported.parameters:,} parameters as {exported.precision}"
    table.add_row("weights", f"{size.weight_bytes:,} bytes, {weights}")
    table.add_row("columns", f"{size.column_bytes:,} bytes of centers and scales")
    table.add_row("code", f"at most {size.max_code_bytes:,} bytes besides, with alignment")
    if size.compiled_bytes is not None:
        table.add_row("compiled", str(size))
        table.add_row("", f"{size.lookup_bytes:,} more for texts and what searches them")
    table.add_row("RAM", f"{size.ram_bytes:,} bytes of activations, on the stack")
    table.add_row("", "and some 200 bytes of stack for calls")
    if exported.parity is None:
        table.add_row("checked", "no: this machine has no C compiler")
    else:
        if check_rows.is_encoded:
            table.add_row("checked", f"on {exported.parity.probe_rows:,} generated rows")
            table.add_row("", "on no real rows: they are encoded; name some with --check FILE")
        else:
            _add_check(table, exported.parity, check_rows)
        if exported.texts:
            table.add_row("", f"and {exported.texts:,} categories as the rows write them")
        _add_difference(table, exported.parity)
    make_console().print(table)


def print_onnx_export(exported: ExportResult, check_rows: CheckRows, *, weights_only: bool) -> None:
    """Print an ONNX file, its inputs and outputs, and what it was checked on."""
    table = make_two_column_table()
    size = f"{exported.bytes:,} bytes, {exported.parameters:,} parameters"
    table.add_row("file", safe_text(f"{shorten(exported.path, 200)}: {size}"))
    table.add_row("inputs", safe_text(_format_fields(exported.inputs), max_length=400))
    table.add_row("outputs", safe_text(_format_fields(exported.outputs), max_length=400))
    table.add_row("opset", ", ".join(f"{name} {n}" for name, n in exported.opsets.items()))
    _add_check(table, exported.parity, check_rows)
    if exported.parity.rows and check_rows.is_encoded and not weights_only:
        table.add_row("", ENCODED_ROWS_NOTE)
    _add_difference(table, exported.parity)
    if exported.int8 is not None:
        small = exported.int8
        score = f"{small.metric} {small.score_after:.5g}, {small.score_before:.5g} without int8"
        table.add_row("int8", f"{score}, on {small.rows:,} rows")
        if check_rows.caution:
            table.add_row("", check_rows.caution)
        table.add_row("", f"{exported.bytes:,} bytes, {small.bytes_before:,} without int8")
    make_console().print(table)


def describe_checked_rows(parity: Parity | None, check_rows: CheckRows) -> str | None:
    """Return what rows a file was checked on; None if it was not checked."""
    if parity is None:
        return None
    return check_rows.description if parity.rows else "generated rows"


def _add_check(table: Table, parity: Parity, check_rows: CheckRows) -> None:
    """Add what a file was checked on."""
    real = f"{parity.rows:,} {check_rows.description} and " if parity.rows else ""
    table.add_row(
        "checked", safe_text(f"on {real}{parity.probe_rows:,} generated rows", max_length=200)
    )
    if not parity.rows:
        table.add_row("", f"on no real rows: {check_rows.description}; name some with --check FILE")


def _add_difference(table: Table, parity: Parity) -> None:
    """Add what a file was checked with, and the result."""
    table.add_row("", safe_text(f"by {parity.runtime}", max_length=200))
    table.add_row("", f"largest difference {parity.difference:.1e}, allowed {parity.tolerance:.0e}")


def _format_fields(fields: dict[str, str]) -> str:
    texts = [
        f"{shorten(name)} ({dtype})" for name, dtype in list(fields.items())[:MAX_FIELDS_LISTED]
    ]
    left = len(fields) - len(texts)
    return ", ".join(texts) + (f", and {left:,} more" if left else "")
