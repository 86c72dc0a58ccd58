"""The table of all claims: what the paper says, what we find, and where that comes from."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from operator import eq, ge, gt, itemgetter, le, lt
from pathlib import Path
from statistics import mean, median
from string import Formatter
from typing import Any

from tabnas.errors import TabNASError
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
    holds: tuple[str, ...] = ()
    """What the verdict rests on: comparisons of two places or numbers, "{a[mean]} < {b[mean]}"."""

    def found(self, results: Path) -> tuple[str, str, dict[str, Any]]:
        """What we find and why, with its numbers, and the file's content.

        A verdict whose comparisons do not hold is refused: the numbers have changed, and the words
        have to follow.
        """
        name = self.file if self.file.endswith(".json") else f"{self.file}/summary.json"
        path = results / name
        if not path.exists():
            raise TabNASError(
                f"the claim {self.claim!r} must have its results in {str(path)!r}, but they "
                "are not there; make them first"
            )
        content = json.loads(path.read_text())
        ours, why, *compared = (
            self._filled(text, content, path) for text in (self.ours, self.why, *self.holds)
        )
        for said, filled in zip(self.holds, compared, strict=True):
            if not _holds(filled):
                raise TabNASError(
                    f"the verdict {self.verdict!r} on the claim {self.claim!r} must rest on "
                    f"{said!r}, but that is {filled!r}; say what is found now"
                )
        return ours, why, content

    def _filled(self, text: str, content: dict[str, Any], path: Path) -> str:
        try:
            return _Reader().vformat(text, (), content)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise TabNASError(
                f"the claim {self.claim!r} must name places of {str(path)!r}, but {text!r} "
                f"does not: {error}"
            ) from None


COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
    "=": eq,
}


def _holds(text: str) -> bool:
    """Whether "1.2 < 3" is so."""
    one, sign, other = text.split()
    return COMPARISONS[sign](float(one), float(other))


class _Reader(Formatter):
    """Format strings over JSON, whose places are keys one after the other.

    `[name]` goes down, `[name=value]` to the one item that has it, `[a=1&b=2]` to the one that has
    both, `[?name=value]` to all that have it, and dots in a name go down; `[*name]` is that of each
    item, and `[count]`, `[min]`, `[median]`, `[mean]`, `[max]` or `[last]` of such a list its
    summary. Items are named and not counted: a row that moves would show another's numbers.
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
    "last": itemgetter(-1),
}


def _within(found: Any, key: str) -> Any:
    if not isinstance(found, list):
        return found[key]
    if key.startswith("*"):
        return [item[key[1:]] for item in found]
    if "=" not in key:
        return SUMMARIES[key](found)
    wanted = [one.split("=", 1) for one in key.removeprefix("?").split("&")]
    own = [item for item in found if all(_at(item, name) == value for name, value in wanted)]
    if key.startswith("?"):
        return own
    if len(own) != 1:
        raise ValueError(f"{len(own)} items have {key!r}, not one")
    return own[0]


def _at(item: Any, name: str) -> str:
    """What an item has under a name, as text; dots go down."""
    for key in name.split("."):
        item = item[key]
    return str(item)


def claims_page(results: Path) -> str:
    """The page of all claims, from the files of results."""
    text = resources.files("tabnas.paper").joinpath("claims.toml").read_text()
    said = tomllib.loads(text)
    claims = [Claim(**one | {"holds": tuple(one.get("holds", ()))}) for one in said["claims"]]
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
