"""The report of a run: one page of HTML, made from the facts that its folder holds."""

from __future__ import annotations

from tabnas.report._render import render_report

__all__ = ["render_report"]
