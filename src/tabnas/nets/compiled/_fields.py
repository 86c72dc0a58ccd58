"""What the kernels know: named tuples of arrays, and what stands where in the arrays of integers.

Kernels read no Python objects. Sizes, offsets and settings reach them as numbers in arrays, and the
constants below name their places. They are plain integers, which compile to constants.
"""

from __future__ import annotations

from typing import NamedTuple

from tabnas.types import Float32Array, Int32Array, IntArray

# entries of KernelSpec.sizes
SIZE_LAYERS = 0  # hidden layers of the SuperNet
SIZE_NUMERIC = 1  # numeric columns
SIZE_INPUTS = 2  # inputs without numeric embeddings: numeric columns and categorical embeddings
SIZE_OUTPUTS = 3
SIZE_LOSS = 4  # which loss, see _losses
SIZE_KNOTS = 5  # knots of all embedded numeric columns
SIZE_TABLE = 6  # offset of the numeric embeddings in the parameters
SIZE_TABLE_STRIDE = 7  # from one dimension to the next
SIZE_TABLE_STEPS = 8  # offset of their step counts
SIZE_COUNT = 9

# columns of KernelSpec.layers: offsets into the parameters, the widths and the step counts
LAYER_WEIGHT = 0
LAYER_STRIDE = 1  # from one row of the weights to the next
LAYER_BIAS = 2
LAYER_SCALE = 3
LAYER_SHIFT = 4
LAYER_IN_WIDTHS = 5
LAYER_IN_COUNT = 6
LAYER_OUT_WIDTHS = 7
LAYER_OUT_COUNT = 8
LAYER_STEPS = 9
LAYER_COUNT = 10

# columns of KernelSpec.embeddings
EMBEDDING_DIMENSION = 0
EMBEDDING_STRIDE = 1  # from one category to the next
EMBEDDING_TABLE = 2  # offset of its table in the buffer of all tables
EMBEDDING_FIRST_ROW = 3  # index of its category 0 among the categories of all embeddings
EMBEDDING_INPUT = 4  # its first unit among the inputs
EMBEDDING_CATEGORIES = 5
EMBEDDING_COUNT = 6

# columns of KernelSpec.knot_columns: an embedded numeric column
KNOT_COLUMN = 0  # its number among the numeric columns
KNOT_FIRST = 1  # index of its first knot among the knots of all columns
KNOT_NUMBER = 2  # how many knots it has
KNOT_COUNT = 3

# entries of OptimizerArrays.settings
MOMENTUM = 0
BETA1 = 0
BETA2 = 1
EPSILON = 2
WEIGHT_DECAY = 3
ONE_MINUS_BETA1 = 4
ONE_MINUS_BETA2 = 5


class KernelSpec(NamedTuple):
    """The shape of the SuperNet, as the kernels read it; it never changes."""

    sizes: IntArray  # [SIZE_COUNT]
    layers: IntArray  # [hidden layers and heads, LAYER_COUNT]
    widths: IntArray  # the widths at which a child's part of each layer can end, one after another
    heads: IntArray  # [layers + 1]: the row of `layers` that is the head of each depth, or -1
    embeddings: IntArray  # [embeddings, EMBEDDING_COUNT]
    knot_columns: IntArray  # [embedded numeric columns, KNOT_COUNT]
    dimensions: IntArray  # the dimensions above 0 that numeric embeddings can have, ascending
    knots: Float32Array  # [3, knots]: values, distances to the next knot, numbers from 0 per column


class Network(NamedTuple):
    """The SuperNet: its shape, and weights followed by moments."""

    spec: KernelSpec
    parameters: Float32Array  # [1 + moments, numbers]: dense layers
    tables: Float32Array  # [1 + moments, numbers]: embeddings


class OptimizerArrays(NamedTuple):
    """Settings and step counts of the optimizer."""

    settings: Float32Array
    corrections: Float32Array  # [2, steps]: Adam's bias corrections, see _layout
    steps: IntArray  # of the blocks of the dense layers
    row_steps: IntArray  # of the categories of all embeddings
    slots: Int32Array  # of the categories of all embeddings: -1 between steps


class Workspace(NamedTuple):
    """Buffers for one batch a worker; the first axis counts workers."""

    buffer: Float32Array  # activations and gradients with respect to them
    gradients: Float32Array  # of the dense layers, laid out as their weights are
    ids: Int32Array  # [workers, embeddings, rows]: categories of the batch
    embedding_grad: Float32Array  # [workers, rows, embedded units]


class WorkerSpace(NamedTuple):
    """The part of a workspace that one worker uses."""

    buffer: Float32Array
    gradients: Float32Array
    ids: Int32Array  # [embeddings, rows]
    embedding_grad: Float32Array  # [rows, embedded units]


class Batch(NamedTuple):
    """The arrays of the examples, and which of their rows make up the batch."""

    numeric: Float32Array
    categorical: Int32Array
    labels: Int32Array  # the forms of labels and values: see `Examples`
    values: Float32Array
    weight: Float32Array
    rows: IntArray  # row numbers; empty if the rows are start, ..., start + n_rows - 1
    start: int
    n_rows: int
