"""`tabnas paper`: reproduce the experiments of the paper, one command each."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from tabnas.cli._help import EXAMPLES as EXAMPLES_LINE
from tabnas.cli._help import CommandGroup, add_command, format_examples
from tabnas.cli.display._formatting import make_console
from tabnas.cli.options._parsers import at_least, parse_int
from tabnas.cli.options._shared import Address, Backend, Processes, flag, make_job_config
from tabnas.files import atomic_write

EXAMPLES = """
# a quick version of an experiment that needs no data; takes seconds
tabnas paper toy --quick --out /tmp/toy

# an experiment that also reads your own tables, four jobs in parallel
tabnas paper rewards --data tables --processes 4"""

TablesFolder = Annotated[
    Path | None,
    typer.Option(
        help="A folder of tables, used before those of tabnas. On a cluster, every machine reads "
        "it at this path.",
        show_default="the tables of tabnas",
        metavar="FOLDER",
    ),
]

app = typer.Typer(cls=CommandGroup, no_args_is_help=True, epilog=format_examples(EXAMPLES))


@app.callback()
def paper() -> None:
    """Reproduce the experiments of the paper, one command each.

    Each command writes a folder with results, figures and a page that explains them. After an
    interruption, the same command continues.
    """


def _add_experiment(name: str, title: str, duration: str) -> None:
    """Add the command of one experiment."""

    def experiment(
        quick: Annotated[
            bool, flag("--quick", help="Run a small version that shows how it works.")
        ] = False,
        out: Annotated[
            Path | None,
            typer.Option(
                help="The folder to write.", show_default="results/NAME", metavar="FOLDER"
            ),
        ] = None,
        data: TablesFolder = None,
        processes: Processes = None,
        backend: Backend = "local",
        address: Address = None,
        rewrite: Annotated[
            bool,
            flag("--rewrite", help="Write only text and figures again, from existing results."),
        ] = False,
    ) -> None:
        from tabnas.paper import rewrite_experiment, run_experiment

        folder = out or Path("results") / name
        if rewrite:
            rewrite_experiment(name, folder, data=data)
            typer.echo(f"Written to {folder}: README.md, summary.json and figures")
            return
        job_config = make_job_config(processes, backend, address)
        console = make_console(stderr=True)
        from rich.markdown import Markdown  # slow to import

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
        text = "\n".join(line for line in lines if not line.startswith("!["))  # without figures
        make_console().print(Markdown(text))
        typer.echo(f"Written to {folder}: README.md, summary.json, rows.parquet and figures")

    experiment.__doc__ = (
        f"{title}.\n\nTakes {duration} on two cores. After an interruption, the same command "
        f"continues.\n{EXAMPLES_LINE}\n"
        f"# a quick version\ntabnas paper {name} --quick --out /tmp/{name}\n\n"
        f"# the full version, with four jobs in parallel or on a cluster\n"
        f"tabnas paper {name} --processes 4\n"
        f"tabnas paper {name} --backend ray --address HOST:6379"
    )
    add_command(app, experiment, name=name)


def _add_experiments() -> None:
    """Add a command for each definition file; experiments are imported when they run."""
    for folder in sorted(files("tabnas").joinpath("paper/experiments").iterdir(), key=str):
        file = folder.joinpath("definition.toml")
        if file.is_file():
            definition = tomllib.loads(file.read_text())
            _add_experiment(folder.name, definition["title"], definition["duration"])


_add_experiments()


def ground_truth(
    name: Annotated[
        str, typer.Argument(help="The table: adult, california, connect4, ...", metavar="TABLE")
    ],
    data: TablesFolder = None,
    out: Annotated[Path, typer.Option(help="The folder to write.", metavar="FOLDER")] = Path(
        "results/ground_truth"
    ),
    max_trainings: Annotated[
        int | None,
        typer.Option(
            help="Maximum number of trainings.",
            show_default="all",
            metavar="N",
            parser=at_least(1, parse_int),
        ),
    ] = None,
    processes: Processes = None,
    backend: Backend = "local",
    address: Address = None,
) -> None:
    """Train every architecture for a table stand-alone, with several seeds.

    The result is the ground truth that searches are compared with. Takes a quarter of an hour to
    an hour on one core. After an interruption the same command continues, also with more processes
    or on a cluster.

    For example:

    # two trainings in parallel
    tabnas paper ground-truth adult --processes 2
    """
    from tabnas.paper import GroundTruthBuilder

    job_config = make_job_config(processes, backend, address)
    console = make_console(stderr=True)
    builder = GroundTruthBuilder(name, data=data, out=out, max_trainings=max_trainings)
    with console.status(f"{name}: reading the table") as status:
        builder.build(
            lambda done, total: status.update(f"{name}: {done:,} of {total:,} trainings done"),
            job_config=job_config,
        )
    typer.echo(f"Written: {builder.file}")


def claims(
    results: Annotated[
        Path, typer.Option(help="The folder of results to read and write.", metavar="FOLDER")
    ] = Path("results"),
) -> None:
    """Write a table of all claims of the paper with our numbers, from the results.

    For example:

    # write results/README.md
    tabnas paper claims --results results
    """
    from tabnas.paper import render_claims

    page = render_claims(results)
    atomic_write(results / "README.md", page)
    typer.echo(f"Written: {results / 'README.md'}")


add_command(app, ground_truth, name="ground-truth")
add_command(app, claims)
