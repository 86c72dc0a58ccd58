"""Files appear whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tabnas.files import atomic_file, atomic_write


def test_a_file_is_replaced_when_all_of_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    atomic_write(path, "before")
    with atomic_file(path) as file:
        file.write(b"one ")
        assert path.read_bytes() == b"before"
        file.write(b"two")
    assert path.read_bytes() == b"one two"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [ValueError, OSError, KeyboardInterrupt, SystemExit])
def test_what_fails_leaves_the_file_as_it_was(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "a.txt"
    atomic_write(path, "before", sync=False)

    def fail() -> None:
        with atomic_file(path) as file:
            file.write(b"one")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]
