"""The command line.

Exit codes: 0 done, 1 our fault, 2 a mistake in the input, 3 one of several processes was lost, 130
and 143 stopped.
"""

from __future__ import annotations

import os

# Scikit-learn's threads spin while they wait, which on a busy machine costs more than it gains;
# OpenMP reads this once, when it is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

from tabnas.cli._main import main

__all__ = ["main"]
