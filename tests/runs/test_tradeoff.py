"""Trade-offs: one network for each limit, from shared searches."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from html import unescape
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
from tabnas.runs._pipeline import Outcome
from tabnas.runs.candidates._training import CandidateTraining
from tabnas.runs.folders._tradeoff_result import build_tradeoff_result, folder_name
from tabnas.space import Architecture
from tests.cli.conftest import write_csv
from tests.latency.conftest import make_latency_table
from tests.runs.helpers import (
    SHOP_LIMITS,
    SHORT,
    FakeMachine,
    KilledError,
    SlowWhenTrained,
    StopsAt,
    columns,
    facts,
    kill_at,
    shop_curve,
    shops,
)

LIMITS = (150, 60, 400)


def table() -> LabelledTable:
    return LabelledTable.from_table(Table.from_data(columns()), "kind")


def planned(limits=LIMITS, **settings) -> PlannedTradeoff:
    told = {"limits": {"flops": 10_000}, "baselines": False, "candidates": 2} | settings
    return plan_tradeoff(table(), RunSettings(**told), limits)


@pytest.fixture(scope="module")
def tradeoff() -> PlannedTradeoff:
    return planned()


@pytest.fixture(scope="module")
def outcomes(tradeoff):
    return tradeoff.execute()


def test_every_network_keeps_its_limit_and_the_others(tradeoff, outcomes) -> None:
    assert tradeoff.limits == (60, 150, 400)
    for limit, outcome in zip(tradeoff.limits, outcomes, strict=True):
        assert outcome.model.costs["parameters"] <= limit
        assert outcome.model.costs["flops"] <= 10_000
        assert outcome.model.limits == {"flops": 10_000, "parameters": limit}
        for candidate in outcome.candidates:
            assert candidate.architecture in outcome.plan.feasible


def test_more_room_is_never_worse_on_rows_held_out(outcomes) -> None:
    losses = [outcome.chosen.loss for outcome in outcomes]
    assert losses == sorted(losses, reverse=True)


def test_nothing_is_trained_twice(outcomes) -> None:
    new = [
        {c.architecture for c in outcome.candidates} - {earlier.chosen.architecture}
        for earlier, outcome in itertools.pairwise(outcomes)
    ]
    for k, own in enumerate(new):
        for other in outcomes[: k + 1]:
            assert not own & {c.architecture for c in other.candidates}


def test_small_tables_try_simpler_networks_unless_told(tradeoff) -> None:
    for one, simpler in ((planned(candidates=None), True), (tradeoff, False)):
        plans = [run.plan for run in one.runs]
        assert [(plan.candidates, plan.try_simpler) for plan in plans] == [(2, simpler)] * 3
    tried = {
        str(one.architecture) for one in planned((60, 150), candidates=None).execute()[0].candidates
    }
    assert "linear" in tried


def test_each_limit_has_a_course_of_its_own(tradeoff, outcomes) -> None:
    for limit, outcome in zip(tradeoff.limits, outcomes, strict=True):
        assert len(outcome.snapshots) > 3
        cost = outcome.plan.feasible.budget.limits[-1].cost
        space = outcome.plan.feasible.space
        for snapshot in outcome.snapshots:
            assert cost(space, Architecture.parse(snapshot.favourite)) <= limit


def test_it_is_the_same_again_and_after_any_stop(tradeoff, outcomes, tmp_path) -> None:
    wanted = facts(tradeoff, outcomes)
    whole = StopsAt(tmp_path / "whole", planned(), -1)
    again = planned()
    assert facts(again, again.execute(checkpoint=whole)) == wanted
    rng = np.random.default_rng(1)
    for stops in ([5, whole.ticks // 2], rng.integers(1, whole.ticks // 2, size=2).tolist()):
        folder = tmp_path / "-".join(map(str, stops))
        for stop in stops:
            again = planned()
            with pytest.raises(RunStopped):
                again.execute(checkpoint=StopsAt(folder, again, stop))
        again = planned()
        found = again.execute(checkpoint=RunCheckpoint(folder, identity=again.identity()))
        assert facts(again, found) == wanted


@pytest.mark.parametrize(("widths", "layers"), [((2, 4), [1]), ((4, 2, 8), [2]), ((4, 8), [])])
def test_bottlenecks_are_those_of_the_glossary(widths, layers, tradeoff, outcomes) -> None:
    """Also of the first layer: the table has three inputs."""
    own = outcomes[0].model
    model = SimpleNamespace(architecture=Architecture(widths), costs=own.costs, limits=own.limits)
    changed = (replace(outcomes[0], model=model), *outcomes[1:])
    assert build_tradeoff_result(tradeoff, changed).models[0].bottlenecks == tuple(layers)


def config(tradeoff: PlannedTradeoff) -> dict:
    """What somebody who does the work in Python writes to config.toml."""
    settings = tradeoff.runs[-1].settings.to_dict()
    said = {"cost": tradeoff.cost, "limits": list(tradeoff.limits)}
    return {"settings": settings, "tradeoff": said}


def test_the_folder_holds_a_run_for_each_limit(tradeoff, outcomes, tmp_path) -> None:
    path = tmp_path / "curve"
    with TradeoffFolder(path) as folder:
        folder.write_config(config(tradeoff))
        result = folder.finish_all(tradeoff, outcomes)
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


def test_a_page_that_cannot_be_made_is_no_loss(tradeoff, outcomes, tmp_path) -> None:
    path = tmp_path / "curve"
    with TradeoffFolder(path) as folder:
        folder.write_config({})
        with pytest.warns(UserWarning, match=r"finished, but has no tradeoff.html: config.toml"):
            folder.finish_all(tradeoff, outcomes)
    assert load_tradeoff(path).models
    assert load_run_model(path / "limit-400")


def test_the_page_says_how_to_make_it_again(tradeoff, outcomes, tmp_path, monkeypatch) -> None:
    path = tmp_path / "curve"
    with TradeoffFolder(path) as folder:
        folder.write_config(config(tradeoff))
        folder.finish_all(tradeoff, outcomes)
    page = (path / "tradeoff.html").read_text(encoding="utf-8")
    code = re.search(r'<pre id="again-code".*?<code>(.*?)</code>', page, flags=re.S)
    monkeypatch.chdir(path)
    write_csv(path / "rows.csv", {name: list(map(str, x)) for name, x in columns().items()})
    exec(unescape(code[1]), {})
    assert load_tradeoff("again").models == load_tradeoff(path).models


def test_a_process_that_ended_between_two_runs_is_gone_on_with(
    tradeoff, outcomes, tmp_path
) -> None:
    path = tmp_path / "curve"
    with TradeoffFolder(path) as folder:
        folder.write_config(config(tradeoff))
        folder.checkpoint.mkdir()
        folder.finish_all(tradeoff, outcomes)
    (path / "tradeoff.json").unlink()
    (path / "limit-400" / "result.json").unlink()
    before_its_report = path / folder_name(60)
    (before_its_report / "report.html").unlink()
    (before_its_report / ".lock").touch()
    with TradeoffFolder(path, resume=True) as folder:
        folder.finish_all(tradeoff, outcomes)
    assert load_result(path / "limit-400").architecture
    assert (before_its_report / "report.html").exists()
    assert not (before_its_report / ".lock").exists()


def test_a_process_that_ended_before_the_page_is_finished_by_resume(
    tradeoff, outcomes, tmp_path, capsys
) -> None:
    path = tmp_path / "curve"
    with TradeoffFolder(path) as folder:
        folder.write_config(config(tradeoff))
        folder.finish_all(tradeoff, outcomes)
    whole = {file.name for file in path.iterdir()}
    (path / "tradeoff.html").unlink()
    (path / ".lock").touch()
    (path / "checkpoint").mkdir()
    (path / ".tradeoff.html.0123abcd").touch()
    assert cli.run(["resume", str(path)]) == 0
    assert "tabnas predict" in capsys.readouterr().out
    assert {file.name for file in path.iterdir()} == whole


@pytest.mark.parametrize("limits", [(), (100,), (100, 100), tuple(range(100, 200))])
def test_too_few_or_too_many_limits_are_refused(limits) -> None:
    with pytest.raises(TabNASError, match="2 to 50 different limits"):
        planned(limits)


def test_a_limit_that_nothing_keeps_is_refused_before_the_work() -> None:
    with pytest.raises(InfeasibleError, match="raise the limit"):
        planned((2, 100))
    with pytest.raises(TabNASError, match="time"):
        planned(time=3.0)


# -- limits on latency -----------------------------------------------------------------------------

LATENCIES = (32.2, 36.0, 45.0)


@pytest.fixture
def latency_file(tmp_path) -> str:
    path = tmp_path / "here.json"
    path.write_text(make_latency_table(machine=Machine.here()).to_json())
    return str(path)


def of_latency(file: str, machine: FakeMachine, limits=LATENCIES, resolved=None) -> PlannedTradeoff:
    limited = {"latency_us": limits[0], "parameters": 3_000}
    settings = RunSettings(limits=limited, latency_table=file, baselines=False)
    return plan_tradeoff(
        table(), settings, limits, cost="latency_us", measure=machine, resolved=resolved
    )


def short(file: str, machine: FakeMachine) -> PlannedTradeoff:
    before = of_latency(file, machine).resolved
    return of_latency(file, machine, resolved=before | SHORT)


def test_the_latency_of_every_model_is_measured_and_told(latency_file) -> None:
    machine = FakeMachine()
    curve = short(latency_file, machine)
    outcomes = curve.execute()
    result = build_tradeoff_result(curve, outcomes)
    costs = []
    for limit, outcome, model in zip(LATENCIES, outcomes, result.models, strict=True):
        assert outcome.measured_us["latency_us"] <= limit
        measured = result.timings[f"measured latency_us, limit-{limit:.12g}"]
        assert measured == pytest.approx(machine.predicted_us(outcome.model), abs=1e-3)
        costs.append((model.costs["latency_us"].value, outcome.chosen.loss))
    optimal = is_pareto_optimal(*zip(*costs, strict=True)).tolist()
    assert [model.pareto_optimal for model in result.models] == optimal


def test_a_plan_with_latencies_is_gone_on_with_and_measures_nothing(latency_file, tmp_path) -> None:
    machine = FakeMachine()
    curve = short(latency_file, machine)
    checkpoint = RunCheckpoint(tmp_path / "run", identity=curve.identity(), every=1e9)
    with pytest.raises(KilledError):
        curve.execute(kill_at("candidates"), checkpoint)
    machine.calls.clear()
    again = of_latency(latency_file, machine, resolved=curve.resolved)
    checkpoint = RunCheckpoint(tmp_path / "run", identity=again.identity())
    again.execute(checkpoint=checkpoint)
    assert len(machine.calls) == len(LATENCIES)  # the finished model of each limit alone


def test_what_was_too_slow_for_a_tight_limit_is_there_for_a_looser_one(latency_file) -> None:
    machine = SlowWhenTrained(extra_us=3.0)
    best = short(latency_file, machine).execute()[0].model.architecture
    machine.slow = (str(best),)
    tight, loose, _ = short(latency_file, machine).execute()
    assert tight.model.architecture != best
    assert best in {one.architecture for one in tight.candidates}
    assert best in {one.architecture for one in loose.candidates}
    assert loose.chosen.loss <= min(one.loss for one in tight.candidates)


@pytest.mark.parametrize("cost", ["parameters", "dense_parameters", "flops", "bytes"])
def test_what_is_counted_has_whole_limits(cost) -> None:
    with pytest.raises(TabNASError, match=rf"limits on {cost} must be integers, got 150.5"):
        plan_tradeoff(table(), RunSettings(limits={cost: 150}), (150.5, 300), cost=cost)


def test_an_unknown_cost_is_told_of_all_that_are_known() -> None:
    with pytest.raises(TabNASError, match=r"known: batch_latency_us, .*flops, latency_us"):
        plan_tradeoff(table(), RunSettings(limits={"flops": 1_000}), (1, 2), cost="xyz")


@given(st.lists(st.floats(1e-9, 1e9), min_size=2, unique=True))
def test_every_limit_has_a_folder_of_its_own(limits) -> None:
    names = [folder_name(limit) for limit in limits]
    assert len(set(names)) == len(limits)
    assert all(FOLDER.fullmatch(name) for name in names)


# -- tables with categories ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shop_outcomes() -> tuple[PlannedTradeoff, tuple[Outcome, ...]]:
    curve = shop_curve()
    return curve, curve.execute()


def test_each_limit_has_the_embeddings_that_a_search_has(shop_outcomes) -> None:
    curve, _ = shop_outcomes
    for limit, run in zip(SHOP_LIMITS, curve.runs, strict=True):
        alone = plan_run(shops(), replace(run.settings, limits={"parameters": limit}))
        assert run.data.encoder.categories == alone.data.encoder.categories
        assert run.data.dimensions == alone.data.dimensions
        assert run.data.digest() == alone.data.digest()
    assert [run.data.encoder.categories for run in curve.runs][-1] == (31,)
    assert [len(group) for group in curve.groups] == [1, 1, 1]
    numbers = [run.data.development.encoded.numeric for run in curve.runs]
    assert all(one is numbers[0] for one in numbers)  # rows are in memory once


def test_a_wider_limit_knows_more_categories_and_does_better(shop_outcomes) -> None:
    curve, outcomes = shop_outcomes
    for limit, outcome in zip(SHOP_LIMITS, outcomes, strict=True):
        assert outcome.model.costs["parameters"] <= limit
        assert outcome.model.limits["parameters"] == limit
    losses = [outcome.chosen.loss for outcome in outcomes]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.7 * losses[0]
    assert build_tradeoff_result(curve, outcomes).models[-1].pareto_optimal


def test_limits_with_the_same_embeddings_share_a_search() -> None:
    settings = RunSettings(limits={"flops": 10_000}, baselines=False)
    curve = plan_tradeoff(shops(), settings, (40, 600, 800))
    assert [len(group) for group in curve.groups] == [1, 2]
    assert curve.runs[1].plan.feasible.space is curve.runs[2].plan.feasible.space
    assert curve.runs[1].data is curve.runs[2].data


def test_curves_of_categories_are_the_same_after_any_stop(shop_outcomes, tmp_path) -> None:
    wanted = facts(*shop_outcomes)
    whole = StopsAt(tmp_path / "whole", shop_curve(), -1)
    again = shop_curve()
    assert facts(again, again.execute(checkpoint=whole)) == wanted
    for stop in (5, whole.ticks // 4, whole.ticks // 2, whole.ticks - 3):
        again = shop_curve()
        with pytest.raises(RunStopped):
            again.execute(checkpoint=StopsAt(tmp_path / str(stop), again, stop))
        again = shop_curve()
        checkpoint = RunCheckpoint(tmp_path / str(stop), identity=again.identity())
        assert facts(again, again.execute(checkpoint=checkpoint)) == wanted


def test_embeddings_that_do_not_pay_are_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the best network of the tighter limit is that of the wider one, too, with its limit."""
    curve = shop_curve()
    tight = curve.runs[0].data
    usual = CandidateTraining._loss

    def worse(self, outputs, rows):
        paid = self.data.encoder.categories == tight.encoder.categories
        return usual(self, outputs, rows) + (0 if paid else 100)

    monkeypatch.setattr(CandidateTraining, "_loss", worse)
    first, *others = curve.execute()
    for limit, outcome in zip(SHOP_LIMITS[1:], others, strict=True):
        assert outcome.model.encoder.categories == tight.encoder.categories
        assert outcome.model.architecture == first.model.architecture
        assert outcome.model.limits["parameters"] == limit
        assert outcome.chosen.loss == first.chosen.loss
    result = build_tradeoff_result(curve, (first, *others))
    assert len({model.architecture for model in result.models}) == 1
