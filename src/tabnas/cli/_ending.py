"""How commands end early."""

from __future__ import annotations

MISTAKE, LOST, INTERRUPTED, TERMINATED = 2, 3, 130, 143


class EndedError(Exception):
    """A command ended early, has said so, and has an exit code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code
