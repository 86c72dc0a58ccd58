"""Options that several commands share, and how their texts become values."""

from __future__ import annotations

from tabnas.errors import TabnasError


def parse_widths(text: str) -> list[int]:
    """Candidate widths from `8,16,24`."""
    widths = []
    for part in text.split(","):
        part = part.strip()
        digits = part.removeprefix("-")
        if not (digits.isascii() and digits.isdecimal() and len(digits) < 10):
            raise TabnasError(
                f"--widths takes integers separated by commas, like 8,16,24; {part[:20]!r} is none"
            )
        widths.append(int(part))
    return widths
