"""Settings of a run are checked when they are made."""

from __future__ import annotations

import tomllib
from typing import Any

import numpy as np
import pytest
import tomli_w

from tabnas.errors import TabNASError
from tabnas.runs import RunSettings
from tests.runs.helpers import LIMITS


@pytest.mark.parametrize(
    "options",
    [
        3,
        [],
        {},
        {"limits": "parameters"},
        {"limits": {"parameters": "many"}},
        {"limits": {"parameters": 10**400}},
        {"limits": {"parameters": float("inf")}},
        *(
            {"limits": {"parameters": 300}, **wrong}
            for wrong in (
                {"layers": 10**9}, {"layers": 2.5}, {"widths": "0-8"}, {"widths": [10**9]},
                {"widths": [8.5]}, {"widths": list(range(10**4))}, {"widths": 8},
                {"candidates": 10**12}, {"workers": 10**6}, {"seed": -1}, {"seed": "x"},
                {"time": float("nan")}, {"time": "long"}, {"metric": 3}, {"engine": 3},
                {"engine": "abacus"}, {"split": []}, {"split_column": 3}, {"scaling": "wild"},
                {"scaling": []}, {"kinds": [1]}, {"kinds": {"size": 3}}, {"drop": "abc"},
                {"drop": [3]}, {"refit": "yes"}, {"reference_models": 1}, {"shares": 3},
                {"shares": {"test": "x"}}, {"shares": {"other": 0.1}}, {"unheard_of": 1},
            )
        ),
    ],
    ids=lambda options: str(options)[:60],
)  # fmt: skip
def test_malformed_settings_are_refused(options: Any) -> None:
    with pytest.raises(TabNASError):
        RunSettings.from_dict(options)


def test_numbers_of_numpy_become_numbers_of_python() -> None:
    settings = RunSettings(
        limits={"parameters": np.int64(500)}, widths=np.array([8, 16]), candidates=np.int32(2),
        time=np.float32(0.5),
    )  # fmt: skip
    written = tomli_w.dumps(settings.to_dict())
    assert RunSettings.from_dict(tomllib.loads(written)) == settings


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limits": {}}, "must have at least one limit"),
        ({"limits": {"parameter": 5}}, "did you mean 'parameters'"),
        ({"split": "tim"}, "did you mean 'time'"),
        ({"split": "time"}, "needs the name of its column"),
        ({"split_column": "day"}, "got the split 'random' and the column 'day'"),
        ({"class_weight": "balance"}, "did you mean 'balanced'"),
        ({"time": 0}, "positive number of seconds"),
        ({"layers": 0}, "layers must be"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_settings_are_checked_when_made(options: dict[str, object], message: str) -> None:
    with pytest.raises(TabNASError, match=message):
        RunSettings(**({"limits": LIMITS} | options))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limits": {"latency_us": 0}}, "positive number of microseconds"),
        ({"limits": {"latency_us": float("nan")}}, "positive number of microseconds"),
        ({"limits": {"latency_us": "50"}}, "positive number of microseconds"),
        ({"limits": {"parameters": 9}, "latency_table": "x.json"}, "needs a limit on latency"),
        ({"limits": {"latency_us": 9}, "latency_table": 3}, "must be a text"),
    ],
)
def test_invalid_settings_of_latency_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(TabNASError, match=message):
        RunSettings(**options)


def test_settings_survive_a_round_trip() -> None:
    settings = RunSettings(limits={"latency_us": 50, "flops": 900}, latency_table="device.json")
    assert RunSettings.from_dict(settings.to_dict()) == settings
