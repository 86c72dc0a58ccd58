from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabnas.errors import TabNASError
from tabnas.report import render_report
from tabnas.results import decode_result
from tests.report.conftest import make_config, make_history, make_report, make_result
from tests.report.pages import check_page

TASKS = ["binary", "multiclass", "regression"]
EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>\u202e{{ 7*7 }}\x1b"


@pytest.mark.parametrize("task", TASKS)
def test_the_page_has_all_sections(task: str) -> None:
    page = check_page(make_report(make_result(task)))
    figures = ["limits", "network", "scores", "preferences", "feasible-probability", "quality"]
    figures += ["candidates", "estimates", "importance", "treatment", "use", "again"]
    figures += ["residuals"] if task == "regression" else ["confusion", "reliability"]
    assert set(figures) <= set(page.ids)
    assert "Every limit holds" in page.text
    assert "A network of 2 hidden layers, 16-8, with 480 of 500 parameters (96 %)" in page.text


def test_the_page_is_reproducible() -> None:
    assert make_report() == make_report()


def test_only_copying_needs_the_script() -> None:
    buttons = re.findall(r"<button[^>]*>", make_report())
    assert len(buttons) == 3
    assert all(button.endswith(" hidden>") for button in buttons)


def test_a_page_is_small() -> None:
    widths = [list(range(8, 168, 8))] * 4
    plan = make_result()["plan"] | {"widths": widths}
    result = make_result(plan=plan, columns={f"column {k}": "numeric: scaled" for k in range(60)})
    assert len(make_report(result, make_history(widths, 100)).encode()) < 300_000


def test_the_page_names_the_binding_limit() -> None:
    text = check_page(make_report()).text
    assert (
        "the limit on parameters forbids 1 and the limit on operations a row forbids none" in text
    )
    assert "So parameters binds; operations a row could be tighter without a change." in text


def test_a_broken_limit_is_shown() -> None:
    costs = {"parameters": {"value": 501, "limit": 500}}
    text = check_page(make_report(make_result(costs=costs))).text
    assert "A limit does not hold" in text
    assert "Every limit holds" not in text


@pytest.mark.parametrize("task", TASKS)
def test_missing_values_are_mentioned(task: str) -> None:
    result = make_result(
        task, scores={}, diagnostics=None, candidates=[], wider_steps=[], limit_effects=[], notes=[]
    )
    text = check_page(make_report(result, [])).text
    assert "No rows were held out for a test" in text
    assert "There is no record of the search" in text
    assert "No rows were held out to" in text


@pytest.mark.parametrize(("version", "which"), [(1, "an older"), (3, "a newer")])
def test_files_of_other_versions_are_refused(version: int, which: str) -> None:
    with pytest.raises(TabNASError, match=f"result.json must have format 2.* by {which} tabnas"):
        make_report(make_result(format=version))


# -- malicious files ------------------------------------------------------------------------------


def test_texts_of_files_are_escaped() -> None:
    result = make_result(
        columns={EVIL: EVIL},
        notes=[EVIL],
        chosen_by=EVIL,
        versions={EVIL: EVIL},
    )
    result["target"] = {"name": EVIL, "task": "multiclass", "classes": [EVIL, "b", "c"]}
    result["diagnostics"]["confusion"]["classes"][0] = EVIL
    result["diagnostics"]["importance"]["columns"] = {EVIL: {"increase": 1.0, "std": 0.0}}
    config = make_config(drop=[EVIL])
    config["data"] = {"data": EVIL, "target": EVIL}
    page = check_page(make_report(result, config=config))
    assert "<script>alert(1)</script>" in page.text
    assert "{{ 7*7 }}" in page.text
    assert not re.search("[\u202a-\u202e\x00\x1b]", page.text)


def test_invalid_texts_of_a_table_are_escaped() -> None:
    """The report of a run is rendered from objects with texts of the table."""
    odd = EVIL + "\x00\ud800"
    result = replace(decode_result(make_result()), notes=(odd,), columns={odd: odd})
    page = check_page(render_report(result, (), make_config()))
    assert "<script>alert(1)</script>" in page.text
    assert not re.search("[\u202a-\u202e\x00\x1b]", page.text)


@pytest.mark.parametrize("text", ["\x00", "\ud800"])
def test_invalid_texts_of_files_are_refused(text: str) -> None:
    for changes in ({"notes": [text]}, {"columns": {text: "numeric"}}):
        with pytest.raises(TabNASError, match="must be a string without zero bytes or surrogates"):
            make_report(make_result(**changes))


@pytest.mark.parametrize(
    "columns",
    [
        {f"column {k}": "numeric: scaled" for k in range(2_000)},
        {"x" * 5_000 + str(k): "numeric: " + "y" * 5_000 for k in range(40)},
    ],
    ids=["many", "long"],
)
def test_many_columns_and_long_names(columns: dict[str, str]) -> None:
    result = make_result(columns=columns)
    result["diagnostics"]["importance"]["columns"] = {
        name: {"increase": k / 10, "std": 0.1} for k, name in enumerate(columns)
    }
    page = make_report(result)
    check_page(page)
    assert len(page) < 500_000


