"""The data of a run whose rows are in a store, since memory does not hold them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from hashlib import sha256
from typing import Self

from tabnas.data import EncodedTable, LabelledArrays, Shares, UnseenCategories
from tabnas.errors import TabNASError
from tabnas.model import MAX_TREE_ROWS, EncodedTreeMatrix, TreeInputs, TreeRows, make_network_spec
from tabnas.nets import NetworkSpec, WindowedBatches
from tabnas.runs._process_group import SINGLE_PROCESS, ProcessGroup
from tabnas.runs.prepare._embedding_rule import choose_embeddings, fit_embeddings
from tabnas.runs.prepare._encoded_rows import EncodedRows, concatenate, make_encoded_rows
from tabnas.runs.prepare._knot_rule import fit_knot_rule
from tabnas.runs.prepare._leakage import SAMPLE_ROWS, LabelledInputs, describe_leaks, find_leaks
from tabnas.runs.prepare._overlap import check_overlap
from tabnas.runs.prepare._prepared_data import PreparedData, TrainingSource, TreeData
from tabnas.runs.prepare._row_split import balance_classes, note_rare_classes, require_classes
from tabnas.runs.prepare._unlabelled_rows import note_left_out
from tabnas.settings import RunSettings
from tabnas.space import LATENCY_ROWS, Budget
from tabnas.stores import PartName, Store
from tabnas.streams import sample_rows
from tabnas.types import BoolArray, FloatArray, IntArray

BLOCKS = 512
"""Blocks of a window. Many small blocks mix rows from all over the table: with 22 of them, the
networks of a sorted table were far worse."""
MIN_BLOCK_ROWS, MAX_BLOCK_ROWS = 8, 512
"""Rows of a block, which are read together: some tens of kilobytes, if memory allows."""
HELD_OUT: tuple[PartName, PartName] = ("validation", "test")
WINDOW_DIVISOR, TRAINING_SAMPLE_DIVISOR, HELD_OUT_DIVISOR = 16, 16, 8
"""The memory is divided by these numbers: for a window, of which two exist at a time; for the
sample of training rows; for the validation rows, and as much for the test rows. The rest is for
networks, Python, and copies."""


@dataclass(frozen=True, eq=False)
class StoredRows:
    """The training rows of a store, read when they are needed (`nets.TrainingRows`)."""

    store: Store
    spec: NetworkSpec
    max_categories: int | None  # of a column, if a limit allows fewer than the store has
    class_weight: FloatArray | None  # [classes], the weight of a row
    total_weight: float
    window_rows: int
    rank: int = 0  # of this process, among those that share the work
    processes: int = 1

    def __len__(self) -> int:
        return self.store.rows["train"]

    @property
    def examples(self) -> StoredRows:
        """The rows themselves."""
        return self

    @property
    def block_rows(self) -> int:
        """The number of rows that are read together."""
        return min(max(self.window_rows // BLOCKS, MIN_BLOCK_ROWS), MAX_BLOCK_ROWS)

    def batches(self, batch_size: int, *, seed: int, workers: int = 1) -> WindowedBatches:
        """Return batches of all rows, epoch by epoch, with one window in memory at a time."""
        return WindowedBatches(
            lambda blocks, wanted: self.load(blocks, wanted).examples,
            len(self),
            block_rows=self.block_rows,
            window_rows=self.window_rows,
            batch_size=batch_size,
            seed=seed,
            workers=workers,
            # a single network divides its rows among all processes
            local_workers=range(self.rank, workers, self.processes) if workers > 1 else None,
        )

    def load(self, blocks: IntArray, wanted: BoolArray | None = None) -> EncodedRows:
        """Return the rows of some blocks; those that are not wanted are zeros, without memory."""
        encoded, y = self.store.read_blocks("train", blocks, self.block_rows, wanted)
        return self._part(encoded, y)

    def load_sample(self, part: PartName, max_rows: int, seed: int) -> EncodedRows:
        """Return all rows of a part, or a sample of about `max_rows` from all over the table."""
        return self._part(*self.read_sample(part, max_rows, seed))

    def read_sample(self, part: PartName, max_rows: int, seed: int) -> LabelledArrays:
        """Read the same rows as the store has them, with all their categories."""
        blocks, wanted = (-(-rows // self.block_rows) for rows in (self.store.rows[part], max_rows))
        chosen = sample_rows(blocks, wanted, seed=seed, name=f"held/{part}")
        return self.store.read_blocks(part, chosen, self.block_rows)

    def _part(self, encoded: EncodedTable, y: IntArray | FloatArray) -> EncodedRows:
        if self.max_categories is not None:
            self.store.encoder.recode(encoded.categorical, self.max_categories)
        return make_encoded_rows(
            self.spec, self.store.target, encoded, y, class_weight=self.class_weight
        )


@dataclass(frozen=True, eq=False)
class StoredData(PreparedData):
    """Training rows on disk; a sample of them, validation and test rows in memory."""

    stored: StoredRows = field(kw_only=True)
    seed: int = field(kw_only=True)
    sample_rows: dict[PartName, int] = field(kw_only=True)  # of each part, by the memory of the run

    @property
    def train(self) -> TrainingSource:
        return self.stored

    def limit_embeddings(self, budget: Budget) -> Self:
        # without the rows for a teacher: its answers to a sample would not do for all rows
        limited = replace(super().limit_embeddings(budget), unlimited=None)
        if limited.encoder is self.encoder and limited.spec == self.spec:
            return self
        _, vocabulary, _ = choose_embeddings(self.encoder, budget)
        max_categories = None if limited.encoder is self.encoder else vocabulary
        stored = replace(self.stored, spec=limited.spec, max_categories=max_categories)
        return replace(limited, stored=stored)

    def tree_data(self) -> TreeData | None:
        """Return the rows with all categories of the store, read again if a limit removed some."""
        inputs = TreeInputs(self.stored.store.encoder)
        if self.test is None:
            return None

        def matrix(name: PartName, part: EncodedRows) -> EncodedTreeMatrix:
            return EncodedTreeMatrix(inputs, self._read_unlimited(name, part))

        def rows(name: PartName, part: EncodedRows) -> TreeRows:
            inputs = matrix(name, part)
            return TreeRows(inputs=inputs, y=part.y, weight=part.training_weight)

        train, validation = rows("train", self.train_in_memory), rows("validation", self.validation)
        return TreeData(inputs, train, validation, matrix("test", self.test))

    def _read_unlimited(self, name: PartName, part: EncodedRows) -> EncodedTable:
        if self.stored.max_categories is None:
            return part.encoded
        return self.stored.read_sample(name, self.sample_rows[name], self.seed).encoded

    @property
    def all_rows(self) -> EncodedRows:
        raise TabNASError("the rows of a store cannot all be in memory")

    def digest(self) -> str:
        if self.full_digest is not None:
            return self.full_digest
        content = [self.encoder.to_dict(), self.target.to_dict(), self.stored.store.digest]
        return sha256(json.dumps(content).encode()).hexdigest()[:16]


def prepare_store(
    store: Store, settings: RunSettings, process_group: ProcessGroup = SINGLE_PROCESS
) -> StoredData:
    """Return the data of a run on a store."""
    _check_settings(settings)
    encoder, dimensions = fit_embeddings(store.encoder, Budget())
    spec = make_network_spec(encoder, store.target, dimensions)
    balance, total_weight = _weights(store, settings)
    row_bytes = 4 * (len(encoder.features) + len(encoder.n_categories) + 1)
    stored = StoredRows(
        store,
        spec,
        None,
        balance,
        total_weight,
        window_rows=max(MIN_BLOCK_ROWS, settings.memory // WINDOW_DIVISOR // row_bytes),
        rank=process_group.rank,
        processes=process_group.size,
    )
    share = settings.memory // row_bytes
    held_rows: dict[PartName, int] = dict.fromkeys(HELD_OUT, share // HELD_OUT_DIVISOR)
    held_rows["train"] = min(MAX_TREE_ROWS, share // TRAINING_SAMPLE_DIVISOR)
    known, validation, test = (
        stored.load_sample(part, held_rows[part], settings.seed) for part in ("train", *HELD_OUT)
    )
    notes = [str(note) for note in store.metadata.get("notes", ())]
    read = store.metadata.get("rows_read")
    if isinstance(read, int):
        notes += note_left_out(read - sum(store.rows.values()), store.target.name)
    for part, held in zip(HELD_OUT, (validation, test), strict=True):
        unseen = UnseenCategories(encoder)
        unseen.add(held.encoded)
        notes += [f"in the {part} rows, {note}" for note in unseen.notes()]
    notes += [
        f"of the {store.rows[part]:,} rows for {part}, {len(held):,} were used, as many as fit "
        "into the memory"
        for part, held in zip(HELD_OUT, (validation, test), strict=True)
        if len(held) < store.rows[part]
    ]
    notes += _check_overlap(store, {"train": known, "validation": validation, "test": test})
    prepared = StoredData(
        encoder=encoder,
        target=store.target,
        category_dimensions=dimensions,
        train_and_validation=concatenate(known, validation),
        train_rows=len(known),
        test=test if len(test) else None,
        knot_rule=fit_knot_rule(known, store.target, settings),
        notes=tuple(notes),
        stored=stored,
        seed=settings.seed,
        sample_rows=held_rows,
    )
    rare = note_rare_classes(store.target, store.class_counts, settings)
    return replace(prepared, notes=(*prepared.notes, *rare, *_note_leaks(prepared)))


def _note_leaks(prepared: StoredData) -> tuple[str, ...]:
    """Return notes on single columns that predict the target, by some rows in memory."""
    inputs = TreeInputs(prepared.encoder)

    def half(part: EncodedRows, name: str) -> LabelledInputs:
        some = part.take(
            sample_rows(len(part), SAMPLE_ROWS, seed=prepared.seed, name=f"leaks/{name}")
        )
        return LabelledInputs(inputs.from_encoded(some.encoded), some.training_target)

    first, second = half(prepared.train_in_memory, "train"), half(prepared.validation, "validation")
    return describe_leaks(find_leaks(inputs, prepared.target, first, second), prepared.target.name)


def _check_overlap(store: Store, held: Mapping[PartName, EncodedRows]) -> tuple[str, ...]:
    """Compare validation and test rows from separate files with the rows of the table."""
    separate = {source.part for source in store.sources}
    table = [name for name in held if name not in separate]
    rows = sum(store.rows[name] for name in table)
    return check_overlap(
        [held[name] for name in table],
        {name: held[name] for name in HELD_OUT if name in separate},
        table_share=sum(len(held[name]) for name in table) / rows,
    )


def _weights(store: Store, settings: RunSettings) -> tuple[FloatArray | None, float]:
    """Return the class weights, if classes are balanced, and the total weight of all rows."""
    rows = store.rows["train"]
    if settings.class_weight is None:
        return None, float(rows)
    require_classes(store.target)  # raises an error for regression
    balance = balance_classes(store.class_counts)
    return balance, float((balance * store.class_counts).sum())


def _check_settings(settings: RunSettings) -> None:
    """Raise an error for settings that the store has fixed, or that need all rows in memory."""
    defaults = {f.name: f.default for f in fields(RunSettings)}
    fixed = {
        name: defaults[name] for name in ("drop", "scaling", "decimal", "split", "split_column")
    }
    fixed |= {"kinds": {}, "shares": Shares()}
    for name, default in fixed.items():
        if getattr(settings, name) != default:
            raise TabNASError(
                f"{name} was set when the store was encoded, and cannot be set again; leave it "
                "out, or encode the table again with it"
            )
    if settings.teacher_columns:
        raise TabNASError(
            "teacher_columns must be columns of a table, but a store has only features and the "
            "target; search the table itself, or leave them out"
        )
    if settings.refit:
        raise TabNASError(
            "refit needs all rows in memory, but the rows of a store are on disk; leave it out"
        )
    if settings.limits.keys() & LATENCY_ROWS:
        raise TabNASError(
            "a limit on latency needs unencoded rows of the table, but a store has encoded "
            "rows only; limit parameters, bytes or flops instead"
        )
