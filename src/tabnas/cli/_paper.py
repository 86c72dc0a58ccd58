"""`tabnas paper`: the experiments of the paper, one command each."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer
from rich.markdown import Markdown

from tabnas.cli._side_by_side import Address, Backend, Processes, crew_of
from tabnas.cli._text import terminal
from tabnas.files import write_whole

app = typer.Typer(
    help="Make the paper's experiments again, one command each.", no_args_is_help=True
)


@app.callback()
def paper() -> None:
    """Make the paper's experiments again, one command each."""


def _add(name: str, shows: str, takes: str) -> None:
    """The command of one experiment."""

    def experiment(
        quick: Annotated[
            bool, typer.Option("--quick", help="A small form, to see that it works and how.")
        ] = False,
        out: Annotated[
            Path | None, typer.Option(help="Where to write.", show_default="results/NAME")
        ] = None,
        data: Annotated[
            Path | None,
            typer.Option(
                help="The folder that holds the tables' files; on a cluster, every machine reads "
                "it at this path.",
                show_default=False,
            ),
        ] = None,
        processes: Processes = None,
        backend: Backend = "local",
        address: Address = None,
        rewrite: Annotated[
            bool,
            typer.Option("--rewrite", help="Only text and figures, from rows that are there."),
        ] = False,
    ) -> None:
        from tabnas.paper import rewrite_experiment, run_experiment

        folder = out or Path("results") / name
        if rewrite:
            rewrite_experiment(name, folder, data=data)
            typer.echo(f"Written to {folder}: README.md, summary.json and figures")
            return
        crew = crew_of(processes, backend, address)
        console = terminal(stderr=True)
        with console.status(f"{name}: compiling, once") as status:
            run_experiment(
                name,
                folder,
                data=data,
                quick=quick,
                crew=crew,
                progress=lambda done, total: status.update(f"{name}: {done:,} of {total:,} done"),
            )
        lines = (folder / "README.md").read_text().splitlines()
        shown = [line for line in lines if not line.startswith("![")]  # pictures say nothing here
        terminal().print(Markdown("\n".join(shown)))
        typer.echo(f"Written to {folder}: README.md, summary.json, rows.parquet and figures")

    experiment.__doc__ = (
        f"{shows}.\n\nTakes {takes} on two cores. After an interruption the same command goes on "
        f"with what is left, here or elsewhere:\n\n    tabnas paper {name} --processes 4\n\n"
        f"    tabnas paper {name} --backend ray --address 10.0.0.5:6379"
    )
    app.command(name=name)(experiment)


def _add_all() -> None:
    """One for each file of definitions; what they run is imported when it is run."""
    for file in sorted(files("tabnas").joinpath("paper/experiments").iterdir(), key=str):
        if file.name.endswith(".toml"):
            said = tomllib.loads(file.read_text())
            _add(file.name.removesuffix(".toml"), said["shows"], said["takes"])


_add_all()


@app.command(name="ground-truth")
def ground_truth(
    name: Annotated[str, typer.Argument(help="The table: adult, california, connect4, ...")],
    data: Annotated[
        Path,
        typer.Option(
            help="The folder that holds the table's file; on a cluster, every machine reads it at "
            "this path."
        ),
    ],
    out: Annotated[Path, typer.Option(help="The folder to write to.")] = Path(
        "results/ground_truth"
    ),
    most: Annotated[
        int | None,
        typer.Option(help="Stop after so many trainings.", min=1, show_default="all of them"),
    ] = None,
    processes: Processes = None,
    backend: Backend = "local",
    address: Address = None,
) -> None:
    """Train every architecture of a table's space alone, with several seeds, to judge searches by.

    Takes about an hour on one core. What is done is kept: the same command goes on from there,
    also with other processes or on a cluster.
    """
    from tabnas.paper import GroundTruthMaker

    crew = crew_of(processes, backend, address)
    console = terminal(stderr=True)
    maker = GroundTruthMaker(name, data=data, out=out, most=most)
    with console.status(f"{name}: reading the table") as status:
        maker.make(
            lambda done, total: status.update(f"{name}: {done:,} of {total:,} trainings done"),
            crew=crew,
        )
    typer.echo(f"Written: {maker.file}")


@app.command()
def claims(
    results: Annotated[Path, typer.Option(help="The folder of results.")] = Path("results"),
) -> None:
    """Write the table of all claims, with the numbers that the files of results hold."""
    from tabnas.paper import claims_page

    page = claims_page(results)
    write_whole(results / "README.md", page)
    typer.echo(f"Written: {results / 'README.md'}")
