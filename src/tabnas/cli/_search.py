"""`tabnas search`: from a table and a limit to a model."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Annotated

import typer

from tabnas.cli import _options as options
from tabnas.cli._asking import Question, asked
from tabnas.cli._numbers import at_least, seconds, whole
from tabnas.cli._options import WORK
from tabnas.cli._ranks import launched, together
from tabnas.cli._text import terminal
from tabnas.cli._values import given_limits, known_engine
from tabnas.errors import TabNASError


@asked
def search(
    question: Question,
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The folder to write, new or empty.", show_default="runs/NAME", metavar="FOLDER"
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            help="The same seed gives the same result, without --time and limits on latency.",
            metavar="N",
            parser=at_least(0, whole),
        ),
    ] = 0,
    time: Annotated[
        float | None,
        typer.Option(
            help="About how many seconds to take, 5m for minutes; more gives longer trainings, "
            "then more candidates, one for each 100 rows at most, unless --candidates says how "
            "many; less gives smaller networks. Comparing with boosted trees may take longer on "
            "large tables.",
            show_default="what pays",
            metavar="N",
            parser=seconds,
            rich_help_panel=WORK,
        ),
    ] = None,
    candidates: Annotated[
        int | None,
        typer.Option(
            help="How many of the best architectures to train alone and choose from.",
            show_default="3, and up to 3 simpler ones on small tables",
            metavar="N",
            parser=whole,
            rich_help_panel=WORK,
        ),
    ] = None,
    workers: options.Workers = None,
    engine: options.EngineName = "compiled",
    tensorboard: Annotated[
        bool,
        typer.Option(
            "--tensorboard",
            help="Also write events for TensorBoard, to the folder tensorboard of the run.",
            rich_help_panel=WORK,
        ),
    ] = False,
) -> None:
    r"""Find the best network for a table within a hard limit, and train it.

    Name the table, the column to predict and at least one limit; everything else is settled by
    itself. The folder of the run then holds report.html (begin there), the model (for `tabnas
    predict`, `tabnas evaluate` and `tabnas export`), the scores on test rows that nothing was
    chosen by (result.json), and all that was asked (config.toml).

    For example:

    # at most 20,000 trained numbers, everything else by itself
    tabnas search train.csv --target income --max-parameters 20000

    # only see what would be done, with a dataset that comes with scikit-learn
    tabnas search digits --max-parameters 5000 --dry-run

    # two limits, five minutes, the latest rows as the test
    tabnas search sales.parquet --target sold --max-flops 60k --max-bytes 80kB \
      --time 5m --time-column day --out runs/sales

    # at most 200 microseconds from a row's columns to its answer, here
    tabnas search train.csv --target income --max-latency-us 200

    # one search in several processes; each reads the table itself
    torchrun --nproc-per-node 4 -m tabnas search train.csv --target income \
      --max-parameters 20000 --engine torch
    """
    from tabnas.cli._progress import showing
    from tabnas.cli._running import Manner, carry_out, take_part
    from tabnas.cli._summary import facts_of_plan, show_plan
    from tabnas.cli._tables import default_folder
    from tabnas.runs import RunFolder, refuse_without_tensorboard

    rank, processes = launched()
    if tensorboard and not rank:
        refuse_without_tensorboard()
    if processes > 1 and known_engine(engine) != "torch":
        raise TabNASError(
            f"a search in several processes must have the engine torch, got {engine}; "
            "add --engine torch"
        )
    settings, source = question.settled(
        given_limits(**question.every_limit()),
        time=time,
        candidates=candidates,
        seed=seed,
        workers=workers or processes,
        engine=known_engine(engine),
    )
    quiet, as_json = question.quiet, question.as_json
    if quiet:
        warnings.simplefilter("ignore")  # until the command ends
    if question.dry_run and rank:
        return
    if question.dry_run:
        with showing(terminal(stderr=True), quiet=quiet or as_json, cost="") as tell:
            facts = facts_of_plan(source.planned(settings, observe=tell))
        if as_json:
            typer.echo(json.dumps(facts, indent=2))
        else:
            show_plan(terminal(), facts)
        return
    with together() as ranks:
        if not ranks.is_first:
            take_part(ranks.broadcast(None)[0], source, settings, ranks)
            return
        with RunFolder(out or default_folder(question.data)) as folder:
            ranks.broadcast(folder.name)
            manner = Manner(every=question.checkpoint_seconds, quiet=quiet, as_json=as_json)
            carry_out(folder, source, settings, manner, tensorboard=tensorboard, ranks=ranks)
