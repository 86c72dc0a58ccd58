"""`tabnas paper`: the experiments of the paper, one command each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from tabnas.cli._text import terminal

app = typer.Typer(
    help="Make the paper's experiments again, one command each.", no_args_is_help=True
)


@app.callback()
def paper() -> None:
    """Make the paper's experiments again, one command each."""


@app.command()
def toy(
    out: Annotated[Path, typer.Option(help="Where to write.")] = Path("results/toy"),
    seeds: Annotated[int | None, typer.Option(help="Runs of each setting.", min=1)] = None,
) -> None:
    """Figure 1 and the tuning figures: nine architectures, known losses, only the policy learns.

    Compares the Abs reward, rejection with Monte Carlo, and rejection with the exact P(V), over
    hundreds of seeds, in half a minute. Writes summary.json, figure-1.png and tuning.png.
    """
    from tabnas.paper import run_toy

    console = terminal(stderr=True)
    with console.status("compiling, once") as status:
        summary = run_toy(
            out, seeds=seeds, progress=lambda phase: status.update(f"toy experiment: {phase}")
        )
    table = Table(title=f"Toy experiment, {summary['seeds']} runs a row", title_justify="left")
    table.add_column("reward")
    table.add_column(f"ends on {summary['optimum']}", justify="right")
    table.add_column("ends infeasible", justify="right")
    for title, row in summary["figure_1"].items():
        table.add_row(title, f"{row['success']:.0%}", f"{row['infeasible']:.0%}")
    terminal().print(table)
    typer.echo(f"{summary['optimum']} is the best architecture within the limit.")
    typer.echo(f"Written: {out / 'summary.json'}, figure-1.png, tuning.png")


@app.command(name="ground-truth")
def ground_truth(
    name: Annotated[str, typer.Argument(help="The table: adult, california, connect4, ...")],
    data: Annotated[Path, typer.Option(help="The folder that holds the table's file.")],
    out: Annotated[Path, typer.Option(help="The folder to write to.")] = Path(
        "results/ground_truth"
    ),
    most: Annotated[
        int | None,
        typer.Option(help="Stop after so many trainings.", min=1, show_default="all of them"),
    ] = None,
) -> None:
    """Train every architecture of a table's space alone, with several seeds, to judge searches by.

    Takes about an hour on one core. What is done is kept: the same command goes on from there.
    """
    from tabnas.paper import GroundTruthMaker

    console = terminal(stderr=True)
    maker = GroundTruthMaker(name, data=data, out=out, most=most)
    with console.status(f"{name}: reading the table") as status:
        maker.make(
            lambda done, total: status.update(f"{name}: {done:,} of {total:,} trainings done")
        )
    typer.echo(f"Written: {maker.file}")
