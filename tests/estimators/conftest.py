from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
import pytest

from tabnas.runs import RunCheckpoint
from tests.conftest import BRIEF, patch_plan_constants

SMALL: dict[str, Any] = {
    "max_parameters": 200,
    "layers": 1,
    "candidates": 1,
    "teacher": "none",
    "random_state": 0,
}
"""Settings of a short fit."""


@pytest.fixture(scope="package", autouse=True)
def brief() -> Iterator[None]:
    """Every fit of this package, unless a test uses the defaults."""
    with patch_plan_constants(BRIEF):
        yield


@pytest.fixture
def birds() -> tuple[dict[str, Any], np.ndarray]:
    """Sixty rows with texts, missing values and two kinds of birds."""
    rng = np.random.default_rng(0)
    owl = np.arange(60) % 2 == 0
    weight = rng.normal(np.where(owl, 2.0, 1.0), 0.1)
    weight[::7] = np.nan
    return (
        {
            "weight": weight,
            "food": np.where(rng.random(60) < 0.9, np.where(owl, "mice", "fish"), "both").tolist(),
            "wing": rng.normal(size=60),
        },
        np.where(owl, "owl", "auk"),
    )


@pytest.fixture
def interrupted_after(
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[int], AbstractContextManager[None]]:
    """Return a context in which a fit saves its checkpoint after so many steps, and is stopped."""

    @contextmanager
    def interrupt(steps: int) -> Iterator[None]:
        ticks = 0

        def on_step(checkpoint: RunCheckpoint) -> None:
            nonlocal ticks
            ticks += 1
            if ticks == steps:
                checkpoint.save()
                raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(RunCheckpoint, "save_if_due", on_step)
            with pytest.raises(KeyboardInterrupt):
                yield

    return interrupt
