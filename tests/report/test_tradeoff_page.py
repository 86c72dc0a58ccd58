from __future__ import annotations

import re
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabnas.errors import TabNASError
from tabnas.report import choose_network
from tabnas.report._choice import Choice
from tabnas.report._commands import render_repetition
from tabnas.report._run_config import decode_config
from tabnas.results import decode_tradeoff
from tests.report.conftest import make_config, make_report, make_tradeoff, make_tradeoff_page
from tests.report.pages import check_page
from tests.report.test_run_page import EVIL, anything, forge

TRADEOFF = {"cost": "parameters", "limits": [500, 1_000, 2_000]}


def render_page(**changes: Any) -> str:
    return make_tradeoff_page(make_tradeoff(**changes), make_tradeoff_config())


def make_tradeoff_config(**settings: Any) -> dict[str, Any]:
    return make_config(**settings) | {"tradeoff": deepcopy(TRADEOFF)}


def test_the_page_has_all_sections() -> None:
    page = check_page(render_page())
    assert {"tradeoff", "networks-drawn", "choice", "use", "again"} <= set(page.ids)
    assert "Three networks from 450 to 1,900 parameters." in page.text
    assert "Doubling the limit from 500 to 1,000 lowers log loss from 0.600 to 0.300" in page.text
    assert "from 1,000 to 2,000 only from 0.300 to 0.280, which may be chance." in page.text
    assert "+450 parameters: log loss \N{MINUS SIGN}0.300" in page.text
    assert "+1,000 parameters: log loss \N{MINUS SIGN}0.020 (may be chance)" in page.text
    assert "Every limit holds" in page.text


def test_the_page_shows_rounded_weights() -> None:
    result = make_tradeoff()
    assert "int8" not in check_page(make_tradeoff_page(result, make_tradeoff_config())).text
    result["models"][1]["precision"] = "int8"
    page = check_page(make_tradeoff_page(result, make_tradeoff_config()))
    assert "Weights" in page.text
    assert page.text.count("int8") == 1
    assert page.text.count("float32") == 2


def test_the_page_is_reproducible() -> None:
    assert render_page() == render_page()


def test_links_lead_to_the_runs_only() -> None:
    links = re.findall(r'href="([^"]*)"', render_page())
    outward = [link for link in links if not link.startswith("#")]
    assert outward == ["data:,", *(f"limit-{n}/report.html" for n in (500, 1000, 2000))]


@pytest.mark.parametrize(
    "folder",
    [
        "../limit-500",
        "limit-",
        "limit-5/..",
        "javascript:alert(1)",
        "limit-5\n",
        "limit-\N{ARABIC-INDIC DIGIT FIVE}",
        EVIL,
    ],
)
def test_a_link_out_of_the_folder_is_refused(folder: str) -> None:
    models = make_tradeoff()["models"]
    models[0]["folder"] = folder
    with pytest.raises(TabNASError, match=r"models\[0\] is malformed: folder must be named like"):
        render_page(models=models)


@pytest.mark.parametrize("name", ["limit-5000", "limit-12.5", "limit-1e-05", "limit-1.5e+06"])
def test_every_valid_name_of_a_run_is_accepted(name: str) -> None:
    models = make_tradeoff()["models"]
    models[0]["folder"] = name
    assert f'href="{name}/report.html"' in render_page(models=models)


# -- the recommendation ----------------------------------------------------------------------------


def choose(tradeoff: dict[str, Any]) -> Choice:
    return choose_network(decode_tradeoff(tradeoff))


def make_valued_tradeoff(
    *values: float, half: float = 0.02, greater: bool = False
) -> dict[str, Any]:
    """Return a trade-off whose costs double, starting with 500."""
    tradeoff = make_tradeoff(
        metric="accuracy" if greater else "log_loss", greater_is_better=greater
    )
    models = []
    for k, value in enumerate(values):
        model = deepcopy(tradeoff["models"][0])
        score = {"value": value, "low": value - half, "high": value + half}
        limit = 500 * 2**k
        model |= {"limit": limit, "folder": f"limit-{limit}", "architecture": f"{8 + k}-8"}
        model["costs"]["parameters"] = {"value": limit, "limit": limit}
        model["scores"]["metrics"] = {tradeoff["metric"]: score}
        models.append(model)
    return tradeoff | {"models": models, "references": {}}


