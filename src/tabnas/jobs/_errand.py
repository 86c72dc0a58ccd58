"""A function on its way to workers."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any
from uuid import uuid4


@dataclass(frozen=True, kw_only=True)
class Errand:
    """A function as bytes, which a worker gets and unpacks once, however many jobs it makes."""

    name: str  # unlike that of any other errand
    version: str  # of tabnas here, which must be that of the workers
    function: bytes

    @classmethod
    def of(cls, function: Callable[[Any], Any]) -> Errand:
        """The errand of making jobs with a function."""
        return cls(name=uuid4().hex, version=version("tabnas"), function=pickle.dumps(function))
