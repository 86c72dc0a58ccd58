"""Runs on a store: training rows are on disk and read block by block."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

from tabnas.data import Table
from tabnas.errors import TabNASError
from tabnas.nets import Cosine, SuperNet, Trainer, TrainingSettings
from tabnas.runs import (
    SINGLE_PROCESS,
    ProcessGroup,
    RunCheckpoint,
    RunSettings,
    estimate_network_bytes,
    plan_run,
    prepare_data,
)
from tabnas.runs.prepare._knot_rule import fit_knot_rule
from tabnas.runs.prepare._stored_data import StoredData
from tabnas.space import Architecture, Budget
from tabnas.stores import Store, encode_store, open_store
from tests.ranks import run_in_ranks

ROWS = 6_000
LIMITS = {"parameters": 600}


def make_columns(rows: int = ROWS, *, by_label: bool = False) -> dict[str, list[object]]:
    """Return numbers with gaps, a category of many values, and a class that depends on both."""
    rng = np.random.default_rng(0)
    x, noise = rng.normal(size=(rows, 3)), rng.normal(size=rows)
    city = rng.zipf(1.5, size=rows) % 300
    label = x[:, 0] * x[:, 1] + (city % 2) + 0.3 * noise > 0.5
    order = np.argsort(label, kind="stable") if by_label else np.arange(rows)
    numbers = {f"x{k}": x[order, k].round(6).tolist() for k in range(3)}
    numbers["x2"][::7] = [None] * len(numbers["x2"][::7])
    return {
        **numbers,
        "city": [f"city {c}" for c in city[order]],
        "kind": np.where(label[order], "yes", "no").tolist(),
    }


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("store")
    csv.write_csv(pa.table(make_columns()), folder / "table.csv")
    return encode_store(folder / "table.csv", folder / "store", target="kind")


def prepare_store(store: Store, **settings: object) -> StoredData:
    prepared = prepare_data(store, RunSettings(**{"limits": LIMITS, **settings}))
    assert isinstance(prepared, StoredData)
    return prepared


def small_memory(store: Store) -> int:
    """Return the bytes of memory for a window of about a tenth of the rows."""
    return 16 * 4 * 8 * store.rows["train"] // 10


def test_a_run_on_a_store_beats_the_trivial_prediction(store: Store) -> None:
    run = plan_run(
        store, RunSettings(limits=LIMITS, memory=small_memory(store), reference_models=False)
    )
    assert len(run.data.train) == store.rows["train"]
    finished = run.execute()
    assert finished.model.costs["parameters"] <= 600
    scores = finished.scores
    assert scores["network"]["log_loss"].value < 0.75 * scores["trivial"]["log_loss"].value
    assert len(finished.model.predict(Table.from_data(make_columns(20)).drop(["kind"]))) == 20


def test_a_store_has_no_teacher(store: Store, default_trainings: None) -> None:
    run = plan_run(store, RunSettings(limits={"parameters": 500}))
    assert run.plan.teacher.teachers == ()
    assert any(
        "there was no teacher: the training rows are in a store" in n for n in run.plan.notes
    )
    with pytest.raises(TabNASError, match="there can be no teacher: the training rows are in a"):
        plan_run(store, RunSettings(limits={"parameters": 500}, teacher="trees"))


@pytest.mark.parametrize("limit", [60, 20_000])
def test_boosted_trees_see_all_categories_of_a_store(store: Store, limit: int) -> None:
    """The limit may leave only a few of them to the network."""
    prepared = prepare_store(store, limits={"parameters": limit})
    assert (prepared.encoder.n_categories < store.encoder.n_categories) == (limit == 60)
    trees = prepared.tree_data()
    assert trees is not None
    assert prepared.test is not None
    for name, inputs, rows in (
        ("train", trees.train.inputs, prepared.train_in_memory),
        ("test", trees.test, prepared.test),
    ):
        stored = store.read(name, 0, store.rows[name])
        assert len(inputs) == len(rows) == len(stored.y)
        np.testing.assert_array_equal(rows.y, stored.y)
        city = trees.inputs.columns.index("city")
        codes = stored.encoded.categorical[:, 0]
        is_frequent = codes < 255
        np.testing.assert_array_equal(inputs[:][is_frequent, city], codes[is_frequent])


@pytest.mark.parametrize("dimensions", [None, (2,)])
def test_the_same_seed_gives_the_same_bits(
    store: Store, dimensions: tuple[int, ...] | None
) -> None:
    def train():
        settings = RunSettings(
            limits=LIMITS, memory=small_memory(store), reference_models=False, candidates=1,
            numeric_dimensions=dimensions,
        )  # fmt: skip
        return plan_run(store, settings, saved_plan=SAVED_PLAN).execute().model

    first, again = train(), train()
    assert first.architecture == again.architecture
    assert dimensions is None or first.architecture.dimension == 2
    assert first.knots == again.knots
    for name, weights in first.weights.items():
        assert np.array_equal(weights, again.weights[name])


SAVED_PLAN = {"search_epochs": 2, "epochs": 2, "candidates": 1}


def test_every_training_row_is_seen_once_an_epoch(store: Store) -> None:
    rows = prepare_store(store, memory=small_memory(store)).stored
    batches = rows.batches(50, seed=0)
    assert rows.window_rows < len(rows) / 5  # or else this shows nothing
    seen = []
    for step in range(batches.steps_per_epoch):
        batch = batches.at(step)
        seen.append(batch.examples.numeric[batch.rows[0]])
    stored = store.read("train", 0, len(rows)).encoded.numeric
    assert np.array_equal(*(np.sort(rows, axis=0) for rows in (np.concatenate(seen), stored)))


def test_a_limit_with_fewer_categories_recodes_the_stored_rows(store: Store) -> None:
    prepared = prepare_store(store, limits={"parameters": 150})
    (kept,), (stored,) = prepared.encoder.n_categories, store.encoder.n_categories
    assert kept < stored
    again = prepared.encoder.encode(Table.from_data(make_columns()).drop(["kind"]))
    parts = (prepared.train_in_memory, prepared.validation, prepared.test)
    codes = np.concatenate([part.encoded.categorical for part in parts if part is not None])
    assert np.array_equal(np.sort(codes[:, 0]), np.sort(again.categorical[:, 0]))


def test_a_limit_changes_no_rows_of_a_store_without_categories(tmp_path: Path) -> None:
    numbers = {name: values for name, values in make_columns(2_000).items() if name != "city"}
    csv.write_csv(pa.table(numbers), tmp_path / "table.csv")
    numeric = encode_store(tmp_path / "table.csv", tmp_path / "store", target="kind")
    prepared = prepare_store(numeric)
    limited = prepared.limit_embeddings(Budget(parameters=100))
    assert limited.encoder is prepared.encoder
    assert limited.stored.max_categories is None
    trees = limited.tree_data()
    assert trees is not None
    assert trees.train.inputs.encoded is limited.train_in_memory.encoded


def test_validation_and_test_rows_are_as_many_as_fit_into_memory(store: Store) -> None:
    prepared = prepare_store(store, memory=8 * 24 * 500)  # 500 rows of 24 bytes in an eighth of it
    for part in (prepared.validation, prepared.test):
        assert part is not None
        assert 400 < len(part) <= 512
    assert "rows for validation, 5" in prepared.notes[0]
    assert "rows for test, 5" in prepared.notes[1]
    assert prepare_store(store).notes == ()


def test_balanced_classes_weigh_the_same(store: Store) -> None:
    prepared = prepare_store(store, class_weight="balanced")
    examples = prepared.train_in_memory.examples
    weights = [examples.weight[examples.values[:, 0] == k].sum() for k in (0, 1)]
    assert weights[0] == pytest.approx(weights[1], rel=1e-4)
    assert prepared.stored.total_weight == pytest.approx(sum(weights), rel=1e-4)


def test_a_training_can_be_resumed_in_the_middle_of_a_window(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tabnas.nets._stretches.MAX_STEPS", 1)
    rows = prepare_store(store, memory=small_memory(store)).stored
    architecture = Architecture((8,))

    def trainer() -> Trainer:
        net = SuperNet.standalone(architecture, rows.spec)
        training = TrainingSettings(epochs=2, batch_size=64, schedule=Cosine(0.01))
        return Trainer(net, architecture, rows, training)

    class Stop(Exception):  # noqa: N818
        pass

    stopped, uninterrupted = trainer(), trainer()

    def stop() -> None:
        if stopped.step == 41:
            raise Stop

    with pytest.raises(Stop):
        stopped.run(on_step=stop)
    resumed = trainer()
    resumed.load_state_dict(stopped.state_dict())
    resumed.run()
    uninterrupted.run()
    for name, weights in uninterrupted.net.weights().items():
        assert np.array_equal(weights, resumed.net.weights()[name])


def test_rows_sorted_by_label_are_learned_as_well(tmp_path: Path) -> None:
    """With a window of a tenth of the rows, the loss is that of rows in a random order."""

    def loss(by_label: bool) -> float:
        name = f"{by_label}"
        csv.write_csv(pa.table(make_columns(20_000, by_label=by_label)), tmp_path / f"{name}.csv")
        store = encode_store(tmp_path / f"{name}.csv", tmp_path / name, target="kind")
        prepared = prepare_store(store, memory=small_memory(store))
        architecture = Architecture((16,))
        net = SuperNet.standalone(architecture, prepared.spec)
        training = TrainingSettings(epochs=5, batch_size=64, schedule=Cosine(0.01))
        Trainer(net, architecture, prepared.stored, training).run()
        return net.loss(architecture, prepared.validation.examples)

    mixed, by_label = loss(False), loss(True)
    assert by_label < 1.1 * mixed
    assert mixed < 0.5


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"drop": ("x0",)}, "drop was set"),
        ({"kinds": {"x0": "categorical"}}, "kinds was set"),
        ({"scaling": "none"}, "scaling was set"),
        ({"refit": True}, "refit needs all rows"),
        ({"limits": {"latency_us": 50.0}}, "limit on latency"),
    ],
)
def test_settings_that_a_store_does_not_support_are_refused(
    store: Store, settings: dict[str, object], message: str
) -> None:
    with pytest.raises(TabNASError, match=message):
        prepare_store(store, **settings)


def test_embeddings_that_do_not_fit_into_memory_are_refused_before_training(tmp_path: Path) -> None:
    csv.write_csv(pa.table(make_columns(200)), tmp_path / "table.csv")
    store = encode_store(
        tmp_path / "table.csv",
        tmp_path / "store",
        target="kind",
        kinds={"city": "hashed"},
        buckets=1 << 28,
    )
    with pytest.raises(TabNASError, match=r"embeddings would take 25.8 GB .* fewer --buckets"):
        plan_run(store, RunSettings(limits={"flops": 10_000}))
    for dimensions in ((0,), (0, 2)):
        settings = RunSettings(limits=LIMITS, numeric_dimensions=dimensions, knots=5)
        within = plan_run(store, settings)  # by which the buckets are folded
        needed = estimate_network_bytes(
            within.plan.feasible.space, within.data.spec, within.plan.optimizer
        )
        knots = sum(map(len, within.data.spec.inputs.knots))
        assert bool(knots) == (max(dimensions) > 0)
        assert needed["embeddings"] <= 12 * (300 + max(dimensions) * knots)


def test_knots_of_a_store_are_those_of_the_table(store: Store) -> None:
    """The store and the table split the rows alike, so that the same rows have the knots."""
    from_store = prepare_store(store)
    rule = from_store.knot_rule
    assert rule is not None
    rows = from_store.train_in_memory
    assert rule.rows == len(rows) == store.rows["train"]
    knots = from_store.spec.inputs.knots
    assert any(knots)
    settings = RunSettings(limits=LIMITS)
    from_table = fit_knot_rule(rows, from_store.target, settings)
    assert from_table is not None
    assert knots == from_table.choose(settings.computed_budget)
    assert prepare_store(store, numeric_dimensions=(0,)).spec.inputs.knots == ()


def search_in_rank(rank: int, folder: str) -> list[object]:
    from tests.runs.helpers import connect_process_group

    return _search(open_store(folder), connect_process_group())


def _search(store: Store, process_group: ProcessGroup) -> list[object]:
    settings = RunSettings(
        limits=LIMITS, memory=small_memory(store), reference_models=False, candidates=1,
        engine="torch",
        workers=2, layers=1, widths=(4, 8),
    )  # fmt: skip
    run = plan_run(
        store, settings, saved_plan=SAVED_PLAN | {"search_epochs": 1}, process_group=process_group
    )
    batch = run.data.train.examples.batches(40, seed=0, workers=2).at(0)
    read = [bool(batch.examples.numeric[rows].any()) for rows in batch.rows]
    checkpoint = RunCheckpoint(identity=run.identity(), process_group=process_group)
    if not process_group.is_first:
        run.assist(checkpoint)
        return read
    model = run.execute(checkpoint=checkpoint).model
    return [read, str(model.architecture), dict(model.weights)]


@pytest.mark.slow
def test_each_of_two_processes_reads_its_own_rows_and_the_result_is_the_same(
    store: Store, tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    (first, architecture, weights), second = run_in_ranks(
        2, tmp_path, search_in_rank, str(store.path)
    )
    assert first == [True, False]
    assert second == [False, True]
    all_read, expected, expected_weights = _search(store, SINGLE_PROCESS)
    assert all_read == [True, True]
    assert architecture == expected
    for name, array in expected_weights.items():
        np.testing.assert_allclose(weights[name], array, rtol=2e-3, atol=2e-4)


def test_rows_without_a_target_are_left_out(tmp_path: Path) -> None:
    """There is no teacher that could answer them."""
    columns = make_columns(900)
    columns["kind"][::30] = [None] * 30
    csv.write_csv(pa.table(columns), tmp_path / "table.csv")
    store = encode_store(tmp_path / "table.csv", tmp_path / "store", target="kind")
    prepared = prepare_store(store)
    assert prepared.unlabelled is None
    assert prepared.notes[0] == "30 rows without a value of 'kind', the target, left out"
