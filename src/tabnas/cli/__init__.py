"""The command line. Exit codes: 0 done, 1 a fault of ours, 2 something in the input."""

from __future__ import annotations

from tabnas.cli._main import main

__all__ = ["main"]
