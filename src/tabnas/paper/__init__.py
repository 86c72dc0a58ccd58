"""The paper's experiments."""

from __future__ import annotations

from tabnas.paper._provenance import provenance
from tabnas.paper._toy import run_toy

__all__ = ["provenance", "run_toy"]
