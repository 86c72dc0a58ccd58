"""Trade-offs: one network for each limit, from shared searches."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from html import unescape
from time import sleep
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabnas import TabNASError
from tabnas.cli import _main as cli
from tabnas.data import Table
from tabnas.errors import InfeasibleError
from tabnas.latency import Machine
from tabnas.pareto import is_pareto_optimal
from tabnas.results._tradeoff import FOLDER
from tabnas.runs import (
    LabelledTable,
    PlannedTradeoff,
    RunCheckpoint,
    RunSettings,
    RunStopped,
    TradeoffFolder,
    load_result,
    load_run_model,
    load_tradeoff,
    plan_run,
    plan_tradeoff,
)
from tabnas.runs._finished_run import FinishedRun
from tabnas.runs._progress import Progress
from tabnas.runs._tradeoff import _share_phase
from tabnas.runs.candidates._training import CandidateTraining
from tabnas.runs.folders._tradeoff_result import build_tradeoff_result, folder_name
from tabnas.search import Search
from tabnas.space import Architecture
from tabnas.threads import limit_threads
from tests.cli.conftest import write_csv
from tests.latency.conftest import make_latency_table
from tests.runs.helpers import (
    SHOP_LIMITS,
    SHORT,
    FakeMachine,
    KilledError,
    SlowWhenTrained,
    StopsAt,
    collect_tradeoff_bits,
    kill_at,
    make_columns,
    make_shop_tradeoff,
    make_shops,
)

LIMITS = (150, 60, 400)


def make_labelled(rows: int = 400) -> LabelledTable:
    return LabelledTable.from_table(Table.from_data(make_columns(rows)), "kind")


def make_tradeoff(limits=LIMITS, rows: int = 400, **settings) -> PlannedTradeoff:
    options = {"limits": {"flops": 10_000}, "reference_models": False, "candidates": 2} | settings
    return plan_tradeoff(make_labelled(rows), RunSettings(**options), limits)


@pytest.fixture(scope="module")
def tradeoff() -> PlannedTradeoff:
    return make_tradeoff()


@pytest.fixture(scope="module")
def finished_runs(tradeoff):
    return tradeoff.execute()


def test_every_network_keeps_all_limits(tradeoff, finished_runs) -> None:
    assert tradeoff.limits == (60, 150, 400)
    for limit, finished in zip(tradeoff.limits, finished_runs, strict=True):
        assert finished.model.costs["parameters"] <= limit
        assert finished.model.costs["flops"] <= 10_000
        assert finished.model.limits == {"flops": 10_000, "parameters": limit}
        for candidate in finished.candidates:
            feasible = finished.plan.feasible
            assert feasible.budget.admits(feasible.space, candidate.architecture)


def test_a_wider_limit_is_never_worse_on_validation_rows(finished_runs) -> None:
    losses = [finished.chosen.loss for finished in finished_runs]
    assert losses == sorted(losses, reverse=True)


def test_nothing_is_trained_twice(finished_runs) -> None:
    new = [
        {c.architecture for c in finished.candidates} - {earlier.chosen.architecture}
        for earlier, finished in itertools.pairwise(finished_runs)
    ]
    for k, architectures in enumerate(new):
        for other in finished_runs[: k + 1]:
            assert not architectures & {c.architecture for c in other.candidates}


def test_small_tables_try_simpler_networks_unless_candidates_is_set(tradeoff) -> None:
    for planned, n, simpler in ((make_tradeoff(candidates=None), 1, True), (tradeoff, 2, False)):
        plans = [run.plan for run in planned.runs]
        assert [(plan.candidates, plan.try_simpler) for plan in plans] == [(n, simpler)] * 3
    embedded = make_tradeoff(candidates=None, knots=5)
    assert [run.plan.candidates for run in embedded.runs] == [1] * 3
    assert [run.plan.equal_dimensions for run in embedded.runs] == [(0,), (0, 2, 4), (0, 2, 4)]
    chosen = make_tradeoff(candidates=None, knots=5, widths=(0, 4))  # one more with embeddings
    assert [run.plan.candidates for run in chosen.runs] == [3] * 3
    architectures = {
        str(candidate.architecture)
        for candidate in make_tradeoff((60, 150), candidates=None).execute()[0].candidates
    }
    assert "linear" in architectures


def test_each_limit_has_its_own_snapshots(tradeoff, finished_runs) -> None:
    for limit, finished in zip(tradeoff.limits, finished_runs, strict=True):
        assert len(finished.snapshots) > 3
        cost = finished.plan.feasible.budget.limits[-1].cost
        space = finished.plan.feasible.space
        for snapshot in finished.snapshots:
            assert cost(space, Architecture.parse(snapshot.most_likely)) <= limit


def test_a_resumed_tradeoff_ends_with_the_same_bits(tradeoff, finished_runs, tmp_path) -> None:
    expected = collect_tradeoff_bits(tradeoff, finished_runs)
    uninterrupted = StopsAt(tmp_path / "uninterrupted", make_tradeoff(), -1)
    again = make_tradeoff()
    assert collect_tradeoff_bits(again, again.execute(checkpoint=uninterrupted)) == expected
    rng = np.random.default_rng(1)
    for stops in (
        [5, uninterrupted.steps // 2],
        rng.integers(1, uninterrupted.steps // 2, size=2).tolist(),
    ):
        folder = tmp_path / "-".join(map(str, stops))
        for stop in stops:
            again = make_tradeoff()
            with pytest.raises(RunStopped):
                again.execute(checkpoint=StopsAt(folder, again, stop))
        again = make_tradeoff()
        resumed = again.execute(checkpoint=RunCheckpoint(folder, identity=again.identity()))
        assert collect_tradeoff_bits(again, resumed) == expected


@pytest.mark.parametrize(("widths", "layers"), [((2, 4), [1]), ((4, 2, 8), [2]), ((4, 8), [])])
def test_the_result_lists_bottlenecks(widths, layers, tradeoff, finished_runs) -> None:
    """The first layer counts too, since the table has three inputs."""
    smallest = finished_runs[0].model
    model = SimpleNamespace(
        architecture=Architecture(widths),
        precision=smallest.precision,
        costs=smallest.costs,
        limits=smallest.limits,
    )
    changed = (replace(finished_runs[0], model=model), *finished_runs[1:])
    assert build_tradeoff_result(tradeoff, changed).models[0].bottlenecks == tuple(layers)


def make_config(tradeoff: PlannedTradeoff) -> dict:
    """Return the config.toml of a trade-off that is run in Python."""
    settings = tradeoff.runs[-1].settings.to_dict()
    section = {"cost": tradeoff.cost, "limits": list(tradeoff.limits)}
    return {"settings": settings, "tradeoff": section}


def test_the_folder_holds_a_run_for_each_limit(tradeoff, finished_runs, tmp_path) -> None:
    path = tmp_path / "curve"
    with TradeoffFolder(path) as folder:
        folder.write_config(make_config(tradeoff))
        result = folder.finish_all(tradeoff, finished_runs)
    assert load_tradeoff(path) == result
    for limit, model in zip(tradeoff.limits, result.models, strict=True):
        assert model.costs["parameters"].limit == limit
        run = path / model.folder
        assert load_result(run).architecture == model.architecture
        assert load_run_model(run).costs["parameters"] <= limit
        assert (run / "report.html").exists()
    assert (path / "tradeoff.html").exists()
    with pytest.raises(TabNASError, match="finished"):
        TradeoffFolder(path, resume=True)


def test_a_tradeoff_finishes_even_if_its_page_cannot_be_written(
    tradeoff, finished_runs, tmp_path
) -> None:
    path = tmp_path / "curve"
    with TradeoffFolder(path) as folder:
        folder.write_config({})
        with pytest.warns(UserWarning, match=r"finished, but has no tradeoff.html: config.toml"):
            folder.finish_all(tradeoff, finished_runs)
    assert load_tradeoff(path).models
    assert load_run_model(path / "limit-400")


def test_the_code_on_the_page_reproduces_the_tradeoff(
    tradeoff, finished_runs, tmp_path, monkeypatch
) -> None:
    path = tmp_path / "curve"
    with TradeoffFolder(path) as folder:
        folder.write_config(make_config(tradeoff))
        folder.finish_all(tradeoff, finished_runs)
    page = (path / "tradeoff.html").read_text(encoding="utf-8")
    code = re.search(r'<pre id="again-code".*?<code>(.*?)</code>', page, flags=re.S)
    monkeypatch.chdir(path)
    write_csv(path / "rows.csv", {name: list(map(str, x)) for name, x in make_columns().items()})
    exec(unescape(code[1]), {})
    assert load_tradeoff("again").models == load_tradeoff(path).models


def test_a_tradeoff_killed_between_two_runs_can_be_resumed(
    tradeoff, finished_runs, tmp_path
) -> None:
    path = tmp_path / "curve"
    with TradeoffFolder(path) as folder:
        folder.write_config(make_config(tradeoff))
        folder.checkpoint.mkdir()
        folder.finish_all(tradeoff, finished_runs)
    (path / "tradeoff.json").unlink()
    (path / "limit-400" / "result.json").unlink()
    before_its_report = path / folder_name(60)
    (before_its_report / "report.html").unlink()
    (before_its_report / ".lock").touch()
    with TradeoffFolder(path, resume=True) as folder:
        folder.finish_all(tradeoff, finished_runs)
    assert load_result(path / "limit-400").architecture
    assert (before_its_report / "report.html").exists()
    assert not (before_its_report / ".lock").exists()


def test_resume_writes_the_page_of_a_tradeoff_that_was_killed_before_it(
    tradeoff, finished_runs, tmp_path, capsys
) -> None:
    path = tmp_path / "curve"
    with TradeoffFolder(path) as folder:
        folder.write_config(make_config(tradeoff))
        folder.finish_all(tradeoff, finished_runs)
    files = {file.name for file in path.iterdir()}
    (path / "tradeoff.html").unlink()
    (path / ".lock").touch()
    (path / "checkpoint").mkdir()
    (path / ".tradeoff.html.0123abcd").touch()
    assert cli.run(["resume", str(path)]) == 0
    assert "tabnas predict" in capsys.readouterr().out
    assert {file.name for file in path.iterdir()} == files


@pytest.mark.parametrize("limits", [(), (100,), (100, 100), tuple(range(100, 200))])
def test_too_few_or_too_many_limits_are_refused(limits) -> None:
    with pytest.raises(TabNASError, match="2 to 50 different limits"):
        make_tradeoff(limits)


def test_an_infeasible_limit_is_refused_before_training() -> None:
    with pytest.raises(InfeasibleError, match="raise the limit"):
        make_tradeoff((2, 100))
    with pytest.raises(TabNASError, match="time"):
        make_tradeoff(time=3.0)


# -- limits on latency -----------------------------------------------------------------------------

LATENCIES = (32.2, 36.0, 45.0)


@pytest.fixture
def latency_file(tmp_path) -> str:
    path = tmp_path / "here.json"
    path.write_text(make_latency_table(machine=Machine.here()).to_json())
    return str(path)


def plan_latencies(
    file: str, machine: FakeMachine, limits=LATENCIES, saved_plan=None, **options
) -> PlannedTradeoff:
    limited = {"latency_us": limits[0], "parameters": 3_000}
    settings = RunSettings(limits=limited, latency_table=file, reference_models=False, **options)
    return plan_tradeoff(
        make_labelled(), settings, limits, cost="latency_us", measure=machine, saved_plan=saved_plan
    )


def plan_short_latencies(file: str, machine: FakeMachine, **options) -> PlannedTradeoff:
    before = plan_latencies(file, machine, **options).saved_plan
    return plan_latencies(file, machine, saved_plan=before | SHORT, **options)


def test_the_latency_of_every_model_is_measured_and_reported(latency_file) -> None:
    machine = FakeMachine()
    curve = plan_short_latencies(latency_file, machine)
    finished_runs = curve.execute()
    result = build_tradeoff_result(curve, finished_runs)
    costs = []
    for limit, finished, model in zip(LATENCIES, finished_runs, result.models, strict=True):
        assert finished.latencies_us["latency_us"] <= limit
        measured = result.timings[f"measured latency_us, limit-{limit:.12g}"]
        assert measured == pytest.approx(machine.predicted_us(finished.model), abs=1e-3)
        costs.append((model.costs["latency_us"].value, finished.chosen.loss))
    optimal = is_pareto_optimal(*zip(*costs, strict=True)).tolist()
    assert [model.pareto_optimal for model in result.models] == optimal


def test_numeric_embeddings_keep_every_limit_on_latency(latency_file) -> None:
    machine = FakeMachine()
    curve = plan_short_latencies(latency_file, machine, numeric_dimensions=(1, 4), knots=6)
    tight, _, loose = (run.plan.feasible for run in curve.runs)
    assert tight.space == loose.space  # they share a SuperNet
    for limit, finished in zip(LATENCIES, curve.execute(), strict=True):
        assert finished.model.architecture.dimension > 0
        assert machine.predicted_us(finished.model) <= limit
        assert finished.latencies_us["latency_us"] <= limit


def test_a_resumed_tradeoff_measures_only_finished_models(latency_file, tmp_path) -> None:
    machine = FakeMachine()
    curve = plan_short_latencies(latency_file, machine)
    checkpoint = RunCheckpoint(tmp_path / "run", identity=curve.identity(), every=1e9)
    with pytest.raises(KilledError):
        curve.execute(kill_at("candidates"), checkpoint)
    machine.calls.clear()
    again = plan_latencies(latency_file, machine, saved_plan=curve.saved_plan)
    checkpoint = RunCheckpoint(tmp_path / "run", identity=again.identity())
    again.execute(checkpoint=checkpoint)
    assert len(machine.calls) == len(LATENCIES)  # only the finished model of each limit


def test_nothing_is_trained_while_latency_is_measured(latency_file, monkeypatch) -> None:
    """The vocabularies of the limits differ, so each has a search of its own."""
    steps = itertools.count(1)
    last = 0

    def count(self) -> None:
        nonlocal last
        last = next(steps)
        train(self)

    train = Search._train
    monkeypatch.setattr(Search, "_train", count)
    trained_meanwhile = []
    pauses = itertools.repeat(0)

    class Watching(FakeMachine):
        def __call__(self, *arguments, **options):
            before = last
            sleep(next(pauses))
            trained_meanwhile.append(last - before)
            return super().__call__(*arguments, **options)

    settings = RunSettings(
        limits={"latency_us": 1e5}, latency_table=latency_file, reference_models=False, candidates=1
    )
    with limit_threads(2):
        curve = plan_tradeoff(make_shops(), settings, SHOP_LIMITS, measure=Watching())
        assert len(curve.groups) == len(SHOP_LIMITS)
        trained_meanwhile.clear()
        pauses = itertools.chain([1], itertools.repeat(0))  # only the first one takes long
        curve.execute()
    assert trained_meanwhile
    assert not any(trained_meanwhile)


def test_a_network_too_slow_for_a_tight_limit_is_a_candidate_for_a_wider_one(latency_file) -> None:
    machine = SlowWhenTrained(extra_us=3.0)
    best = plan_short_latencies(latency_file, machine).execute()[0].model.architecture
    machine.slow = (str(best),)
    tight, loose, _ = plan_short_latencies(latency_file, machine).execute()
    assert tight.model.architecture != best
    assert best in {one.architecture for one in tight.candidates}
    assert best in {one.architecture for one in loose.candidates}
    assert loose.chosen.loss <= min(one.loss for one in tight.candidates)


@pytest.mark.parametrize("cost", ["parameters", "dense_parameters", "flops", "bytes", "ram_bytes"])
def test_limits_on_counts_must_be_integers(cost) -> None:
    with pytest.raises(TabNASError, match=rf"limits on {cost} must be integers, got 150.5"):
        plan_tradeoff(make_labelled(), RunSettings(limits={cost: 150}), (150.5, 300), cost=cost)


def test_the_error_of_an_unknown_cost_lists_the_known_ones() -> None:
    with pytest.raises(TabNASError, match=r"known: batch_latency_us, .*flops, latency_us"):
        plan_tradeoff(make_labelled(), RunSettings(limits={"flops": 1_000}), (1, 2), cost="xyz")


@given(st.lists(st.floats(1e-9, 1e9), min_size=2, unique=True))
def test_every_limit_has_its_own_folder(limits) -> None:
    names = [folder_name(limit) for limit in limits]
    assert len(set(names)) == len(limits)
    assert all(FOLDER.fullmatch(name) for name in names)


# -- tables with categories ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shop_outcomes() -> tuple[PlannedTradeoff, tuple[FinishedRun, ...]]:
    curve = make_shop_tradeoff()
    return curve, curve.execute()


def test_each_limit_has_the_embeddings_of_a_single_run(shop_outcomes) -> None:
    curve, _ = shop_outcomes
    for limit, run in zip(SHOP_LIMITS, curve.runs, strict=True):
        alone = plan_run(make_shops(), replace(run.settings, limits={"parameters": limit}))
        assert run.data.encoder.n_categories == alone.data.encoder.n_categories
        assert run.data.category_dimensions == alone.data.category_dimensions
        assert run.data.digest() == alone.data.digest()
    assert [run.data.encoder.n_categories for run in curve.runs][-1] == (31,)
    assert [len(group) for group in curve.groups] == [1, 1, 1]
    numbers = [run.data.train_and_validation.encoded.numeric for run in curve.runs]
    assert all(one is numbers[0] for one in numbers)  # rows are in memory once


def test_a_wider_limit_with_more_categories_does_better(shop_outcomes) -> None:
    curve, finished_runs = shop_outcomes
    for limit, finished in zip(SHOP_LIMITS, finished_runs, strict=True):
        assert finished.model.costs["parameters"] <= limit
        assert finished.model.limits["parameters"] == limit
    losses = [finished.chosen.loss for finished in finished_runs]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.7 * losses[0]
    assert build_tradeoff_result(curve, finished_runs).models[-1].pareto_optimal


def test_limits_with_the_same_embeddings_share_a_search() -> None:
    settings = RunSettings(limits={"flops": 10_000}, reference_models=False)
    curve = plan_tradeoff(make_shops(), settings, (40, 600, 800))
    assert [len(group) for group in curve.groups] == [1, 2]
    assert curve.runs[1].plan.feasible.space is curve.runs[2].plan.feasible.space
    assert curve.runs[1].data is curve.runs[2].data


def test_a_limit_may_have_no_candidate_that_a_tighter_one_has_not() -> None:
    """The middle limit falls back to the embeddings of the first, and so does the last."""
    rng = np.random.default_rng(4)
    columns = {
        "x": rng.normal(size=240),
        "c": [f"k{code}" for code in rng.integers(0, 60, 240)],
        "y": rng.integers(0, 2, 240),
    }
    settings = RunSettings(
        limits={"flops": 10**6}, widths=(0, 4), numeric_dimensions=(0,), metric="auc",
        reference_models=False,
    )  # fmt: skip
    data = LabelledTable.from_table(Table.from_data(columns), "y")
    curve = plan_tradeoff(data, settings, (30, 2_000, 4_000))
    assert [len(group) for group in curve.groups] == [1, 2]
    first, middle, last = curve.execute()
    assert first.data is middle.data is last.data
    assert first.chosen.loss == last.chosen.loss


@pytest.mark.filterwarnings("ignore::tabnas.errors.InexactWarning")
def test_limits_share_a_space_that_is_too_large_for_an_exact_probability() -> None:
    """That of each limit by itself is not."""
    rng = np.random.default_rng(0)
    columns = {f"x{k}": rng.normal(size=120) for k in range(30)} | {"y": rng.integers(0, 2, 120)}
    settings = RunSettings(
        limits={"parameters": 2_000}, layers=8, numeric_dimensions=(0,), teacher="none"
    )
    data = LabelledTable.from_table(Table.from_data(columns), "y")
    curve = plan_tradeoff(data, settings, (2_000, 200_000))
    plans = [run.plan for run in curve.runs]
    assert [len(group) for group in curve.groups] == [2]
    assert not all(plan.feasible.is_exact for plan in plans)
    rewards = {True: "rejection", False: "rejection_monte_carlo"}
    assert [plan.search.reward for plan in plans] == [rewards[p.feasible.is_exact] for p in plans]


def test_searches_side_by_side_share_a_phase() -> None:
    seen: list[Progress] = []
    first, _, last = _share_phase(seen.append, [False, True, False])
    first(Progress("search", 0.5, note="first"))
    last(Progress("search", 0.9, note="last"))
    first(Progress("search", 0.8, note="first"))
    last(Progress("measuring", 0.1))
    first(Progress("search", 1.0, note="first"))
    last(Progress("search", 1.0, note="last"))
    assert [progress.note for progress in seen] == ["first", "first", "", "first", "last"]
    expected = [1.5 / 3, 2.7 / 3, 0.1, 2.9 / 3, 1.0]
    assert [progress.done for progress in seen] == pytest.approx(expected)


def test_limits_may_be_numbers_of_numpy() -> None:
    curve = make_tradeoff(limits=np.array(LIMITS))
    assert curve.limits == tuple(sorted(LIMITS))
    assert all(type(limit) is int for limit in curve.limits)


def test_a_resumed_tradeoff_with_categories_ends_with_the_same_bits(
    shop_outcomes, tmp_path
) -> None:
    expected = collect_tradeoff_bits(*shop_outcomes)
    uninterrupted = StopsAt(tmp_path / "uninterrupted", make_shop_tradeoff(), -1)
    again = make_shop_tradeoff()
    assert collect_tradeoff_bits(again, again.execute(checkpoint=uninterrupted)) == expected
    for stop in (5, uninterrupted.steps // 4, uninterrupted.steps // 2, uninterrupted.steps - 3):
        again = make_shop_tradeoff()
        with pytest.raises(RunStopped):
            again.execute(checkpoint=StopsAt(tmp_path / str(stop), again, stop))
        again = make_shop_tradeoff()
        checkpoint = RunCheckpoint(tmp_path / str(stop), identity=again.identity())
        assert collect_tradeoff_bits(again, again.execute(checkpoint=checkpoint)) == expected


def test_larger_embeddings_that_do_not_help_are_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best network of the tightest limit is then also that of the wider limits."""
    curve = make_shop_tradeoff()
    tight = curve.runs[0].data
    loss = CandidateTraining._loss

    def worse(self, outputs, rows):
        is_tight = self.data.encoder.n_categories == tight.encoder.n_categories
        return loss(self, outputs, rows) + (0 if is_tight else 100)

    monkeypatch.setattr(CandidateTraining, "_loss", worse)
    first, *others = curve.execute()
    for limit, finished in zip(SHOP_LIMITS[1:], others, strict=True):
        assert finished.model.encoder.n_categories == tight.encoder.n_categories
        assert finished.model.architecture == first.model.architecture
        assert finished.model.limits["parameters"] == limit
        assert finished.chosen.loss == first.chosen.loss
    result = build_tradeoff_result(curve, (first, *others))
    assert len({model.architecture for model in result.models}) == 1


