"""What a run says about its model's mistakes, checked and typed."""

from __future__ import annotations

from dataclasses import dataclass

from tabnas.errors import TabNASError
from tabnas.report._given import Given

MOST_CLASSES = 100
MOST_PAIRS = 2_000
MOST_BINS = 200


@dataclass(frozen=True)
class Confusion:
    """Rows by true class (down) and predicted class (across); the last may stand for many."""

    names: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    pooled: int  # classes that the last name stands for

    @classmethod
    def of(cls, given: Given) -> Confusion:
        """Check a square of counts."""
        pooled = given["pooled"].count()
        names = [label.label() for label in given["classes"].each()]
        if pooled:
            names.append(f"{pooled:,} others")
        counts = tuple(tuple(c.count() for c in row.each()) for row in given["counts"].each())
        size = len(names)
        if not 0 < size <= MOST_CLASSES or [len(row) for row in counts] != [size] * size:
            raise TabNASError(
                f"{given.where}.counts must be a square of the {size} classes, at most "
                f"{MOST_CLASSES}, but it is not"
            )
        return cls(tuple(names), counts, pooled)


@dataclass(frozen=True)
class Bin:
    """Rows that were given about the same probability."""

    rows: int
    probability: float
    share: float
    share_low: float
    share_high: float


@dataclass(frozen=True)
class Reliability:
    """Whether probabilities mean what they say."""

    of: str
    gap: float
    bins: tuple[Bin, ...]

    @classmethod
    def of_given(cls, given: Given) -> Reliability:
        """Check the bins."""
        bins = tuple(
            Bin(
                one["rows"].count(),
                *(one[n].number() for n in ("probability", "share", "share_low", "share_high")),
            )
            for one in given["bins"].each()[:MOST_BINS]
        )
        return cls(given["of"].text(), given["gap"].number(), bins)


@dataclass(frozen=True)
class Residuals:
    """Truth less prediction, and pairs of both."""

    quantiles: tuple[tuple[float, float], ...]  # share, value
    edges: tuple[float, ...]
    counts: tuple[int, ...]
    truth: tuple[float, ...]
    prediction: tuple[float, ...]

    @classmethod
    def of(cls, given: Given) -> Residuals:
        """Check what belongs together to have the same length."""
        histogram = given["histogram"]
        edges = tuple(edge.number() for edge in histogram["edges"].each())
        counts = tuple(count.count() for count in histogram["counts"].each())
        if len(edges) != len(counts) + 1 or len(counts) > MOST_BINS:
            raise TabNASError(
                f"{histogram.where} must have one edge more than counts, at most {MOST_BINS}, "
                f"but it has {len(edges)} and {len(counts)}"
            )
        pairs = [given[name].each()[:MOST_PAIRS] for name in ("truth", "prediction")]
        if len(pairs[0]) != len(pairs[1]):
            raise TabNASError(f"{given.where} must have as many predictions as truths, but has not")
        quantiles = [(_share(name, given), v.number()) for name, v in given["quantiles"].items()]
        truth, prediction = (tuple(one.number() for one in side) for side in pairs)
        return cls(tuple(quantiles), edges, counts, truth, prediction)


@dataclass(frozen=True)
class Importance:
    """What shuffling one column does to the loss."""

    column: str
    increase: float
    deviation: float


@dataclass(frozen=True)
class Importances:
    """The columns, those that matter most first."""

    rows: int
    repeats: int
    columns: tuple[Importance, ...]

    @classmethod
    def of(cls, given: Given) -> Importances:
        """Check and sort; what is no number goes last."""
        columns = [
            Importance(name, one["increase"].number(), one["deviation"].number())
            for name, one in given["columns"].items()
        ]
        columns.sort(key=lambda one: (one.increase != one.increase, -one.increase))
        return cls(given["rows"].count(), given["repeats"].count(), tuple(columns))


@dataclass(frozen=True)
class Diagnostics:
    """What was found on rows that the network had not learned from."""

    rows: str  # which: "test" or "validation"
    count: int
    confusion: Confusion | None
    reliability: Reliability | None
    residuals: Residuals | None
    importance: Importances | None

    @classmethod
    def of(cls, given: Given) -> Diagnostics:
        """Check whatever is there."""
        confusion, reliability = given.get("confusion"), given.get("reliability")
        residuals, importance = given.get("residuals"), given.get("importance")
        return cls(
            rows=given["rows"].text(),
            count=given["count"].count(),
            confusion=None if confusion is None else Confusion.of(confusion),
            reliability=None if reliability is None else Reliability.of_given(reliability),
            residuals=None if residuals is None else Residuals.of(residuals),
            importance=None if importance is None else Importances.of(importance),
        )


def _share(name: str, given: Given) -> float:
    try:
        return float(name)
    except ValueError:
        raise TabNASError(
            f"{given.where}.quantiles must be named by shares like 0.5, but {name!r} is there"
        ) from None
