"""Results are written as JSON and decoded to the same; what does not fit together is refused."""

from __future__ import annotations

import json
from math import inf, isnan
from typing import Any

import pytest

from tabnas.decoding import DecodeError, to_builtins
from tabnas.results import CostUse, decode_history, decode_result, decode_tradeoff
from tabnas.results._tradeoff import FOLDER
from tabnas.runs._plan_tradeoff import MAX_LIMIT
from tabnas.runs.folders._tradeoff_result import folder_name
from tabnas.space import Architecture
from tests.report.conftest import make_history, make_result, make_tradeoff

TASKS = ["binary", "multiclass", "regression"]


def through_json(value: Any) -> Any:
    return json.loads(json.dumps(to_builtins(value), allow_nan=False))


@pytest.mark.parametrize("task", TASKS)
def test_a_result_is_decoded_to_what_was_encoded(task: str) -> None:
    result = decode_result(make_result(task))
    assert decode_result(through_json(result)) == result
    assert result.architecture == Architecture((16, 8))
    assert result.scores["network"]["accuracy" if task != "regression" else "r2"].value == 0.8


def test_history_and_tradeoff_are_decoded_to_what_was_encoded() -> None:
    history = decode_history(make_history())
    assert decode_history(through_json(history)) == history
    tradeoff = decode_tradeoff(make_tradeoff())
    assert decode_tradeoff(through_json(tradeoff)) == tradeoff


def test_counts_stay_integers_and_measurements_floats() -> None:
    costs = {"parameters": {"value": 480, "limit": 500}, "latency_us": {"value": 9.0, "limit": 20}}
    found = decode_result(make_result(costs=costs)).costs
    assert isinstance(found["parameters"].value, int)
    assert isinstance(found["latency_us"].value, float)


def test_keys_of_later_versions_are_ignored() -> None:
    assert decode_result(make_result(later="more")) == decode_result(make_result())


@pytest.mark.parametrize(
    ("use", "share", "is_within"),
    [
        (CostUse(480, 500), 0.96, True),
        (CostUse(501, 500), 1.002, False),
        (CostUse(0, 0), 1.0, True),
        (CostUse(1, 0), inf, False),
    ],
)
def test_the_share_of_a_limit(use: CostUse, share: float, is_within: bool) -> None:
    assert use.share == share
    assert use.is_within_limit is is_within


def test_a_cost_without_a_limit_is_within_it() -> None:
    assert CostUse(7).is_within_limit
    assert isnan(CostUse(7).share)


@pytest.mark.parametrize(
    ("folds", "refit", "scored", "final"),
    [
        (0, False, 300, 300),
        (0, True, 300, 490),
        (5, False, 400, 400),
        (5, True, 400, 490),
    ],
)
def test_rows_that_weights_were_trained_on(
    folds: int, refit: bool, scored: int, final: int
) -> None:
    plan = make_result()["plan"] | {"folds": folds}
    result = decode_result(make_result(plan=plan, trained_on_all_rows=refit))
    assert (result.scored_fit_rows, result.final_fit_rows) == (scored, final)
    assert result.is_refitted is refit


def test_a_limit_binds_if_it_forbids_a_wider_network() -> None:
    result = decode_result(make_result())
    assert list(result.limited_costs) == ["parameters", "flops"]
    assert result.main_cost == "parameters"
    assert result.binding_limits == {"parameters"}


def test_latencies_are_separated_from_other_timings() -> None:
    result = decode_result(make_result(timings={"search": 1.5, "measured latency_us": 12.0}))
    assert result.phase_seconds == {"search": 1.5}
    assert result.measured_latencies == {"latency_us": 12.0}


