"""The pages of a run and of a trade-off: HTML, made from the facts that their folders hold."""

from __future__ import annotations

from tabnas.report._card import render_card
from tabnas.report._render import render_report
from tabnas.report._tradeoff import choose_network, render_tradeoff

__all__ = ["choose_network", "render_card", "render_report", "render_tradeoff"]