def test_many_classes() -> None:
    result = make_result()
    result["target"]["classes"] = list(range(1_000))
    names = list(range(19))
    counts = [[i * j % 7 for j in range(20)] for i in range(20)]
    result["diagnostics"]["confusion"] = {
        "classes": names,
        "pooled_classes": 981,
        "correct": 3,
        "counts": counts,
    }
    assert "981 others" in check_page(make_report(result)).text


def test_many_layers() -> None:
    widths = [[0, 8, 16, 32]] * 40
    result = make_result(architecture="-".join(["16"] * 40))
    result["plan"] |= {"widths": widths, "architectures": 3**40, "feasible": None}
    page = make_report(result, make_history(widths, 100))
    assert "36 further layers" in check_page(page).text
    assert len(page) < 500_000


@pytest.mark.parametrize(
    ("key", "value", "where"),
    [
        ("costs", [], "result.json: costs must be an object of names and values"),
        ("costs", {}, "costs must hold at least one cost"),
        (
            "costs",
            {"flops": {"value": "9", "limit": 1}},
            "costs.flops.value must be an integer or a",
        ),
        (
            "architecture",
            "8-<b>",
            "architecture is malformed: .* positive widths joined by hyphens",
        ),
        ("candidates", [{}], r"candidates\[0\].architecture is missing"),
        ("seed", True, "result.json: seed must be an integer, got True"),
        ("seed", -1, "result.json: seed must be an integer of at least 0"),
        ("trained_on_all_rows", 1, "trained_on_all_rows must be true or false"),
        ("columns", {"a": 1}, "result.json: columns.a must be a string"),
    ],
)
def test_malformed_files_are_refused(key: str, value: Any, where: str) -> None:
    with pytest.raises(TabNASError, match=where):
        make_report(make_result(**{key: value}))


def list_paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path to every value inside a value."""
    if path:
        yield path
    if isinstance(value, dict):
        for key, inside in value.items():
            yield from list_paths(inside, (*path, key))
    elif isinstance(value, list):
        for k, inside in enumerate(value):
            yield from list_paths(inside, (*path, k))


texts = st.one_of(st.text(), st.sampled_from([EVIL, "", "linear", "1-2", "9" * 5_000]))
numbers = st.one_of(
    st.integers(),
    st.floats(),
    st.sampled_from([10**400, -(10**400), 1e308, -1e308, 5e-324, 0, 2**63]),
)
leaves = st.one_of(st.none(), st.booleans(), numbers, texts)
anything = st.recursive(
    leaves,
    lambda inside: st.one_of(
        st.lists(inside, max_size=4), st.dictionaries(texts, inside, max_size=4)
    ),
    max_leaves=8,
)


def forge(data: st.DataObject, files: Any) -> None:
    """Replace or remove a random value."""
    *path, last = data.draw(st.sampled_from(list(list_paths(files))))
    container = files
    for step in path:
        container = container[step]
    if data.draw(st.booleans()) and isinstance(container, dict):
        container[last] = data.draw(anything)
    elif data.draw(st.booleans()):
        container[last] = data.draw(numbers)
    else:
        del container[last]


@given(data=st.data(), task=st.sampled_from(TASKS))
@settings(max_examples=80)
def test_forged_files_give_a_page_or_an_error(data: st.DataObject, task: str) -> None:
    contents = {
        "result": make_result(task),
        "history": make_history(snapshots=5),
        "config": make_config(widths=[8, 16], split="time", split_column="day", drop=["a"]),
    }
    for _ in range(data.draw(st.integers(1, 3))):
        forge(data, contents)
    try:
        page = make_report(*(contents.get(name, {}) for name in ("result", "history", "config")))
    except TabNASError:
        return
    check_page(page)


@given(value=anything)
def test_any_values_instead_of_files_give_a_page_or_an_error(value: Any) -> None:
    for files in (
        (value, [], {}),
        (make_result(), value, make_config()),
        (make_result(), [value], make_config()),
        (make_result(), [], value),
    ):
        try:
            page = make_report(*files)
        except TabNASError:
            continue
        check_page(page)


def test_the_page_says_what_test_rows_were_used_for() -> None:
    assert "90 test rows, which were used for nothing else" in make_report()
    refitted = make_result(trained_on_all_rows=True)
    assert "used for these scores, then for training the final weights" in make_report(refitted)


def test_the_page_says_when_latency_was_checked() -> None:
    promise = "limit is ever trained as a candidate, returned, saved or loaded."
    assert f"Nothing over a {promise}" in make_report()
    result = make_result()
    result["costs"]["latency_us"] = {"value": 90.0, "limit": 100.0}
    page = make_report(result)
    assert "Latency was predicted from a latency table; it was not measured." in page
    assert f"Nothing over another {promise}" in page
    result["timings"]["measured latency_us"] = 91.0
    assert "Latency was measured with the trained network" in make_report(result)


def test_the_page_names_the_rows_of_the_temperature() -> None:
    assert "temperature scaling on the rows that the folds held out" in make_report()
    result = make_result()
    result["plan"]["folds"] = 0
    assert "temperature scaling on the validation rows" in make_report(result)
