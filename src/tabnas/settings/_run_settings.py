"""The settings of a run; everything has a default but the limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from math import inf
from numbers import Real
from typing import Any, Literal, get_args

from tabnas.decoding import decode, describe_value, to_python
from tabnas.errors import TabNASError, check_int, did_you_mean
from tabnas.nets import ENGINES
from tabnas.settings._setting import check_type, get_settings, setting
from tabnas.shares import Shares
from tabnas.space import (
    COSTS,
    DEFAULT_DIMENSIONS,
    LATENCY_ROWS,
    Budget,
    Bytes,
    Cost,
    Limit,
    Precision,
)
from tabnas.types import Scaling

SplitKind = Literal["random", "time", "group"]
ClassWeight = Literal["balanced"]
PrecisionKind = Literal["auto", "float32", "float16", "int8"]
TeacherKind = Literal["auto", "trees", "network", "own", "none"]
RuntimeKind = Literal["onnxruntime", "c"]
"""What limits on latency are measured in."""
Number = int | float
MAX_WIDTH = 1 << 14
MAX_DIMENSION = 64


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """What a user can choose about a run.

    Fields that are declared by `setting` are options of `tabnas search`, too. The others are set by
    several options each.
    """

    limits: Mapping[str, Number]
    """The limit on each cost, by its name: {"parameters": 20_000, "latency_us": 50}."""
    latency_table: str | None = setting(
        None,
        kind="path",
        panel="Limits",
        metavar="FILE",
        help="A file that `tabnas latency` wrote on another machine. Latency is predicted for that "
        "machine and not measured.",
        shown_default="this machine is measured",
    )
    runtime: RuntimeKind = setting(
        "onnxruntime",
        kind="name",
        panel="Limits",
        metavar="NAME",
        help="What limits on latency are measured in: onnxruntime, called from Python, or c, a "
        "call of the exported C function without Python.",
        choices=lambda: get_args(RuntimeKind),
    )
    kinds: Mapping[str, str] = field(default_factory=dict)
    """Kinds of columns, if the inferred ones are wrong: {"zip": "categorical"}."""
    drop: tuple[str, ...] = setting(
        (), kind="names", panel="Columns", metavar="A,B", help="Columns to ignore."
    )
    decimal: str | None = setting(
        None,
        kind="name",
        panel="Columns",
        metavar="MARK",
        help="The decimal mark, '.' or ','. Needed only if 1.234 could also mean a thousand.",
        shown_default="inferred from the columns",
        choices=lambda: (".", ","),
    )
    scaling: Scaling = setting(
        "robust",
        kind="name",
        panel="Columns",
        metavar="NAME",
        help="Scaling of numbers: robust, standard or none.",
        choices=lambda: get_args(Scaling),
    )
    shares: Shares = field(default_factory=Shares)
    """The fractions of the table for validation and for the final test."""
    split: SplitKind = "random"
    """How rows are split: at random (by class), by time (the latest are the test), by group."""
    split_column: str | None = None
    """The column of times or groups, for the splits "time" and "group"; not used as a feature.

    None for the split "group" means groups that are given besides the table."""
    precision: PrecisionKind = setting(
        "auto",
        kind="name",
        panel="Architectures",
        metavar="NAME",
        help="How weights are stored: float32, float16, int8 or auto. A limit on bytes counts what "
        "is stored, so int8 allows networks of nearly four times as many parameters. auto is "
        "float32; if bytes are limited, int8 or float32, whichever is better on the validation "
        "rows.",
        choices=lambda: get_args(PrecisionKind),
    )
    layers: int | None = setting(
        None,
        kind="integer",
        panel="Architectures",
        help="Maximum number of hidden layers.",
        shown_default="3",
        minimum=1,
        maximum=32,
    )
    widths: tuple[int, ...] | None = setting(
        None,
        kind="widths",
        panel="Architectures",
        metavar="N,N",
        help="Candidate widths of every layer, like 0,8,16,32. With 0, layers can be left out.",
        shown_default="chosen for the limit",
        maximum=500,
    )
    numeric_dimensions: tuple[int, ...] | None = setting(
        None,
        kind="widths",
        panel="Architectures",
        metavar="N,N",
        help="Candidate dimensions of the embeddings of numeric columns. With 0, networks can read "
        "numbers as they are; 0 alone turns embeddings off.",
        shown_default=",".join(map(str, DEFAULT_DIMENSIONS)),
        maximum=20,
    )
    knots: int | None = setting(
        None,
        kind="integer",
        panel="Architectures",
        help="Maximum number of knots of the embedding of a numeric column.",
        shown_default="4 to 64, chosen for the limit and the rows",
        minimum=3,
        maximum=512,
    )
    teacher: TeacherKind = setting(
        "auto",
        kind="name",
        panel="Work",
        metavar="NAME",
        help="Models without a limit whose answers the networks learn from, besides the labels: "
        "trees (boosted), network (a wide one), auto, own or none. auto takes both, without the "
        "trees if they would take too long; own takes the answers in --teacher-columns. The "
        "validation rows decide whether answers help.",
        choices=lambda: get_args(TeacherKind),
    )
    teacher_columns: tuple[str, ...] = setting(
        (),
        kind="names",
        panel="Columns",
        metavar="A,B",
        help="Columns with the answers of your own teacher, which are not features: the "
        "probability of each class, in the sorted order of the classes; of two classes, that of "
        "the second is enough; for regression, the prediction.",
        alias="--teacher-column",
    )
    metric: str | None = setting(
        None,
        kind="name",
        panel="Work",
        metavar="NAME",
        help="The metric that networks are chosen by: accuracy, balanced_error, log_loss or auc "
        "for classification; rmse, mae or r2 for regression.",
        shown_default="log_loss or rmse",
    )
    class_weight: ClassWeight | None = setting(
        None,
        kind="name",
        panel="Work",
        metavar="NAME",
        help="'balanced' gives every class the same total weight.",
        shown_default="every row has the same weight",
        choices=lambda: get_args(ClassWeight),
    )
    time: Number | None = setting(
        None,
        kind="seconds",
        panel="Work",
        help="Approximate duration, like 300 or 5m. More time means longer trainings and more "
        "candidates, less time smaller networks. A default teacher that would take more than a "
        "third is left out: first its trees, then all of it. The comparison with boosted trees "
        "can take longer.",
        shown_default="until the planned epochs are trained",
        commands=("search",),
    )
    candidates: int | None = setting(
        None,
        kind="integer",
        panel="Work",
        help="Number of the best architectures of the search to train stand-alone and to choose "
        "from, for each limit. Networks of equally wide layers are then left out. If bytes are "
        "limited, one that fits as float32 is added where none does.",
        shown_default="2, or 1 in a trade-off, and networks of equally wide layers, and simpler "
        "ones on small tables",
        minimum=1,
        maximum=10_000,
    )
    refit: bool = setting(
        False,
        kind="flag",
        panel="Work",
        help="After the test, train the final model again on all rows, including validation and "
        "test rows. The estimators, which hold out no test rows, do so by default.",
    )
    reference_models: bool = True
    """Whether boosted trees are trained for comparison."""
    seed: int = setting(
        0,
        kind="integer",
        help="Random seed. The same seed gives the same result, unless time or latency is limited.",
        minimum=0,
    )
    workers: int = setting(
        1,
        kind="integer",
        panel="Work",
        help="Number of networks trained in parallel in a step of the search.",
        shown_default="1, or the number of processes under torchrun",
        minimum=1,
        maximum=64,
        commands=("search",),
    )
    engine: str = setting(
        "compiled",
        kind="name",
        panel="Work",
        metavar="NAME",
        help="The engine that trains networks: compiled, or torch. Several processes need torch, "
        "which is installed as an extra.",
        choices=lambda: tuple(ENGINES),
        commands=("search",),
    )
    memory: int = setting(
        10**9,
        kind="bytes",
        panel="Work",
        metavar="SIZE",
        help="Approximate memory to use while training from a folder of `tabnas encode`.",
        shown_default="1GB",
        minimum=1,
    )

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        for name in ("limits", "kinds"):
            check_type(name, getattr(self, name), Mapping, "names with values")
            values = getattr(self, name).items()
            set_field(self, name, {key: to_python(value) for key, value in values})
        for name in ("drop", "teacher_columns", "widths", "numeric_dimensions"):
            value = getattr(self, name)
            if value is not None:
                if not isinstance(value, Iterable) or isinstance(value, str | Mapping):
                    raise TabNASError(f"{name} must be a list, got {describe_value(value)}")
                set_field(self, name, tuple(map(to_python, value)))
        for each in get_settings(type(self)):
            set_field(self, each.name, to_python(getattr(self, each.name)))
            each.check(getattr(self, each.name))
        for width in self.widths or ():
            if check_int("a width", width, minimum=0) > MAX_WIDTH:
                raise TabNASError(f"a width must be at most {MAX_WIDTH:,}, got {width:,}")
        if self.numeric_dimensions == ():
            raise TabNASError(
                "numeric_dimensions must have at least one element, got none; (0,) turns "
                "embeddings off"
            )
        for dimension in self.numeric_dimensions or ():
            if check_int("a dimension of numeric embeddings", dimension, minimum=0) > MAX_DIMENSION:
                raise TabNASError(
                    f"a dimension of numeric embeddings must be at most {MAX_DIMENSION}, "
                    f"got {dimension:,}"
                )
        for column, kind in self.kinds.items():
            check_type(f"the kind of {column!r}", kind, str, "a text")
        check_type("shares", self.shares, Shares, "shares of the rows")
        check_type("reference_models", self.reference_models, bool, "true or false")
        self._check_limits()
        self._check_split()
        self._check_teacher_columns()

    def _check_limits(self) -> None:
        known = (*COSTS, *LATENCY_ROWS)
        if not self.limits:
            names = ", ".join(f"max_{name}" for name in known)
            raise TabNASError(f"a run must have at least one limit, got none: {names}")
        for name in self.limits:
            if name not in known:
                raise TabNASError(f"there is no cost {name!r}; {did_you_mean(str(name), known)}")
        self.computed_budget  # noqa: B018 - raises an error for impossible limits
        latencies = {n: upper for n, upper in self.limits.items() if n in LATENCY_ROWS}
        for name, upper in latencies.items():
            is_number = isinstance(upper, Real) and not isinstance(upper, bool)
            if not is_number or not 0 < upper < inf:
                raise TabNASError(
                    f"the limit on {name} must be a positive number of microseconds, got {upper!r}"
                )
        if self.latency_table is not None and not latencies:
            raise TabNASError(
                "a latency table needs a limit on latency, got none; set "
                + " or ".join(f"max_{name}" for name in LATENCY_ROWS)
            )
        if self.runtime == "c" and not latencies:
            raise TabNASError(
                "the runtime c needs a limit on latency, got none; set "
                + " or ".join(f"max_{name}" for name in LATENCY_ROWS)
            )
        if self.runtime == "c" and self.precision == "float16":
            raise TabNASError(
                "precision must be float32 or int8 for the runtime c, got float16, which C files "
                "cannot hold; choose one of these, or the runtime onnxruntime"
            )

    def _check_split(self) -> None:
        if self.split not in get_args(SplitKind):
            hint = did_you_mean(str(self.split), get_args(SplitKind))
            raise TabNASError(f"there is no split {self.split!r}; {hint}")
        if self.split_column is not None:
            check_type("split_column", self.split_column, str, "a text")
        if self.split == ("time" if self.split_column is None else "random"):
            raise TabNASError(
                "a split by time needs the name of its column, and a random one none, got the "
                f"split {self.split!r} and the column {self.split_column!r}"
            )

    def _check_teacher_columns(self) -> None:
        if not self.teacher_columns:
            return
        if self.teacher not in ("auto", "own"):
            raise TabNASError(
                f"teacher must be 'own' if teacher_columns are given, got {self.teacher!r}; remove "
                "one of them"
            )
        object.__setattr__(self, "teacher", "own")
        names = [name.strip() for name in self.teacher_columns]
        for name in names:
            if names.count(name) > 1:
                raise TabNASError(f"teacher_columns must be different columns, got {name!r} twice")
            if name in (*self.kinds, self.split_column):
                raise TabNASError(
                    f"teacher_columns must be neither features nor the column of the split, got "
                    f"{name!r}, which is; remove it there"
                )

    def to_dict(self) -> dict[str, Any]:
        """Return the settings, fit for TOML, which has no None."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        values["shares"] = asdict(self.shares)
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in values.items()
            if value is not None
        }

    @classmethod
    def from_dict(cls, values: Any) -> RunSettings:
        """Return the settings that `to_dict` has written; raise an error for anything else."""
        return decode(cls, values, source="the settings of the run")

    def identity(self) -> dict[str, str]:
        """Return what settings must have in common for one run to resume another."""
        return {f"the setting {name}": str(value) for name, value in self.to_dict().items()}

    @property
    def candidate_numeric_dimensions(self) -> tuple[int, ...]:
        """The candidate dimensions of numeric embeddings."""
        chosen = self.numeric_dimensions
        return DEFAULT_DIMENSIONS if chosen is None else tuple(sorted(set(chosen)))

    @property
    def embeds_numbers(self) -> bool:
        """Whether any candidate network has numeric embeddings."""
        return any(self.candidate_numeric_dimensions)

    @property
    def computed_budget(self) -> Budget:
        """The limits on costs that are computed, without those on latency."""
        uppers = {n: upper for n, upper in self.limits.items() if n not in LATENCY_ROWS}
        return Budget(**uppers).at_precision(self.precisions[0])

    def full_budget(self, latencies: Mapping[str, Cost]) -> Budget:
        """Return all limits in their order, given the costs of the latencies."""
        known = COSTS | dict(latencies)
        budget = Budget(*(Limit(known[name], upper) for name, upper in self.limits.items()))
        return budget.at_precision(self.precisions[0])

    @property
    def precisions(self) -> tuple[Precision, ...]:
        """The precisions to choose from; the first is that of the search.

        A network within a limit on bytes as float32 is within it as int8, unless a layer has a
        single input, so a search for int8 finds both.
        """
        if self.precision != "auto":
            return (Precision(self.precision),)
        if Bytes.name in self.limits:
            return Precision.INT8, Precision.FLOAT32
        return (Precision.FLOAT32,)
