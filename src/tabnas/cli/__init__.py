"""The command line.

Exit codes: 0 success, 1 a bug of tabnas, 2 an error in the input, 3 one of several processes was
lost or a run that is watched has stopped, 130 interrupted, 143 terminated.
"""

from __future__ import annotations

import os

# By default, scikit-learn's idle threads spin, which slows down a busy machine. OpenMP reads this
# variable once, when it is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

from tabnas.cli._entry_point import main

__all__ = ["main"]
