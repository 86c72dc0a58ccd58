"""`tabnas count`: count the architectures within a limit."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from tabnas.cli.display._formatting import make_console, make_two_column_table
from tabnas.cli.options._parsers import add_named_limits, parse_int, parse_widths, require_limits
from tabnas.cli.options._shared import (
    Json,
    MaxBytes,
    MaxDenseParameters,
    MaxFlops,
    MaxNamed,
    MaxParameters,
    MaxRamBytes,
)
from tabnas.errors import TabNASError
from tabnas.formatting import format_limits

if TYPE_CHECKING:
    from tabnas.feasible import FeasibleSet
    from tabnas.space import NumericEmbeddings, Precision


def count(
    inputs: Annotated[
        int,
        typer.Option(
            help="Number of inputs, the width of the encoded table. `tabnas search --dry-run` "
            "prints it.",
            metavar="N",
            parser=parse_int,
        ),
    ],
    outputs: Annotated[
        int,
        typer.Option(
            help="Number of outputs: 1 for two classes or regression, else one per class.",
            metavar="N",
            parser=parse_int,
        ),
    ],
    layers: Annotated[
        int, typer.Option(help="Number of hidden layers.", metavar="N", parser=parse_int)
    ],
    widths: Annotated[
        str | None,
        typer.Option(
            help="Candidate widths of every layer, like 0,8,16. With 0, layers can be left out.",
            show_default="the 20 widths of the paper, from 8 to 512",
            metavar="N,N",
        ),
    ] = None,
    embedding_parameters: Annotated[
        int,
        typer.Option(
            help="Number of parameters of the categorical embeddings, which count for "
            "--max-parameters.",
            metavar="N",
            parser=parse_int,
        ),
    ] = 0,
    embedded_columns: Annotated[
        int | None,
        typer.Option(
            help="Number of numeric columns with embeddings. Their dimension is then part of the "
            "architecture: d2-64 embeds every column in two numbers and has one layer of 64 units.",
            show_default="none",
            metavar="N",
            parser=parse_int,
        ),
    ] = None,
    knots: Annotated[
        int | None,
        typer.Option(
            help="Number of knots of all embedded columns together, at least two for each. Must be "
            "given with --embedded-columns.",
            show_default=False,
            metavar="N",
            parser=parse_int,
        ),
    ] = None,
    numeric_dimensions: Annotated[
        str | None,
        typer.Option(
            help="Candidate dimensions of the numeric embeddings, like 0,2,8. With 0, networks "
            "without embeddings are counted, too.",
            show_default="0,1,2,4,8",
            metavar="N,N",
        ),
    ] = None,
    max_parameters: MaxParameters = None,
    max_dense_parameters: MaxDenseParameters = None,
    max_flops: MaxFlops = None,
    max_bytes: MaxBytes = None,
    max_ram_bytes: MaxRamBytes = None,
    max_named: MaxNamed = None,
    precision: Annotated[
        str,
        typer.Option(
            help="How weights are stored: float32, float16 or int8. --max-bytes counts what is "
            "stored.",
            metavar="NAME",
        ),
    ] = "float32",
    as_json: Json = False,
) -> None:
    r"""Count the architectures within a limit, exactly.

    The cheapest and the most expensive of them are shown, too, and widths that no architecture can
    have. No table is read and nothing is trained.

    For example:

    # the 5-layer Criteo space of the paper: 340,590 networks are feasible
    tabnas count --inputs 1027 --outputs 1 --layers 5 \
      --max-dense-parameters 75353

    # up to three layers, two limits
    tabnas count --inputs 54 --outputs 7 --layers 3 --widths 0,8,16 \
      --max-parameters 5000 --max-flops 9000

    # ten numeric columns with 20 knots each, embedded or not
    tabnas count --inputs 10 --outputs 1 --layers 2 --widths 0,8,16 \
      --embedded-columns 10 --knots 200 --max-parameters 2000

    # how many more fit into 4 kB with int8 weights
    tabnas count --inputs 54 --outputs 7 --layers 2 \
      --max-bytes 4kB --precision int8
    """
    from tabnas.feasible import FeasibleSet
    from tabnas.space import PAPER_WIDTHS, Budget, SearchSpace, check_precision

    limits: dict[str, float | None] = {
        "parameters": max_parameters,
        "dense_parameters": max_dense_parameters,
        "flops": max_flops,
        "bytes": max_bytes,
        "ram_bytes": max_ram_bytes,
    }
    checked = require_limits(add_named_limits(limits, max_named))
    space = SearchSpace.uniform(
        layers=layers,
        inputs=inputs,
        outputs=outputs,
        widths=PAPER_WIDTHS if widths is None else parse_widths(widths),
        embedding_parameters=embedding_parameters,
        numeric_embeddings=_make_embeddings(embedded_columns, knots, numeric_dimensions),
    )
    stored = check_precision(precision)
    budget = Budget(**checked).at_precision(stored)
    description = describe_feasible_set(FeasibleSet(space, budget), stored)
    if as_json:
        typer.echo(json.dumps(description, indent=2))
    else:
        print_feasible_set(description)


def _make_embeddings(
    columns: int | None, knots: int | None, dimensions: str | None
) -> NumericEmbeddings | None:
    from tabnas.space import DEFAULT_DIMENSIONS, NumericEmbeddings

    if columns is None:
        if knots is not None or dimensions is not None:
            raise TabNASError(
                "--embedded-columns must be given with --knots and --numeric-dimensions, but it is "
                "missing"
            )
        return None
    if knots is None:
        raise TabNASError("--knots must be given with --embedded-columns, but it is missing")
    if dimensions is None:
        return NumericEmbeddings(columns=columns, knots=knots, dimensions=DEFAULT_DIMENSIONS)
    candidates = parse_widths(dimensions, option="--numeric-dimensions")
    return NumericEmbeddings(columns=columns, knots=knots, dimensions=candidates)


def describe_feasible_set(feasible: FeasibleSet, precision: Precision) -> dict[str, Any]:
    """Return the description of a feasible set, for `print_feasible_set` and for JSON."""
    from tabnas.space import compute_costs

    space, budget = feasible.space, feasible.budget
    extremes = {
        which: {
            "architecture": str(architecture),
            **compute_costs(space, architecture, precision=precision),
        }
        for which, architecture in (
            ("cheapest", feasible.cheapest()),
            ("most_expensive", feasible.most_expensive()),
        )
    }
    embeddings = space.numeric_embeddings
    description: dict[str, Any] = {
        "inputs": space.inputs,
        "outputs": space.outputs,
        "layers": space.depth,
        "widths": list(space.widths[0]),
        **({} if embeddings is None else {"numeric_embeddings": asdict(embeddings)}),
        "limits": {limit.cost.name: limit.upper for limit in budget.limits},
        "precision": str(precision),
        "architectures": space.size,
        "method": feasible.method,
        "exact": feasible.is_exact,
        "feasible": None,
    }
    if feasible.is_exact:
        description["feasible"] = feasible.count()
        description["share"] = feasible.count() / space.size
        description["unused_widths"] = [list(widths) for widths in feasible.unused_widths()]
        if space.numeric_embeddings is not None:
            description["unused_dimensions"] = list(feasible.unused_dimensions())
    else:
        description["share"] = float(feasible.probability())
    return description | extremes


def print_feasible_set(description: dict[str, Any]) -> None:
    """Print the description of a feasible set."""
    table = make_two_column_table()
    limit = format_limits(description["limits"])
    if description["precision"] != "float32":
        limit += f", {description['precision']} weights"
    table.add_row("limit", limit)
    table.add_row("architectures", f"{description['architectures']:,} in all")
    share = (
        f"{description['share']:.2%}"
        if description["share"] > 1e-4
        else f"{description['share']:.1e}"
    )
    if description["exact"]:
        table.add_row(
            "feasible", Text.assemble((f"{description['feasible']:,}", "bold"), f"  ({share})")
        )
        method = "exact, along the chain of layers" if description["method"] == "chain" else "exact"
    else:
        table.add_row("feasible", f"about {share}")
        method = "estimated by sampling: too many states for exact counting"
    table.add_row("method", method)
    for which in ("cheapest", "most_expensive"):
        extreme = description[which]
        costs = ", ".join(f"{extreme[name]:,} {name}" for name in description["limits"])
        table.add_row(which.replace("_", " "), f"{extreme['architecture']}  ({costs})")
    if description.get("unused_dimensions"):
        table.add_row("dimension", f"never {', '.join(map(str, description['unused_dimensions']))}")
    for layer, widths in enumerate(description.get("unused_widths", []), start=1):
        if widths:
            unused = ", ".join(map(str, widths))
            table.add_row(f"layer {layer}", f"never {unused}")
    make_console().print(table)
