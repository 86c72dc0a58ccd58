from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

SHARED = Path(__file__).parents[2] / "shared"
"""The paper and real tables, beside the checkout where they are at hand."""

needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared, which is not here")

# No deadline: the first example may have to compile. Derandomised: the same examples every time.
settings.register_profile("tabnas", deadline=None, derandomize=True)
settings.load_profile("tabnas")
