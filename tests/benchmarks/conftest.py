"""Benchmarks are scripts, which import each other as modules of their folder."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
