"""What the files of a run say, checked and typed: all that the report is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

from tabnas.errors import TabNASError
from tabnas.report._given import Given
from tabnas.report._trust import Diagnostics

MOST_WIDTH = 10**7
MOST_LAYERS = 1_000
MOST_CANDIDATES = 10_000
LINEAR = "linear"


@dataclass(frozen=True)
class Cost:
    """What the network uses, and the most it may use."""

    name: str
    value: float
    limit: float | None

    @property
    def holds(self) -> bool:
        """Whether the limit does; a cost without one cannot break it."""
        return self.limit is None or self.value <= self.limit


@dataclass(frozen=True)
class Score:
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Candidate:
    """An architecture that was trained alone."""

    architecture: str
    costs: Mapping[str, float]
    result: float  # by the metric of the run
    one_shot_loss: float  # NaN if the search had no finite one
    epochs: int


@dataclass(frozen=True)
class Effect:
    """What was best at a multiple of the limit, by the search's estimate."""

    factor: float
    architecture: str
    one_shot_loss: float


@dataclass(frozen=True)
class Wider:
    """A network one step wider, and the costs whose limits forbid it."""

    architecture: str
    breaks: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """The work that was done."""

    inputs: int
    outputs: int
    embedding_parameters: int
    widths: tuple[tuple[int, ...], ...]
    architectures: int
    feasible: int | None
    search_epochs: int
    epochs: int
    batch_size: int
    learning_rate: float


@dataclass(frozen=True)
class Snapshot:
    """Where the search stood."""

    progress: float
    training_loss: float
    quality: float | None
    feasible_probability: float
    probabilities: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class RunFacts:
    """A finished run."""

    architecture: str
    widths: tuple[int, ...]
    costs: tuple[Cost, ...]
    target: str
    target_name: str  # exactly as in the table, for code
    task: str
    classes: tuple[str, ...]
    metric: str
    scores: Mapping[str, Mapping[str, Score]]
    diagnostics: Diagnostics | None
    notes: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    chosen_by: str
    trained_on_all_rows: bool
    effects: tuple[Effect, ...]
    wider: tuple[Wider, ...]
    rows: Mapping[str, int]
    columns: Mapping[str, str]
    plan: Plan
    seed: int
    versions: Mapping[str, str]
    timings: Mapping[str, float]
    history: tuple[Snapshot, ...]

    @property
    def limits(self) -> tuple[Cost, ...]:
        """The costs that have a limit."""
        return tuple(cost for cost in self.costs if cost.limit is not None)

    @property
    def cross_validated(self) -> bool:
        """Whether training and validation rows changed places to choose among candidates."""
        return "cross-validation" in self.chosen_by

    @property
    def judged_rows(self) -> int:
        """The number of rows that the weights behind the scores were trained on."""
        parts = ("training", "validation") if self.cross_validated else ("training",)
        return sum(self.rows.get(part, 0) for part in parts)

    @property
    def learned_rows(self) -> int:
        """The number of rows that the final weights were trained on."""
        return sum(self.rows.values()) if self.trained_on_all_rows else self.judged_rows

    @property
    def refitted(self) -> bool:
        """Whether the final weights were trained on more rows than those behind the scores."""
        return self.learned_rows > self.judged_rows

    @property
    def main_cost(self) -> str:
        """The cost that pictures are drawn over: the first limited one."""
        return (*self.limits, *self.costs)[0].name


