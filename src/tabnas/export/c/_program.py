"""A model as a C program: everything that its two files are written from."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

from tabnas.data import Table
from tabnas.errors import TabNASError
from tabnas.export._network import network_weights
from tabnas.export.c._constants import Constant, count_bytes
from tabnas.export.c._inputs import InputPart, make_input_parts
from tabnas.export.c._lookups import Lookup, make_lookups
from tabnas.export.c._names import check_prefix
from tabnas.export.c._network import Network, make_network
from tabnas.export.c._row import Field, make_fields
from tabnas.model import Model
from tabnas.space import Precision

MAX_PARAMETERS = 2_000_000
"""Compilers take seconds, and hundreds of megabytes, for each million."""
MAX_CODE_BYTES = {Precision.FLOAT32: (3_072, 72), Precision.INT8: (4_352, 176)}
"""Bytes that gcc -O2 on x86-64 makes of the functions of any model, and of the calls of a layer."""
MAX_HASH_BYTES = 1_536
"""Bytes that it makes of the functions that read and hash texts."""
MAX_PADDING = 31
"""Bytes before an array: those of 32 bytes and more begin at a multiple of 32."""


@dataclass(frozen=True, eq=False)
class Program:
    """The parts of the files."""

    model: Model
    prefix: str
    fields: tuple[Field, ...]
    lookups: tuple[Lookup, ...]
    parts: tuple[InputPart, ...]
    network: Network

    @cached_property
    def model_id(self) -> str:
        """A number of 32 bits in hexadecimal, from a digest of the encoder and the weights."""
        model = self.model
        content: list[Any] = [
            model.encoder.to_dict(),
            model.target.to_dict(),
            str(model.architecture),
        ]
        content += [model.category_dimensions, model.knots, model.precision]
        digest = sha256(json.dumps(content, sort_keys=True).encode())
        for name, array in sorted(model.weights.items()):
            digest.update(name.encode() + array.tobytes())
        return f"0x{digest.hexdigest()[:8]}u"

    @property
    def no_lookup_macro(self) -> str:
        """The macro that leaves texts out, and the functions that search them."""
        return f"{self.prefix.upper()}_NO_LOOKUP"

    @property
    def trained(self) -> list[Constant]:
        """The parameters of the model, and what else the cost `bytes` counts."""
        return [
            *(constant for part in self.parts for constant in part.trained),
            *self.network.trained,
        ]

    @property
    def weight_bytes(self) -> int:
        """The size of all parameters."""
        return count_bytes(self.trained)

    @property
    def column_bytes(self) -> int:
        """The size of the encoder's statistics of the columns: centers and scales."""
        return count_bytes(constant for part in self.parts for constant in part.constants)

    @property
    def max_code_bytes(self) -> int:
        """An upper bound on machine code and alignment, without constants and texts."""
        functions, layer = MAX_CODE_BYTES[self.model.precision]
        hashes = MAX_HASH_BYTES if any(lookup.is_hashed for lookup in self.lookups) else 0
        arrays = len(self.trained) + sum(len(part.constants) for part in self.parts)
        return functions + layer * self.model.architecture.depth + hashes + MAX_PADDING * arrays

    @property
    def ram_bytes(self) -> int:
        """The memory of all activations."""
        return 4 * self.network.memory


def make_program(model: Model, prefix: str, table: Table | None = None) -> Program:
    """Return a model as a C program; raise an error if a limit does not hold.

    If there is a table, its types tell which numbers are times and durations.
    """
    model.check_limits()
    check_prefix(prefix)
    if model.costs["parameters"] > MAX_PARAMETERS:
        raise TabNASError(
            f"a C file can hold at most {MAX_PARAMETERS:,} parameters, but the model has "
            f"{model.costs['parameters']:,}; search within a smaller limit, or export to ONNX"
        )
    fields = make_fields(model.encoder, prefix, table)
    if model.precision == Precision.FLOAT16:
        raise TabNASError(
            "a C file must have float32 or int8 weights, but those of the model are float16; "
            "search with precision int8, or export to ONNX"
        )
    weights = network_weights(model)
    parts = make_input_parts(fields, model.spec.inputs, weights, f"{prefix}_row")
    order = [number for part in parts for number in part.inputs]
    network = make_network(model.architecture, weights, order, model.spec.outputs)
    lookups = make_lookups(fields, prefix)
    program = Program(model, prefix, fields, tuple(lookups), tuple(parts), network)
    if program.weight_bytes != model.costs["bytes"]:
        raise TabNASError(
            f"the file must hold the {model.costs['bytes']:,} bytes of the model, but "
            f"it holds {program.weight_bytes:,}"
        )
    return program
