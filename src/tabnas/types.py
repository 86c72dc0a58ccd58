"""Types that several packages use."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
Int32Array = NDArray[np.int32]
Float32Array = NDArray[np.float32]
"""Encoded numbers, weights, logits and answers: networks compute in single precision."""
BoolArray = NDArray[np.bool_]
IndexArray = NDArray[np.uint32]
"""Unsigned, so that compiled code need not check for negative indices."""
Scaling = Literal["robust", "standard", "none"]
"""How numeric columns are scaled."""
