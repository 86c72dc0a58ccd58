from __future__ import annotations

import itertools
import json
import re
from html import unescape

import numpy as np
import pytest

from tabnas import TabnasError
from tabnas.data import Table
from tabnas.errors import InfeasibleError
from tabnas.runs import (
    Labelled,
    Ledger,
    PlannedTradeoff,
    RunSettings,
    Stopped,
    TradeoffFolder,
    load_result,
    load_run_model,
    load_tradeoff,
    plan_tradeoff,
)
from tabnas.runs._tradeoff_result import describe_tradeoff
from tabnas.space import Architecture

LIMITS = (150, 60, 400)


def columns(rows: int = 400) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, 3))
    kind = np.where(x[:, 0] * x[:, 1] + 0.3 * x[:, 2] > 0, "yes", "no")
    return {"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "kind": kind}


def table() -> Labelled:
    return Labelled.of(Table.of(columns()), "kind")


def planned(limits=LIMITS, **settings) -> PlannedTradeoff:
    told = {"limits": {"flops": 10_000}, "baselines": False} | settings
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


def test_each_limit_has_a_course_of_its_own(tradeoff, outcomes) -> None:
    for limit, outcome in zip(tradeoff.limits, outcomes, strict=True):
        assert len(outcome.snapshots) > 10
        cost = outcome.plan.feasible.budget.limits[-1].cost
        space = outcome.plan.feasible.space
        for snapshot in outcome.snapshots:
            assert cost(space, Architecture.parse(snapshot.favourite)) <= limit


def test_it_is_the_same_again_and_after_any_stop(tradeoff, outcomes, tmp_path) -> None:
    wanted = facts(tradeoff, outcomes)
    rng = np.random.default_rng(1)
    for stops in ([5], [200, 3_000], sorted(rng.integers(1, 6_000, size=3).tolist())):
        folder = tmp_path / "-".join(map(str, stops))
        for stop in [*stops, None]:
            again = planned()
            ledger = Ledger(folder, identity=again.identity(), every=1e9)
            left = [stop]

            def tick(left=left, ledger=ledger, own=ledger.tick) -> None:
                if left[0] is not None:
                    left[0] -= 1
                    if left[0] == 0:
                        ledger._stop = 2
                own()

            ledger.tick = tick
            try:
                found = again.execute(ledger=ledger)
                break
            except Stopped:
                continue
        assert facts(again, found) == wanted


def facts(tradeoff, outcomes) -> str:
    said = describe_tradeoff(tradeoff, outcomes)
    said.pop("timings")
    weights = [
        {name: array.tobytes().hex()[:64] for name, array in outcome.model.weights.items()}
        for outcome in outcomes
    ]
    return json.dumps([said, weights])


def config(tradeoff: PlannedTradeoff) -> dict:
    """What somebody who does the work in Python writes to config.toml."""
    settings = tradeoff.runs[-1].settings.to_dict()
    said = {"cost": tradeoff.cost, "limits": list(tradeoff.limits)}
    return {"settings": settings, "tradeoff": said}


def test_the_folder_holds_a_run_for_each_limit(tradeoff, outcomes, tmp_path) -> None:
    path = tmp_path / "curve"
    with TradeoffFolder(path) as folder:
        folder.write_config(config(tradeoff))
        told = folder.finish_all(tradeoff, outcomes, config(tradeoff))
    assert json.loads((path / "tradeoff.json").read_text()) == json.loads(json.dumps(told))
    for limit, model in zip(tradeoff.limits, told["models"], strict=True):
        assert model["costs"]["parameters"]["limit"] == limit
        run = path / model["folder"]
        assert load_result(run)["architecture"] == model["architecture"]
        assert load_run_model(run).costs["parameters"] <= limit
        assert (run / "report.html").exists()
    assert (path / "tradeoff.html").exists()
    with pytest.raises(TabnasError, match="finished"):
        TradeoffFolder(path, resume=True)


def test_a_page_that_cannot_be_made_is_no_loss(tradeoff, outcomes, tmp_path) -> None:
    path = tmp_path / "curve"
    with TradeoffFolder(path) as folder:
        folder.write_config({})
        with pytest.warns(UserWarning, match=r"finished, but has no tradeoff.html: config.toml"):
            folder.finish_all(tradeoff, outcomes, {})
    assert load_tradeoff(path)["models"]
    assert load_run_model(path / "limit-400")


def test_the_page_says_how_to_make_it_again(tradeoff, outcomes, tmp_path, monkeypatch) -> None:
    path = tmp_path / "curve"
    with TradeoffFolder(path) as folder:
        folder.write_config(config(tradeoff))
        folder.finish_all(tradeoff, outcomes, config(tradeoff))
    page = (path / "tradeoff.html").read_text(encoding="utf-8")
    code = re.search(r'<pre id="again-code".*?<code>(.*?)</code>', page, flags=re.S)
    monkeypatch.chdir(path)
    exec(unescape(code[1]), {"frame": columns()})
    assert load_tradeoff("again")["models"] == load_tradeoff(path)["models"]


def test_a_process_that_ended_between_two_runs_is_gone_on_with(
    tradeoff, outcomes, tmp_path
) -> None:
    path = tmp_path / "curve"
    with TradeoffFolder(path) as folder:
        folder.write_config(config(tradeoff))
        folder.checkpoint.mkdir()
        folder.finish_all(tradeoff, outcomes, config(tradeoff))
    (path / "tradeoff.json").unlink()
    (path / "limit-400" / "result.json").unlink()
    with TradeoffFolder(path, resume=True) as folder:
        folder.finish_all(tradeoff, outcomes, config(tradeoff))
    assert load_result(path / "limit-400")["architecture"]


@pytest.mark.parametrize("limits", [(), (100,), (100, 100), tuple(range(100, 200))])
def test_too_few_or_too_many_limits_are_refused(limits) -> None:
    with pytest.raises(TabnasError, match="2 to 50 different limits"):
        planned(limits)


def test_a_limit_that_nothing_keeps_is_refused_before_the_work() -> None:
    with pytest.raises(InfeasibleError, match="raise the limit"):
        planned((2, 100))
    with pytest.raises(TabnasError, match="time"):
        planned(time=3.0)
