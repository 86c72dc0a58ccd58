"""Encode files as a store: read the first rows, fit the encoder in one pass, encode in another."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa

from tabnas.data.lowlevel import describe_labels
from tabnas.errors import TabNASError
from tabnas.files import is_temporary
from tabnas.locks import LOCK_NAME as LOCK
from tabnas.locks import FolderLock
from tabnas.stores._checkpoint import (
    DATA,
    FIRST_PASS,
    FirstPassState,
    load_first_pass,
    remove_first_pass,
)
from tabnas.stores._first_pass import EncodingContext, summarize_pieces
from tabnas.stores._first_rows import read_first_rows
from tabnas.stores._fit import fit_encoder
from tabnas.stores._layout import find_layout
from tabnas.stores._pieces import TEMPORARY_NAME, piece_name, read_piece, write_piece
from tabnas.stores._plan import PLAN, Plan, write_or_check_plan
from tabnas.stores._progress import Meter, ProgressCallback
from tabnas.stores._settings import StoreSettings
from tabnas.stores._sources import find_sources
from tabnas.stores._split import cap_held_out_shares
from tabnas.stores._store import (
    PIECES,
    STORE_DOCUMENT,
    Store,
    content_digest,
    is_complete,
    open_store,
    save_store,
)
from tabnas.stores._summary import Summary
from tabnas.stores._text_copies import (
    copy_text_sources,
    remove_copies,
    remove_incomplete_copies,
)

LIBRARIES = ("tabnas", "numpy", "pyarrow")


def encode_store(
    paths: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    target: str,
    validation: Sequence[str | Path] = (),
    test: Sequence[str | Path] = (),
    on_progress: ProgressCallback = lambda progress: None,
    **settings: Any,
) -> Store:
    """Encode tables of any size once, in bounded memory, to a folder of arrays.

    After an interruption, the same call resumes the work. Text files are first copied to Arrow's
    format in the folder; a file whose copy is not complete is read from its start again.

    Parameters
    ----------
    paths : path or sequence of paths
        Files of one format and the same columns: CSV, TSV or Criteo's, each also gzipped, Parquet
        or Feather.
    out : path
        The folder of the store: new, or that of the same call, interrupted.
    target : str
        The column to predict. Rows without it are left out.
    validation, test : sequences of paths
        Files with the rows for validation and test, instead of shares of the table.
    on_progress : callable
        Called with an `EncodingProgress` after every chunk of rows.
    **settings
        Everything else that `StoreSettings` has: `task`, `shares`, `kinds`, `drop`, `scaling`,
        `min_count`, `max_categories`, `buckets`, `decimal`, `seed`, `memory`.
    """
    store_settings = StoreSettings(target=target, **settings)
    paths = [paths] if isinstance(paths, str | Path) else paths
    sources = find_sources(*(tuple(map(Path, files)) for files in (paths, validation, test)))
    with _folder(Path(out)) as folder:
        first_rows = read_first_rows(
            sources, 2 * store_settings.memory_plan.chunk, store_settings.decimal
        )
        context = EncodingContext(
            sources=sources,
            layout=find_layout(first_rows, store_settings),
            settings=store_settings,
            shares=cap_held_out_shares(
                store_settings.shares,
                first_rows.estimated_rows,
                own_validation=bool(validation),
                own_test=bool(test),
            ),
        )
        del first_rows
        plan = _make_plan(context)
        write_or_check_plan(folder, plan)
        if not is_complete(folder):
            _encode(context, plan, folder, on_progress)
        return open_store(folder)


def _encode(context: EncodingContext, plan: Plan, out: Path, on_progress: ProgressCallback) -> None:
    """Do what is left to do of a store."""
    _sweep(out)
    known = load_first_pass(out)
    folders = [out / PIECES / piece_name(number) for number in range(len(known.pieces))]
    total = sum(source.size for source in context.sources)
    meter = Meter("reading", total, on_progress)
    if not known.complete or not all(folder.exists() for folder in folders):
        context = _copy_text(context, out, meter)
    seconds = {"reading": round(meter.seconds, 3)}
    first_pass = _run_first_pass(context, known, out, Meter("fitting", total, on_progress))
    assert first_pass.summary is not None
    encoder, target = fit_encoder(context.layout, first_pass.summary, context.settings)
    meter = Meter("encoding", total, on_progress)
    (out / PIECES).mkdir(exist_ok=True)
    written = []
    encoding_seconds = 0.0
    for number, piece in enumerate(first_pass.pieces):
        folder = out / PIECES / piece_name(number)
        if folder.exists():
            meter.skip(piece.rows, piece.bytes)
        else:
            context.sources[piece.source].check_unchanged()
            write_piece(context, encoder, target, piece, folder, meter.add)
        written_piece, piece_seconds = read_piece(folder, piece)
        written.append(written_piece)
        encoding_seconds += piece_seconds
    seconds["fitting"] = round(first_pass.seconds, 3)
    seconds["encoding"] = round(encoding_seconds, 3)
    remove_copies(out)
    save_store(
        Store(
            path=out,
            encoder=encoder,
            target=target,
            settings=asdict(plan.settings),
            shares=context.shares,
            sources=plan.sources,
            metadata=_make_metadata(first_pass.summary)
            | {"seconds": seconds, "notes": [*context.layout.notes, *describe_labels(target)]},
            digest=content_digest(encoder, target, written),
            pieces=tuple(written),
        )
    )
    remove_first_pass(out)


def _copy_text(context: EncodingContext, out: Path, meter: Meter) -> EncodingContext:
    """Copy text files to Arrow's format; others are read as they are."""
    columns = context.layout.text_columns
    if columns is None:
        return context
    chunk = context.settings.memory_plan.chunk
    return replace(context, sources=copy_text_sources(context.sources, columns, chunk, out, meter))


