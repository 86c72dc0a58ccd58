from __future__ import annotations

import json
from collections.abc import Callable
from math import isnan
from typing import Any

import pytest

from tabnas.cli._main import run
from tabnas.cli._numbers import at_least, byte_count, count, number, seconds, size, whole
from tabnas.space import COSTS


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (count, "20000", 20_000),
        (count, "20_000", 20_000),
        (count, "20k", 20_000),
        (count, "20K", 20_000),
        (count, "1.1k", 1_100),  # in floats 1100.0000000000002
        (count, "2M", 2_000_000),
        (count, "1e5", 100_000),
        (count, " 7 ", 7),
        (count, "-5", -5),
        (count, 3, 3),  # a default is no text
        (whole, "3", 3),
        (byte_count, "80000", 80_000),
        (byte_count, "80kB", 80_000),
        (byte_count, "80 KB", 80_000),
        (byte_count, "64KiB", 65_536),
        (size, "1.5GB", 1_500_000_000),
        (size, "1G", 1_000_000_000),
        (number, "61.5", 61.5),
        (number, "2k", 2_000.0),
        (seconds, "300", 300.0),
        (seconds, "90s", 90.0),
        (seconds, "5m", 300.0),
        (seconds, "1.5h", 5_400.0),
    ],
)
def test_what_people_write(parse: Callable[[Any], float], text: str, value: float) -> None:
    assert parse(text) == value
    assert type(parse(text)) is type(value)


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (count, ""),
        (count, "many"),
        (count, "2.5"),
        (count, "0.1k5"),
        (count, "20 000"),
        (count, "0x10"),
        (count, "nan"),
        (count, "1e400"),
        (count, "9" * 5_000),
        (count, "\N{FULLWIDTH DIGIT EIGHT}"),
        (count, "20kB"),
        (byte_count, "5x"),
        (size, "lots"),
        (number, "50us"),
        (seconds, "5d"),
    ],
)
def test_what_is_no_number(parse: Callable[[Any], float], text: str) -> None:
    with pytest.raises(ValueError, match=r"^must be "):
        parse(text)


def test_a_comma_is_a_point_elsewhere_so_it_is_asked_about() -> None:
    with pytest.raises(ValueError, match="; did you mean 20000"):
        count("20,000")


def test_the_least() -> None:
    assert at_least(1, whole)("1") == 1
    assert isnan(number("nan"))
    for parse, text in ((at_least(1, whole), "0"), (at_least(0.0, number), "nan")):
        with pytest.raises(ValueError, match=r"^must be at least"):
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
        ("flops", "like flops=60k; 'flops' is no such"),
        ("parameters=7", "the limit on parameters must be given once"),
    ],
)
def test_limits_by_name_are_checked(
    given: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["count", "--inputs", "20", "--outputs", "2", "--layers", "2"]
    assert run([*asked, "--max-parameters", "5k", "--max", given]) == 2
    assert sentence in " ".join(capsys.readouterr().err.split())
