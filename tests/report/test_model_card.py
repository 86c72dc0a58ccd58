"""The model card has the content of the report, and escapes names."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tabnas.errors import TabNASError
from tabnas.report._markdown import MAX_NAMES, code_block, escape, join_names, table
from tests.report.conftest import make_card, make_config, make_result

TASKS = ["binary", "multiclass", "regression"]
EVIL = (
    "<script>alert(1)</script>|a`b``c*d_e[f](http://g.h)![i](j)\\|$k$~~l~~@m www.n.o\n# p\r\n"
    "| q |\u202e\x1b\u2028&lt;{{ 7 }}"
)
PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
ENTITY = re.compile(r"&#\d+;")


def parse(text: str) -> list[Token]:
    """Return the tokens of a card and their children."""
    tokens = PARSER.parse(text)
    return [
        token_or_child for token in tokens for token_or_child in (token, *(token.children or []))
    ]


def read_structure(text: str) -> list[tuple[str, str]]:
    """Return the structure of a card without its texts."""
    return [(t.type, t.tag) for t in parse(text) if t.type not in ("text", "text_special")]


def read_text(text: str) -> str:
    return "".join(t.content for t in parse(text) if t.type in ("text", "text_special"))


@pytest.mark.parametrize("task", TASKS)
def test_the_card_has_all_sections(task: str) -> None:
    text = make_card(make_result(task))
    assert re.findall("^## (.*)", text, re.M) == [
        "What it is", "Intended use", "Data", "Metrics", "What it relies on", "Limitations",
        "How it was trained", "How to use it", "How to repeat it", "Licence and contact",
    ]  # fmt: skip
    for expected in (
        "A network of 2 hidden layers, 16-8, with 480 of 500 parameters",
        "| parameters | 480 | 500 |",
        "from 2 columns: size and colour",
        "birds.csv",
        "| test | 90 | for the scores below only |",
        "| colour | categorical: 3 categories |",
        "| size | 0.500 | 0.100 |",
        "It was trained on 400 rows only.",
        "Note of the run: the moon could not be judged on the test rows.",
        "(fairness)",
        "tabnas predict . new.csv",
        "tabnas export . model.onnx",
        "--max-parameters 500",
        "Seed 0; tabnas 0.1.0, python 3.11.7.",
    ):
        assert expected in text
    assert text.count("**To fill in:**") == 3


def test_scores_are_compared_with_reference_models() -> None:
    rows = [line for line in make_card().splitlines() if line.startswith("| accuracy")]
    assert [cell.replace("\N{NO-BREAK SPACE}", " ").strip() for cell in rows[0].split("|")] == [
        "", "accuracy (greater is better)", "80.0 % (75.0 % to 84.0 %)",
        "30.0 % (25.0 % to 34.0 %)", "82.0 % (77.0 % to 86.0 %)", "",
    ]  # fmt: skip


def test_limitations_are_listed() -> None:
    columns = {
        "id": "dropped, as asked for",
        "one": "constant: dropped",
        "city": "categorical: 9 categories, 40 rare ones pooled; unseen ones count as other",
    }
    result = make_result(columns=columns, trained_on_all_rows=True, metric="accuracy")
    result["diagnostics"]["confusion"]["counts"] = [[30, 0, 0], [0, 19, 0], [1, 0, 40]]
    text = make_card(result)
    for expected in (
        "does not use: id and one.", "rare categories it does not distinguish: city.",
        "fewer than 20 rows to test them on: emu.", "trained on all 490 rows",
        "Boosted trees, which have no limit, have the better accuracy",
    ):  # fmt: skip
        assert expected in text
    assert "from 1 column: city" in text


@pytest.mark.parametrize(
    ("folds", "refit", "test_rows", "n_learned", "n_scored"),
    [
        (5, False, 90, 400, 400),
        (5, True, 90, 490, 400),
        (5, True, 0, 400, 400),  # no further rows
        (0, False, 90, 300, 300),
        (0, True, 90, 490, 300),
    ],
)
def test_the_card_counts_the_rows_that_the_final_weights_learned_from(
    folds: int, refit: bool, test_rows: int, n_learned: int, n_scored: int
) -> None:
    rows = {"training": 300, "validation": 100, "test": test_rows}
    plan = make_result()["plan"] | {"folds": folds}
    result = make_result(plan=plan, trained_on_all_rows=refit, rows=rows)
    text = make_card(result if test_rows else result | {"scores": {}, "diagnostics": None})
    assert f"It was trained on {n_learned} rows only." in text
    assert f"The final weights were trained on {n_learned} rows." in text
    refitted = n_learned > n_scored
    assert ("for the scores below only" in text) is not refitted
    assert (
        f"| {test_rows} | for the scores below; then for training the final" in text
    ) is refitted
    assert (f"the scores are of weights trained on {n_scored} of them" in text) is refitted


def test_a_broken_limit_is_shown() -> None:
    text = make_card(make_result(costs={"parameters": {"value": 501, "limit": 500}}))
    assert "**A limit does not hold.**" in text


@pytest.mark.parametrize("task", TASKS)
def test_missing_values_are_left_out(task: str) -> None:
    result = make_result(
        task, scores={}, diagnostics=None, candidates=[], wider_steps=[], limit_effects=[], notes=[]
    )
    text = make_card(result)
    assert "No rows were held out for a test." in text
    assert "What it relies on" not in text


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (
            {"split": "time", "split_column": "day"},
            "by time, by the column day: the latest are the validation rows",
        ),
        (
            {"split": "group", "split_column": "a|b"},
            "by the column a&#124;b, are in the same split",
        ),
        ({"split": "random"}, "split at random."),
    ],
)
def test_the_card_says_how_rows_were_split(settings: dict[str, str], sentence: str) -> None:
    config = make_config(**settings)
    config["data"]["test"] = "later.csv"
    assert sentence in make_card(config=config)
    assert "The test rows came as a separate file." in make_card(config=config)


def test_the_card_says_what_was_given_in_python() -> None:
    config = make_config(split="group")
    del config["data"]
    card = make_card(config=config)
    assert "Rows of one group are in the same split; the groups were given in Python." in card
    assert "data = data.with_groups(" in card
    config = make_config() | {"separate": ["validation"]}
    del config["data"]
    card = make_card(config=config)
    assert "The validation rows came as a separate table." in card
    assert "split at random" not in card
    assert 'run_in_folder("again", data, settings, validation=validation)' in card
    assert "with_groups" not in card


def test_the_card_is_reproducible() -> None:
    assert make_card() == make_card()


def test_malformed_results_are_refused() -> None:
    with pytest.raises(TabNASError, match="costs must be an object of names and values"):
        make_card(make_result(costs=[]))


# -- malicious files ------------------------------------------------------------------------------


def make_card_with_names(name: str, other: str = "plain") -> str:
    """Make a card with a name in every field that a file can set."""
    result = make_result(
        columns={name: other, "b": name}, notes=[name], chosen_by=name, versions={name: name}
    )
    result["target"] = {"name": name, "task": "multiclass", "classes": [name, "b", "c"]}
    result["diagnostics"]["confusion"]["classes"][0] = name
    result["diagnostics"]["importance"]["columns"] = {name: {"increase": 1.0, "std": 0.0}}
    config = make_config(split="time", split_column=name)
    config["data"] = {"data": name + ".csv", "target": name}
    return make_card(result, config)


def check_structure(text: str) -> None:
    """Assert that the card has the structure of one with harmless names, and no HTML."""
    structure = read_structure(text)
    assert not [t for t, _ in structure if t in ("html_block", "html_inline", "link_open", "image")]
    assert structure == read_structure(make_card_with_names("name"))
    assert not {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs")} - {"\n"}
    text.encode()


def test_texts_of_files_are_escaped() -> None:
    text = make_card_with_names(EVIL)
    check_structure(text)
    assert "<script>alert(1)</script>|a`b``c*d_e[f](http://g.h)" in read_text(text)


@given(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60)
    | st.text("|`<>\\*_[]()#!&~$@-+=\n\r\t :./w1", max_size=60)
)
def test_no_name_changes_the_structure_of_the_card(name: str) -> None:
    check_structure(make_card_with_names(name))


@given(st.text(max_size=60))
def test_escaped_texts_are_rendered_unchanged(text: str) -> None:
    escaped = escape(text)
    assert not set("|<>`") & set(ENTITY.sub("", escaped))
    rendered = read_text(f"x{escaped}x")[1:-1]
    odd = {"\N{REPLACEMENT CHARACTER}", "\N{FIRST STRONG ISOLATE}", "\N{POP DIRECTIONAL ISOLATE}"}
    if not set(escaped) & odd and not set(text) & odd:
        assert rendered == text


@given(st.lists(st.lists(st.text(max_size=20), min_size=3, max_size=3), max_size=5))
def test_a_table_has_the_given_cells(rows: list[list[str]]) -> None:
    types = [t.type for t in parse(table(["a", "b", "c"], rows))]
    assert types.count("tr_open") == 1 + len(rows)
    assert types.count("td_open") == 3 * len(rows)


@given(st.text("`a\n~", max_size=40))
def test_nothing_closes_a_fence_from_within(text: str) -> None:
    blocks = PARSER.parse(code_block(text, "sh"))
    assert [block.type for block in blocks] == ["fence"]
    assert blocks[0].content.rstrip() == text.rstrip()


def test_long_lists_of_names_are_truncated() -> None:
    assert join_names(["a"] * MAX_NAMES).count("a") == MAX_NAMES + 1  # one in "and"
    assert join_names([str(k) for k in range(100)]).endswith("19 and 80 more")


def test_models_with_hashed_columns_are_exported_as_c() -> None:
    assert "tabnas export . model.onnx" in make_card()
    columns = {"size": "numeric: scaled", "user": "hashed: 65536 buckets by the hash of the text"}
    card = make_card(make_result(columns=columns))
    assert "tabnas export . --c firmware" in card
    assert ".onnx" not in card


def test_without_test_rows_the_latest_are_for_validation() -> None:
    config = make_config(split="time", split_column="day")
    assert "the latest are the test rows" in make_card(config=config)
    result = make_result(rows={"training": 300, "validation": 100, "test": 0})
    assert "the latest are the validation rows" in make_card(result, config)
