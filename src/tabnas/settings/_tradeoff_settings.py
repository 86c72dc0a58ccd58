"""The settings of a trade-off besides those of its runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tabnas.decoding import decode


@dataclass(frozen=True)
class TradeoffSettings:
    """The limits of a trade-off, and the cost that they are on."""

    cost: str
    limits: tuple[int | float, ...]

    @classmethod
    def from_dict(cls, values: Any) -> TradeoffSettings:
        """Return the settings of the section `tradeoff` of a `config.toml`."""
        return decode(cls, values, source="config.toml: tradeoff")

    def to_dict(self) -> dict[str, Any]:
        """Return the settings, fit for TOML."""
        return {"cost": self.cost, "limits": list(self.limits)}
