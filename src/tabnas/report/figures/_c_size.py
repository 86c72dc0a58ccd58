"""The size of the model as C: its parts, their bound, and the compiled file."""

from __future__ import annotations

from tabnas.report._c_size_text import C_SIZE_HEADINGS, describe_c_size, list_c_sizes
from tabnas.report._figure import Figure, Table
from tabnas.results import CSize

TITLE = "The size as C"


def tabulate_c_size(size: CSize) -> Figure:
    """List the bytes of the model as C files."""
    return Figure(
        key="c-size",
        title=TITLE,
        paragraphs=[describe_c_size(size)],
        table=Table(title=TITLE, headings=C_SIZE_HEADINGS, rows=list_c_sizes(size)),
    )
