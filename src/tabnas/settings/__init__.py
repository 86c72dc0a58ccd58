"""What a user can set for a run. Light to import: the command line needs it for `--help`."""

from __future__ import annotations

from tabnas.settings._run_settings import RunSettings, RuntimeKind
from tabnas.settings._setting import Panel, Setting, get_settings
from tabnas.settings._tradeoff_settings import TradeoffSettings
from tabnas.shares import Shares

__all__ = [
    "Panel",
    "RunSettings",
    "RuntimeKind",
    "Setting",
    "Shares",
    "TradeoffSettings",
    "get_settings",
]
