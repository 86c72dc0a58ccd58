"""The table of all claims: what the paper says, what we find, and where that comes from."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from statistics import mean, median
from string import Formatter
from typing import Any

from tabnas.errors import TabnasError
from tabnas.paper._markdown import markdown_table


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One claim as the TOML file describes it."""

    about: str
    claim: str
    paper: str
    """What the paper says; empty for a claim of our own, whose aim stands here then."""
    file: str
    """Of results: "toy" is results/toy/summary.json, "engine.json" itself."""
    ours: str
    """What we find: text with places of the file's content, "{toy[success]:.0%}"."""
    verdict: str
    why: str = ""
    """Likewise."""

    def found(self, results: Path) -> tuple[str, str, dict[str, Any]]:
        """What we find and why, with its numbers, and the file's content."""
        name = self.file if self.file.endswith(".json") else f"{self.file}/summary.json"
        path = results / name
        if not path.exists():
            raise TabnasError(
                f"the claim {self.claim!r} must have its results in {str(path)!r}, however they "
                "are not there; make them first"
            )
        content = json.loads(path.read_text())
        try:
            ours, why = (_Reader().vformat(text, (), content) for text in (self.ours, self.why))
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise TabnasError(
                f"the claim {self.claim!r} must name places of {str(path)!r}, however "
                f"{self.ours!r} or {self.why!r} does not: {error}"
            ) from None
        return ours, why, content


class _Reader(Formatter):
    """Format strings over JSON, whose places are keys one after the other.

    `[0]` and `[name]` go down, `[name=value]` to the first item that has it, `[?name=value]` to all
    that have it; `[*name]` is that of each item, and `[count]`, `[min]`, `[median]`, `[mean]` or
    `[max]` of such a list its summary.
    """

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> tuple[Any, str]:
        first, *rest = field_name.replace("]", "").split("[")
        found = kwargs[first]
        for key in rest:
            found = _within(found, key)
        return found, first


SUMMARIES: dict[str, Callable[[list[Any]], float]] = {
    "count": len,
    "min": min,
    "median": median,
    "mean": mean,
    "max": max,
}


def _within(found: Any, key: str) -> Any:
    if not isinstance(found, list):
        return found[key]
    if key.startswith("*"):
        return [item[key[1:]] for item in found]
    if "=" in key:
        name, value = key.removeprefix("?").split("=", 1)
        own = [item for item in found if str(item[name]) == value]
        return own if key.startswith("?") else own[0]
    return SUMMARIES[key](found) if key in SUMMARIES else found[int(key)]


def claims_page(results: Path) -> str:
    """The page of all claims, from the files of results."""
    text = resources.files("tabnas.paper").joinpath("claims.toml").read_text()
    said = tomllib.loads(text)
    claims = [Claim(**one) for one in said["claims"]]
    sections = [said["head"]]
    for about in dict.fromkeys(claim.about for claim in claims):
        rows = []
        for claim in (one for one in claims if one.about == about):
            ours, why, content = claim.found(results)
            verdict = claim.verdict + (f": {why}" if why else "")
            origin = content.get("provenance", content)
            made = f"`{origin['command']}`, {origin['date']}"
            rows.append([claim.claim, claim.paper, ours, verdict, made])
        table = markdown_table(["claim", "paper or aim", "ours", "verdict", "made by"], rows)
        sections.append(f"## {about}\n\n{table.replace('--:', ':--')}\n")
    return "\n".join(sections)
