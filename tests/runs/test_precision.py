"""Runs whose weights are stored in a lower precision."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from tabnas.export import export_onnx
from tabnas.model import load_model, primary_loss, round_weights, score
from tabnas.nets import SuperNet
from tabnas.runs import (
    FinishedRun,
    LabelledTable,
    PlannedRun,
    RunFolder,
    RunSettings,
    RunStopped,
    build_run_result,
    load_result,
    plan_run,
    plan_tradeoff,
)
from tabnas.runs._tradeoff import _drop_repeated
from tabnas.runs.candidates._candidate import Candidate
from tabnas.runs.candidates._train_candidates import next_trials
from tabnas.runs.evaluation import _teacher_scores
from tabnas.runs.evaluation._scores import load_network
from tabnas.runs.search._find_candidates import SearchResult
from tabnas.space import Architecture, Precision
from tests.runs.helpers import StopsAt, collect_bits, make_table, plan_short_run

INT8, FLOAT16, FLOAT32 = Precision.INT8, Precision.FLOAT16, Precision.FLOAT32
LIMITS = {"bytes": 3_000}


def make_run(rows: int = 300, **options: object) -> PlannedRun:
    return plan_short_run(rows, **({"limits": LIMITS, "refit": False} | options))


def is_on_grid(finished: FinishedRun) -> bool:
    model = finished.model
    rounded = round_weights(model.weights, model.precision)
    return all(np.array_equal(rounded[name], array) for name, array in model.weights.items())


@pytest.mark.parametrize("rows", [300, 3_900], ids=["folds", "validation"])
@pytest.mark.parametrize("precision", ["float32", "float16", "int8", "auto"])
@pytest.mark.parametrize("refit", [False, True])
def test_the_model_is_rounded_and_within_the_limit(rows: int, precision: str, refit: bool) -> None:
    run = make_run(rows, precision=precision, refit=refit)
    finished = run.execute()
    model = finished.model
    assert model.costs["bytes"] <= 3_000
    assert model.precision in run.settings.precisions
    assert is_on_grid(finished)
    result = build_run_result(finished)
    assert result.precision is model.precision
    assert result.costs["bytes"].value == model.costs["bytes"]
    for candidate in result.candidates:
        assert candidate.costs["bytes"] <= 3_000
        assert (candidate.score_before_rounding is None) == (candidate.precision is FLOAT32)


def test_int8_allows_larger_networks() -> None:
    sizes = {
        precision: make_run(precision=precision).plan.largest_parameters
        for precision in ("float32", "float16", "int8", "auto")
    }
    assert sizes["float32"] * 1.5 < sizes["float16"] < sizes["int8"] == sizes["auto"]
    assert sizes["float32"] <= 3_000 / 4


def test_candidates_are_scored_with_rounded_weights() -> None:
    run = make_run(3_900, precision="int8")
    finished = run.execute()
    validation, model = finished.data.validation, finished.model
    outputs = model.decode(model._forward(validation.encoded))
    loss = primary_loss(run.metric, model.target, validation.y, outputs, validation.weight)
    assert finished.chosen.loss == pytest.approx(loss, rel=1e-4)
    assert finished.chosen.float32_loss != finished.chosen.loss
    scores = score(
        model.target, finished.data.test.y, model.decode(model._forward(finished.data.test.encoded))
    )
    network = finished.scores["network"].metrics["log_loss"].value
    assert network == pytest.approx(scores.metrics["log_loss"].value, rel=1e-12)


def test_auto_compares_the_precisions_only_if_bytes_are_limited() -> None:
    def precisions(**settings: object) -> tuple[Precision, ...]:
        return RunSettings(**settings).precisions

    assert precisions(limits={"parameters": 100}) == (FLOAT32,)
    assert precisions(limits={"parameters": 100, "bytes": 300}) == (INT8, FLOAT32)
    assert precisions(limits={"bytes": 300}, precision="float16") == (FLOAT16,)


def test_auto_has_a_candidate_of_each_precision() -> None:
    """The best networks for int8 are too large for float32."""
    run = make_run(3_900, limits={"bytes": 1_200}, candidates=2)
    finished = run.execute()
    architectures = [candidate.architecture for candidate in finished.candidates]
    trials = next_trials(run, architectures, [])
    assert all(trial.precisions[0] is INT8 for trial in trials)
    assert any(FLOAT32 in trial.precisions for trial in trials)
    for candidate in finished.candidates:
        space, budget = run.plan.feasible.space, run.plan.feasible.budget
        assert budget.at_precision(candidate.precision).admits(space, candidate.architecture)


@pytest.mark.parametrize("rows", [300, 3_900], ids=["folds", "validation"])
def test_a_stopped_run_has_the_same_bits(rows: int, tmp_path: Path) -> None:
    run = make_run(rows, refit=True)
    uninterrupted = StopsAt(tmp_path / "uninterrupted", run, -1)
    expected = collect_bits(run.execute(checkpoint=uninterrupted))
    for step in np.linspace(2, uninterrupted.steps - 1, 4).astype(int):
        with pytest.raises(RunStopped):
            run.execute(checkpoint=StopsAt(tmp_path / str(step), run, step))
        assert collect_bits(run.execute(checkpoint=StopsAt(tmp_path / str(step), run, -1))) == (
            expected
        )


def test_files_hold_the_rounded_model(tmp_path: Path) -> None:
    run = make_run(precision="int8")
    with RunFolder(tmp_path / "run") as folder:
        folder.write_config({"settings": run.settings.to_dict()})
        finished = run.execute()
        folder.finish(finished)
    loaded = load_model(tmp_path / "run" / "model")
    assert loaded.precision is INT8
    assert load_result(tmp_path / "run").precision is INT8
    page = (tmp_path / "run" / "report.html").read_text()
    card = (tmp_path / "run" / "MODEL_CARD.md").read_text()
    assert "The weights are stored as int8" in page
    assert "The weights are stored as int8" in card
    exported = export_onnx(loaded, tmp_path / "model.onnx", check=make_table(300))
    assert exported.parity.difference < 1e-4
    types = {array.data_type for array in onnx.load(exported.path).graph.initializer}
    assert onnx.TensorProto.INT8 in types


def test_a_trade_off_over_bytes_rounds_every_model() -> None:
    data = LabelledTable.from_table(make_table(200).drop(["value"]), "kind")
    settings = RunSettings(
        limits={"bytes": 4_000}, candidates=1, reference_models=False, teacher="none"
    )
    tradeoff = plan_tradeoff(data, settings, (1_500, 4_000), cost="bytes")
    for limit, finished in zip(tradeoff.limits, tradeoff.execute(), strict=True):
        assert finished.model.costs["bytes"] <= limit
        assert is_on_grid(finished)


def test_an_unknown_precision_is_refused() -> None:
    with pytest.raises(ValueError, match=r"precision must be 'auto' or .* got 'int4'"):
        RunSettings(limits=LIMITS, precision="int4")


def test_precision_is_a_part_of_the_identity_of_a_run() -> None:
    data = LabelledTable.from_table(make_table(60).drop(["value"]), "kind")
    first, second = (
        plan_run(data, RunSettings(limits=LIMITS, precision=precision, teacher="none"))
        for precision in ("int8", "float32")
    )
    assert first.identity() != second.identity()


def test_the_network_without_a_teacher_is_rounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluated = {}

    def load(run: object, weights: dict[str, np.ndarray], candidate: Candidate) -> SuperNet:
        evaluated[candidate.distillation.teacher_share] = (weights, candidate.precision)
        return load_network(run, weights, candidate)

    monkeypatch.setattr(_teacher_scores, "load_network", load)
    run = make_run(300, precision="int8", teacher="network")
    chosen = run.execute().chosen
    if chosen.distillation.teacher_share == 0:
        pytest.skip("the network itself has learned by labels alone")
    weights, precision = evaluated[0.0]
    rounded = round_weights(weights, precision)
    assert precision is INT8
    assert all(np.array_equal(rounded[name], array) for name, array in weights.items())


def test_a_trade_off_tries_a_candidate_again_if_it_fits_in_one_more_precision() -> None:
    data = LabelledTable.from_table(make_table(200).drop(["value"]), "kind")
    settings = RunSettings(
        limits={"bytes": 4_000}, candidates=1, reference_models=False, teacher="none"
    )
    tight, middle, loose = plan_tradeoff(data, settings, (300, 320, 900), cost="bytes").runs
    space = loose.plan.feasible.space

    def fits_as_float32(run: PlannedRun, network: Architecture) -> bool:
        return run.plan.feasible.budget.at_precision(FLOAT32).admits(space, network)

    network = next(
        network
        for network in tight.plan.feasible
        if fits_as_float32(loose, network) and not fits_as_float32(middle, network)
    )
    proposed = SearchResult((network,), (0.5,), (), (), 0, ())
    kept = _drop_repeated((tight, middle, loose), (proposed,) * 3)
    assert [len(search.architectures) for search in kept] == [1, 0, 1]


def test_int8_files_of_a_float16_model(tmp_path: Path) -> None:
    """The file is compared with int8 weights, which are not rounded to 16 bits again."""
    run = make_run(300, precision="float16", limits={"bytes": 60_000}, widths=(96,), layers=2)
    model, table = run.execute().model, make_table(300)
    exported = export_onnx(model, tmp_path / "m.onnx", check=table, int8=True, margin=1e6)
    assert exported.int8 is not None
    assert exported.parity.difference < 1e-5


@pytest.mark.parametrize("weights_only", [False, True])
def test_files_of_a_float16_model_hold_half(tmp_path: Path, weights_only: bool) -> None:
    """The file stores 16 bits a weight, and computes with the weights of `predict`."""
    sizes = {}
    for precision in ("float32", "float16"):
        run = make_run(300, precision=precision, limits={"bytes": 60_000}, widths=(80,), layers=2)
        model, table = run.execute().model, make_table(300)
        path = tmp_path / f"{precision}.onnx"
        exported = export_onnx(model, path, check=table, weights_only=weights_only)
        assert exported.parity.difference < 1e-5
        assert onnx_metadata(path)["tabnas.weights"] == precision
        sizes[precision] = path.stat().st_size
    weights = 2 * model.costs["parameters"]
    assert sizes["float32"] - sizes["float16"] == pytest.approx(weights, rel=0.05)


def onnx_metadata(path: Path) -> dict[str, str]:
    return {entry.key: entry.value for entry in onnx.load(path).metadata_props}