# -- numeric embeddings ----------------------------------------------------------------------------

KNOT_LIMITS = (200, 350, 1_000)
KNOT_ROWS = 1_500
"""Three columns of 6 knots are 5 % of 360 parameters; more than 4 need 800 training rows."""


def make_embedded_tradeoff() -> PlannedTradeoff:
    """Plan a trade-off of networks that all embed their numbers, in two groups of knots."""
    return make_tradeoff(KNOT_LIMITS, KNOT_ROWS, numeric_dimensions=(1, 2))


@pytest.fixture(scope="module")
def embedded_outcomes() -> tuple[PlannedTradeoff, tuple[FinishedRun, ...]]:
    curve = make_embedded_tradeoff()
    return curve, curve.execute()


def test_each_limit_has_the_knots_of_a_single_run(embedded_outcomes) -> None:
    curve, _ = embedded_outcomes
    for limit, run in zip(KNOT_LIMITS, curve.runs, strict=True):
        settings = replace(run.settings, limits={"parameters": limit})
        alone = plan_run(make_labelled(KNOT_ROWS), settings)
        assert run.data.spec == alone.data.spec
        assert run.data.digest() == alone.data.digest()
    assert [len(run.data.spec.inputs.knots[0]) for run in curve.runs] == [4, 4, 6]
    assert [len(group) for group in curve.groups] == [2, 1]
    numbers = [run.data.train_and_validation.encoded.numeric for run in curve.runs]
    assert all(one is numbers[0] for one in numbers)  # rows are in memory once


