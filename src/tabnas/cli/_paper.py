"""`tabnas paper`: the experiments of the paper, one command each."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from tabnas.cli import _commands as commands
from tabnas.cli._commands import Group, add
from tabnas.cli._numbers import at_least, whole
from tabnas.cli._side_by_side import Address, Backend, Processes, make_job_config
from tabnas.cli._text import terminal
from tabnas.files import atomic_write

EXAMPLES = """\
# a small form, in seconds, of an experiment that needs no data
tabnas paper toy --quick --out /tmp/toy

# one that also reads tables of your own, four jobs at once
tabnas paper rewards --data tables --processes 4"""

app = typer.Typer(cls=Group, no_args_is_help=True, epilog=EXAMPLES)


@app.callback()
def paper() -> None:
    """Make the paper's experiments again, one command each.

    Each writes a folder of rows, figures and a page that says what came out. After an interruption
    the same command goes on with what is left.
    """


def _add(name: str, shows: str, takes: str) -> None:
    """Add the command of one experiment."""

    def experiment(
        quick: Annotated[
            bool, typer.Option("--quick", help="A small form, to see that it works and how.")
        ] = False,
        out: Annotated[
            Path | None,
            typer.Option(
                help="The folder to write to.", show_default="results/NAME", metavar="FOLDER"
            ),
        ] = None,
        data: Annotated[
            Path | None,
            typer.Option(
                help="A folder of tables, whose files go before those that come with tabnas; on a "
                "cluster, every machine reads it at this path.",
                show_default="the tables of tabnas",
                metavar="FOLDER",
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
        job_config = make_job_config(processes, backend, address)
        console = terminal(stderr=True)
        from rich.markdown import Markdown  # takes long, and Tab would wait for it

        with console.status(f"{name}: compiling, once") as status:
            run_experiment(
                name,
                folder,
                data=data,
                quick=quick,
                job_config=job_config,
                progress=lambda done, total: status.update(f"{name}: {done:,} of {total:,} done"),
            )
        lines = (folder / "README.md").read_text().splitlines()
        shown = [line for line in lines if not line.startswith("![")]  # pictures say nothing here
        terminal().print(Markdown("\n".join(shown)))
        typer.echo(f"Written to {folder}: README.md, summary.json, rows.parquet and figures")

    experiment.__doc__ = (
        f"{shows}.\n\nTakes {takes} on two cores. After an interruption the same command goes on "
        f"with what is left, here or elsewhere.\n{commands.EXAMPLES}\n"
        f"# a small form\ntabnas paper {name} --quick --out /tmp/{name}\n\n"
        f"# all of it, four jobs at once, or on a cluster\n"
        f"tabnas paper {name} --processes 4\n"
        f"tabnas paper {name} --backend ray --address HOST:6379"
    )
    add(app, experiment, name=name)


def _add_all() -> None:
    """One for each file of definitions; what they run is imported when it is run."""
    for file in sorted(files("tabnas").joinpath("paper/experiments").iterdir(), key=str):
        if file.name.endswith(".toml"):
            said = tomllib.loads(file.read_text())
            name = file.name.removesuffix(".toml")
            _add(name, said["shows"], said["takes"])


_add_all()


def ground_truth(
    name: Annotated[
        str, typer.Argument(help="The table: adult, california, connect4, ...", metavar="TABLE")
    ],
    data: Annotated[
        Path | None,
        typer.Option(
            help="A folder of tables, whose files go before those that come with tabnas; on a "
            "cluster, every machine reads it at this path.",
            show_default="the tables of tabnas",
            metavar="FOLDER",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder to write to.", metavar="FOLDER")] = Path(
        "results/ground_truth"
    ),
    most: Annotated[
        int | None,
        typer.Option(
            help="Stop after so many trainings.",
            show_default="all of them",
            metavar="N",
            parser=at_least(1, whole),
        ),
    ] = None,
    processes: Processes = None,
    backend: Backend = "local",
    address: Address = None,
) -> None:
    """Train every architecture of a table's space alone, with several seeds, to judge searches by.

    Takes about an hour on one core. What is done is kept: the same command goes on from there,
    also with other processes or on a cluster.

    For example:

    # two trainings at once
    tabnas paper ground-truth adult --processes 2
    """
    from tabnas.paper import GroundTruthMaker

    job_config = make_job_config(processes, backend, address)
    console = terminal(stderr=True)
    maker = GroundTruthMaker(name, data=data, out=out, most=most)
    with console.status(f"{name}: reading the table") as status:
        maker.make(
            lambda done, total: status.update(f"{name}: {done:,} of {total:,} trainings done"),
            job_config=job_config,
        )
    typer.echo(f"Written: {maker.file}")


def claims(
    results: Annotated[
        Path, typer.Option(help="The folder of results, read and written.", metavar="FOLDER")
    ] = Path("results"),
) -> None:
    """Write the table of all claims, with the numbers that the files of results hold.

    For example:

    # writes results/README.md
    tabnas paper claims --results results
    """
    from tabnas.paper import claims_page

    page = claims_page(results)
    atomic_write(results / "README.md", page)
    typer.echo(f"Written: {results / 'README.md'}")


add(app, ground_truth, name="ground-truth")
add(app, claims)
