"""What reports say and draw about numeric embeddings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from tabnas.data import Table
from tabnas.report import render_card
from tabnas.report.figures._numeric_curves import format_knots
from tabnas.results import NumericCurve, decode_result
from tabnas.runs import LabelledTable, RunSettings, load_config, load_result, run_in_folder
from tests.report.conftest import (
    EMBEDDED_LAYERS,
    make_card,
    make_embedded_result,
    make_history,
    make_report,
    make_result,
    make_tradeoff,
    make_tradeoff_page,
)
from tests.report.pages import check_page

EVIL = "<script>alert(1)</script>\u202e\x1b"


def render(dimension: int = 2, **changes: Any) -> str:
    return make_report(
        make_embedded_result(dimension, **changes), make_history(EMBEDDED_LAYERS, 10)
    )


def find_drawing(page: str, title: str) -> ElementTree.Element:
    for svg in re.findall(r"<svg.*?</svg>", page, flags=re.S):
        root = ElementTree.fromstring(svg)
        if root.findtext("title") == title:
            return root
    raise AssertionError(f"there is no drawing {title!r}")


def list_texts(drawing: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in drawing.iter("text")]


def count(drawing: ElementTree.Element, css_class: str) -> int:
    return sum(shape.get("class") == css_class for shape in drawing.iter())


# -- the network ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("dimension", "inputs"), [(1, 18), (2, 26), (8, 74), (500, 4_010)])
def test_the_network_shows_its_embedded_inputs(dimension: int, inputs: int) -> None:
    page = render(dimension)
    drawing = find_drawing(page, "The network to scale")
    texts = list_texts(drawing)
    assert f"{inputs:,}" in texts
    assert f"10 plain + 8 columns \N{MULTIPLICATION SIGN} {dimension}" in " ".join(texts)
    plain, embedded = (
        next(float(r.get("height", 0)) for r in drawing.iter("rect") if r.get("class") == name)
        for name in ("muted-fill", "embedded")
    )
    assert embedded / plain == pytest.approx(8 * dimension / inputs, abs=0.01)
    text = check_page(page).text
    assert f"d{dimension}-16-8 starts with d{dimension}: besides its value, each of 8" in text


def test_parameters_are_those_of_weights_and_both_kinds_of_embeddings() -> None:
    text = check_page(render(2)).text
    weights = 26 * 16 + 16 * 8 + 8
    rest = 4_800 - weights - 6 - 80
    assert (
        f"{weights} are weights between layers, 6 embeddings of categories, 80 embeddings of "
        f"numbers; the other {rest:,}"
    ) in text


def test_dimension_0_looks_as_a_network_without_embeddings() -> None:
    plain = make_result("regression", costs=make_embedded_result(0)["costs"])
    same = find_drawing(make_report(plain), "The network to scale")
    drawing = find_drawing(render(0), "The network to scale")
    assert ElementTree.tostring(drawing) == ElementTree.tostring(same)
    page = check_page(render(0))
    assert "curves" not in page.ids
    assert "learned number" not in page.text


def test_a_network_without_hidden_layers_is_not_called_linear() -> None:
    text = check_page(render(2, architecture="d2-linear")).text
    assert "A network without hidden layers, d2-linear, with 4,800 of 5,000" in text
    assert "A linear network" in check_page(render(0, architecture="linear")).text


# -- the curves ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("dimension", "lines"), [(1, 1), (2, 2), (4, 4), (8, 4)])
def test_every_dimension_has_a_line_and_every_knot_a_tooltip(dimension: int, lines: int) -> None:
    page = render(dimension)
    drawing = find_drawing(page, "How the model reads numbers")
    assert len(list(drawing.iter("polyline"))) == 3 * lines
    assert count(drawing, "hit") == 3 * 5
    tooltips = [rect.findtext("title") or "" for rect in drawing.iter("rect")]
    assert tooltips[0].startswith("size -0.5: read as 0")
    texts = list_texts(drawing)
    assert {"size", "day", "day week sine", "-0.5", "0.5", "2011-03-13", "-1", "1"} <= set(texts)
    text = check_page(page).text
    assert ("of which the first 4 are drawn" in text) == (dimension > lines)
    assert "Drawn are the 3 most important of 8 numeric columns." in text


def test_a_result_without_curves_has_no_figure_of_them() -> None:
    page = check_page(render(2, numeric_curves=[]))
    assert "curves" not in page.ids


def test_names_of_curves_are_escaped() -> None:
    result = make_embedded_result(2)
    result["numeric_curves"][0] |= {"column": EVIL, "feature": EVIL}
    page = make_report(result, make_history(EMBEDDED_LAYERS, 5))
    check_page(page)
    assert EVIL not in page
    assert "<script>alert" not in page


@pytest.mark.parametrize("knots", [[-1e300, 1e300], [5.0, 5.0], [1e-300, 2e-300]])
@pytest.mark.parametrize("unit", ["number", "time"])
def test_extreme_curves_are_drawn(knots: list[float], unit: str) -> None:
    curve = {"column": "x", "feature": "x", "unit": unit, "knots": knots}
    for outputs in ([[0.0, 0.0]], [[-1e300, 1e300]], [[1e-300, 2e-300], [3.0, 3.0]]):
        check_page(render(2, numeric_curves=[curve | {"outputs": outputs}]))


def test_short_times_have_hours_and_long_ones_dates() -> None:
    def format_all(*knots: float) -> list[str]:
        outputs = ((0.0,) * len(knots),)
        curve = NumericCurve(column="t", feature="t", unit="time", knots=knots, outputs=outputs)
        return format_knots(curve)

    assert format_all(0.0, 3_600.0) == ["01 Jan 00:00", "01 Jan 01:00"]
    assert format_all(-2.0, 86_400.0 * 366) == ["1970-01-01", "1971-01-02"]
    assert format_all(0.0, 1e15) == ["1970-01-01", "1e+15 s"]


# -- the search ----------------------------------------------------------------------------------


def test_the_input_is_the_first_heat_map() -> None:
    page = render(2)
    drawing = find_drawing(page, "Input: probability of dimensions")
    texts = list_texts(drawing)
    assert texts[:3] == ["input", "dimension of the numeric embeddings", "chosen: dimension 2"]
    assert "\N{BLACK LEFT-POINTING SMALL TRIANGLE} 2" in texts
    assert "0" in texts
    assert "none" not in texts
    for layer, width in ((1, "width 16"), (2, "width 8"), (3, "left out")):
        texts = list_texts(find_drawing(page, f"Layer {layer}: probability of widths"))
        assert f"chosen: {width}" in texts


def test_a_width_between_candidates_is_marked_between_their_rows() -> None:
    def find_mark(width: int) -> float:
        page = render(2, architecture=f"d2-{width}-8")
        drawing = find_drawing(page, "Layer 1: probability of widths")
        (mark,) = (
            text
            for text in drawing.iter("text")
            if (text.text or "").startswith("\N{BLACK LEFT-POINTING SMALL TRIANGLE}")
        )
        assert mark.text == f"\N{BLACK LEFT-POINTING SMALL TRIANGLE} {width}"
        assert ("between those of the search" in page) == (width not in EMBEDDED_LAYERS[1])
        return float(mark.get("y", "nan"))

    low, high = (width for width in EMBEDDED_LAYERS[1][-2:])
    assert high - low > 1
    assert find_mark(low + 1) == pytest.approx((find_mark(low) + find_mark(high)) / 2, abs=0.1)


def test_dimension_0_is_a_dimension_and_not_a_layer_left_out() -> None:
    drawing = find_drawing(render(0), "Input: probability of dimensions")
    assert "chosen: dimension 0" in list_texts(drawing)
    assert "\N{BLACK LEFT-POINTING SMALL TRIANGLE} 0" in list_texts(drawing)


def test_the_work_names_the_input_layer() -> None:
    text = check_page(render(2)).text
    assert "embeddings of 8 numeric columns, dimensions 0, 1, 2, 4 and 8, 40 knots in all" in text
    assert "Input layer" not in check_page(make_report()).text


# -- the card and the trade-off ------------------------------------------------------------------


def test_the_card_explains_embeddings_and_cites_the_paper() -> None:
    card = make_card(make_embedded_result(2))
    assert "A feed-forward network with 26 inputs and 1 output" in card
    assert "each of the 8 numeric columns is read as 2 learned numbers between 5 knots" in card
    assert "On Embeddings for Numerical Features in Tabular Deep Learning" in card
    assert "80 parameters in all" in card
    for dimension in (0, None):
        result = make_result() if dimension is None else make_embedded_result(dimension)
        assert "Gorishniy" not in make_card(result)


def test_a_tradeoff_shows_embedded_inputs() -> None:
    tradeoff = make_tradeoff(embedded_columns=8)
    tradeoff["models"][2]["architecture"] = "d4-32-16"
    config = {"data": {"data": "birds.csv", "target": "bird"}, "settings": {}}
    page = make_tradeoff_page(tradeoff, config)
    drawing = find_drawing(page, "The networks to one scale")
    assert count(drawing, "embedded") == 1
    assert "numeric embeddings: 32" in ElementTree.tostring(drawing, encoding="unicode")
    assert "each numeric column is also read as 2 learned numbers" in check_page(page).text
    assert "learned number" not in check_page(make_tradeoff_page(make_tradeoff(), config)).text


# -- a real run ----------------------------------------------------------------------------------


def test_a_real_run_reports_its_input_layer(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x, z = rng.uniform(10, 20, 600), rng.exponential(5.0, 600)
    table = Table.from_data({"x": x, "z": z, "y": np.sin(2 * x) + 0.1 * z})
    settings = RunSettings(
        limits={"parameters": 2_000}, numeric_dimensions=(2, 4), knots=12, candidates=1,
        reference_models=False, time=0.5,
    )  # fmt: skip
    run_in_folder(tmp_path / "run", LabelledTable.from_table(table, "y"), settings)
    page = (tmp_path / "run" / "report.html").read_text()
    dimension = load_result(tmp_path / "run").architecture.dimension
    text = check_page(page).text
    assert f"each of 2 numeric columns is read as {dimension} learned numbers" in text
    texts = list_texts(find_drawing(page, "How the model reads numbers"))
    assert {"x", "z", "10", "20"} <= set(texts)
    assert f"chosen: dimension {dimension}" in text
    card = (tmp_path / "run" / "MODEL_CARD.md").read_text()
    assert "each of the 2 numeric columns is read as" in card
    assert card == render_card(load_result(tmp_path / "run"), load_config(tmp_path / "run"))


def test_older_results_have_no_input_layer() -> None:
    result = decode_result(make_result())
    assert result.numeric_curves == ()
    assert result.plan.input_width(result.architecture) == result.plan.inputs
