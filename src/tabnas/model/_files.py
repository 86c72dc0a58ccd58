"""A model as a folder of two files: `model.json` and `weights.safetensors`; no pickle.

Equal models give equal bytes. Sizes and shapes are checked before memory is allocated, and both
files have a digest, so that a damaged model raises an error and never predicts something else.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from tabnas.data import TableEncoder, target_from_dict
from tabnas.errors import InfeasibleError, TabNASError
from tabnas.files import read_file, sync_folder
from tabnas.model._document import WeightsEntry, digest, parse_document, render_document
from tabnas.model._model import Model
from tabnas.model._network_spec import make_network_spec
from tabnas.model._weights import Shapes, weight_shapes
from tabnas.model._weights_file import (
    MAX_HEADER,
    from_arrays,
    pack_weights,
    stored_arrays,
    to_arrays,
    unpack_weights,
)
from tabnas.space import Architecture, Precision
from tabnas.types import Float32Array

DOCUMENT = "model.json"
WEIGHTS = "weights.safetensors"
MAX_DOCUMENT = 256 << 20  # bytes; enough for vocabularies of millions of categories
MALFORMED = (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError)
"""What constructors may raise on values of the wrong type."""


# -- writing -------------------------------------------------------------------------------------


def save_model(model: Model, folder: str | Path, *, overwrite: bool = False) -> None:
    """Write the model to a new or empty folder, or with `overwrite` in place of another model.

    The folder is complete as soon as it appears. Replacing takes two renames; a crash between them
    leaves the old model in a hidden folder beside it.
    """
    try:
        final = Path(folder).resolve()
        _check_replaceable(final, overwrite=overwrite)
        weights = pack_weights(to_arrays(model.weights, model.precision))
        document = render_document(_content(model, digest(weights)))
        if len(document) > MAX_DOCUMENT:
            raise TabNASError(
                f"{DOCUMENT} must be at most {MAX_DOCUMENT:,} bytes, but it would have "
                f"{len(document):,}; allow the columns fewer categories"
            )
        final.parent.mkdir(parents=True, exist_ok=True)
        _write_folder(final, {DOCUMENT: document, WEIGHTS: weights})
    except OSError as error:
        raise TabNASError(f"the model cannot be written to {str(folder)!r}: {error}") from None


def _content(model: Model, weights_digest: str) -> dict[str, Any]:
    return {
        "architecture": str(model.architecture),
        "dimensions": list(model.category_dimensions),
        "knots": [list(knots) for knots in model.knots],
        "precision": str(model.precision),
        "limits": dict(model.limits),
        "encoder": model.encoder.to_dict(),
        "target": model.target.to_dict(),
        "weights": {
            "sha256": weights_digest,
            "shapes": {name: list(array.shape) for name, array in model.weights.items()},
        },
    }


def _check_replaceable(final: Path, *, overwrite: bool) -> None:
    if not final.exists():
        return
    names = {path.name for path in final.iterdir()} if final.is_dir() else {""}
    if names and names != {DOCUMENT, WEIGHTS}:
        raise TabNASError(
            f"a model must have a folder to itself, but {str(final)!r} holds something else; "
            "choose another"
        )
    if names and not overwrite:
        raise TabNASError(
            f"{str(final)!r} holds a model already; choose another folder or set overwrite=True"
        )


def _write_folder(final: Path, files: Mapping[str, bytes]) -> None:
    """Write the files to a hidden folder beside the final one, then rename it."""
    fresh, old = (final.parent / f".{final.name}.{uuid4().hex}.{end}" for end in ("new", "old"))
    try:
        fresh.mkdir()
        for name, content in files.items():
            with (fresh / name).open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        sync_folder(fresh)
        if final.exists():
            final.rename(old)
        try:
            fresh.rename(final)
        except OSError:
            if old.exists():
                old.rename(final)
            raise
        sync_folder(final.parent)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    shutil.rmtree(old, ignore_errors=True)


# -- reading -------------------------------------------------------------------------------------


def load_model(folder: str | Path) -> Model:
    """Read a model that `save_model` wrote. Files of unknown origin are safe to load."""
    root = Path(folder)
    document = parse_document(read_file(root, DOCUMENT, "model", max_size=MAX_DOCUMENT), DOCUMENT)
    with _naming("architecture"):
        architecture = Architecture.parse(document.architecture)
    with _naming("encoder"):
        encoder = TableEncoder.from_dict(document.encoder)
    with _naming("target"):
        target = target_from_dict(document.target)
    with _naming("dimensions and knots"):
        if document.knots and not architecture.dimension:
            raise TabNASError(
                f"there must be no knots, since the architecture {architecture} embeds no numbers"
            )
        spec = make_network_spec(encoder, target, document.dimensions, document.knots)
        shapes = weight_shapes(spec, architecture)
    with _naming("weights"):
        weights = _read_weights(root, document.weights, shapes, document.precision)
    with _naming("content"):
        return Model(
            encoder=encoder,
            target=target,
            architecture=architecture,
            category_dimensions=document.dimensions,
            knots=document.knots,
            precision=document.precision,
            weights=weights,
            limits=document.limits,
        )


def _read_weights(
    root: Path, entry: WeightsEntry, shapes: Shapes, precision: Precision
) -> dict[str, Float32Array]:
    if entry.shapes != shapes:
        raise TabNASError(
            "the shapes must be those of the architecture, the encoder and the target, but "
            "others are listed"
        )
    arrays = stored_arrays(shapes, precision)
    size = sum(array.size for array in arrays.values())
    data = read_file(root, WEIGHTS, "model", min_size=size, max_size=size + MAX_HEADER)
    if digest(data) != entry.sha256:
        raise TabNASError(
            f"{WEIGHTS} does not match its digest: it is damaged or belongs to another model"
        )
    return from_arrays(unpack_weights(data, arrays, WEIGHTS))


@contextmanager
def _naming(field: str) -> Iterator[None]:
    """Add the field of the document to any error that is raised inside."""
    try:
        yield
    except MALFORMED as error:
        kind = InfeasibleError if isinstance(error, InfeasibleError) else TabNASError
        problem = error if isinstance(error, TabNASError) else f"it is malformed ({error!r})"
        raise kind(f"{DOCUMENT}, {field}: {problem}") from None
