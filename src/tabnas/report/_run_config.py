"""The contents of config.toml: the settings of a run, and where its table came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from tabnas.decoding import decode
from tabnas.formatting import shorten
from tabnas.settings import TradeoffSettings

SOURCE = "config.toml"
STANDARD_INPUT = "-"
EXTRA_INPUTS = ("groups", "weights", "unlabelled", "validation", "teacher")
"""What can be passed in Python besides the table."""


@dataclass(frozen=True)
class TableSource:
    """The section `data` of a run's config.toml: where its table came from."""

    data: str
    target: str | None = None
    task: str | None = None
    validation: str | None = None
    test: str | None = None
    unlabelled: str | None = None

    @property
    def name(self) -> str:
        """The name of the table without its folders, safe to show."""
        if self.data == STANDARD_INPUT:
            return "standard input"
        return shorten(PurePath(self.data).name)


@dataclass(frozen=True)
class RunConfig:
    """The sections of config.toml; `data` is missing if the table came from Python."""

    settings: Mapping[str, Any]
    data: TableSource | None = None
    tradeoff: TradeoffSettings | None = None
    separate: tuple[str, ...] = ()
    """Those of `EXTRA_INPUTS` that came from Python; groups and teacher are in the settings."""

    @property
    def besides(self) -> list[str]:
        """All that came from Python besides the table."""
        get = self.settings.get
        own_groups = get("split") == "group" and get("split_column") is None
        own_teacher = get("teacher") == "own" and not get("teacher_columns")
        named = {*self.separate, *(["groups"] * own_groups), *(["teacher"] * own_teacher)}
        return [name for name in EXTRA_INPUTS if name in named]


def decode_config(config: Any) -> RunConfig:
    """Return the contents of config.toml as a `RunConfig`; raise `DecodeError` if malformed."""
    return decode(RunConfig, config, source=SOURCE, ignore_unknown=True)
