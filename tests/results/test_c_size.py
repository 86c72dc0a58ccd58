"""The size of a model as C in result.json: old files lack it, and forged ones are refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tabnas.decoding import DecodeError, to_builtins
from tabnas.results import CSize, decode_result
from tests.report.conftest import UNCOMPILED, make_c_size, make_result


@pytest.mark.parametrize("size", [None, make_c_size(), make_c_size(**UNCOMPILED)])
def test_a_size_is_decoded_to_what_was_encoded(size: dict[str, Any] | None) -> None:
    result = decode_result(make_result(c_size=size))
    assert result.c_size == (None if size is None else CSize(**size))
    assert decode_result(json.loads(json.dumps(to_builtins(result)))) == result


def test_results_of_earlier_versions_have_no_size() -> None:
    assert "c_size" not in make_result()
    assert decode_result(make_result()).c_size is None


def test_the_bound_is_the_sum_of_the_parts() -> None:
    size = CSize(weight_bytes=1_000, column_bytes=200, max_code_bytes=3_000, ram_bytes=9)
    assert size.max_bytes == 4_200
    assert str(size) == "at most 4,200 bytes"


@pytest.mark.parametrize(
    ("compiled_bytes", "expected"),
    [
        (5_679, "5,679 of at most 5,680 bytes"),
        (5_680, "5,680 of at most 5,680 bytes"),
        (5_681, "5,681 bytes, more than the 5,680 of gcc -O2 on x86-64"),
    ],
)
def test_the_compiled_size_beside_its_bound(compiled_bytes: int, expected: str) -> None:
    assert str(CSize(**make_c_size(compiled_bytes=compiled_bytes))) == expected


@pytest.mark.parametrize("name", [name for name in make_c_size() if name != "compiler"])
@pytest.mark.parametrize("value", [-1, 2**53 + 1, 1.5, True, "<script>", "1", [1], {}])
def test_sizes_must_be_counts(name: str, value: Any) -> None:
    with pytest.raises(DecodeError, match=rf"c_size\.{name} must be "):
        decode_result(make_result(c_size=make_c_size(**{name: value})))


@pytest.mark.parametrize("value", [7, ["cc"], {"cc": 1}])
def test_the_compiler_must_be_a_text(value: Any) -> None:
    with pytest.raises(DecodeError, match=r"c_size\.compiler must be "):
        decode_result(make_result(c_size=make_c_size(compiler=value)))


@pytest.mark.parametrize("name", UNCOMPILED)
def test_what_a_compiler_says_must_be_complete(name: str) -> None:
    message = "compiled_bytes, lookup_bytes and compiler must be given together"
    with pytest.raises(DecodeError, match=message):
        decode_result(make_result(c_size=make_c_size(**{name: None})))
    with pytest.raises(DecodeError, match=message):
        decode_result(make_result(c_size=make_c_size(**UNCOMPILED) | {name: make_c_size()[name]}))


@pytest.mark.parametrize("value", [1, "4,811 bytes", [], {}])
def test_other_values_are_refused(value: Any) -> None:
    with pytest.raises(DecodeError, match="c_size"):
        decode_result(make_result(c_size=value))
