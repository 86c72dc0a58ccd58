"""Runs with a limit on RAM, which is a maximum over the layers."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabnas.data import Table
from tabnas.errors import InfeasibleError
from tabnas.model import load_model
from tabnas.runs import (
    FinishedRun,
    LabelledTable,
    RunFolder,
    RunSettings,
    build_run_result,
    load_result,
    plan_run,
    plan_tradeoff,
)
from tests.runs.helpers import make_table

SHORT_PLAN = {"search_epochs": 3, "epochs": 4, "candidates": 1}
SHORT = {"candidates": 1, "reference_models": False, "teacher": "none", "time": 0.01}


def make_labelled(rows: int = 60) -> LabelledTable:
    return LabelledTable.from_table(make_table(rows).drop(["value"]), "kind")


def make_settings(limits: dict[str, float], **options: object) -> RunSettings:
    return RunSettings(**({"limits": limits} | SHORT | options))


def compute_ram_bytes(finished: FinishedRun) -> int:
    """Return the bytes of the largest pair of activations, by the arrays of the model."""
    model = finished.model
    inputs = finished.data.spec.inputs
    encoded = inputs.width + model.architecture.dimension * len(inputs.embedded_numeric)
    widths = (encoded, *model.architecture.widths, model.target.outputs)
    return 4 * max(a + b for a, b in pairwise(widths))


@settings(max_examples=15, deadline=None)
@given(
    st.integers(10, 400),
    st.none() | st.integers(20, 2_000),
    st.sampled_from([None, (4, 8), (0, 3, 16)]),
    st.sampled_from([None, (0,), (1, 2)]),
)
def test_nothing_over_the_limit_is_ever_returned(
    ram_bytes: int,
    parameters: int | None,
    widths: tuple[int, ...] | None,
    dimensions: tuple[int, ...] | None,
) -> None:
    limits = {"ram_bytes": ram_bytes} | ({} if parameters is None else {"parameters": parameters})
    options = {"widths": widths, "numeric_dimensions": dimensions, "layers": 2}
    try:
        finished = plan_run(make_labelled(), make_settings(limits, **options)).execute()
    except InfeasibleError:
        return
    assert compute_ram_bytes(finished) == finished.model.costs["ram_bytes"] <= ram_bytes
    assert parameters is None or finished.model.costs["parameters"] <= parameters
    for candidate in finished.candidates:
        assert finished.plan.feasible.budget.admits(
            finished.plan.feasible.space, candidate.architecture
        )


@pytest.mark.parametrize("others", [{}, {"parameters": 10_000}])
def test_a_limit_that_nothing_meets_is_refused_with_the_smallest_value(
    others: dict[str, float],
) -> None:
    data = make_labelled()
    with pytest.raises(InfeasibleError, match=r"no architecture meets ram_bytes <= 8: ") as error:
        plan_run(data, make_settings({"ram_bytes": 8} | others))
    smallest = int(re.search(r" has ([\d,]+);", str(error.value))[1].replace(",", ""))
    with pytest.raises(InfeasibleError, match=f" has {smallest:,};"):
        plan_run(data, make_settings({"ram_bytes": smallest - 1} | others))
    planned = plan_run(data, make_settings({"ram_bytes": smallest} | others))
    assert planned.execute().model.costs["ram_bytes"] == smallest


def test_a_finished_run_is_saved_and_loaded_with_its_limit(tmp_path) -> None:
    # not by time, which would narrow the space on a busy machine
    settings = make_settings({"ram_bytes": 100}, time=None)
    finished = plan_run(make_labelled(), settings, saved_plan=SHORT_PLAN).execute()
    with RunFolder(tmp_path / "run") as folder:
        folder.write_config({"settings": finished.settings.to_dict()})
        folder.finish(finished)
    result = load_result(tmp_path / "run")
    assert result == build_run_result(finished)
    assert result.costs["ram_bytes"].limit == 100
    report = (tmp_path / "run" / "report.html").read_text()
    assert "the limit on bytes of RAM forbids" in report
    assert "the activations of two neighbouring layers are in memory at once" in report
    model = load_model(tmp_path / "run" / "model")
    assert model.limits == {"ram_bytes": 100}
    needed = model.costs["ram_bytes"]
    with pytest.raises(InfeasibleError, match=f"needs {needed}"):
        replace(model, limits={"ram_bytes": needed - 1})


def test_a_tradeoff_over_ram() -> None:
    limits = (48, 80, 400)
    options = {"time": None, "layers": 2, "widths": (0, 2, 4, 8, 32)}
    settings = make_settings({"ram_bytes": 48, "parameters": 800}, **options)
    planned = plan_tradeoff(
        make_labelled(), settings, limits, cost="ram_bytes",
        saved_plan={"search_epochs": 2, "epochs": 2, "candidates": 1},
    )  # fmt: skip
    for limit, finished in zip(limits, planned.execute(), strict=True):
        assert compute_ram_bytes(finished) <= limit
        assert finished.model.limits == {"ram_bytes": limit, "parameters": 800}


def test_wide_embeddings_of_categories_give_way() -> None:
    """The encoded row of three columns with up to 8 dimensions each would not fit."""
    rows = 120
    columns = {f"c{k}": [f"v{(7 * i + k) % 40}" for i in range(rows)] for k in range(3)}
    table = columns | {"kind": ["a" if i % 3 else "b" for i in range(rows)]}
    data = LabelledTable.from_table(Table.from_data(table), "kind")
    wide = plan_run(data, make_settings({"ram_bytes": 4_000}))
    narrow = plan_run(data, make_settings({"ram_bytes": 40}))
    assert wide.data.spec.inputs.width == 21
    assert narrow.data.spec.inputs.width == 3
    assert narrow.execute().model.costs["ram_bytes"] <= 40
