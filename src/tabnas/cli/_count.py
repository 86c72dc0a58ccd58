"""`tabnas count`: how many architectures a limit leaves."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from tabnas.cli._numbers import whole
from tabnas.cli._options import (
    Json,
    MaxBytes,
    MaxDenseParameters,
    MaxFlops,
    MaxNamed,
    MaxParameters,
)
from tabnas.cli._text import terminal
from tabnas.cli._values import given_limits, parse_widths, with_named

if TYPE_CHECKING:
    from tabnas.feasible import FeasibleSet


def count(
    inputs: Annotated[
        int,
        typer.Option(
            help="Width of the encoded table; `tabnas search --dry-run` says it of yours.",
            metavar="N",
            parser=whole,
        ),
    ],
    outputs: Annotated[
        int,
        typer.Option(
            help="Number of logits: 1 for two classes or a quantity, else one a class.",
            metavar="N",
            parser=whole,
        ),
    ],
    layers: Annotated[
        int, typer.Option(help="Number of hidden layers.", metavar="N", parser=whole)
    ],
    widths: Annotated[
        str | None,
        typer.Option(
            help="Candidate widths of every layer, like 0,8,16; 0 makes layers optional.",
            show_default="the paper's 20, from 8 to 512",
            metavar="N,N",
        ),
    ] = None,
    embedding_parameters: Annotated[
        int,
        typer.Option(
            help="Trained numbers of the embedding tables, for --max-parameters.",
            metavar="N",
            parser=whole,
        ),
    ] = 0,
    max_parameters: MaxParameters = None,
    max_dense_parameters: MaxDenseParameters = None,
    max_flops: MaxFlops = None,
    max_bytes: MaxBytes = None,
    max_named: MaxNamed = None,
    as_json: Json = False,
) -> None:
    r"""Count the architectures that hold a limit, exactly, and show what they are like.

    No table is read and nothing is trained: this is about the space alone.

    For example:

    # the paper's 5-layer Criteo space, of which 340,590 networks are feasible
    tabnas count --inputs 1027 --outputs 1 --layers 5 \
      --max-dense-parameters 75353

    # depth left open, up to three layers, two limits at once
    tabnas count --inputs 54 --outputs 7 --layers 3 --widths 0,8,16 \
      --max-parameters 5000 --max-flops 9000
    """
    from tabnas.feasible import FeasibleSet
    from tabnas.space import PAPER_WIDTHS, Budget, SearchSpace

    optional: dict[str, float | None] = {
        "parameters": max_parameters,
        "dense_parameters": max_dense_parameters,
        "flops": max_flops,
        "bytes": max_bytes,
    }
    limits = given_limits(**with_named(optional, max_named))
    space = SearchSpace.uniform(
        layers=layers,
        inputs=inputs,
        outputs=outputs,
        widths=PAPER_WIDTHS if widths is None else parse_widths(widths),
        embedding_parameters=embedding_parameters,
    )
    facts = describe(FeasibleSet(space, Budget(**limits)))
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
    else:
        show(facts)


def describe(feasible: FeasibleSet) -> dict[str, Any]:
    """The facts about a feasible set, for people and for machines."""
    from tabnas.space import compute_costs

    space, budget = feasible.space, feasible.budget
    extremes = {
        which: {
            "architecture": str(architecture),
            **compute_costs(space, architecture),
        }
        for which, architecture in (
            ("cheapest", feasible.cheapest()),
            ("dearest", feasible.most_expensive()),
        )
    }
    facts: dict[str, Any] = {
        "inputs": space.inputs,
        "outputs": space.outputs,
        "layers": space.depth,
        "widths": list(space.candidates[0]),
        "limits": {limit.cost.name: limit.upper for limit in budget.limits},
        "architectures": space.size,
        "method": feasible.method,
        "exact": feasible.is_exact,
        "feasible": None,
    }
    if feasible.is_exact:
        facts["feasible"] = feasible.count()
        facts["share"] = feasible.count() / space.size
        facts["unused_widths"] = [list(widths) for widths in feasible.unused_widths()]
    else:
        facts["share"] = float(feasible.probability())
    return facts | extremes


def show(facts: dict[str, Any]) -> None:
    """Print the facts as a table of two columns."""
    limits = " and ".join(f"{name} <= {most:,}" for name, most in facts["limits"].items())
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column()
    table.add_column(overflow="fold")
    table.add_row("limit", limits)
    table.add_row("architectures", f"{facts['architectures']} in all")
    share = f"{facts['share']:.2%}" if facts["share"] > 1e-4 else f"{facts['share']:.1e}"
    if facts["exact"]:
        table.add_row("feasible", Text.assemble((str(facts["feasible"]), "bold"), f"  ({share})"))
        known = "exact, along the chain of layers" if facts["method"] == "chain" else "exact"
    else:
        table.add_row("feasible", f"about {share}")
        known = "estimated by sampling: too many states for exact counting"
    table.add_row("how", known)
    for which in ("cheapest", "dearest"):
        extreme = facts[which]
        costs = ", ".join(f"{extreme[name]:,} {name}" for name in facts["limits"])
        table.add_row(which, f"{extreme['architecture']}  ({costs})")
    for layer, widths in enumerate(facts.get("unused_widths", []), start=1):
        if widths:
            unused = ", ".join(map(str, widths))
            table.add_row(f"layer {layer}", f"never {unused}")
    terminal().print(table)
