"""From the facts of a run to its page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tabnas.report._commands import (
    PREDICT,
    is_of_tradeoff,
    make_again,
    source_name,
    use_in_python,
)
from tabnas.report._facts import read_facts
from tabnas.report._page import fill
from tabnas.report._sections import (
    FEW_COLUMNS,
    columns_table,
    headline,
    sections,
    verdict,
    work_table,
)

TEMPLATE = "page.html"


def render_report(
    result: Mapping[str, Any], history: Sequence[Any], config: Mapping[str, Any]
) -> str:
    """The report of a run as one page of HTML that needs nothing else.

    A pure function of what `result.json`, `history.jsonl` (one element a line) and `config.toml`
    hold. These may come from anybody: whatever is malformed is refused with its name, every text
    is escaped, and the page's own policy lets no other script or style than its own work.
    """
    facts = read_facts(result, history)
    chapters = sections(facts)
    return fill(
        TEMPLATE,
        facts=facts,
        source=source_name(config),
        headline=headline(facts),
        verdict=verdict(facts),
        holds=all(cost.holds for cost in facts.limits),
        sections=chapters,
        contents=[
            *((chapter.key, chapter.title) for chapter in chapters),
            ("use", "Use the model"),
            ("again", "Make the run again"),
        ],
        columns=columns_table(facts),
        few_columns=len(facts.columns) <= FEW_COLUMNS,
        work=work_table(facts),
        predict=PREDICT,
        use=use_in_python(facts.task),
        again=make_again(config, facts.target_name),
        of_tradeoff=is_of_tradeoff(config),
    )