def read_facts(result: Mapping[str, Any], history: Sequence[Any]) -> RunFacts:
    """Check and type what the files say; an error names what is wrong there."""
    said = Given("result.json", result)
    architecture = said["architecture"].text()
    metric = said["metric"].text()
    target = said["target"]
    classes, diagnostics = target.get("classes"), said.get("diagnostics")
    costs = tuple(read_cost(name, cost) for name, cost in said["costs"].items())
    if not costs:
        raise TabNASError("result.json: costs must name a cost, but it names none")
    return RunFacts(
        architecture=architecture,
        widths=parse_widths(said["architecture"]),
        costs=costs,
        target=target["name"].label(),
        target_name=target["name"].exact(),
        task=target["task"].text(),
        classes=() if classes is None else tuple(one.label() for one in classes.each()),
        metric=metric,
        scores={
            judge: {name: read_score(score) for name, score in scores["metrics"].items()}
            for judge, scores in said["scores"].items()
        },
        diagnostics=None if diagnostics is None else Diagnostics.of(diagnostics),
        notes=tuple(note.text() for note in said["notes"].each()),
        candidates=tuple(
            _candidate(one, metric) for one in said["candidates"].each()[:MOST_CANDIDATES]
        ),
        chosen_by=said["chosen_by"].text(),
        trained_on_all_rows=said["trained_on_all_rows"].flag(),
        effects=tuple(_effect(one) for one in said["limit_effects"].each()),
        wider=tuple(_wider(one) for one in _optional_list(said, "wider")),
        rows={name: rows.count() for name, rows in said["rows"].items()},
        columns={name: words.text() for name, words in said["columns"].items()},
        plan=_plan(said["plan"]),
        seed=said["seed"].count(),
        versions={name: version.text() for name, version in said["versions"].items()},
        timings={name: time.number() for name, time in said["timings"].items()},
        history=tuple(
            _snapshot(Given(f"history.jsonl: line {k}", line.value))
            for k, line in enumerate(Given("history.jsonl", history).each(), start=1)
        ),
    )


def parse_widths(architecture: Given) -> tuple[int, ...]:
    """The widths of the hidden layers, of an architecture as it is written."""
    text = architecture.text()
    if text == LINEAR:
        return ()
    parts = text.split("-")
    fits = all(p.isascii() and p.isdigit() and len(p) < 9 and int(p) > 0 for p in parts)
    widths = tuple(map(int, parts)) if fits else ()
    if not fits or len(widths) > MOST_LAYERS or max(widths) > MOST_WIDTH:
        raise TabNASError(
            f"{architecture.where} must be widths joined by hyphens, like 32-144-24, but "
            f"{text!r} is there"
        )
    return widths


def read_cost(name: str, given: Given) -> Cost:
    """A cost with its limit, if it has one."""
    limit = given.get("limit")
    return Cost(name, given["value"].number(), None if limit is None else limit.number())


def read_score(given: Given) -> Score:
    """A value with its interval."""
    return Score(given["value"].number(), given["low"].number(), given["high"].number())


def _candidate(given: Given, metric: str) -> Candidate:
    one_shot = given.get("one_shot_loss")
    return Candidate(
        architecture=given["architecture"].label(),
        costs={name: cost.number() for name, cost in given["costs"].items()},
        result=given[metric].number(),
        one_shot_loss=nan if one_shot is None else one_shot.number(),
        epochs=given["epochs"].count(),
    )


def _effect(given: Given) -> Effect:
    return Effect(
        factor=given["factor"].number(),
        architecture=given["architecture"].label(),
        one_shot_loss=given["one_shot_loss"].number(),
    )


def _wider(given: Given) -> Wider:
    breaks = tuple(name.label() for name in given["breaks"].each())
    return Wider(given["architecture"].label(), breaks)


def _plan(given: Given) -> Plan:
    feasible = given.get("feasible")
    layers = given["widths"].each()[:MOST_LAYERS]
    return Plan(
        inputs=given["inputs"].count(MOST_WIDTH),
        outputs=given["outputs"].count(MOST_WIDTH),
        embedding_parameters=given["embedding_parameters"].count(),
        widths=tuple(tuple(w.count(MOST_WIDTH) for w in layer.each()) for layer in layers),
        architectures=given["architectures"].count(),
        feasible=None if feasible is None else feasible.count(),
        search_epochs=given["search_epochs"].count(),
        epochs=given["epochs"].count(),
        batch_size=given["batch_size"].count(),
        learning_rate=given["learning_rate"].number(),
    )


def _snapshot(given: Given) -> Snapshot:
    quality, loss = given.get("quality"), given.get("training_loss")
    return Snapshot(
        progress=given["progress"].number(),
        training_loss=nan if loss is None else loss.number(),  # no weight step was taken
        quality=None if quality is None else quality.number(),
        feasible_probability=given["feasible_probability"].number(),
        probabilities=tuple(
            tuple(p.number() for p in layer.each()) for layer in given["probabilities"].each()
        ),
    )


def _optional_list(given: Given, name: str) -> list[Given]:
    found = given.get(name)
    return [] if found is None else found.each()