def test_the_cheapest_network_near_the_best_is_recommended() -> None:
    choice = choose(make_valued_tradeoff(0.9, 0.5, 0.305, 0.3))
    assert choice.model.limit == 2_000
    assert "lies within the 95\N{NO-BREAK SPACE}% interval of the best" in choice.reasons[0]
    assert "may be chance" in choice.reasons[0]


def test_a_clear_difference_is_mentioned() -> None:
    choice = choose(make_valued_tradeoff(0.5, 0.7, 0.9, greater=True))
    assert choice.model.limit == 2_000
    assert "overlaps with none of theirs" in choice.reasons[0]
    assert "no clear bend" in choice.reasons[1]


def test_the_cheapest_may_be_the_best() -> None:
    choice = choose(make_valued_tradeoff(0.3, 0.31, 0.32))
    assert choice.model.limit == 500
    assert "8-8 (limit 500, log loss 0.300) is both the cheapest and the best" in choice.reasons[0]


def test_overlapping_intervals_are_not_called_clear() -> None:
    text = " ".join(choose(make_valued_tradeoff(0.9, 0.33, 0.3)).reasons)
    assert "The interval of 9-8 still overlaps with it, so that difference may be chance" in text


def test_the_knee_is_where_doubling_the_cost_helps_less() -> None:
    reasons = choose(make_valued_tradeoff(0.9, 0.6, 0.3, 0.25, 0.2)).reasons
    assert any(
        "The curve bends at 10-8 (limit 2,000): up to there every doubling of parameters lowers "
        "log loss by 0.300 on average, after it by 0.050." in reason
        for reason in reasons
    )


def test_limits_that_give_the_same_network() -> None:
    tradeoff = make_valued_tradeoff(0.9, 0.5, 0.5)
    tradeoff["models"][2]["architecture"] = tradeoff["models"][1]["architecture"]
    tradeoff["models"][2]["costs"]["parameters"]["value"] = 1_000
    text = check_page(make_tradeoff_page(tradeoff, make_tradeoff_config())).text
    assert "Three limits, two networks from 500 to 1,000 parameters." in text
    assert "the same network" in text
    for model in tradeoff["models"]:
        model["architecture"] = "8-8"
        model["costs"]["parameters"]["value"] = 500
    text = check_page(make_tradeoff_page(tradeoff, make_tradeoff_config())).text
    assert "Three limits, one network: 8-8 with 500 parameters." in text
    assert "There is one network to take" in text


def test_the_page_mentions_missing_test_rows() -> None:
    models = make_tradeoff()["models"]
    for model in models:
        model["scores"] = None
    text = check_page(render_page(models=models, references={})).text
    assert "on validation rows. No rows were held out for a test" in text
    assert "nothing tells which differences are chance" in text
    assert "95 % interval" not in text.replace("\N{NO-BREAK SPACE}", " ")


def test_a_broken_limit_is_shown() -> None:
    models = make_tradeoff()["models"]
    models[1]["costs"]["parameters"]["value"] = 1_001
    assert "A limit does not hold" in check_page(render_page(models=models)).text


# -- the figure ----------------------------------------------------------------------------------


def test_marks_can_be_told_apart_without_colours() -> None:
    models = make_tradeoff()["models"]
    models[1]["pareto_optimal"] = False
    page = render_page(models=models)
    curve = re.findall(r"<svg.*?</svg>", page, flags=re.S)[0]
    assert curve.count('class="mark-best"') == 2
    assert curve.count('class="mark"') == 1
    assert curve.count("<polygon") == 1  # the one with a bottleneck
    text = check_page(page).text
    assert "○ hollow: a cheaper one was as good" in text
    assert "◆ diamond: has a bottleneck" in text


def test_reference_models_are_drawn_or_mentioned() -> None:
    curve = re.findall(r"<svg.*?</svg>", render_page(), flags=re.S)[0]
    assert curve.count('class="guide"') == 1
    assert ">boosted trees 0.260<" in curve
    assert ">▴ trivial 3.000<" in curve


def test_many_networks_of_many_layers() -> None:
    models = []
    for k in range(1, 51):
        model = deepcopy(make_tradeoff()["models"][2])
        deep = "-".join(str(8 + (k + j) % 5) for j in range(k))
        model |= {"limit": 100 * k, "folder": f"limit-{100 * k}", "architecture": deep}
        model["costs"] = {"parameters": {"value": 100 * k - 1, "limit": 100 * k}}
        models.append(model | {"bottlenecks": []})
    page = render_page(models=models)
    check_page(page)
    assert len(page) < 500_000


