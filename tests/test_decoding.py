"""Files become dataclasses; whatever is wrong in them is named with its place."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabnas.decoding import (
    Bounds,
    Count,
    DecodeError,
    DecodeWith,
    FiniteFloat,
    MaxLength,
    PositiveFloat,
    decode,
    parse_json,
    parse_toml,
    to_builtins,
)
from tabnas.space import Architecture


class Color(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Point:
    x: float
    y: FiniteFloat = 0.0


@dataclass(frozen=True)
class Everything:
    flag: bool
    count: Count
    number: float
    scale: PositiveFloat
    name: Annotated[str, MaxLength(5)]
    color: Color
    mode: Literal["fast", "exact"]
    label: str | int | bool
    points: tuple[Point, ...]
    pair: tuple[int, str]
    costs: Mapping[str, float]
    by_rows: dict[int, Point]
    folder: Path
    other: Point | None = None
    extra: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.number == 13:
            raise ValueError("13 brings bad luck")


VALID: dict[str, Any] = {
    "flag": True,
    "count": 3,
    "number": 1,
    "scale": 0.5,
    "name": "net",
    "color": "blue",
    "mode": "exact",
    "label": True,
    "points": [{"x": 1.5}, {"x": 2, "y": 3}],
    "pair": [1, "one"],
    "costs": {"flops": 7},
    "by_rows": {"256": {"x": 0.0, "y": 0.0}},
    "folder": "runs/a",
    "other": {"x": 1.0, "y": 2.0},
}


def test_every_type_of_field_is_decoded() -> None:
    found = decode(Everything, VALID, source="file.json")
    assert found == Everything(
        flag=True,
        count=3,
        number=1.0,
        scale=0.5,
        name="net",
        color=Color.BLUE,
        mode="exact",
        label=True,
        points=(Point(1.5), Point(2.0, 3.0)),
        pair=(1, "one"),
        costs={"flops": 7.0},
        by_rows={256: Point(0.0)},
        folder=Path("runs/a"),
        other=Point(1.0, 2.0),
    )
    assert found.label is True
    assert isinstance(found.number, float)


def test_what_is_encoded_is_decoded_again() -> None:
    found = decode(Everything, VALID, source="file.json")
    assert decode(Everything, json.loads(json.dumps(to_builtins(found))), source="again") == found


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"flag": 1}, "file.json: flag must be true or false, got 1"),
        ({"count": -1}, "file.json: count must be an integer of at least 0 and at most "),
        ({"count": True}, "file.json: count must be an integer, got True"),
        ({"count": 2.0}, "file.json: count must be an integer, got 2.0"),
        ({"number": "1"}, "file.json: number must be a number, got '1'"),
        ({"number": 10**400}, "file.json: number must be a number, got 1000"),
        ({"number": 13}, "file.json is malformed: 13 brings bad luck"),
        ({"scale": 0}, "file.json: scale must be a number greater than 0, got 0"),
        ({"scale": float("inf")}, "file.json: scale must be a finite number, got inf"),
        ({"name": "too long"}, "file.json: name must have at most 5 elements, got 8"),
        ({"name": "\ud800"}, "file.json: name must be a string without zero bytes or surrogates"),
        ({"color": "green"}, "file.json: color is malformed: 'green' is not a valid Color"),
        ({"mode": "slow"}, "file.json: mode must be one of 'fast', 'exact', got 'slow'"),
        ({"label": None}, "file.json: label must be a string or an integer or true or false"),
        ({"points": {}}, "file.json: points must be a list, got {}"),
        ({"points": [{"x": 0}, {"x": None}]}, "file.json: points[1].x must be a number, got None"),
        ({"pair": [1]}, "file.json: pair must be a list of 2 elements, got [1]"),
        ({"costs": {"flops": "a"}}, "file.json: costs.flops must be a number, got 'a'"),
        ({"by_rows": {"few": {}}}, "file.json: by_rows.few must be an integer, got 'few'"),
        ({"folder": "a\0b"}, "file.json: folder must be a string without zero bytes"),
        ({"other": {"y": 1}}, "file.json: other.x is missing"),
        ({"other": {"x": 1, "z": 1}}, "file.json: other.z is unknown; known: x, y"),
        ({"cuont": 1}, "file.json: cuont is unknown; did you mean 'count'?"),
    ],
)
def test_a_wrong_field_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode(Everything, VALID | change, source="file.json")
    assert str(caught.value).startswith(message)


def test_fields_of_later_versions_can_be_ignored() -> None:
    assert decode(Point, {"x": 1, "z": 2}, source="file", ignore_unknown=True) == Point(1.0)


def test_another_value_than_an_object_is_refused() -> None:
    with pytest.raises(DecodeError, match=r"^file must be an object of names and values, got \[\]"):
        decode(Point, [], source="file")


def test_nan_is_outside_of_all_bounds() -> None:
    with pytest.raises(DecodeError, match="must be a number of at most 1"):
        decode(Annotated[float, Bounds(le=1)], float("nan"), source="file")  # type: ignore[arg-type]


def test_a_class_may_decode_itself() -> None:
    class Hexadecimal:
        def __init__(self, number: int) -> None:
            self.number = number

        @classmethod
        def from_json(cls, value: Any) -> Hexadecimal:
            return cls(int(value, 16))

        def to_json(self) -> str:
            return f"{self.number:x}"

    assert decode(Hexadecimal, "ff", source="file").number == 255
    assert to_builtins([Hexadecimal(255)]) == ["ff"]
    with pytest.raises(DecodeError, match=r"file: \[0\] is malformed: invalid literal"):
        decode(list[Hexadecimal], ["xy"], source="file")


def test_a_type_without_a_decoder_is_a_fault_of_the_caller() -> None:
    with pytest.raises(TypeError, match="cannot be decoded"):
        decode(Architecture.parse.__class__, 1, source="file")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a": 1, "a": 2}', "an object has the same key twice"),
        ("[NaN]", "NaN is not a JSON number"),
        ("[" * 100_000, "nested too deeply"),
        ("{", "cannot be read as JSON"),
        (b"\xff", "cannot be read as JSON"),
    ],
)
def test_malformed_json_is_refused(text: str | bytes, problem: str) -> None:
    with pytest.raises(DecodeError, match=problem):
        parse_json(text, source="file")


def test_malformed_toml_is_refused() -> None:
    assert parse_toml("a = 1", source="file") == {"a": 1}
    with pytest.raises(DecodeError, match="file cannot be read as TOML"):
        parse_toml("a = ", source="file")
    with pytest.raises(DecodeError, match="nested too deeply"):
        parse_toml("a = " + "[" * 100_000, source="file")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(JSON, st.sampled_from(sorted(VALID)))
def test_anything_is_decoded_or_refused(value: Any, name: str) -> None:
    for content in (value, VALID | {name: value}):
        try:
            found = decode(Everything, content, source="file")
        except DecodeError:
            continue
        assert decode(Everything, to_builtins(found), source="again") == found


def read_different(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or len(set(value)) < len(value):
        raise ValueError("must be a list of different texts")
    return tuple(value)


@dataclass(frozen=True)
class Words:
    words: Annotated[tuple[str, ...], DecodeWith(read_different)]


def test_a_function_can_decode_a_field() -> None:
    assert decode(Words, {"words": ["a\0", "b"]}, source="f").words == ("a\0", "b")
    with pytest.raises(DecodeError, match="f: words is malformed: must be a list of different"):
        decode(Words, {"words": ["a", "a"]}, source="f")
