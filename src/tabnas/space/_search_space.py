"""The search space: candidate widths for each hidden layer (`s_ij` of the paper)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from tabnas.errors import TabNASError, check_int
from tabnas.space._architecture import Architecture
from tabnas.space._numeric_embeddings import NumericEmbeddings
from tabnas.types import BoolArray, IntArray

ABSENT = 0
"""The candidate width that means "this layer is left out"."""

# Larger than any practical space, and small enough that costs are exact in float64 and that the sum
# of one term per layer, forbidden transitions included, fits in int64.
MAX_LAYERS = 1_000
MAX_UNITS = 1_000_000
MAX_EMBEDDING_PARAMETERS = 10**12

PAPER_WIDTHS = (
    *(8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160),
    *(176, 192, 208, 224, 240, 256, 384, 512),
)
"""The 20 candidate widths of the paper's Criteo and 4-layer Volkert spaces."""


@dataclass(frozen=True)
class SearchSpace:
    """All feed-forward networks whose layer i has one of `widths[i]` as its width.

    A candidate 0 makes a layer optional. Only trailing layers may be absent, so that every network
    has exactly one encoding; if all are, the network is linear.

    `inputs` is the width of the encoded table with its embeddings concatenated, `outputs` the
    number of logits, and `embedding_parameters` the number of parameters in the embedding tables,
    which every architecture has.

    With `numeric_embeddings`, the input is a layer, too: its candidates are the dimensions of the
    embeddings of numeric columns, which add to `inputs`.

    An architecture is encoded as *choices*: one index into the candidates per layer, the input
    layer first if there is one.

    >>> space = SearchSpace(((8, 16), (0, 8)), inputs=4, outputs=1)
    >>> space.size
    4
    >>> space.architecture([1, 0])
    Architecture('16')
    >>> space.choices("16-8")
    (1, 1)
    >>> embeddings = NumericEmbeddings(columns=3, knots=24, dimensions=(0, 2))
    >>> space = SearchSpace(((8, 16),), inputs=4, outputs=1, numeric_embeddings=embeddings)
    >>> space.layers
    ((0, 2), (8, 16))
    >>> space.architecture([1, 0]), space.input_width(2)
    (Architecture('d2-8'), 10)
    """

    widths: tuple[tuple[int, ...], ...]
    inputs: int
    outputs: int
    embedding_parameters: int = 0
    numeric_embeddings: NumericEmbeddings | None = None

    def __init__(
        self,
        widths: Iterable[Iterable[int]],
        *,
        inputs: int,
        outputs: int,
        embedding_parameters: int = 0,
        numeric_embeddings: NumericEmbeddings | None = None,
    ) -> None:
        layers = tuple(_layer(i, layer) for i, layer in enumerate(widths, start=1))
        if not layers:
            raise TabNASError("a search space must have at least one layer, got none")
        if len(layers) > MAX_LAYERS:
            raise TabNASError(
                f"a search space must have at most {MAX_LAYERS:,} layers, got {len(layers):,}"
            )
        for i in range(len(layers) - 1):
            if ABSENT in layers[i] and ABSENT not in layers[i + 1]:
                raise TabNASError(
                    f"only trailing layers may be absent: layer {i + 1} has the candidate width 0, "
                    f"so layer {i + 2} must have it too"
                )
        object.__setattr__(self, "widths", layers)
        sizes = {
            "inputs": _check_size("inputs", inputs, minimum=1, maximum=MAX_UNITS),
            "outputs": _check_size("outputs", outputs, minimum=1, maximum=MAX_UNITS),
            "embedding_parameters": _check_size(
                "embedding_parameters",
                embedding_parameters,
                minimum=0,
                maximum=MAX_EMBEDDING_PARAMETERS,
            ),
        }
        for name, size in sizes.items():
            object.__setattr__(self, name, size)
        object.__setattr__(self, "numeric_embeddings", numeric_embeddings)

    @classmethod
    def uniform(
        cls,
        *,
        layers: int,
        inputs: int,
        outputs: int,
        widths: Iterable[int] = PAPER_WIDTHS,
        embedding_parameters: int = 0,
        numeric_embeddings: NumericEmbeddings | None = None,
    ) -> SearchSpace:
        """Return a space with the same candidate widths for every layer."""
        widths = tuple(widths)
        return cls(
            [widths] * _check_size("layers", layers, minimum=1, maximum=MAX_LAYERS),
            inputs=inputs,
            outputs=outputs,
            embedding_parameters=embedding_parameters,
            numeric_embeddings=numeric_embeddings,
        )

    @property
    def depth(self) -> int:
        """The number of hidden layers, optional ones included."""
        return len(self.widths)

    @cached_property
    def layers(self) -> tuple[tuple[int, ...], ...]:
        """The candidates of every layer: dimensions of the input layer, if any, then widths."""
        if self.numeric_embeddings is None:
            return self.widths
        return (self.numeric_embeddings.dimensions, *self.widths)

    @property
    def first_hidden(self) -> int:
        """The index of the first hidden layer in `layers`: 1 if the input is a layer, else 0."""
        return len(self.layers) - self.depth

    def input_width(self, dimension: int = 0) -> int:
        """Return the number of inputs of a network with numeric embeddings of that dimension."""
        if dimension == 0:
            return self.inputs
        if self.numeric_embeddings is None:
            raise TabNASError(
                "numeric embeddings must have dimension 0, since this space has none, "
                f"got {dimension}"
            )
        return self.inputs + dimension * self.numeric_embeddings.columns

    @cached_property
    def max_choices(self) -> int:
        """The largest number of candidates of any layer: arrays over choices are this wide."""
        return max(len(layer) for layer in self.layers)

    @property
    def has_optional_layers(self) -> bool:
        """Whether a layer can be absent."""
        return ABSENT in self.widths[-1]

    @cached_property
    def is_ragged(self) -> bool:
        """Whether the layers have different numbers of candidates."""
        return any(len(layer) < self.max_choices for layer in self.layers)

    @cached_property
    def mask(self) -> BoolArray:
        """[layers, max_choices]: True where the layer has this candidate, False in the padding."""
        counts = np.array([len(layer) for layer in self.layers])
        return np.asarray(np.arange(self.max_choices) < counts[:, None])

    @cached_property
    def size(self) -> int:
        """The exact number of distinct architectures."""
        # sum over depths: all layers up to the depth are present, the next one is absent
        total, present = 0, 1
        for layer in self.widths:
            total += present * (ABSENT in layer)
            present *= len(layer) - (ABSENT in layer)
        dimensions = 1 if self.numeric_embeddings is None else len(self.layers[0])
        return dimensions * (total + present)

    def architecture(self, choices: Sequence[int] | IntArray) -> Architecture:
        """Return the architecture that `choices` (one index per layer) encodes."""
        widths = [layer[j] for layer, j in zip(self.layers, choices, strict=True)]
        dimension = 0 if self.numeric_embeddings is None else widths.pop(0)
        while widths and widths[-1] == ABSENT:
            widths.pop()
        if ABSENT in widths:
            raise TabNASError(f"only trailing layers may be absent, got the widths {widths}")
        return Architecture(tuple(widths), dimension)

    def choices(self, architecture: Architecture | str) -> tuple[int, ...]:
        """Return the encoding of an architecture: the inverse of `architecture`."""
        if isinstance(architecture, str):
            architecture = Architecture.parse(architecture)
        self._check_ends(architecture)
        widths = architecture.widths + (ABSENT,) * (self.depth - architecture.depth)
        for i, (width, layer) in enumerate(zip(widths, self.widths, strict=True), start=1):
            if width not in layer:
                raise TabNASError(
                    f"{architecture} is not in this space: layer {i} has no candidate width "
                    f"{width}, only {', '.join(map(str, layer))}"
                )
        hidden = (layer.index(width) for width, layer in zip(widths, self.widths, strict=True))
        if self.numeric_embeddings is None:
            return tuple(hidden)
        return self.numeric_embeddings.dimensions.index(architecture.dimension), *hidden

    def check_choices(self, choices: Any) -> IntArray:
        """Return choices, [..., layers], as an array; raise an error unless they are indices.

        >>> space = SearchSpace([(8, 16), (0, 8)], inputs=4, outputs=1)
        >>> space.check_choices([[1, 0]])
        array([[1, 0]])
        >>> space.check_choices([[8, 0]])
        Traceback (most recent call last):
        tabnas.errors.TabNASError: `choices` must be indices of candidates, got [8, 0]
        """
        array = np.asarray(choices)
        if array.dtype.kind not in "iuf":
            raise TabNASError(
                f"`choices` must be indices of candidates, got values of the type {array.dtype}"
            )
        counts = [len(layer) for layer in self.layers]
        if array.shape[-1:] != (len(counts),):
            raise TabNASError(
                f"`choices` must have an index for each of the {len(counts)} layers, got the shape "
                f"{array.shape}"
            )
        wrong = (array < 0) | (array >= counts)
        if array.dtype.kind not in "iu":
            wrong |= array != np.floor(array)
        if wrong.any():
            row = array[wrong.any(axis=-1)][0].tolist()
            raise TabNASError(f"`choices` must be indices of candidates, got {row}")
        return array.astype(np.int64, copy=False)

    def check_covers(self, architecture: Architecture) -> None:
        """Raise an error unless the architecture is a leading block of the largest network.

        Its widths need not be candidates.

        >>> space = SearchSpace([(8, 16), (0, 8)], inputs=4, outputs=1)
        >>> space.check_covers(Architecture((13, 5)))
        >>> space.covers(Architecture((13, 9)))
        False
        """
        self._check_ends(architecture)
        for i, (width, layer) in enumerate(
            zip(architecture.widths, self.widths, strict=False), start=1
        ):
            if width > layer[-1]:
                raise TabNASError(
                    f"{architecture} must be no wider than the widest network of this space, but "
                    f"layer {i} has {width} units, and there at most {layer[-1]}"
                )

    def covers(self, architecture: Architecture) -> bool:
        """Return whether the architecture is a leading block of the largest network."""
        try:
            self.check_covers(architecture)
        except TabNASError:
            return False
        return True

    def _check_ends(self, architecture: Architecture) -> None:
        """Raise an error unless the space has the depth and the dimension of an architecture."""
        if architecture.depth > self.depth:
            raise TabNASError(
                f"an architecture of this space must have at most {self.depth} layers, but "
                f"{architecture} has {architecture.depth}"
            )
        if architecture.depth < self.depth and ABSENT not in self.widths[architecture.depth]:
            raise TabNASError(
                f"{architecture} has {architecture.depth} layers, but layer "
                f"{architecture.depth + 1} of this space cannot be absent"
            )
        dimension = architecture.dimension
        if self.numeric_embeddings is None:
            self.input_width(dimension)  # raises an error unless it is 0
        elif dimension not in self.numeric_embeddings.dimensions:
            dimensions = ", ".join(map(str, self.numeric_embeddings.dimensions))
            raise TabNASError(
                f"{architecture} is not in this space: its numeric embeddings have no candidate "
                f"dimension {dimension}, only {dimensions}"
            )

    def __contains__(self, architecture: object) -> bool:
        if not isinstance(architecture, Architecture | str):
            return False
        try:
            self.choices(architecture)
        except TabNASError:
            return False
        return True


def _layer(index: int, widths: Iterable[int]) -> tuple[int, ...]:
    """Check and sort the candidate widths of one layer."""
    layer = tuple(
        sorted(
            _check_size(f"a width of layer {index}", width, minimum=0, maximum=MAX_UNITS)
            for width in widths
        )
    )
    if not layer:
        raise TabNASError(f"layer {index} must have at least one candidate width, got none")
    for width, after in pairwise(layer):
        if width == after:
            raise TabNASError(f"layer {index} lists the width {width} more than once")
    return layer


def _check_size(name: str, value: int, *, minimum: int, maximum: int) -> int:
    number = check_int(name, value, minimum=minimum)
    if number > maximum:
        raise TabNASError(f"{name} must be at most {maximum:,}, got {number:.6g}")
    return number
