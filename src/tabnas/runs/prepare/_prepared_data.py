"""The encoded rows of a run, by what they are for: training, validation, test."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from tabnas.data import EncodedTable, NumberTarget, Table, TableEncoder, Target
from tabnas.model import TreeInputs, TreeMatrix, TreeRows, decode_outputs, make_network_spec
from tabnas.nets import NetworkSpec, TrainingRows
from tabnas.runs.prepare._embedding_rule import choose_embeddings
from tabnas.runs.prepare._encoded_rows import EncodedRows, concatenate
from tabnas.runs.prepare._given_answers import GivenAnswers
from tabnas.runs.prepare._knot_rule import KnotRule
from tabnas.space import Budget
from tabnas.types import FloatArray, IntArray

MAX_CROSS_VALIDATED_ROWS = 3_000
"""Up to this many training and validation rows, candidates are chosen by cross-validation."""


class TrainingSource(Protocol):
    """Training rows, in memory or on disk."""

    def __len__(self) -> int: ...

    @property
    def examples(self) -> TrainingRows:
        """The rows as `Trainer` and `Search` read them."""


@dataclass(frozen=True, eq=False)
class TreeData:
    """The rows of a run as boosted trees read them; limit and scaling do not change them."""

    inputs: TreeInputs
    train: TreeRows
    validation: TreeRows | None  # that early stopping uses
    test: TreeMatrix


@dataclass(frozen=True, eq=False)
class PreparedData:
    """The encoder, the target and the encoded rows of a run."""

    encoder: TableEncoder
    target: Target
    category_dimensions: tuple[int, ...]  # of the embedding of each categorical column
    train_and_validation: EncodedRows  # training rows, then validation rows
    train_rows: int
    test: EncodedRows | None  # None if the caller scores the model in another way
    folds: int = 0  # of cross-validation; 0 if candidates are chosen by the validation rows
    groups: IntArray | None = None  # [development rows], that no fold may split
    times: FloatArray | None = None  # [training rows], if rows are split by time
    unlabelled: EncodedTable | None = None  # rows without a target
    latency_rows: Table | None = None  # unencoded rows, to measure latency with
    knot_rule: KnotRule | None = None  # None if numbers are never embedded
    notes: tuple[str, ...] = ()  # for the user, on the rows
    trees: TreeData | None = None  # None if no boosted trees are trained
    full_digest: str | None = None  # of the data before a limit has chosen its embeddings
    unlimited: PreparedData | None = None  # the data before that; None if rows are in a store
    row_numbers: IntArray | None = None
    """[training, validation and test rows], their numbers in the table of the user; None if test
    rows are of another table."""
    has_own_validation: bool = False
    """Whether validation rows are of a table of their own, and so are their `row_numbers`."""
    unlabelled_numbers: tuple[IntArray, IntArray] | None = None
    """The numbers of rows without a target: first of those in the same table, then of those in
    another; None if rows are in a store."""
    given_answers: GivenAnswers | None = None  # of the user's own teacher, if columns hold them

    @property
    def train(self) -> TrainingSource:
        """The training rows."""
        return self.train_in_memory

    @cached_property
    def train_in_memory(self) -> EncodedRows:
        """The training rows that are in memory: all, or a sample of those in a store."""
        return self.train_and_validation.take(slice(0, self.train_rows))

    @cached_property
    def validation(self) -> EncodedRows:
        """The validation rows."""
        return self.train_and_validation.take(slice(self.train_rows, None))

    @property
    def all_rows(self) -> EncodedRows:
        """Training, validation and test rows."""
        return (
            self.train_and_validation
            if self.test is None
            else concatenate(self.train_and_validation, self.test)
        )

    @property
    def spec(self) -> NetworkSpec:
        """The inputs, the outputs and the loss of every network of the run."""
        return self.train_and_validation.examples.spec

    def limit_embeddings(self, budget: Budget) -> Self:
        """Return the data with the vocabularies, embeddings and knots that fit the budget."""
        encoder, max_categories, category_dimensions = choose_embeddings(self.encoder, budget)
        knots = () if self.knot_rule is None else self.knot_rule.choose(budget)
        spec = make_network_spec(encoder, self.target, category_dimensions, knots)
        if encoder is self.encoder and spec == self.spec:
            return replace(self, unlimited=self)

        def limit(rows: EncodedRows) -> EncodedRows:
            if encoder is self.encoder:
                return rows.with_spec(spec)
            return rows.recode(spec, self.encoder, max_categories)

        return replace(
            self,
            full_digest=self.digest(),
            unlimited=self,
            encoder=encoder,
            category_dimensions=category_dimensions,
            train_and_validation=limit(self.train_and_validation),
            test=None if self.test is None else limit(self.test),
            unlabelled=self._recode(self.unlabelled, encoder, max_categories),
        )

    def _recode(
        self, encoded: EncodedTable | None, encoder: TableEncoder, max_categories: int
    ) -> EncodedTable | None:
        if encoded is None or encoder is self.encoder:
            return encoded
        categorical = encoded.categorical.copy()
        self.encoder.recode(categorical, max_categories)
        return EncodedTable(encoded.numeric, categorical)

    def tree_data(self) -> TreeData | None:
        """Return the rows for boosted trees, if some are to be trained."""
        return self.trees

    def digest(self) -> str:
        """Return a digest of the rows, their split, their encoding, the knots and the target.

        It is the same for every limit.
        """
        if self.full_digest is not None:
            return self.full_digest
        digest = sha256(json.dumps([self.encoder.to_dict(), self.target.to_dict()]).encode())
        for rows in (self.train_and_validation, *filter(None, [self.test])):
            for array in (*rows.examples.arrays, rows.y):
                digest.update(np.ascontiguousarray(array).data)
        if self.unlabelled is not None:
            for array in (self.unlabelled.numeric, self.unlabelled.categorical):
                digest.update(np.ascontiguousarray(array).data)
        digest.update(str(self.train_rows).encode())
        if self.knot_rule is not None:
            digest.update(json.dumps(list(self.knot_rule.by_count.items())).encode())
        if self.given_answers is not None:
            given = self.given_answers
            for answers in (given.development, given.test, given.unlabelled):
                digest.update(np.ascontiguousarray(answers).data)
        return digest.hexdigest()[:16]

    def groups_digest(self) -> str | None:
        """Return a digest of the groups of the rows; None if they are not split by group."""
        if self.groups is None:
            return None
        return sha256(np.ascontiguousarray(self.groups, np.int64).data).hexdigest()[:16]

    def target_prediction(self, raw: NDArray[np.float32]) -> FloatArray:
        """Return probabilities, or values in the units of the target, from network outputs."""
        return decode_outputs(self.target, raw)

    def describe_largest_value(self) -> str:
        """Return a clause that names the column, or the target, with the largest scaled value.

        It helps to find the cause when numbers leave the range of float32: columns and targets are
        scaled, so that a large number is an unusual one.
        """
        largest = np.abs(self.train_and_validation.encoded.numeric).max(axis=0, initial=0.0)
        sizes = {
            f"the column {name!r}": size
            for name, size in zip(self.encoder.features, largest.tolist(), strict=True)
        }
        if isinstance(self.target, NumberTarget):
            values = self.train_and_validation.examples.values
            sizes[f"the target {self.target.name!r}"] = float(np.abs(values).max())
        if not sizes:
            return "all columns are categories, so no number is extreme"
        name = max(sizes, key=sizes.__getitem__)
        return f"the largest number that the networks read is {sizes[name]:.3g}, in {name}"
