"""Reports for people: pages of HTML for runs and trade-offs, and model cards."""

from __future__ import annotations

from tabnas.report._choice import choose_network
from tabnas.report._model_card import render_card
from tabnas.report._rounding_text import summarize_rounding
from tabnas.report._run_page import render_report
from tabnas.report._teacher_text import summarize_teacher
from tabnas.report._tradeoff_page import render_tradeoff
from tabnas.report._tradeoff_text import format_teacher

__all__ = [
    "choose_network",
    "format_teacher",
    "render_card",
    "render_report",
    "render_tradeoff",
    "summarize_rounding",
    "summarize_teacher",
]
