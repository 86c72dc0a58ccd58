"""The size of a model as C, in words and as rows of a table."""

from __future__ import annotations

from tabnas.formatting import isolate
from tabnas.results import CSize

C_SIZE_HEADINGS = ("Part", "Bytes")
BOUND = "gcc -O2 on x86-64"
"""What the bound of the code holds for."""


def describe_c_size(size: CSize) -> str:
    """Return sentences on the compiled size, and on what comes on top of the weights."""
    compiler = BOUND if size.compiler is None else f"{isolate(size.compiler)} with -O2"
    sentences = [
        "As C, with its preprocessing (tabnas export . --c firmware) and compiled by "
        f"{compiler}, the model takes {size}."
    ]
    sentences.append(
        "That was not measured, for which the machine of the run must have a C compiler and the "
        "tool size."
        if size.compiler is None
        else f"The bound is that of {BOUND}."
    )
    sentences.append(
        "A limit on bytes counts the weights; what the columns and the code need comes on top."
    )
    if size.lookup_bytes:
        sentences.append("The texts of categories and classes can be left out.")
    sentences.append("A prediction also takes some 200 bytes of stack for calls.")
    return " ".join(sentences)


def list_c_sizes(size: CSize) -> list[tuple[str, str]]:
    """Return the bytes of each part, of all together and of the compiled file, if it is known."""
    sizes = {
        "weights": size.weight_bytes,
        "columns": size.column_bytes,
        "code, at most": size.max_code_bytes,
        "together, at most": size.max_bytes,
        "compiled": size.compiled_bytes,
        "texts, besides": size.lookup_bytes,
        "RAM of activations": size.ram_bytes,
    }
    return [(name, f"{count:,}") for name, count in sizes.items() if count is not None]
