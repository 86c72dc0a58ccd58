"""The header: the struct of a row, the classes, and the functions."""

from __future__ import annotations

import tabnas
from tabnas.data import ClassTarget
from tabnas.export.c._lookups import declare_lookups, list_category_codes
from tabnas.export.c._names import Identifiers, to_comment, to_identifier
from tabnas.export.c._program import Program

MACROS = ("CLASSES", "RAM_BYTES", "WEIGHT_BYTES", "EMPTY_ROW", "NO_LOOKUP", "MODEL_H")
"""Names that no category can have, with the prefix before them."""


def render_header(program: Program) -> str:
    """Return the content of model.h."""
    prefix, upper = program.prefix, program.prefix.upper()
    names = Identifiers(frozenset(f"{upper}_{name}" for name in MACROS))
    sections = [
        _describe(program),
        f"#ifndef {upper}_MODEL_H\n#define {upper}_MODEL_H\n\n"
        "#include <math.h> /* NAN */\n#include <stdint.h>\n\n"
        '#ifdef __cplusplus\nextern "C" {\n#endif\n',
        f"#define {upper}_WEIGHT_BYTES {program.weight_bytes} /* in read-only memory */\n"
        f"#define {upper}_RAM_BYTES {program.ram_bytes} /* of activations, on the stack */\n",
        _declare_classes(program, names),
        "/* The columns of a row. */\n" + _declare_row(program),
        "".join(list_category_codes(field, prefix, names) for field in program.fields),
        _declare_predict(program),
        _declare_lookups(program),
        f"#ifdef __cplusplus\n}}\n#endif\n\n#endif /* {upper}_MODEL_H */\n",
    ]
    return "\n".join(section for section in sections if section)


def _describe(program: Program) -> str:
    model = program.model
    limits = ", ".join(f"{to_comment(name)} {upper:,}" for name, upper in model.limits.items())
    return (
        f"/* {model.target.task} of {to_comment(model.target.name)}, written by tabnas "
        f"{tabnas.__version__}.\n"
        f" * The network {model.architecture} with {model.costs['parameters']:,} parameters as "
        f"{model.precision}"
        f"{f'; limits: {limits}' if limits else ''}.\n */\n"
    )


def _declare_classes(program: Program, names: Identifiers) -> str:
    target, upper = program.model.target, program.prefix.upper()
    if not isinstance(target, ClassTarget):
        return ""
    lines = []
    for code, label in enumerate(target.classes):
        part = to_identifier(label).upper() or str(code)
        name = names.add(f"{upper}_CLASS_{part}", code)
        comma = "," if code + 1 < len(target.classes) else ""
        lines.append(f"    {name} = {code}{comma} /* {to_comment(label)} */\n")
    return f"#define {upper}_CLASSES {len(lines)}\n\nenum {{\n{''.join(lines)}}};\n"


def _declare_row(program: Program) -> str:
    members = "".join(
        f"    {field.ctype} {field.name}; /* {to_comment(field.column.name)}: "
        f"{field.description} */\n"
        for field in program.fields
    )
    empty = ", ".join(field.missing for field in program.fields)
    return (
        f"typedef struct {{\n{members}}} {program.prefix}_row;\n\n"
        "/* A row with nothing but missing values, to begin with. */\n"
        f"#define {program.prefix.upper()}_EMPTY_ROW {{{empty}}}\n"
    )


def _declare_predict(program: Program) -> str:
    comment = f"Returns {to_comment(program.model.target.name)} in its units."
    if program.model.classes:
        comment = "Returns the most probable class and writes the probability of each."
    return f"/* {comment} */\n{predict_signature(program)};\n"


def predict_signature(program: Program) -> str:
    """Return the type, name and arguments of the function that predicts."""
    prefix = program.prefix
    if program.model.classes:
        probabilities = f"float probabilities[{prefix.upper()}_CLASSES]"
        return f"int {prefix}_predict(const {prefix}_row *row, {probabilities})"
    return f"double {prefix}_predict(const {prefix}_row *row)"


def _declare_lookups(program: Program) -> str:
    """Return the declarations that a macro leaves out."""
    prefix, upper = program.prefix, program.prefix.upper()
    parts = []
    if program.model.classes:
        parts.append(f"extern const char *const {prefix}_labels[{upper}_CLASSES];\n")
    if program.lookups:
        parts.append("/* The codes of categories; 0 for any that training had not. */\n")
        parts.append(declare_lookups(program.lookups))
    if not parts:
        return ""
    return (
        f"/* Define {upper}_NO_LOOKUP to leave out all texts. */\n#ifndef {upper}_NO_LOOKUP\n"
        f"{''.join(parts)}#endif\n"
    )
