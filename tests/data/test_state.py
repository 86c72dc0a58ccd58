"""States of encoders and targets survive a round trip; malformed ones are refused."""

from __future__ import annotations

import copy
import json
from datetime import datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabnas import TabNASError
from tabnas.data import ClassTarget, NumberTarget, Table, TableEncoder, target_from_dict

TABLE = Table.from_data(
    {
        "size": [1.5, None, 3.0, 4.0],
        "color": ["red", "blue", "red", None],
        "paid": [True, False, None, True],
        "when": [datetime(2020, month, 1) for month in (1, 3, 9, 12)],
        "same": [1, 1, 1, 1],
        "gone": [1, 2, 3, 4],
    }
)
ENCODER = TableEncoder.fit(TABLE, drop=["gone"], min_count=1)
TARGETS = [
    ClassTarget(name="y", classes=("a", "b", "c")),
    ClassTarget(name="y", classes=(0, 1)),
    NumberTarget(name="y", center=2.0, scale=3.5),
]
odd = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([10**400, -(10**400), 5e-324, 1e308, -1.0, 0, "\ud800", "numeric", "size", {}]),
    st.floats(),
    st.text(max_size=3),
    st.lists(st.one_of(st.integers(), st.text(max_size=3)), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


def list_places(state: object) -> list[tuple[object, object]]:
    """Return every container in the state with each of its keys."""
    keys = list(state) if isinstance(state, dict) else range(len(state))
    here = [(state, key) for key in keys]
    inside = [
        place
        for _, key in here
        if isinstance(state[key], dict | list)
        for place in list_places(state[key])
    ]
    return here + inside


@st.composite
def mutated_states(draw: st.DrawFn, state: dict[str, object]) -> dict[str, object]:
    state = copy.deepcopy(state)
    for _ in range(draw(st.integers(1, 3))):
        container, key = draw(st.sampled_from(list_places(state)))
        change = draw(st.sampled_from(["set", "delete", "double", "nudge"]))
        value = container[key]
        if change == "delete":
            del container[key]
        elif change == "double" and isinstance(container, list):
            container.append(copy.deepcopy(value))
        elif change == "nudge" and isinstance(value, float):
            container[key] = value * draw(st.sampled_from([-1, 0, 2, 0.5, float("inf")]))
        else:
            container[key] = draw(odd)
        if not list_places(state):
            break
    return state


@given(mutated_states(ENCODER.to_dict()))
@settings(max_examples=150)
def test_a_damaged_encoder_is_refused_or_works(state: dict[str, object]) -> None:
    try:
        encoder = TableEncoder.from_dict(state)
        encoded = encoder.encode(TABLE)
    except TabNASError:
        return
    assert np.isfinite(encoded.numeric).all()
    assert (encoded.categorical < np.array(encoder.n_categories, int)).all()
    assert encoder.describe()
    again = TableEncoder.from_dict(json.loads(json.dumps(encoder.to_dict())))
    assert again.to_dict() == encoder.to_dict()


@given(st.sampled_from(TARGETS).flatmap(lambda target: mutated_states(target.to_dict())))
@settings(max_examples=100)
def test_a_damaged_target_is_refused_or_works(state: dict[str, object]) -> None:
    try:
        target = target_from_dict(state)
    except TabNASError:
        return
    decode = target.unscale_values if isinstance(target, NumberTarget) else target.decode
    assert len(decode(np.array([0, 1]))) == 2
    try:
        target.encode(Table.from_data({"y": ["1", "a", "0"]}).column("y"))
    except TabNASError:
        return


@pytest.mark.parametrize("other", [None, 3, "state", [], [1], {}, {"format": 1}, {"form": []}])
def test_values_that_are_not_states_are_refused(other: object) -> None:
    for read in (TableEncoder.from_dict, target_from_dict):
        with pytest.raises(TabNASError):
            read(other)


NUMBER_TARGET = {"kind": "number", "name": "y", "center": 1.0, "scale": 2.0} | {
    "decimal": ".",
    "unit": "",
}


def change_column(column: int, **fields: object) -> dict[str, object]:
    state = ENCODER.to_dict()
    state["columns"][column] |= fields
    return state


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (
            change_column(0, scale=-1.0),
            "the numeric column 'size': scale must be a number greater",
        ),
        (
            change_column(0, scale=0),
            "the numeric column 'size': scale must be a number greater",
        ),
        (change_column(0, center=float("nan")), "must be a finite number, got nan"),
        (change_column(0, center=10**400), "center must be a number, got 1000"),
        (change_column(0, center=True), "center must be a number, got True"),
        (change_column(0, marks_missing=1), "must be true or false, got 1"),
        (
            change_column(0, scaling="best"),
            "must be one of 'robust', 'standard', 'none', got 'best'",
        ),
        (
            change_column(0, kind="numerical"),
            "a column must be of a kind among numeric.*'numerical'",
        ),
        (change_column(0, kind=[]), "a column must be of a kind among"),
        (change_column(0, colour=1), "the numeric column 'size': colour is unknown"),
        (change_column(0, name="color"), "the encoder: names must be those of its columns"),
        (change_column(0, name=3), "the numeric column 3: name is malformed: must be a string"),
        (change_column(1, vocabulary=["a", 3]), "vocabulary is malformed: must be a string, got 3"),
        (change_column(1, vocabulary=["a", "a"]), "must be a list of distinct strings"),
        (change_column(1, vocabulary="ab"), "must be a list of distinct strings"),
        (
            change_column(1, vocabulary=["\ud800"]),
            "vocabulary is malformed: .*surrogates not allowed",
        ),
        (change_column(1, pooled=-1), "pooled must be an integer of at least 0 and at most"),
        (change_column(1, pooled=10**30), "pooled must be an integer of at least 0 and at most"),
        (
            change_column(3, cycles=["month"]),
            r"cycles\[0\] must be one of 'year', 'week'",
        ),
        (ENCODER.to_dict() | {"format": 3}, "a newer tabnas"),
        (ENCODER.to_dict() | {"format": 1}, "an older tabnas has written it; search again"),
        (change_column(0, decimal=";"), "decimal is malformed: must be '.' or ',', got ';'"),
        (
            change_column(1, spelling="odd"),
            "must be one of 'plain', 'truths', .* got 'odd'",
        ),
        (ENCODER.to_dict() | {"columns": []}, "the encoder: names must be"),
        (ENCODER.to_dict() | {"columns": {}}, "the encoder: columns must be a list"),
        (ENCODER.to_dict() | {"names": ["size"]}, "the encoder: names must be"),
        ({"format": 2, "columns": []}, "the encoder: constant is missing"),
    ],
)
def test_damaged_encoders_are_refused(state: dict[str, object], message: str) -> None:
    with pytest.raises(TabNASError, match=message):
        TableEncoder.from_dict(state)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"kind": "classes", "name": "y", "classes": ["a"]}, "must be two or more labels"),
        ({"kind": "classes", "name": "y", "classes": ["a", "a"]}, "must be two or more labels"),
        ({"kind": "classes", "name": "y", "classes": ["a", 1]}, "must be two or more labels"),
        ({"kind": "classes", "name": "y", "classes": ["a", "a\0"]}, "must be two or more labels"),
        ({"kind": "classes", "name": "y", "classes": [[1], [2]]}, "must be two or more labels"),
        ({"kind": "classes", "name": "y", "classes": 3}, "must be two or more labels"),
        ({"kind": "number", "name": "y", "center": 1.0}, "the target: scale is missing"),
        (NUMBER_TARGET | {"scale": 0.0}, "the target: scale must be a number greater than 0"),
        (NUMBER_TARGET | {"decimal": "'"}, "the target: decimal is malformed: must be"),
        ({"kind": "tree", "name": "y"}, "the target must be of kind"),
    ],
)
def test_damaged_targets_are_refused(state: dict[str, object], message: str) -> None:
    with pytest.raises(TabNASError, match=message):
        target_from_dict(state)
