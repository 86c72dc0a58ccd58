"""Enumerators: a name for each class, and for the code of each category."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tabnas.data.columns import CategoricalColumn
from tabnas.export.c._names import UNNAMED, name_uniquely, to_comment, to_identifier
from tabnas.export.c._row import Field, missing_code

MACROS = ("CLASSES", "RAM_BYTES", "WEIGHT_BYTES", "EMPTY_ROW", "NO_LOOKUP", "MODEL_H", "MODEL_ID")
"""Names that no class and no category can have, with the prefix before them."""
OTHER, MISSING = "OTHER", "MISSING"


@dataclass(frozen=True)
class Enumerators:
    """The names of all classes, and of the categories of each column in the order of its codes."""

    classes: list[str]
    categories: Mapping[str, list[str]]  # by member


def name_enumerators(
    classes: Sequence[object], fields: Sequence[Field], prefix: str
) -> Enumerators:
    """Name all classes and categories at once, so that no two have the same name.

    Names for unseen and missing categories come first, so a category of such a name gets another
    one.
    """
    upper = prefix.upper()
    columns = {
        field.name: field.column for field in fields if isinstance(field.column, CategoricalColumn)
    }
    stems = {name: f"{upper}_{name.upper()}" for name in columns}
    texts: list[tuple[str, object]] = [(f"{upper}_CLASS", label) for label in classes]
    for name, column in columns.items():
        texts += [(stems[name], category) for category in column.vocabulary]
    reserved = [f"{upper}_{name}" for name in MACROS]
    reserved.append(f"{upper}_CLASS_{UNNAMED}")
    for stem in stems.values():
        reserved += [f"{stem}_{part}" for part in (OTHER, MISSING, UNNAMED)]
    names = iter(
        name_uniquely(
            [text for _, text in texts],
            [f"{stem}_{to_identifier(text)}".upper() for stem, text in texts],
            reserved,
        )
    )
    return Enumerators(
        [next(names) for _ in classes],
        {name: [next(names) for _ in column.vocabulary] for name, column in columns.items()},
    )


def list_classes(classes: Sequence[object], names: Sequence[str]) -> str:
    """Return an enum with a name for each class."""
    lines = [f"    {name} = {code}" for code, name in enumerate(names)]
    return f"enum {{\n{_join(lines, [to_comment(label) for label in classes])}\n}};\n"


def list_categories(field: Field, names: Sequence[str], prefix: str) -> str:
    """Return an enum with a name for the code of each category of a column."""
    column = field.column
    assert isinstance(column, CategoricalColumn)
    stem = f"{prefix}_{field.name}".upper()
    lines = [f"    {stem}_{OTHER} = 0"]
    lines += [f"    {name} = {code}" for code, name in enumerate(names, start=1)]
    lines.append(f"    {stem}_{MISSING} = {missing_code(column)}")
    missing = "missing" if column.has_missing else "missing: none in training, so as any other"
    comments = ["any other category", *map(to_comment, column.vocabulary), missing]
    return f"enum {{ /* {to_comment(column.name)} */\n{_join(lines, comments)}\n}};\n"


def _join(lines: Sequence[str], comments: Sequence[str]) -> str:
    """Return one enumerator a line with its comment; the last has no comma."""
    commas = ["," for _ in lines[1:]] + [""]
    return "\n".join(
        f"{line}{comma} /* {comment} */"
        for line, comma, comment in zip(lines, commas, comments, strict=True)
    )
