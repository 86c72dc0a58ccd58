"""From a folder to a store: what is incomplete, damaged or cut short is refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tabnas.data import TableEncoder, target_from_dict
from tabnas.errors import TabNASError
from tabnas.stores._document import counts, damaged, read_document, write_document
from tabnas.stores._plan import PLAN, planned_command
from tabnas.stores._splitting import PARTS
from tabnas.stores._store import PIECES, Store, content_digest
from tabnas.stores._writing import ARRAYS, file_name, piece_name

NAME = "store.json"
FIELDS = ("digest", "encoder", "facts", "pieces", "settings", "shares", "sources", "target")


def open_store(path: str | Path) -> Store:
    """The store in a folder, for reading. The sizes of its files are checked, not their content."""
    path = Path(path)
    if not (path / NAME).exists():
        if not (path / PLAN).exists():
            raise TabNASError(
                f"there is no store in the folder {str(path)!r}; name a file, or make a store with "
                "tabnas encode"
            )
        raise TabNASError(
            f"the store {str(path)!r} must be complete, but its encoding has not come to an "
            f"end; go on with: {planned_command(path)}"
        )
    # as a whole path, since other processes may have other working folders
    store = _checked(path.absolute(), read_document(path, NAME, FIELDS))
    for number, piece in enumerate(store.pieces):
        folder = path / PIECES / piece_name(number)
        for name, size in _sizes(store, piece):
            found = folder / name
            linked = any(one.is_symlink() for one in (found, folder, folder.parent))
            if linked or not found.is_file() or found.stat().st_size != size:
                raise TabNASError(
                    f"{PIECES}/{folder.name}/{name} must be a file of {size:,} bytes, but it "
                    "is not; the store is damaged, encode the table again to another folder"
                )
    return store


def close_store(store: Store) -> None:
    """Write what makes a folder of arrays a store, last of all."""
    content = {
        "digest": store.digest,
        "encoder": store.encoder.to_dict(),
        "facts": dict(store.facts),
        "pieces": [dict(piece) for piece in store.pieces],
        "settings": dict(store.settings),
        "shares": list(store.shares),
        "sources": [dict(source) for source in store.sources],
        "target": store.target.to_dict(),
    }
    write_document(store.path, NAME, content)


def _checked(path: Path, said: Mapping[str, Any]) -> Store:
    encoder = TableEncoder.from_dict(said["encoder"])
    target = target_from_dict(said["target"])
    try:
        pieces = tuple(_piece(piece) for piece in said["pieces"])
        validation, test = map(float, said["shares"])
        digest = content_digest(encoder, target, pieces)
        sound = isinstance(said["sources"], list) and digest == said["digest"]
        tables = all(isinstance(said[name], dict) for name in ("settings", "facts"))
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        if isinstance(error, TabNASError):
            raise
        raise damaged(NAME) from None
    if not (sound and tables):
        raise damaged(NAME)
    return Store(
        path=path,
        encoder=encoder,
        target=target,
        settings=said["settings"],
        shares=(validation, test),
        sources=said["sources"],
        facts=said["facts"],
        digest=digest,
        pieces=pieces,
    )


def _piece(said: Mapping[str, Any]) -> dict[str, Any]:
    """The rows and files of a piece, all of them and no others."""
    files = {
        file_name(part, array): said["files"][file_name(part, array)]
        for part in PARTS
        for array in ARRAYS
    }
    kept = {}
    for name, file in files.items():
        (size,) = counts(NAME, [file["size"]], 1)
        kept[name] = {"size": size, "sha256": str(file["sha256"])}
    return {"rows": counts(NAME, said["rows"], len(PARTS)), "files": kept}


def _sizes(store: Store, piece: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Each file of a piece and the bytes that its rows take."""
    for part, rows in zip(PARTS, piece["rows"], strict=True):
        for array, (kind, width) in zip(ARRAYS, store.shapes, strict=True):
            yield file_name(part, array), rows * width * kind.itemsize
