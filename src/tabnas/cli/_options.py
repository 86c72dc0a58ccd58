"""Options that several commands share, and how their texts become values."""

from __future__ import annotations

from tabnas.errors import TabnasError


def parse_widths(text: str) -> list[int]:
    """Candidate widths from `8,16,24`."""
    widths = []
    for part in text.split(","):
        part = part.strip()
        if not part.removeprefix("-").isdecimal():
            raise TabnasError(
                f"--widths takes integers separated by commas, like 8,16,24; "
                f"{part!r} in {text!r} is none"
            )
        widths.append(int(part))
    return widths
