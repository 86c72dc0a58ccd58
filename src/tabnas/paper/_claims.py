"""The table of all claims: what the paper says, what we find, and where the numbers come from."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from operator import eq, ge, gt, itemgetter, le, lt
from pathlib import Path
from statistics import mean, median
from string import Formatter
from typing import Any

from tabnas.decoding import decode, parse_toml
from tabnas.errors import TabNASError
from tabnas.paper._markdown import markdown_table


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One claim of `claims.toml`."""

    about: str
    claim: str
    paper: str
    """What the paper says; for a claim of our own the aim, or empty."""
    file: str
    """The file of results: "toy" is `results/toy/summary.json`, "engine.json" is that file."""
    ours: str
    """What we find: a text with fields of the file, such as "{toy[success]:.0%}"."""
    verdict: str
    why: str = ""
    """The reason for the verdict, a text with fields too."""
    holds: tuple[str, ...] = ()
    """Conditions of the verdict: comparisons of two fields or numbers, "{a[mean]} < {b[mean]}"."""

    def evaluate(self, results: Path) -> tuple[str, str, dict[str, Any]]:
        """Return `ours` and `why` with their numbers, and the content of the file.

        Raises
        ------
        TabNASError
            If a condition does not hold: the numbers have changed, and the verdict must follow.
        """
        name = self.file if self.file.endswith(".json") else f"{self.file}/summary.json"
        path = results / name
        if not path.exists():
            raise TabNASError(
                f"the results of the claim {self.claim!r} must be in {str(path)!r}, but it does "
                "not exist; run the experiment first"
            )
        content = json.loads(path.read_text())
        ours, why, *conditions = (
            self._fill(text, content, path) for text in (self.ours, self.why, *self.holds)
        )
        for text, condition in zip(self.holds, conditions, strict=True):
            if not _is_true(condition):
                raise TabNASError(
                    f"the verdict {self.verdict!r} on the claim {self.claim!r} needs {text!r}, "
                    f"got {condition!r}; change the verdict"
                )
        return ours, why, content

    def _fill(self, text: str, content: dict[str, Any], path: Path) -> str:
        try:
            return _JsonFormatter().vformat(text, (), content)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise TabNASError(
                f"the claim {self.claim!r} must name fields of {str(path)!r}, got {text!r}: {error}"
            ) from None


@dataclass(frozen=True, kw_only=True)
class ClaimsFile:
    """The content of `claims.toml`."""

    head: str
    claims: tuple[Claim, ...]


COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
    "=": eq,
}


def _is_true(condition: str) -> bool:
    """Return whether a comparison such as "1.2 < 3" is true."""
    left, sign, right = condition.split()
    return COMPARISONS[sign](float(left), float(right))


class _JsonFormatter(Formatter):
    """Format strings over JSON.

    `[name]` takes a value of an object. Of a list, `[name=value]` takes the only item with this
    value, `[a=1&b=2]` the only one with both, `[?name=value]` the list of all that have it, and
    `[*name]` the list of this value of every item; dots in a name go deeper. `[count]`, `[min]`,
    `[median]`, `[mean]`, `[max]` and `[last]` summarize a list. There are no positions, since a row
    that moves would show the numbers of another.
    """

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> tuple[Any, str]:
        first, *keys = field_name.replace("]", "").split("[")
        value = kwargs[first]
        for key in keys:
            value = _get_item(value, key)
        return value, first


SUMMARIES: dict[str, Callable[[list[Any]], float]] = {
    "count": len,
    "min": min,
    "median": median,
    "mean": mean,
    "max": max,
    "last": itemgetter(-1),
}


def _get_item(value: Any, key: str) -> Any:
    if not isinstance(value, list):
        return value[key]
    if key.startswith("*"):
        return [item[key[1:]] for item in value]
    if "=" not in key:
        return SUMMARIES[key](value)
    conditions = [condition.split("=", 1) for condition in key.removeprefix("?").split("&")]
    matches = [
        item for item in value if all(_get_text(item, name) == text for name, text in conditions)
    ]
    if key.startswith("?"):
        return matches
    if len(matches) != 1:
        raise ValueError(f"{len(matches)} items have {key!r}, not one")
    return matches[0]


def _get_text(item: Any, name: str) -> str:
    for key in name.split("."):
        item = item[key]
    return str(item)


def render_claims(results: Path) -> str:
    """Return the page of all claims, with numbers from the folder of results."""
    text = resources.files("tabnas.paper").joinpath("claims.toml").read_text()
    page = decode(ClaimsFile, parse_toml(text, source="claims.toml"), source="claims.toml")
    sections = [page.head]
    for about in dict.fromkeys(claim.about for claim in page.claims):
        rows = []
        for claim in page.claims:
            if claim.about != about:
                continue
            ours, why, content = claim.evaluate(results)
            verdict = claim.verdict + (f": {why}" if why else "")
            provenance = content.get("provenance", content)
            command = f"`{provenance['command']}`, {provenance['date']}"
            rows.append([claim.claim, claim.paper, ours, verdict, command])
        table = markdown_table(["claim", "paper or aim", "ours", "verdict", "made by"], rows)
        sections.append(f"## {about}\n\n{table.replace('--:', ':--')}\n")
    return "\n".join(sections)
