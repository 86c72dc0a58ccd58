"""From files to a store: a look at the first rows, a pass to learn, a pass to encode."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa

from tabnas.data.reading import label_note
from tabnas.errors import TabNASError
from tabnas.files import is_temporary
from tabnas.locks import LOCK_NAME as LOCK
from tabnas.locks import FolderLock
from tabnas.stores._checkpoint import DATA, Learned, load_learned, remove_learned
from tabnas.stores._checkpoint import NAME as LEARNED
from tabnas.stores._fitting import fit
from tabnas.stores._head import read_head
from tabnas.stores._layout import find_layout
from tabnas.stores._learning import Work, learn
from tabnas.stores._opening import NAME, close_store, open_store
from tabnas.stores._plan import PLAN, agree
from tabnas.stores._progress import Meter, ProgressObserver
from tabnas.stores._settings import StoreSettings
from tabnas.stores._sources import find_sources
from tabnas.stores._splitting import effective_shares
from tabnas.stores._store import PIECES, Store, content_digest
from tabnas.stores._summary import Summary
from tabnas.stores._writing import ASIDE, piece_name, read_piece, write_piece

LIBRARIES = ("tabnas", "numpy", "pyarrow")


def encode_store(
    paths: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    target: str,
    validation: Sequence[str | Path] = (),
    test: Sequence[str | Path] = (),
    observe: ProgressObserver = lambda progress: None,
    **settings: Any,
) -> Store:
    """Encode tables of any size once, in bounded memory, to a folder of arrays.

    Called once more after it was interrupted, with the same arguments, it goes on where it was; in
    a gzipped file, at its beginning.

    Parameters
    ----------
    paths : path or sequence of paths
        Files of one format and the same columns: CSV, TSV or Criteo's, each also gzipped, Parquet
        or Feather.
    out : path
        The folder of the store, new or begun by the same call.
    target : str
        The column to predict. Rows without it are left out.
    validation, test : sequences of paths
        A user's own rows to choose by and to judge by, instead of shares of the table.
    observe : callable
        Is told how far it is.
    **settings
        Everything else that `StoreSettings` has: `task`, `shares`, `kinds`, `drop`, `scaling`,
        `min_count`, `max_categories`, `buckets`, `decimal`, `seed`, `memory`.
    """
    asked = StoreSettings(target=target, **settings)
    given = [paths] if isinstance(paths, str | Path) else paths
    sources = find_sources(*(tuple(map(Path, files)) for files in (given, validation, test)))
    with _folder(Path(out)) as folder:
        head = read_head(sources, 2 * asked.sizes.chunk, asked.decimal)
        work = Work(
            sources=sources,
            layout=find_layout(head, asked),
            settings=asked,
            shares=effective_shares(
                asked.shares, head.rows, own_validation=bool(validation), own_test=bool(test)
            ),
        )
        del head
        plan = _plan(work)
        agree(folder, plan)
        if not (folder / NAME).exists():
            _carry_out(work, plan, folder, observe)
        return open_store(folder)


def _carry_out(work: Work, plan: Mapping[str, Any], out: Path, observe: ProgressObserver) -> None:
    _sweep(out)
    whole = sum(source.size for source in work.sources)
    learned = _learn(work, out, Meter("learning", whole, observe))
    assert learned.summary is not None
    encoder, target = fit(work.layout, learned.summary, work.settings)
    meter = Meter("encoding", whole, observe)
    (out / PIECES).mkdir(exist_ok=True)
    written = []
    for number, piece in enumerate(learned.pieces):
        folder = out / PIECES / piece_name(number)
        if folder.exists():
            meter.skip(piece.rows, piece.bytes)
        else:
            work.sources[piece.source].refuse_changed()
            write_piece(work, encoder, target, piece, folder, meter.add)
        written.append(read_piece(folder, piece))
    seconds = {
        "learning": round(learned.seconds, 3),
        "encoding": round(sum(piece.pop("seconds") for piece in written), 3),
    }
    close_store(
        Store(
            path=out,
            encoder=encoder,
            target=target,
            settings=plan["settings"],
            shares=work.shares,
            sources=plan["sources"],
            facts=_facts(learned.summary)
            | {"seconds": seconds, "notes": [*work.layout.notes, *label_note(target)]},
            digest=content_digest(encoder, target, written),
            pieces=tuple(written),
        )
    )
    remove_learned(out)


def _learn(work: Work, out: Path, meter: Meter) -> Learned:
    """The first pass, or the rest of it."""
    known = load_learned(out)
    for piece in known.pieces:
        meter.skip(piece.rows, piece.bytes)
    if known.complete:
        return known
    before, pieces, summary = known.seconds, known.pieces, known.summary
    for more, found in learn(work, pieces, meter.add):
        for piece in more:
            work.sources[piece.source].refuse_changed()
        pieces = (*pieces, *more)
        summary = found if summary is None else summary.merged(found)
        Learned(pieces=pieces, summary=summary, seconds=before + meter.seconds).save(out)
        pa.default_memory_pool().release_unused()  # what merging took is not needed for a while
    if summary is None:
        raise TabNASError("the files must have rows, but they have none")
    learned = Learned(pieces=pieces, summary=summary, seconds=before + meter.seconds, complete=True)
    learned.save(out)
    return learned


def _facts(summary: Summary) -> dict[str, Any]:
    """How it was made, for people."""
    counted = {n: one.counts for n, one in summary.columns.items() if one.counts is not None}
    return {
        "rows_read": summary.rows,
        "rows_sampled": len(summary.sample.rows),
        "most_miscounted": {n: counts.bound for n, counts in counted.items() if not counts.exact},
        "versions": {name: version(name) for name in LIBRARIES},
    }


def _plan(work: Work) -> dict[str, Any]:
    """All that a store follows from, as JSON has it."""
    plan = {
        "settings": work.settings.to_dict(),
        "sources": [source.to_dict() for source in work.sources],
        "layout": work.layout.to_dict(),
        "shares": list(work.shares),
    }
    return dict(json.loads(json.dumps(plan)))


@contextmanager
def _folder(out: Path) -> Iterator[Path]:
    """The folder, this process's alone; what ends before a plan leaves nothing behind."""
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
    except OSError as error:  # whatever is read says itself what is wrong with it
        raise TabNASError(
            f"the store {str(out)!r} cannot be written ({error.strerror or error}); make room, or "
            "name another folder"
        ) from None


def _is_foreign(path: Path) -> bool:
    return path.name != LOCK and not is_temporary(path, PLAN)


def _sweep(out: Path) -> None:
    """Remove what a process that was killed has left aside."""
    for path in out.iterdir():
        if is_temporary(path, PLAN, LEARNED, DATA, NAME):
            path.unlink()
    for path in out.glob(f"{PIECES}/.*"):
        if ASIDE.fullmatch(path.name):
            shutil.rmtree(path)
