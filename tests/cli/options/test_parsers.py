from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from math import isnan
from typing import Any

import pytest

from tabnas.cli._main import run
from tabnas.cli.options._parsers import (
    at_least,
    parse_bytes,
    parse_float,
    parse_int,
    parse_large_int,
    parse_limit,
    parse_limits,
    parse_memory,
    parse_seconds,
)
from tabnas.errors import TabNASError
from tabnas.space import COSTS


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (parse_large_int, "20000", 20_000),
        (parse_large_int, "20_000", 20_000),
        (parse_large_int, "20k", 20_000),
        (parse_large_int, "20K", 20_000),
        (parse_large_int, "1.1k", 1_100),  # in floats 1100.0000000000002
        (parse_large_int, "2M", 2_000_000),
        (parse_large_int, "1e5", 100_000),
        (parse_large_int, " 7 ", 7),
        (parse_large_int, "-5", -5),
        (parse_large_int, 3, 3),  # a default is no text
        (parse_int, "3", 3),
        (parse_bytes, "80000", 80_000),
        (parse_bytes, "80kB", 80_000),
        (parse_bytes, "80 KB", 80_000),
        (parse_bytes, "64KiB", 65_536),
        (parse_memory, "1.5GB", 1_500_000_000),
        (parse_memory, "1G", 1_000_000_000),
        (parse_float, "61.5", 61.5),
        (parse_float, "2k", 2_000.0),
        (parse_seconds, "300", 300.0),
        (parse_seconds, "90s", 90.0),
        (parse_seconds, "5m", 300.0),
        (parse_seconds, "1.5h", 5_400.0),
    ],
)
def test_numbers_with_units_are_parsed(
    parse: Callable[[Any], float], text: str, value: float
) -> None:
    assert parse(text) == value
    assert type(parse(text)) is type(value)


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_large_int, ""),
        (parse_large_int, "many"),
        (parse_large_int, "2.5"),
        (parse_large_int, "0.1k5"),
        (parse_large_int, "20 000"),
        (parse_large_int, "0x10"),
        (parse_large_int, "nan"),
        (parse_large_int, "1e400"),
        (parse_large_int, "9" * 5_000),
        (parse_large_int, "\N{FULLWIDTH DIGIT EIGHT}"),
        (parse_large_int, "20kB"),
        (parse_bytes, "5x"),
        (parse_memory, "lots"),
        (parse_float, "50us"),
        (parse_seconds, "5d"),
    ],
)
def test_other_texts_are_refused(parse: Callable[[Any], float], text: str) -> None:
    with pytest.raises(ValueError, match=r"^must be "):
        parse(text)


@pytest.mark.parametrize(
    ("parse", "text", "meant"),
    [
        (parse_large_int, "20,000", "20000"),
        (parse_large_int, "20.000", "20000"),  # twenty, or twenty thousand
        (parse_large_int, "1.000.000", "1000000"),
        (parse_int, "1.500", "1500"),
        (parse_bytes, "80.000", "80000"),
        (parse_bytes, "80.000 bytes", "80000"),
        (parse_memory, "1.000.000.000", "1000000000"),
        (parse_float, "1,500", "1500"),
        (partial(parse_limit, "flops"), "2.000", "2000"),
        (partial(parse_limit, "ram_bytes"), "2.000", "2000"),
    ],
)
def test_numbers_with_marks_between_thousands_are_refused_with_a_hint(
    parse: Callable[[Any], float], text: str, meant: str
) -> None:
    with pytest.raises(ValueError, match=rf"got '{text}'; did you mean {meant}\?$"):
        parse(text)


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (parse_large_int, "1.125k", 1_125),
        (parse_large_int, "20.0", 20),
        (parse_bytes, "2.000kB", 2_000),
        (parse_float, "1.125", 1.125),  # microseconds
        (parse_seconds, "1.125", 1.125),
        (partial(parse_limit, "latency_us"), "1.125", 1.125),
    ],
)
def test_three_decimals_are_parsed_where_they_cannot_be_thousands(
    parse: Callable[[Any], float], text: str, value: float
) -> None:
    assert parse(text) == value


def test_a_decimal_comma_gets_no_hint_of_thousands() -> None:
    with pytest.raises(ValueError, match=r"must be a number, got '1,5'$"):
        parse_float("1,5")


def test_several_limits_are_parsed_by_their_cost() -> None:
    assert parse_limits("2000,5k", cost="parameters") == [2_000, 5_000]
    assert parse_limits("40kB,1KiB", cost="bytes") == [40_000, 1_024]
    assert parse_limits("1.125,2.5", cost="latency_us") == [1.125, 2.5]
    with pytest.raises(TabNASError, match=r"got '1\.000'; did you mean 1000\?"):
        parse_limits("1.000,2.000", cost="parameters")


def test_minimum() -> None:
    assert at_least(1, parse_int)("1") == 1
    assert isnan(parse_float("nan"))
    for parse, text in ((at_least(1, parse_int), "0"), (at_least(0.0, parse_float), "nan")):
        with pytest.raises(ValueError, match=r"^must be a number of at least"):
            parse(text)


def counted(capsys: pytest.CaptureFixture[str], *limits: str) -> int:
    asked = ["count", "--inputs", "20", "--outputs", "2", "--layers", "2", "--json"]
    assert run([*asked, *limits]) == 0
    return int(json.loads(capsys.readouterr().out)["feasible"])


def test_limits_by_name(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also on a cost that has no option of its own: a file of its own is all that it takes."""
    by_option = counted(capsys, "--max-parameters", "5k", "--max-flops", "4000")
    assert counted(capsys, "--max", "parameters=5k", "--max", "flops=4e3") == by_option
    monkeypatch.setitem(COSTS, "dearer", COSTS["flops"])
    assert counted(capsys, "--max-parameters", "5k", "--max", "dearer=4000") == by_option


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("flop=9k", "there is no cost 'flop'; did you mean 'flops'?"),
        ("flops", "like flops=60k, got 'flops'"),
        ("flops=2.000", "like flops=60k, got 'flops=2.000'; did you mean 2000?"),
        ("parameters=7", "the limit on parameters must be given once"),
    ],
)
def test_limits_by_name_are_checked(
    given: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["count", "--inputs", "20", "--outputs", "2", "--layers", "2"]
    assert run([*asked, "--max-parameters", "5k", "--max", given]) == 2
    assert sentence in " ".join(capsys.readouterr().err.split())


def test_count_in_a_precision(capsys: pytest.CaptureFixture[str]) -> None:
    """A limit on bytes counts what is stored; the most expensive network is within it."""
    counts = []
    for precision in ("float32", "float16", "int8"):
        counts.append(counted(capsys, "--max-bytes", "8kB", "--precision", precision))
        asked = ["count", "--inputs", "20", "--outputs", "2", "--layers", "2", "--max-bytes", "8kB"]
        assert run([*asked, "--precision", precision]) == 0
        shown = capsys.readouterr().out
        assert (f"{precision} weights" in shown) == (precision != "float32")
    assert counts == sorted(set(counts))
    assert counts[0] == counted(capsys, "--max-bytes", "8kB")
    assert run([*asked, "--precision", "int9"]) == 2
    assert "there is no precision 'int9'; did you mean 'int8'?" in capsys.readouterr().err
