"""The header: the struct of a row, the classes, and the functions."""

from __future__ import annotations

import tabnas
from tabnas.export.c._enumerators import list_categories, list_classes, name_enumerators
from tabnas.export.c._lookups import declare_lookups
from tabnas.export.c._names import to_comment
from tabnas.export.c._program import Program

MAX_NAMES = 12
"""Columns without a member that are listed by name."""


def render_header(program: Program) -> str:
    """Return the content of model.h."""
    prefix, upper, classes = program.prefix, program.prefix.upper(), program.model.classes
    names = name_enumerators(classes, program.fields, prefix)
    sections = [
        _describe(program),
        f"#ifndef {upper}_MODEL_H\n#define {upper}_MODEL_H\n\n"
        "#include <math.h> /* NAN */\n#include <stdint.h>\n\n"
        '#ifdef __cplusplus\nextern "C" {\n#endif\n',
        f"#define {upper}_MODEL_ID {program.model_id} /* of encoder and weights */\n"
        f"#define {upper}_WEIGHT_BYTES {program.weight_bytes} /* in read-only memory */\n"
        f"#define {upper}_RAM_BYTES {program.ram_bytes} /* of activations, on the stack */\n",
        f"#define {upper}_CLASSES {len(classes)}\n\n{list_classes(classes, names.classes)}"
        if classes
        else "",
        _declare_row(program),
        "".join(
            list_categories(field, names.categories[field.name], prefix)
            for field in program.fields
            if field.name in names.categories
        ),
        _declare_predict(program),
        _declare_hashes(program),
        _declare_texts(program),
        "/* Only in model_test.c, which predictions do not need: how many rows of a test fail. */\n"
        f"int {prefix}_self_test(void);\n",
        f"#ifdef __cplusplus\n}}\n#endif\n\n#endif /* {upper}_MODEL_H */\n",
    ]
    return "\n".join(section for section in sections if section)


def _describe(program: Program) -> str:
    model = program.model
    what = "the class" if model.classes else "the number"
    limits = ", ".join(f"{to_comment(name)} {upper:,}" for name, upper in model.limits.items())
    return (
        f"/* Predicts {what} {to_comment(model.target.name)}. Written by tabnas "
        f"{tabnas.__version__}.\n *\n"
        f" * {_describe_network(program)}"
        f"{f'; limits: {limits}' if limits else ''}.\n"
        " * Compile model.c as C99 without -ffast-math, and link with -lm.\n */\n"
    )


def _describe_network(program: Program) -> str:
    model, widths = program.model, program.model.architecture.widths
    listed = [", ".join(map(str, widths[:-1])), *map(str, widths[-1:])]
    units = " and ".join(text for text in listed if text)
    layers = {0: "no hidden layer", 1: f"one hidden layer of {units} units"}.get(
        len(widths), f"{len(widths)} hidden layers of {units} units"
    )
    dimension = model.architecture.dimension
    embedded = f", numbers embedded in {dimension} dimensions" if dimension else ""
    return (
        f"A network of {layers}{embedded}: {model.costs['parameters']:,} parameters as "
        f"{model.precision}"
    )


def _declare_row(program: Program) -> str:
    members = "".join(
        f"    {field.ctype} {field.name}; /* {to_comment(field.column.name)}: "
        f"{field.description} */\n"
        for field in program.fields
    )
    empty = ", ".join(field.missing for field in program.fields)
    unused = program.model.encoder.unused
    names = ", ".join(map(to_comment, unused[:MAX_NAMES]))
    more = f" and {len(unused) - MAX_NAMES:,} more" if len(unused) > MAX_NAMES else ""
    note = f"\n * The model does not use {names}{more}: constant, empty or dropped."
    return (
        "/* The columns of a row. An infinite number acts like the largest; times of day and "
        f"durations\n * are in seconds.{note if unused else ''} */\n"
        f"typedef struct {{\n{members}}} {program.prefix}_row;\n\n"
        "/* A row with nothing but missing values, to begin with. */\n"
        f"#define {program.prefix.upper()}_EMPTY_ROW {{{empty}}}\n"
    )


def _declare_predict(program: Program) -> str:
    prefix = program.prefix
    lines = [
        f"Returns {to_comment(program.model.target.name)} in its units, or NAN if the network",
        "overflows, which only columns without scaling can cause.",
    ]
    if program.model.classes:
        lines = [
            "Returns the most probable class: its number in the enum of classes, among",
            f"{prefix}_labels and among the probabilities, which are written for each class and",
            "must not be NULL. Returns -1, and probabilities NAN, if the network overflows, which",
            "only columns without scaling can cause.",
        ]
    comment = "\n * ".join(lines)
    return f"/* {comment} */\n{predict_signature(program)};\n"


def predict_signature(program: Program) -> str:
    """Return the type, name and arguments of the function that predicts."""
    prefix = program.prefix
    if program.model.classes:
        probabilities = f"float probabilities[{prefix.upper()}_CLASSES]"
        return f"int {prefix}_predict(const {prefix}_row *row, {probabilities})"
    return f"double {prefix}_predict(const {prefix}_row *row)"


def _declare_hashes(program: Program) -> str:
    """Return the declarations for hashed columns, which need no texts of categories."""
    hashed = [lookup for lookup in program.lookups if lookup.is_hashed]
    if not hashed:
        return ""
    return f"/* The codes of hashed categories; NULL is missing. */\n{declare_lookups(hashed)}"


def _declare_texts(program: Program) -> str:
    """Return the declarations that a macro leaves out."""
    prefix, upper = program.prefix, program.prefix.upper()
    searches = [lookup for lookup in program.lookups if not lookup.is_hashed]
    parts, left_out = [], []
    if program.model.classes:
        left_out.append("the names of classes")
        parts.append(f"extern const char *const {prefix}_labels[{upper}_CLASSES];\n")
    if searches:
        left_out.append("the functions that look up categories, and their texts")
        parts.append(
            '/* The codes of categories; 0 for one that does not occur in training. NULL, "", '
            '"?", "NA"\n * and the like are missing. Spaces around a text do not count. */\n'
        )
        parts.append(declare_lookups(searches))
    if not parts:
        return ""
    return (
        f"/* Define {upper}_NO_LOOKUP to leave out {' and '.join(left_out)}. */\n"
        f"#ifndef {upper}_NO_LOOKUP\n{''.join(parts)}#endif\n"
    )