@pytest.mark.parametrize(
    ("way", "value", "message"),
    [
        (("confusion", "counts"), [[1, 2], [3, 4]], "counts must be a square matrix of its 3"),
        (("confusion", "counts"), [[1, 2, 3]] * 2 + [[1]], "counts must be a square matrix"),
        (("confusion", "classes"), [], "counts must be a square matrix of its 0 classes"),
        (("confusion", "pooled_classes"), 2, "counts must be a square matrix of its 4 classes"),
        (("confusion", "correct"), -1, "confusion.correct must be an integer of at least 0"),
        (("reliability", "probability_of"), "a class", "probability_of must be one of"),
        (("reliability", "bins"), [{}] * 201, r"reliability.bins\[0\].low is missing"),
        (("importance", "columns"), {"a": 1}, "importance.columns.a must be an object"),
        (("split",), "all", "diagnostics.split must be one of 'test', 'validation'"),
    ],
)
def test_diagnostics_must_fit_together(way: tuple[str, ...], value: Any, message: str) -> None:
    result = make_result()
    inside = result["diagnostics"]
    for name in way[:-1]:
        inside = inside[name]
    inside[way[-1]] = value
    with pytest.raises(DecodeError, match=message):
        decode_result(result)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y_true": [1.0]}, "y_true and y_pred must have the same length, got 1 and 3"),
        ({"y_true": [1.0] * 2_001}, "y_true must have at most 2,000 elements"),
        ({"histogram": {"edges": [0.0], "counts": [1]}}, "one edge more than counts"),
        ({"quantiles": {"half": 1.0}}, "quantiles must be named by levels like 0.5, got 'half'"),
        ({"quantiles": {"0.5": 1e301}}, "quantiles.0.5 must be a number of at least"),
    ],
)
def test_residuals_must_fit_together(changes: dict[str, Any], message: str) -> None:
    result = make_result("regression")
    result["diagnostics"]["residuals"] |= changes
    with pytest.raises(DecodeError, match=message):
        decode_result(result)


@pytest.mark.parametrize("value", [10**400, 1e301, inf, "9" * 5_000, None])
def test_numbers_that_cannot_be_drawn_are_refused(value: Any) -> None:
    with pytest.raises(DecodeError, match=r"costs\.flops\.value must be"):
        decode_result(make_result(costs={"flops": {"value": value, "limit": 1}}))


@pytest.mark.parametrize(
    "text", ["", "8-", "0", "8-0", "1_6", "9" * 5_000, "10000001", "8-" * 9_999]
)
def test_malformed_architectures_are_refused(text: str) -> None:
    with pytest.raises(DecodeError, match="architecture"):
        decode_result(make_result(architecture=text))
    many = "-".join(["8"] * 1_001)
    with pytest.raises(DecodeError, match="at most 1,000 layers"):
        decode_result(make_result(architecture=many))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bottlenecks": [0]}, "bottlenecks must be numbers of hidden layers"),
        ({"bottlenecks": [2]}, "bottlenecks must be numbers of hidden layers"),
        ({"limit": -1}, r"models\[0\].limit must be a number of at least 0"),
        ({"limit": 1_500}, "models must be in the order of their limits"),
        ({"costs": {"parameters": {"value": -1, "limit": 9}}}, "value must be at least 0"),
    ],
)
def test_networks_of_a_tradeoff_must_fit_together(changes: dict[str, Any], message: str) -> None:
    tradeoff = make_tradeoff()
    tradeoff["models"][0] |= changes
    with pytest.raises(DecodeError, match=message):
        decode_tradeoff(tradeoff)


@pytest.mark.parametrize("limit", [1, 0.1 + 0.2, 5e-324, 1e22, MAX_LIMIT - 1, 9.99e29])
def test_the_folder_of_every_allowed_limit_is_accepted(limit: float) -> None:
    assert FOLDER.fullmatch(folder_name(limit))


def test_scores_of_a_tradeoff_are_those_of_test_rows_if_all_have_some() -> None:
    tradeoff = make_tradeoff()
    result = decode_tradeoff(tradeoff)
    assert result.is_tested
    assert result.score(result.models[0]).value == 0.6
    assert result.reference_scores["boosted trees"].value == 0.26
    tradeoff["models"][1]["scores"] = None
    result = decode_tradeoff(tradeoff)
    assert not result.is_tested
    assert result.score(result.models[0]).value == result.models[0].validation_score
    assert not result.reference_scores


@pytest.mark.parametrize("version", [None, "2", True, [], 1, 3])
def test_other_formats_are_refused(version: Any) -> None:
    for decode, made in ((decode_result, make_result), (decode_tradeoff, make_tradeoff)):
        with pytest.raises(DecodeError, match=r"names no format|must have format 2"):
            decode(made(format=version))
