"""The model card says what the report says, and names stay names in it."""

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


def parsed(text: str) -> list[Token]:
    """The blocks of a card, and what stands in their lines."""
    found = PARSER.parse(text)
    return [one for token in found for one in (token, *(token.children or []))]


def skeleton(text: str) -> list[tuple[str, str]]:
    """The structure without its words."""
    return [(t.type, t.tag) for t in parsed(text) if t.type not in ("text", "text_special")]


def words(text: str) -> str:
    return "".join(t.content for t in parsed(text) if t.type in ("text", "text_special"))


@pytest.mark.parametrize("task", TASKS)
def test_every_matter_is_on_the_card(task: str) -> None:
    text = make_card(make_result(task))
    assert re.findall("^## (.*)", text, re.M) == [
        "What it is", "Intended use", "Data", "Metrics", "What it relies on", "Limitations",
        "How it was trained", "How to use it", "How to repeat it", "Licence and contact",
    ]  # fmt: skip
    for said in (
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
        assert said in text
    assert text.count("**To fill in:**") == 3


def test_scores_stand_beside_those_of_others() -> None:
    rows = [line for line in make_card().splitlines() if line.startswith("| accuracy")]
    assert [cell.replace("\N{NO-BREAK SPACE}", " ").strip() for cell in rows[0].split("|")] == [
        "", "accuracy (greater is better)", "80.0 % (75.0 % to 84.0 %)",
        "30.0 % (25.0 % to 34.0 %)", "82.0 % (77.0 % to 86.0 %)", "",
    ]  # fmt: skip


def test_what_speaks_against_the_model_is_said() -> None:
    columns = {
        "id": "dropped, as asked for",
        "one": "constant: dropped",
        "city": "categorical: 9 categories, 40 rare ones pooled; unseen ones count as other",
    }
    result = make_result(columns=columns, trained_on_all_rows=True, metric="accuracy")
    result["diagnostics"]["confusion"]["counts"] = [[30, 0, 0], [0, 19, 0], [1, 0, 40]]
    text = make_card(result)
    for said in (
        "does not use: id and one.", "rare categories it does not distinguish: city.",
        "fewer than 20 rows to test them on: emu.", "trained on all 490 rows",
        "Boosted trees, which have no limit, have the better accuracy",
    ):  # fmt: skip
        assert said in text
    assert "from 1 column: city" in text


@pytest.mark.parametrize(
    ("chosen_by", "refit", "test_rows", "learned", "judged"),
    [
        ("5-fold cross-validation", False, 90, 400, 400),
        ("5-fold cross-validation", True, 90, 490, 400),
        ("5-fold cross-validation", True, 0, 400, 400),  # nothing was left to be added
        ("validation rows", False, 90, 300, 300),
        ("validation rows", True, 90, 490, 300),
    ],
)
def test_the_card_counts_the_rows_that_the_final_weights_learned_from(
    chosen_by: str, refit: bool, test_rows: int, learned: int, judged: int
) -> None:
    rows = {"training": 300, "validation": 100, "test": test_rows}
    result = make_result(chosen_by=chosen_by, trained_on_all_rows=refit, rows=rows)
    text = make_card(result if test_rows else result | {"scores": {}, "diagnostics": None})
    assert f"It was trained on {learned} rows only." in text
    assert f"The final weights were trained on {learned} rows." in text
    refitted = learned > judged
    assert ("for the scores below only" in text) is not refitted
    assert (
        f"| {test_rows} | for the scores below; then for training the final" in text
    ) is refitted
    assert (f"the scores are of weights trained on {judged} of them" in text) is refitted


def test_a_broken_limit_is_not_hidden() -> None:
    text = make_card(make_result(costs={"parameters": {"value": 501, "limit": 500}}))
    assert "**A limit does not hold.**" in text


@pytest.mark.parametrize("task", TASKS)
def test_what_is_missing_is_not_made_up(task: str) -> None:
    bare = make_result(
        task, scores={}, diagnostics=None, candidates=[], wider_steps=[], limit_effects=[], notes=[]
    )
    text = make_card(bare)
    assert "No rows were kept for a test." in text
    assert "What it relies on" not in text


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"order": "time", "order_column": "day"},
            "by time, by the column day: the latest are the validation rows",
        ),
        (
            {"order": "group", "order_column": "a|b"},
            "by the column a&#124;b, are in the same split",
        ),
        ({"order": "random"}, "split at random."),
    ],
)
def test_how_rows_were_split(settings: dict[str, str], said: str) -> None:
    config = make_config(**settings)
    config["data"]["test"] = "later.csv"
    assert said in make_card(config=config)
    assert "The test rows came as a separate file." in make_card(config=config)