def test_models_of_a_tradeoff_keep_their_limits_with_embeddings(embedded_outcomes) -> None:
    curve, finished_runs = embedded_outcomes
    for limit, finished in zip(KNOT_LIMITS, finished_runs, strict=True):
        model = finished.model
        assert model.architecture.dimension in (1, 2)
        assert sum(array.size for array in model.weights.values()) <= limit
        assert model.limits["parameters"] == limit
    losses = [finished.chosen.loss for finished in finished_runs]
    assert losses == sorted(losses, reverse=True)
    assert build_tradeoff_result(curve, finished_runs).models[-1].costs["parameters"].limit == 1_000


def test_a_resumed_tradeoff_with_knots_ends_with_the_same_bits(embedded_outcomes, tmp_path) -> None:
    expected = collect_tradeoff_bits(*embedded_outcomes)
    uninterrupted = StopsAt(tmp_path / "uninterrupted", make_embedded_tradeoff(), -1)
    again = make_embedded_tradeoff()
    assert collect_tradeoff_bits(again, again.execute(checkpoint=uninterrupted)) == expected
    for stop in (5, uninterrupted.steps // 2, uninterrupted.steps - 3):
        again = make_embedded_tradeoff()
        with pytest.raises(RunStopped):
            again.execute(checkpoint=StopsAt(tmp_path / str(stop), again, stop))
        again = make_embedded_tradeoff()
        checkpoint = RunCheckpoint(tmp_path / str(stop), identity=again.identity())
        assert collect_tradeoff_bits(again, again.execute(checkpoint=checkpoint)) == expected


def test_more_knots_that_do_not_help_are_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best network of a tighter limit, with its knots, is then that of the widest one."""
    curve = make_embedded_tradeoff()
    few = curve.runs[0].data.spec.inputs.knots
    loss = CandidateTraining._loss

    def worse(self, outputs, rows):
        return loss(self, outputs, rows) + (0 if self.data.spec.inputs.knots == few else 100)

    monkeypatch.setattr(CandidateTraining, "_loss", worse)
    _, middle, widest = curve.execute()
    assert widest.model.knots == middle.model.knots == few
    assert widest.model.architecture == middle.model.architecture
    assert widest.model.limits["parameters"] == KNOT_LIMITS[-1]
