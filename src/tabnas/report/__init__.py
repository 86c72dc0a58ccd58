"""Reports for people: pages of HTML for runs and trade-offs, and model cards."""

from __future__ import annotations

from tabnas.report._choice import choose_network
from tabnas.report._model_card import render_card
from tabnas.report._run_page import render_report
from tabnas.report._tradeoff_page import render_tradeoff

__all__ = ["choose_network", "render_card", "render_report", "render_tradeoff"]