# -- malicious files ------------------------------------------------------------------------------


def test_texts_of_files_are_escaped() -> None:
    tradeoff = make_tradeoff(
        target={"name": EVIL, "task": "multiclass"}, chosen_by=EVIL, versions={EVIL: EVIL}
    )
    tradeoff["references"] = {EVIL: tradeoff["references"]["trivial"]}
    config = make_tradeoff_config()
    config["data"] = {"data": EVIL, "target": EVIL}
    page = check_page(make_tradeoff_page(tradeoff, config))
    assert "<script>alert(1)</script>" in page.text
    assert not re.search("[\u202a-\u202e\x00\x1b]", page.text)


@pytest.mark.parametrize(
    ("key", "value", "where"),
    [
        ("models", [], "models must hold at least one network"),
        ("models", 3, "tradeoff.json: models must be a list"),
        ("cost", "bytes", r"models\[0\].costs must have the cost 'bytes'"),
        ("greater_is_better", 1, "greater_is_better must be true or false"),
        (
            "rows",
            {"training": 9, "validation": 9, "test": -1},
            "rows.test must be an integer of at",
        ),
    ],
)
def test_malformed_files_are_refused(key: str, value: Any, where: str) -> None:
    with pytest.raises(TabNASError, match=where):
        render_page(**{key: value})


@given(data=st.data())
@settings(max_examples=100)
def test_forged_files_give_a_page_or_an_error(data: st.DataObject) -> None:
    contents = {"tradeoff": make_tradeoff(), "config": make_tradeoff_config(widths=[8, 16])}
    for _ in range(data.draw(st.integers(1, 4))):
        if contents:
            forge(data, contents)
    try:
        page = make_tradeoff_page(contents.get("tradeoff", {}), contents.get("config", {}))
    except TabNASError:
        return
    check_page(page)


@given(value=anything)
def test_any_values_instead_of_files_give_a_page_or_an_error(value: Any) -> None:
    for files in ((value, make_tradeoff_config()), (make_tradeoff(), value)):
        try:
            page = make_tradeoff_page(*files)
        except TabNASError:
            continue
        check_page(page)


# -- printed commands -----------------------------------------------------------------------------


def test_the_command_of_a_run_reproduces_its_tradeoff() -> None:
    config = make_tradeoff_config(candidates=2)
    command = render_repetition(decode_config(config), "bird", "binary").replace(" \\\n   ", "")
    assert command.startswith("tabnas tradeoff birds.csv --target bird --limits 500,1000,2000 ")
    assert "--max-parameters" not in command
    assert "--max-flops 2000" in command
    page = make_report(config=config)
    assert "found together with those of other limits" in check_page(page).text


def test_the_command_of_a_tradeoff_on_another_cost() -> None:
    config = make_tradeoff_config(limits={"latency_us": 12.5, "parameters": 900})
    config["tradeoff"] = {"cost": "latency_us", "limits": [12.5, 20]}
    command = render_repetition(decode_config(config), "bird", "binary").replace(" \\\n   ", "")
    assert "--limits 12.5,20 --cost latency_us --max-parameters 900" in command


def test_the_command_of_a_tradeoff_with_a_latency_table_and_a_refit() -> None:
    command = render_repetition(
        decode_config(
            make_tradeoff_config(
                refit=True,
                latency_table="a.json",
                limits={"parameters": 500, "latency_us": 50},
            )
        ),
        "bird",
        "binary",
    )
    command = command.replace(" \\\n   ", "")
    assert command.startswith("tabnas tradeoff ")
    assert "--latency-table a.json" in command
    assert "--refit" in command


def test_the_page_says_what_test_rows_were_used_for() -> None:
    page = make_tradeoff_page(make_tradeoff(), make_tradeoff_config())
    assert "test rows were used for the scores here and nothing else" in page
    page = make_tradeoff_page(make_tradeoff(), make_tradeoff_config(refit=True))
    assert "test rows were used for the scores here, and then to train the final weights" in page


@pytest.mark.parametrize("settings", [{"time": 3.0}, {"workers": 2}])
def test_settings_without_an_option_are_printed_as_python(settings: dict[str, Any]) -> None:
    command = render_repetition(decode_config(make_tradeoff_config(**settings)), "bird", "binary")
    assert "plan_tradeoff(data, settings, **config" in command
