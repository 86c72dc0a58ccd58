"""The rules of the plan: embeddings, batches, epochs, time and memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabnas import Budget, TabNASError
from tabnas.data import Table, TableEncoder
from tabnas.nets import EarlyStopping
from tabnas.runs import LabelledTable, PlannedRun, RunSettings, plan_run
from tabnas.runs.plan import _default_plan
from tabnas.runs.plan._default_plan import default_batch_size, default_epochs
from tabnas.runs.plan._plan import SavedPlan
from tabnas.runs.plan._time_limit import fit_time
from tabnas.runs.prepare._embedding_rule import fit_embeddings
from tabnas.space import COSTS, Architecture, Precision
from tabnas.threads import limit_threads
from tests.conftest import BRIEF, USUAL, patch_plan_constants
from tests.runs.helpers import make_table


@pytest.fixture(scope="module", autouse=True)
def default_plans(short_plans: None) -> Iterator[None]:
    """Plan with the defaults, not with the short runs of this package."""
    with patch_plan_constants(USUAL):
        yield


def make_encoder(*categories: int) -> TableEncoder:
    """Fit an encoder to columns with so many categories, each of which occurs twice."""
    n_rows = 2 * max(categories)
    columns = {f"c{k}": [f"v{i % n}" for i in range(n_rows)] for k, n in enumerate(categories)}
    return TableEncoder.fit(Table.from_data(columns), kinds=dict.fromkeys(columns, "categorical"))


def test_small_vocabularies_are_kept() -> None:
    encoder, dimensions = fit_embeddings(make_encoder(3, 40), Budget(parameters=20_000))
    assert encoder.n_categories == (4, 41)
    assert dimensions == (2, 7)


@given(
    st.lists(st.integers(2, 400), min_size=1, max_size=5),
    st.integers(300, 20_000),
    st.sampled_from([None, *Precision]),
)
def test_embeddings_take_at_most_half_of_the_limit(
    categories: list[int], limit: int, precision: Precision | None
) -> None:
    budget = (
        Budget(parameters=limit)
        if precision is None
        else Budget(bytes=limit * precision.weight_bytes).at_precision(precision)
    )
    encoder, dimensions = fit_embeddings(make_encoder(*categories), budget)
    taken = sum(c * d for c, d in zip(encoder.n_categories, dimensions, strict=True))
    assert taken <= limit / 2
    assert all(1 <= d <= 8 for d in dimensions)


def test_categories_are_reduced_before_dimensions() -> None:
    encoder, dimensions = fit_embeddings(make_encoder(300, 300), Budget(parameters=6_000))
    assert dimensions == (8, 8)
    assert all(64 < c < 200 for c in encoder.n_categories)
    encoder, dimensions = fit_embeddings(make_encoder(300, 300), Budget(parameters=900))
    assert max(dimensions) < 8


@pytest.mark.parametrize(
    ("inputs", "dimensions"), [(20, (8, 8, 4)), (19, (4, 4, 4)), (11, (2, 2, 2)), (2, (1, 1, 1))]
)
def test_the_encoded_row_takes_at_most_half_of_a_limit_on_ram(
    inputs: int, dimensions: tuple[int, ...]
) -> None:
    """Below three inputs nothing fits; then the row is as small as possible."""
    encoder = make_encoder(300, 300, 10)
    limited, chosen = fit_embeddings(encoder, Budget(ram_bytes=2 * 4 * inputs))
    assert chosen == dimensions
    assert limited.n_categories == encoder.n_categories


def test_a_limit_on_flops_leaves_vocabularies_unchanged() -> None:
    encoder, dimensions = fit_embeddings(make_encoder(300), Budget(flops=10))
    assert encoder.n_categories == (301,)
    assert dimensions == (8,)


@pytest.mark.parametrize(
    ("rows", "batch", "epochs"),
    [(90, 32, 500), (1_000, 32, 63), (12_000, 64, 40), (36_000, 128, 40), (1_000_000, 512, 40)],
)
def test_batches_and_epochs(rows: int, batch: int, epochs: int) -> None:
    assert default_batch_size(rows) == batch
    assert default_epochs(rows, batch) == epochs


@given(st.integers(1, 10**9))
def test_the_work_of_a_training_stays_within_bounds(rows: int) -> None:
    batch = default_batch_size(rows)
    epochs = default_epochs(rows, batch)
    assert 1 <= epochs <= 500
    assert epochs == 1 or epochs * rows <= 40_000_000


def test_the_longer_training_stays_within_bounds() -> None:
    data = LabelledTable.from_table(make_table(4_000).drop(["value"]), "kind")
    plan = plan_run(data, RunSettings(limits={"parameters": 2_000})).plan

    def longer_epochs(epochs: int = 40, **changes: int) -> int:
        training = replace(plan.training, epochs=epochs)
        return replace(plan, training=training, **changes).longer_epochs

    assert plan.training.epochs == 40
    assert plan.trains_longer
    assert (longer_epochs(), longer_epochs(10), longer_epochs(200)) == (160, 40, 500)
    longer = plan.get_training(is_longer=True)
    assert longer == replace(
        plan.training,
        epochs=160,
        averaging=4 * plan.training.averaging,
        early_stopping=EarlyStopping(patience=54),
    )
    # many rows: a table of 400,000 has 100 epochs, one of more than a million none in addition
    assert longer_epochs(max_longer_epochs=40_000_000 // 400_000) == 100
    assert longer_epochs(max_longer_epochs=40_000_000 // 1_100_000) == 40
    cross_validated = replace(plan, folds=5)
    assert not cross_validated.trains_longer
    assert cross_validated.length_ratio == 1.0


def test_more_time_means_more_epochs_then_more_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_default_plan, "time_step", lambda *args: 1e-4)
    table = make_table(4_000)
    data = LabelledTable.from_table(table.drop(["value"]), "kind")

    def make_plan(time: float | None):
        return plan_run(data, RunSettings(limits={"parameters": 2_000}, time=time)).plan

    default = make_plan(None)
    short, longer, long = (
        make_plan(f * sum(default.estimated_seconds.values())) for f in (0.2, 2, 40)
    )
    assert short.training.epochs < default.training.epochs < longer.training.epochs
    assert short.candidates == longer.candidates == default.candidates == 2
    assert long.training.epochs == 4 * default.training.epochs
    assert 2 < long.candidates <= 24
    assert np.isclose(
        sum(longer.estimated_seconds.values()),
        2 * sum(default.estimated_seconds.values()),
        rtol=0.7,
    )


@pytest.mark.parametrize("teacher", ["none", "auto"])
@pytest.mark.parametrize("rows", [400, 4_000])  # in folds, and by validation rows
@pytest.mark.parametrize(
    ("dimensions", "widths", "candidates"),
    [((0, 2), None, 2 + 2), ((1,), None, 2 + 1), ((0, 2), (8, 16), 4), ((0,), (8, 16), 3)],
)  # from the search, and with equal layers
def test_the_estimated_time_counts_every_training(
    rows: int,
    dimensions: tuple[int, ...],
    widths: tuple[int, ...] | None,
    candidates: int,
    teacher: str,
) -> None:
    data = LabelledTable.from_table(make_table(rows).drop(["value"]), "kind")
    settings = RunSettings(
        limits={"parameters": 2_000},
        widths=widths,
        refit=True,
        numeric_dimensions=dimensions,
        knots=5,
        teacher=teacher,
    )
    plan = plan_run(data, settings).plan
    assert plan.candidates + len(plan.equal_dimensions) == candidates
    assert plan.folds == (5 if rows == 400 else 0)
    # a step takes 10 ms, comparison and teacher 30 s
    plan = replace(plan, measure_step_seconds=lambda: 0.01, comparison_seconds=30.0)
    taught = bool(plan.teacher.teachers)
    assert taught == (teacher == "auto")
    if taught:
        seconds = 12.0 / plan.teacher.fits / len(plan.teacher.teachers)
        fit_seconds = dict.fromkeys(plan.teacher.teachers, seconds)
        plan = replace(
            plan,
            comparison_seconds=18.0,
            teacher=replace(plan.teacher, fit_seconds=fit_seconds),
        )
    batches = ceil(plan.rows / plan.training.batch_size)
    search = 2.5 * 0.01 * batches * plan.search.epochs
    training = 1.25 * 0.01 * batches * plan.training.epochs
    # on a small table three simpler ones, all in five folds each, the chosen one, and the refit
    # with a teacher, another share of it, and labels alone; on a large one the longer training, by
    # labels alone, too, if there is a teacher, and a refit as long
    tried = candidates + 2 * taught
    trainings = (tried + 3) * 5 + 1 + 1 if plan.folds else tried + 4 * (1 + taught) + 4
    assert plan.estimated_seconds == pytest.approx(
        {
            "search": search,
            "teacher": 12.0 * taught,
            "candidates": trainings * training,
            "comparison": 18.0 if taught else 30.0,
        }
    )
    work = search + trainings * training

    def factor(seconds: float) -> float:
        return fit_time(plan, seconds).training.epochs / plan.training.epochs

    assert factor(30.0 + work / 2) == pytest.approx(0.5, abs=0.02)
    max_factor = min(4.0, 500 / plan.training.epochs)  # a small table has many epochs already
    assert factor(30.0 + 1.5 * work) == pytest.approx(1.5, abs=0.02)
    assert factor(30.0 + 3 * work) == pytest.approx(min(3.0, max_factor), abs=0.02)
    assert factor(30.0) == pytest.approx(max(15.0 / work, 1 / plan.training.epochs), abs=0.02)
    # the longest training, and twice the candidates
    longest = fit_time(plan, 30.0 + max_factor * work, keep_candidates=True)
    work = sum(longest.estimated_seconds.values()) - 30.0  # less: 500 epochs are the most
    longer = fit_time(plan, 30.0 + 2 * work)
    assert longer.training.epochs == max_factor * plan.training.epochs
    most = 8 if rows > 3_000 else candidates  # one for each hundred rows to choose by
    assert longer.candidates + len(plan.equal_dimensions) == min(2 * candidates, most)


@pytest.mark.parametrize("max_longer_epochs", [40, 80, 10_000])
@pytest.mark.parametrize("share", [0.25, 0.5, 2.0, 8.0])
def test_time_is_kept_where_the_longer_training_has_few_epochs(
    max_longer_epochs: int, share: float
) -> None:
    """Of a table with very many rows: the longer training does not grow with the others."""
    data = LabelledTable.from_table(make_table(4_000).drop(["value"]), "kind")
    plan = plan_run(data, RunSettings(limits={"parameters": 2_000}, refit=True)).plan
    plan = replace(
        plan,
        measure_step_seconds=lambda: 0.01,
        comparison_seconds=0.0,
        teacher=replace(plan.teacher, fit_seconds=dict.fromkeys(plan.teacher.teachers, 0.0)),
        max_longer_epochs=max_longer_epochs,
        selection_rows=10_000,
    )
    with limit_threads(1):
        seconds = share * sum(plan.estimated_seconds.values())
        fitted = fit_time(plan, seconds)
    # an epoch more or less; of more candidates, the search and the longer training take no more
    low = 0.9 if share <= 2 else 0.5
    assert low * seconds <= sum(fitted.estimated_seconds.values()) <= 1.1 * seconds


def test_time_adds_no_more_candidates_than_the_rows_can_compare() -> None:
    # without and with numeric embeddings: with one and three equally wide networks
    for rows, maximum in ((150, 2), (400, 2), (1_000, 5), (4_000, 5), (9_000, 15)):
        data = LabelledTable.from_table(make_table(rows).drop(["value"]), "kind")
        plan = plan_run(data, RunSettings(limits={"parameters": 2_000})).plan
        plan = replace(plan, measure_step_seconds=lambda: 1e-5)
        assert fit_time(plan, 1e5).candidates == maximum
        assert fit_time(plan, 1e5).training.epochs <= 500


def test_time_does_not_change_a_given_number_of_candidates() -> None:
    data = LabelledTable.from_table(make_table(4_000).drop(["value"]), "kind")
    default = plan_run(data, RunSettings(limits={"parameters": 2_000}, candidates=2)).plan
    time = 40 * sum(default.estimated_seconds.values())
    long = plan_run(data, RunSettings(limits={"parameters": 2_000}, candidates=2, time=time)).plan
    assert long.candidates == default.candidates == 2
    assert long.training.epochs == 4 * default.training.epochs


def test_small_tables_try_simpler_networks_unless_candidates_is_set() -> None:
    table = make_table(300)
    data = LabelledTable.from_table(table.drop(["value"]), "kind")

    def list_candidates(rows: LabelledTable, **options: object) -> list[str]:
        limits = {"parameters": 1_000}
        with patch_plan_constants(BRIEF):
            settings = RunSettings(limits=limits, reference_models=False, teacher="none", **options)
            run = plan_run(rows, settings)
        finished = run.execute()
        return [str(one.architecture) for one in finished.candidates if not one.is_longer]

    default = list_candidates(data)
    assert "linear" in default
    assert 4 <= len(default) <= 6
    embedded = list_candidates(data, knots=5)
    assert "linear" in embedded
    assert 6 <= len(embedded) <= 8
    assert len(list_candidates(data, candidates=2)) == 2
    large = LabelledTable.from_table(make_table(4_200).drop(["value"]), "kind")
    dimensions = [Architecture.parse(name).dimension for name in list_candidates(large)]
    assert len(dimensions) == 5
    assert dimensions.count(0) == 2  # one of the search, and one of equal layers
    assert len(list_candidates(large, numeric_dimensions=(0,))) == 3
    chosen = list_candidates(large, widths=(4, 8, 16))
    assert len(chosen) == 4
    assert all(w in (4, 8, 16) for name in chosen for w in Architecture.parse(name).widths)


def make_slow_plan(time: float | None, rows: int = 4_000, saved_plan=None, **options: object):
    """Plan for a million parameters, where a step takes a microsecond for each of them."""

    def time_step(data, feasible, *others) -> float:
        space = feasible.space
        return 1e-6 * COSTS["parameters"](space, feasible.most_expensive()) + 1e-5

    data = LabelledTable.from_table(make_table(rows).drop(["value"]), "kind")
    settings = RunSettings(
        limits={"parameters": 1_000_000}, time=time, reference_models=False, **options
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_default_plan, "time_step", time_step)
        plan = plan_run(data, settings, saved_plan=saved_plan).plan
        plan.seconds_per_step  # noqa: B018 - measured while patched
        return plan


def test_little_time_limits_the_size_of_networks() -> None:
    """A network that can be trained for one epoch only is useless, so networks are smaller."""
    default, short, long = make_slow_plan(None), make_slow_plan(60.0), make_slow_plan(1e6)
    assert (default.limit_share, default.notes, long.limit_share, long.notes) == (
        1.0,
        (),
        1.0,
        (),
    )
    assert short.training.epochs >= default.training.epochs / 4
    assert sum(short.estimated_seconds.values()) < 90
    assert short.limit_share < 1
    assert short.feasible.budget == default.feasible.budget  # the limit is unchanged
    assert short.largest_parameters < default.largest_parameters / 10
    assert f"none of more than {short.largest_parameters:,} parameters was tried" in short.notes[0]
    again = make_slow_plan(60.0, saved_plan=short.saved_plan)
    assert again.feasible.space.widths == short.feasible.space.widths
    assert (again.saved_plan, again.notes) == (short.saved_plan, short.notes)


def test_given_widths_are_kept_and_a_note_reports_the_few_epochs() -> None:
    short = make_slow_plan(2.0, widths=(0, 512, 1024))
    assert short.limit_share == 1.0
    assert short.feasible.space.widths[0] == (0, 512, 1024)
    assert "1 of the usual 40 epochs" in short.notes[-1]


def test_short_time_leaves_out_trees_and_then_the_whole_teacher() -> None:
    whole = make_slow_plan(None).teacher
    assert whole.teachers == ("trees", "network")
    assert whole.seconds == pytest.approx(whole.fits * sum(whole.fit_seconds.values()))
    network = whole.fits * whole.fit_seconds["network"]
    options = {"widths": (0, 512)}  # networks of the user's widths are not made smaller
    cases = {
        3.1 * whole.seconds: ((), None),
        2.9 * whole.seconds: (("trees",), "too short for boosted trees as a teacher"),
        3.1 * network: (("trees",), "too short for boosted trees as a teacher"),
        2.9 * network: (("trees", "network"), "too short for a teacher"),
    }
    for time, (left_out, note) in cases.items():
        plan = make_slow_plan(time, **options)
        assert plan.teacher.left_out == left_out
        assert plan.teacher.teachers == tuple(n for n in whole.teachers if n not in left_out)
        assert plan.saved_plan.get("left_out_teachers", []) == list(left_out)
        notes = [text for text in plan.notes if "teacher" in text]
        assert len(notes) == (note is not None)
        assert note is None or note in notes[0]
        assert plan.teacher.seconds <= time / 3


def test_rows_without_a_target_take_no_time_without_a_teacher() -> None:
    teacher = replace(make_slow_plan(None).teacher, rows_ratio=2.0)
    assert teacher.without({"trees"}).rows_ratio == 2
    assert teacher.without(teacher.teachers).rows_ratio == 1


@pytest.mark.parametrize("left_out", [("trees",), ("trees", "network")])
def test_a_resumed_run_has_the_teacher_that_its_time_allowed(left_out: tuple[str, ...]) -> None:
    teacher = make_slow_plan(None).teacher
    time = 2.9 * (
        teacher.seconds if len(left_out) == 1 else teacher.fits * min(teacher.fit_seconds.values())
    )
    short = make_slow_plan(time, widths=(0, 512))
    assert short.teacher.left_out == left_out
    # the decision is read, not made again: more time would change it
    again = make_slow_plan(1e6, widths=(0, 512), saved_plan=short.saved_plan)
    assert again.teacher == short.teacher
    assert again.saved_plan == short.saved_plan
    same = make_slow_plan(time, widths=(0, 512), saved_plan=short.saved_plan)
    assert same.notes[0] == short.notes[0]


def test_trees_may_be_too_slow_for_the_smaller_networks_of_a_short_time() -> None:
    """Then the share of the limit, which is saved, decides; so does the resumed run."""
    teacher = make_slow_plan(None).teacher
    short = make_slow_plan(3.1 * teacher.seconds)
    assert short.limit_share < 1
    assert (short.teacher.teachers, short.teacher.left_out) == (("network",), ())
    assert make_slow_plan(1e6, saved_plan=short.saved_plan).teacher == short.teacher


@pytest.mark.parametrize("teacher", ["trees", "network"])
def test_a_teacher_that_was_asked_for_stays_however_short_the_time(teacher: str) -> None:
    plan = make_slow_plan(0.1, teacher=teacher)
    assert plan.teacher.teachers == (teacher,)
    assert plan.teacher.left_out == ()
    assert not any("teacher" in note for note in plan.notes)


@pytest.mark.parametrize("names", [["trees", "moon"], "trees", [3]])
def test_malformed_teachers_of_a_saved_plan_are_refused(names: object) -> None:
    numbers = {"epochs": 1, "search_epochs": 1, "candidates": 1, "left_out_teachers": names}
    with pytest.raises(TabNASError, match="left_out_teachers"):
        SavedPlan.decode(numbers)


@pytest.mark.parametrize("share", [0, -1.0, 1.5, True, "1", float("nan")])
def test_an_invalid_limit_share_is_refused(share: object) -> None:
    data = LabelledTable.from_table(make_table(100).drop(["value"]), "kind")
    numbers = {"epochs": 1, "search_epochs": 1, "candidates": 1, "limit_share": share}
    with pytest.raises(TabNASError, match="limit_share must be"):
        plan_run(data, RunSettings(limits={"parameters": 500}, time=1.0), saved_plan=numbers)


@pytest.mark.parametrize(
    "numbers",
    [3, [], {}, {"epochs": 4}, {"search_epochs": 3, "epochs": 10**12, "candidates": 2},
     {"search_epochs": 3, "epochs": 4, "candidates": 10**9},
     {"search_epochs": 0, "epochs": 4, "candidates": 1},
     {"search_epochs": 3, "epochs": 4.5, "candidates": 1}],
    ids=str,
)  # fmt: skip
def test_malformed_resolved_plans_are_refused(numbers: Any, run: PlannedRun) -> None:
    with pytest.raises(TabNASError, match="plan"):
        run.plan.with_saved(SavedPlan.decode(numbers))


def test_a_search_that_does_not_fit_into_memory_is_refused() -> None:
    data = LabelledTable.from_table(make_table(60).drop(["value"]), "kind")
    settings = RunSettings(limits={"parameters": 300}, widths=(0, 8, 16_384), layers=20)
    with pytest.raises(TabNASError, match="the SuperNet may take at most"):
        plan_run(data, settings)
    settings = replace(settings, widths=(0, 8, 8_192), layers=2, workers=64)
    with pytest.raises(TabNASError, match="or fewer layers or workers"):
        plan_run(data, settings)