def test_the_same_facts_give_the_same_card() -> None:
    assert make_card() == make_card()


def test_what_is_malformed_is_refused_by_name() -> None:
    with pytest.raises(TabNASError, match="costs must be an object of names and values"):
        make_card(make_result(costs=[]))


# -- anything may stand in a file ----------------------------------------------------------------


def with_names(name: str, other: str = "plain") -> str:
    """A card in which a name is everywhere that a file can bring one in."""
    result = make_result(
        columns={name: other, "b": name}, notes=[name], chosen_by=name, versions={name: name}
    )
    result["target"] = {"name": name, "task": "multiclass", "classes": [name, "b", "c"]}
    result["diagnostics"]["confusion"]["classes"][0] = name
    result["diagnostics"]["importance"]["columns"] = {name: {"increase": 1.0, "std": 0.0}}
    config = make_config(order="time", order_column=name)
    config["data"] = {"data": name + ".csv", "target": name}
    return make_card(result, config)


def checked(text: str) -> None:
    """The structure of the same card with harmless names, and nothing to be obeyed."""
    found = skeleton(text)
    assert not [t for t, _ in found if t in ("html_block", "html_inline", "link_open", "image")]
    assert found == skeleton(with_names("name"))
    assert not {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs")} - {"\n"}
    text.encode()


def test_words_from_files_stay_words() -> None:
    text = with_names(EVIL)
    checked(text)
    assert "<script>alert(1)</script>|a`b``c*d_e[f](http://g.h)" in words(text)


@given(st.text(max_size=60) | st.text("|`<>\\*_[]()#!&~$@-+=\n\r\t :./w1", max_size=60))
def test_no_name_changes_the_structure(name: str) -> None:
    checked(with_names(name))


@given(st.text(max_size=60))
def test_what_is_escaped_reads_as_it_was(text: str) -> None:
    said = escape(text)
    assert not set("|<>`") & set(ENTITY.sub("", said))
    shown = words(f"x{said}x")[1:-1]
    odd = {"\N{REPLACEMENT CHARACTER}", "\N{FIRST STRONG ISOLATE}", "\N{POP DIRECTIONAL ISOLATE}"}
    if not set(said) & odd and not set(text) & odd:
        assert shown == text


@given(st.lists(st.lists(st.text(max_size=20), min_size=3, max_size=3), max_size=5))
def test_a_table_has_the_cells_that_it_was_given(rows: list[list[str]]) -> None:
    types = [t.type for t in parsed(table(["a", "b", "c"], rows))]
    assert types.count("tr_open") == 1 + len(rows)
    assert types.count("td_open") == 3 * len(rows)


@given(st.text("`a\n~", max_size=40))
def test_nothing_closes_a_fence_from_within(text: str) -> None:
    blocks = PARSER.parse(code_block(text, "sh"))
    assert [block.type for block in blocks] == ["fence"]
    assert blocks[0].content.rstrip() == text.rstrip()


def test_many_names_are_cut() -> None:
    assert join_names(["a"] * MAX_NAMES).count("a") == MAX_NAMES + 1  # of "and"
    assert join_names([str(k) for k in range(100)]).endswith("19 and 80 more")
