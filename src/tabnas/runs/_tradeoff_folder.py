"""A trade-off as a folder: the curve, and a run for every limit."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tabnas.files import refuse_links
from tabnas.runs._folder import RESULT, RunFolder
from tabnas.runs._pipeline import Outcome
from tabnas.runs._tradeoff import PlannedTradeoff
from tabnas.runs._tradeoff_result import describe_tradeoff, folder_name

TRADEOFF = "tradeoff.json"


class TradeoffFolder(RunFolder):
    """A place for a trade-off, taken before the work begins.

    config.toml     all that is needed to make it again, or to go on with it
    checkpoint/     where it stands, while it is not finished
    limit-5000/     a finished run for each limit: its model, result and report
    tradeoff.json   the curve; there once everything is finished
    """

    final = TRADEOFF

    def finish_all(
        self,
        tradeoff: PlannedTradeoff,
        outcomes: Sequence[Outcome],
        config: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Write every run, `tradeoff.json` last; returns what went there."""
        facts = describe_tradeoff(tradeoff, outcomes)
        for limit, run, outcome in zip(tradeoff.limits, tradeoff.runs, outcomes, strict=True):
            name = folder_name(limit)
            refuse_links(self.path, name)
            path = self.path / name
            if (path / RESULT).exists():  # an earlier process ended between two of them
                continue
            settings = {"settings": run.settings.to_dict(), "plan": run.plan.resolved}
            with RunFolder(path, resume=_begun(path)) as folder:
                folder.write_config({**config, **settings})
                folder.finish(outcome)
        self.write(TRADEOFF, json.dumps(facts, indent=2, ensure_ascii=False) + "\n")
        self.settle()
        return facts


def _begun(path: Path) -> bool:
    return (path / "config.toml").exists()
