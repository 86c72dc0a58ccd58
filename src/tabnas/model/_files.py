"""A model as a folder of two files: `model.json` and `weights.safetensors`. No pickle anywhere.

Equal models give equal bytes. What is read is checked before memory is taken for it, and both
files carry a digest, so that a damaged model is refused and never answers differently.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any
from uuid import uuid4

from tabnas.data import TableEncoder, target_from_dict
from tabnas.errors import InfeasibleError, TabNASError
from tabnas.files import read_file
from tabnas.model._document import digest, parse_document, render_document
from tabnas.model._model import Model
from tabnas.model._shapes import Shapes, weight_shapes
from tabnas.model._task import Float32Array, network_task
from tabnas.model._weights import MAX_HEADER, pack_weights, unpack_weights
from tabnas.space import Architecture

DOCUMENT = "model.json"
WEIGHTS = "weights.safetensors"
MAX_DOCUMENT = 256 << 20  # bytes; vocabularies of millions of categories fit in
MALFORMED = (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError)
"""What rooms that read plain data may raise on values of the wrong kind."""


# -- writing -------------------------------------------------------------------------------------


def save_model(model: Model, folder: str | Path, *, overwrite: bool = False) -> None:
    """Write the model to `folder`: a new one, an empty one or, with `overwrite`, another model.

    The folder appears whole or not at all. Replacing takes two renames; a crash between them
    leaves the old model beside it, in a hidden folder.
    """
    try:
        final = Path(folder).resolve()
        _refuse_to_replace(final, overwrite=overwrite)
        weights = pack_weights(model.weights)
        document = render_document(_content(model, digest(weights)))
        if len(document) > MAX_DOCUMENT:
            raise TabNASError(
                f"{DOCUMENT} must be at most {MAX_DOCUMENT:,} bytes, but it would have "
                f"{len(document):,}; allow the columns fewer categories"
            )
        final.parent.mkdir(parents=True, exist_ok=True)
        _write(final, {DOCUMENT: document, WEIGHTS: weights})
    except OSError as error:
        raise TabNASError(f"the model cannot be written to {str(folder)!r}: {error}") from None


def _content(model: Model, weights_digest: str) -> dict[str, Any]:
    return {
        "architecture": str(model.architecture),
        "dimensions": list(model.dimensions),
        "limits": dict(model.limits),
        "encoder": model.encoder.to_dict(),
        "target": model.target.to_dict(),
        "weights": {
            "sha256": weights_digest,
            "shapes": {name: list(array.shape) for name, array in model.weights.items()},
        },
    }


def _refuse_to_replace(final: Path, *, overwrite: bool) -> None:
    if not final.exists():
        return
    found = {path.name for path in final.iterdir()} if final.is_dir() else {""}
    if found and found != {DOCUMENT, WEIGHTS}:
        raise TabNASError(
            f"a model is written to a folder of its own, but {str(final)!r} holds something "
            "else; choose another"
        )
    if found and not overwrite:
        raise TabNASError(
            f"{str(final)!r} holds a model already; choose another folder or say overwrite=True"
        )


def _write(final: Path, files: Mapping[str, bytes]) -> None:
    """Fill a hidden folder beside the final one, then rename it."""
    fresh, old = (final.parent / f".{final.name}.{uuid4().hex}.{end}" for end in ("new", "old"))
    try:
        fresh.mkdir()
        for name, content in files.items():
            with (fresh / name).open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        _sync(fresh)
        if final.exists():
            final.rename(old)
        try:
            fresh.rename(final)
        except OSError:
            if old.exists():
                old.rename(final)
            raise
        _sync(final.parent)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    shutil.rmtree(old, ignore_errors=True)


def _sync(folder: Path) -> None:
    """Make names durable, where folders can be opened (they cannot on Windows)."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# -- reading -------------------------------------------------------------------------------------


def load_model(folder: str | Path) -> Model:
    """Read what `save_model` wrote; files from anywhere may be given, none can do harm."""
    root = Path(folder)
    content = parse_document(read_file(root, DOCUMENT, "model", max_size=MAX_DOCUMENT), DOCUMENT)
    with _named("architecture"):
        architecture = Architecture.parse(_expect(content["architecture"], str))
    with _named("encoder"):
        encoder = TableEncoder.from_dict(_expect(content["encoder"], dict))
    with _named("target"):
        target = target_from_dict(_expect(content["target"], dict))
    with _named("dimensions"):
        dimensions = tuple(_expect(content["dimensions"], list))
        shapes = weight_shapes(network_task(encoder, target, dimensions), architecture)
    with _named("limits"):
        limits = _expect(content["limits"], dict)
    with _named("weights"):
        weights = _read_weights(root, _expect(content["weights"], dict), shapes)
    with _named("content"):
        return Model(
            encoder=encoder,
            target=target,
            architecture=architecture,
            dimensions=dimensions,
            weights=weights,
            limits=limits,
        )


def _read_weights(root: Path, said: dict[str, Any], shapes: Shapes) -> dict[str, Float32Array]:
    if said.keys() != {"sha256", "shapes"}:
        raise TabNASError(f"it must have a digest and shapes, but it has {', '.join(said)}")
    if said["shapes"] != {name: list(shape) for name, shape in shapes.items()}:
        raise TabNASError(
            "the shapes must be those of the architecture, the encoder and the target, but "
            "others are listed"
        )
    size = sum(4 * prod(shape) for shape in shapes.values())
    data = read_file(root, WEIGHTS, "model", min_size=size, max_size=size + MAX_HEADER)
    if digest(data) != said["sha256"]:
        raise TabNASError(
            f"{WEIGHTS} must be the file that was saved, but its digest is another; it is "
            "damaged or belongs to another model"
        )
    return unpack_weights(data, shapes, WEIGHTS)


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Say in which part of the document a problem lies, whatever form it takes."""
    try:
        yield
    except MALFORMED as error:
        kind = InfeasibleError if isinstance(error, InfeasibleError) else TabNASError
        problem = error if isinstance(error, TabNASError) else f"it is malformed ({error!r})"
        raise kind(f"{DOCUMENT}, {name}: {problem}") from None


def _expect(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise TabNASError(f"it must be of type {kind.__name__}, got {type(value).__name__}")
    return value