def _run_first_pass(
    context: EncodingContext, known: FirstPassState, out: Path, meter: Meter
) -> FirstPassState:
    """Run the first pass, or the rest of it."""
    for piece in known.pieces:
        meter.skip(piece.rows, piece.bytes)
    if known.complete:
        return known
    before, pieces, summary = known.seconds, known.pieces, known.summary
    for more, summary_of_more in summarize_pieces(context, pieces, meter.add):
        for piece in more:
            context.sources[piece.source].check_unchanged()
        pieces = (*pieces, *more)
        summary = summary_of_more if summary is None else summary.merge(summary_of_more)
        FirstPassState(pieces=pieces, summary=summary, seconds=before + meter.seconds).save(out)
        pa.default_memory_pool().release_unused()  # merging is over for a while
    if summary is None:
        raise TabNASError("the files must have rows, but they have none")
    first_pass = FirstPassState(
        pieces=pieces, summary=summary, seconds=before + meter.seconds, complete=True
    )
    first_pass.save(out)
    return first_pass


def _make_metadata(summary: Summary) -> dict[str, Any]:
    """Return what the user should know about the encoding."""
    counted = {n: c.counts for n, c in summary.columns.items() if c.counts is not None}
    return {
        "rows_read": summary.rows,
        "rows_sampled": len(summary.sample.rows),
        "max_miscounts": {n: counts.bound for n, counts in counted.items() if not counts.is_exact},
        "versions": {name: version(name) for name in LIBRARIES},
    }


def _make_plan(context: EncodingContext) -> Plan:
    return Plan(
        settings=context.settings,
        sources=tuple(source.record for source in context.sources),
        layout=context.layout.to_dict(),
        shares=context.shares,
    )


@contextmanager
def _folder(out: Path) -> Iterator[Path]:
    """Lock the folder; remove it again if the work fails before there is a plan."""
    if out.exists() and not out.is_dir():
        raise TabNASError(f"a store must be a folder, but {str(out)!r} is a file")
    is_new = not out.exists()
    if not is_new and not (out / PLAN).exists() and any(map(_is_foreign, out.iterdir())):
        raise TabNASError(
            f"{str(out)!r} must be new, empty or a store, but it holds something else; name "
            "another folder"
        )
    try:
        out.mkdir(parents=True, exist_ok=True)
        lock = FolderLock(out)
        try:
            yield out
        finally:
            if is_new and not (out / PLAN).exists():
                lock.discard()
            else:
                lock.release()
    except OSError as error:  # read errors have been translated already
        raise TabNASError(
            f"the store {str(out)!r} cannot be written ({error.strerror or error}); make room, or "
            "name another folder"
        ) from None


def _is_foreign(path: Path) -> bool:
    return path.name != LOCK and not is_temporary(path, PLAN)


def _sweep(out: Path) -> None:
    """Remove temporary files that a killed process has left."""
    for path in out.iterdir():
        if is_temporary(path, PLAN, FIRST_PASS, DATA, STORE_DOCUMENT):
            path.unlink()
    remove_incomplete_copies(out)
    for path in out.glob(f"{PIECES}/.*"):
        if TEMPORARY_NAME.fullmatch(path.name):
            shutil.rmtree(path)
