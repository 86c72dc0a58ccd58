"""The fractions of a table's rows for training, validation and test."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

from tabnas.errors import TabNASError


@dataclass(frozen=True, kw_only=True)
class Shares:
    """The fractions of the rows for validation and test; the rest is for training."""

    validation: float = 0.2
    test: float = 0.2

    def __post_init__(self) -> None:
        for share in (self.validation, self.test):
            if not isinstance(share, Real) or isinstance(share, bool):
                raise TabNASError(f"a share of the rows must be a number, got {share!r}")
        if not (self.validation > 0 and self.test >= 0 and self.validation + self.test < 1):
            raise TabNASError(
                "the share of validation must be positive, that of test at least 0, and both must "
                f"leave rows for training, got {self.validation} and {self.test}"
            )
