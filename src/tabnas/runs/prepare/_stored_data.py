"""The parts of a run whose rows are in a store: more of them than memory holds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from hashlib import sha256
from typing import Self

import numpy as np

from tabnas.data import Encoded, Shares, UnseenCategories
from tabnas.errors import TabNASError
from tabnas.latency import COST_NAMES
from tabnas.model import EncodedTreeMatrix, TreeInputs, TreeRows, network_task
from tabnas.nets import Task, WindowedBatches
from tabnas.runs._ranks import ALONE, Ranks
from tabnas.runs._settings import RunSettings
from tabnas.runs._tree_parts import TreeParts
from tabnas.runs.prepare._embedding_rule import embeddings_within, fit_embeddings
from tabnas.runs.prepare._encoded_rows import Part, joined, make_part
from tabnas.runs.prepare._leakage import SAMPLE_ROWS, Half, find_leaks, leak_notes
from tabnas.runs.prepare._overlap import check_overlap
from tabnas.runs.prepare._prepared_data import Learned, Parts
from tabnas.runs.prepare._row_split import class_balance, classes_of, note_rare_classes
from tabnas.space import Budget
from tabnas.stores import PartName, Rows, Store
from tabnas.streams import stream
from tabnas.types import BoolArray, FloatArray, IntArray

BLOCKS = 512
"""Blocks of a window, so that it has rows from all over the table, but little memory there is:
with 22 of them, rows of a sorted table were learned from far worse."""
FEWEST_BLOCK_ROWS, MOST_BLOCK_ROWS = 8, 512
"""Rows that are read together, wherever they stand: some tens of kilobytes, if memory bears it."""
HELD_OUT: tuple[PartName, PartName] = ("validation", "test")
KNOWN_ROWS = 250_000
"""Training rows that are held in memory, for what cannot learn block by block: boosted trees."""
WINDOW_SHARE, KNOWN_SHARE, HELD_OUT_SHARE = 16, 16, 8
"""One part in so many of the memory is a window, of which two are there at a time; the training
rows that are held; the rows to choose by, and those to judge by. The rest is for what a run needs
besides: the networks, Python, and some of this twice for a moment."""


@dataclass(frozen=True, eq=False)
class StoredRows:
    """The training rows of a store, as a network takes them (`nets.TrainingRows`)."""

    store: Store
    task: Task
    most: int | None  # categories of a column, where a limit bears fewer than the store has
    balance: FloatArray | None  # what a row of each class weighs
    total_weight: float
    window_rows: int
    rank: int = 0  # of the processes that share the work
    ranks: int = 1

    def __len__(self) -> int:
        return self.store.rows["train"]

    @property
    def examples(self) -> StoredRows:
        """Themselves: they are read when they are needed."""
        return self

    @property
    def block_rows(self) -> int:
        """Rows that are read together."""
        return min(max(self.window_rows // BLOCKS, FEWEST_BLOCK_ROWS), MOST_BLOCK_ROWS)

    def batches(self, batch_size: int, *, seed: int, workers: int = 1) -> WindowedBatches:
        """All rows epoch by epoch, a window in memory at a time."""
        return WindowedBatches(
            lambda blocks, wanted: self.load(blocks, wanted).examples,
            len(self),
            block_rows=self.block_rows,
            window_rows=self.window_rows,
            batch_size=batch_size,
            seed=seed,
            workers=workers,
            # the rows of a single network are divided among all processes
            local_workers=range(self.rank, workers, self.ranks) if workers > 1 else None,
        )

    def load(self, blocks: IntArray, wanted: BoolArray | None = None) -> Part:
        """The rows of some blocks; zeros for those that are not wanted, which take no memory."""
        encoded, truth = self.store.read_blocks("train", blocks, self.block_rows, wanted)
        return self._part(encoded, truth)

    def held(self, part: PartName, most: int, seed: int) -> Part:
        """All rows of a part, or about so many, from all over the table."""
        return self._part(*self.read_held(part, most, seed))

    def read_held(self, part: PartName, most: int, seed: int) -> Rows:
        """The same as the store has them, with all their categories."""
        blocks, wanted = (-(-rows // self.block_rows) for rows in (self.store.rows[part], most))
        chosen = np.arange(blocks)
        if wanted < blocks:
            drawn = stream(seed, f"held/{part}").choice(blocks, wanted, replace=False)
            chosen = np.sort(drawn)
        return self.store.read_blocks(part, chosen, self.block_rows)

    def _part(self, encoded: Encoded, truth: IntArray | FloatArray) -> Part:
        if self.most is not None:
            self.store.encoder.recode(encoded.categorical, self.most)
        return make_part(self.task, self.store.target, encoded, truth, balance=self.balance)


@dataclass(frozen=True, eq=False)
class StoredParts(Parts):
    """Learned from block by block; in memory are a sample of that, and the other parts."""

    stored: StoredRows = field(kw_only=True)
    seed: int = field(kw_only=True)
    held_rows: dict[PartName, int] = field(kw_only=True)  # asked of each part, for memory

    @property
    def train(self) -> Learned:
        return self.stored

    def within(self, budget: Budget) -> Self:
        narrow = super().within(budget)
        if narrow is self:
            return self
        _, most, _ = embeddings_within(self.encoder, budget)
        cut = None if narrow.encoder is self.encoder else most
        return replace(narrow, stored=replace(self.stored, task=narrow.task, most=cut))

    def tree_parts(self) -> TreeParts | None:
        """Rows with all categories of the store, read once more if a limit has cut them."""
        inputs = TreeInputs(self.stored.store.encoder)
        if self.test is None:
            return None

        def matrix(name: PartName, part: Part) -> EncodedTreeMatrix:
            return EncodedTreeMatrix(inputs, self._uncut(name, part))

        def rows(name: PartName, part: Part) -> TreeRows:
            inputs = matrix(name, part)
            return TreeRows(inputs=inputs, truth=part.truth, weight=part.training_weight)

        train, validation = rows("train", self.known), rows("validation", self.validation)
        return TreeParts(inputs, train, validation, matrix("test", self.test))

    def _uncut(self, name: PartName, part: Part) -> Encoded:
        if self.stored.most is None:
            return part.encoded
        return self.stored.read_held(name, self.held_rows[name], self.seed).encoded

    @property
    def everything(self) -> Part:
        raise TabNASError("the rows of a store cannot all be in memory")

    def digest(self) -> str:
        if self.uncut_digest is not None:
            return self.uncut_digest
        said = [self.encoder.to_dict(), self.target.to_dict(), self.stored.store.digest]
        return sha256(json.dumps(said).encode()).hexdigest()[:16]


def prepare_stored(store: Store, settings: RunSettings, ranks: Ranks = ALONE) -> StoredParts:
    """What follows from a store and the settings of a run."""
    _refuse_settled(settings)
    encoder, dimensions = fit_embeddings(store.encoder, Budget())
    task = network_task(encoder, store.target, dimensions)
    balance, total_weight = _weights(store, settings)
    row_bytes = 4 * (len(encoder.features) + len(encoder.categories) + 1)
    stored = StoredRows(
        store,
        task,
        None,
        balance,
        total_weight,
        window_rows=max(FEWEST_BLOCK_ROWS, settings.memory // WINDOW_SHARE // row_bytes),
        rank=ranks.rank,
        ranks=ranks.size,
    )
    share = settings.memory // row_bytes
    held_rows: dict[PartName, int] = dict.fromkeys(HELD_OUT, share // HELD_OUT_SHARE)
    held_rows["train"] = min(KNOWN_ROWS, share // KNOWN_SHARE)
    known, validation, test = (
        stored.held(part, held_rows[part], settings.seed) for part in ("train", *HELD_OUT)
    )
    notes = [str(note) for note in store.facts.get("notes", ())]
    for part, held in zip(HELD_OUT, (validation, test), strict=True):
        unseen = UnseenCategories(encoder)
        unseen.add(held.encoded)
        notes += [f"in the {part} rows, {note}" for note in unseen.notes()]
    notes += [
        f"of the {store.rows[part]:,} rows for {part}, {len(held):,} were used, as many as the "
        "memory bears"
        for part, held in zip(HELD_OUT, (validation, test), strict=True)
        if len(held) < store.rows[part]
    ]
    notes += _check_overlap(store, {"train": known, "validation": validation, "test": test})
    parts = StoredParts(
        encoder=encoder,
        target=store.target,
        dimensions=dimensions,
        development=joined(known, validation),
        train_rows=len(known),
        test=test if len(test) else None,
        notes=tuple(notes),
        stored=stored,
        seed=settings.seed,
        held_rows=held_rows,
    )
    rare = note_rare_classes(store.target, store.class_counts, settings)
    return replace(parts, notes=(*parts.notes, *rare, *_note_leaks(parts)))


def _note_leaks(parts: StoredParts) -> tuple[str, ...]:
    """Notes of columns that alone give the target, by some of the rows in memory."""
    inputs = TreeInputs(parts.encoder)

    def half(part: Part, name: str) -> Half:
        rows = np.arange(len(part))
        if len(part) > SAMPLE_ROWS:
            drawn = stream(parts.seed, f"leaks/{name}").choice(rows, SAMPLE_ROWS, replace=False)
            rows = np.sort(drawn)
        some = part.take(rows)
        return Half(inputs.from_encoded(some.encoded), some.learned_truth)

    first, second = half(parts.known, "train"), half(parts.validation, "validation")
    return leak_notes(find_leaks(inputs, parts.target, first, second), parts.target.name)


def _check_overlap(store: Store, held: Mapping[PartName, Part]) -> tuple[str, ...]:
    """Compare the parts that were files of their own with the rows of the table, or a sample."""
    own = {source.get("part") for source in store.sources}
    table = [name for name in held if name not in own]
    rows = sum(store.rows[name] for name in table)
    return check_overlap(
        [held[name] for name in table],
        {name: held[name] for name in HELD_OUT if name in own},
        table_share=sum(len(held[name]) for name in table) / rows,
    )


def _weights(store: Store, settings: RunSettings) -> tuple[FloatArray | None, float]:
    """What a row of each class weighs, if classes are balanced, and all training rows together."""
    rows = store.rows["train"]
    if settings.class_weight is None:
        return None, float(rows)
    classes_of(store.target)  # refuses a quantity
    balance = class_balance(store.class_counts)
    return balance, float((balance * store.class_counts).sum())


def _refuse_settled(settings: RunSettings) -> None:
    """Refuse what was settled when the store was made, or takes all rows at once."""
    defaults = {each.name: each.default for each in fields(RunSettings)}
    settled = {
        name: defaults[name] for name in ("drop", "scaling", "decimal", "order", "order_column")
    }
    settled |= {"kinds": {}, "shares": Shares()}
    for name, default in settled.items():
        if getattr(settings, name) != default:
            raise TabNASError(
                f"{name} was settled when the store was made, but it is given once more; leave "
                "it out, or encode the table again with it"
            )
    if settings.refit:
        raise TabNASError(
            "a training on all rows, those of the test included, must have them in memory, but "
            "they are in a store; leave refit out"
        )
    if settings.limits.keys() & COST_NAMES:
        raise TabNASError(
            "a limit on latency is measured with rows of the table, but a store has encoded "
            "ones only; limit parameters, bytes or flops instead"
        )
