"""Checkpoint files: the newest valid one is read, and damaged ones are refused."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tabnas.errors import TabNASError
from tabnas.runs.checkpoints._file import DIGEST, MAGIC, read_checkpoint, write_checkpoint
from tests.runs.helpers import with_valid_digest


def pack(header: Any, body: bytes = b"") -> bytes:
    """Return a safetensors file with this header and body."""
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        (10**10).to_bytes(8, "little") + b"{}",
        pack({"x": {"dtype": "F32", "shape": [2_500_000_000], "data_offsets": [0, 10**10]}}),
        pack({"x": {"dtype": "F32", "shape": [2**62, 4], "data_offsets": [0, 0]}}),
        pack({"x": {"dtype": "O", "shape": [1], "data_offsets": [0, 8]}}, bytes(8)),
        pack({"__metadata__": {"facts": "[" * 100_000}}),
        pack({"__metadata__": {"facts": "9" * 10_000}}),
        pack({"__metadata__": {"facts": "[]"}}),
        pack({"__metadata__": {}}),
        pack({}),
        pack([]),
    ],
    ids=["empty", "header of 10 GB", "array of 10 GB", "overflow", "objects", "deep", "huge number",
         "no facts", "no facts at all", "nothing", "no header"],
)  # fmt: skip
def test_malformed_checkpoints_are_refused(payload: bytes, tmp_path: Path) -> None:
    (tmp_path / "000001.checkpoint").write_bytes(with_valid_digest(MAGIC + bytes(DIGEST) + payload))
    with pytest.raises(TabNASError, match=r"every checkpoint in .* is damaged"):
        read_checkpoint(tmp_path)


def test_a_checkpoint_truncated_anywhere_is_refused(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, {"n": 1}, {"x": np.arange(3)})
    path = tmp_path / "000001.checkpoint"
    content = path.read_bytes()
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(TabNASError, match="is damaged"):
            read_checkpoint(tmp_path)


def test_pipes_and_folders_among_checkpoints_are_ignored(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "000009.checkpoint")
    (tmp_path / "000008.checkpoint").mkdir()
    (tmp_path / f"{'9' * 200}.checkpoint").write_bytes(b"")
    assert read_checkpoint(tmp_path) is None
    write_checkpoint(tmp_path, {"n": 1}, {})
    assert read_checkpoint(tmp_path)[0] == {"n": 1}


def write_numbered(folder: Path, number: int) -> None:
    write_checkpoint(folder, {"n": number}, {"x": np.full((2, 3), number), "y": np.array(1.5)})


def test_the_newest_checkpoint_is_read_and_the_one_before_is_kept(tmp_path: Path) -> None:
    assert read_checkpoint(tmp_path) is None
    for number in range(1, 5):
        write_numbered(tmp_path, number)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["000003.checkpoint", "000004.checkpoint"]
    content, arrays, note = read_checkpoint(tmp_path)
    assert (content, note) == ({"n": 4}, "")
    assert arrays["x"].tolist() == [[4, 4, 4]] * 2
    assert arrays["y"].shape == ()


@pytest.mark.parametrize("how", ["truncated", "flipped", "emptied", "other"])
def test_a_damaged_checkpoint_falls_back_to_the_one_before(how: str, tmp_path: Path) -> None:
    write_numbered(tmp_path, 1)
    write_numbered(tmp_path, 2)
    path = tmp_path / "000002.checkpoint"
    data = bytearray(path.read_bytes())
    if how == "flipped":
        data[len(data) // 2] ^= 1
    path.write_bytes(
        {"truncated": data[:-9], "flipped": data, "emptied": b"", "other": b"zip" * 99}[how]
    )
    content, _, note = read_checkpoint(tmp_path)
    assert content == {"n": 1}
    assert "000002.checkpoint is damaged" in note
    (tmp_path / "000001.checkpoint").unlink()
    with pytest.raises(TabNASError, match=r"every checkpoint .* is damaged"):
        read_checkpoint(tmp_path)


def test_a_full_disk_leaves_the_last_checkpoint_intact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_numbered(tmp_path, 1)

    def raise_disk_full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", raise_disk_full)
    with pytest.raises(OSError, match="No space left"):
        write_numbered(tmp_path, 2)
    monkeypatch.undo()
    assert [p.name for p in tmp_path.iterdir()] == ["000001.checkpoint"]
    assert read_checkpoint(tmp_path)[0] == {"n": 1}


def test_a_half_written_checkpoint_is_removed_by_the_next_write(tmp_path: Path) -> None:
    write_numbered(tmp_path, 1)
    (tmp_path / ".000002.checkpoint.0123abcd").write_bytes(b"half")
    assert read_checkpoint(tmp_path)[0] == {"n": 1}
    write_numbered(tmp_path, 2)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["000001.checkpoint", "000002.checkpoint"]


def test_links_are_not_followed(tmp_path: Path) -> None:
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "folder"
    write_numbered(elsewhere, 7)
    folder.mkdir()
    (folder / "000009.checkpoint").symlink_to(elsewhere / "000001.checkpoint")
    assert read_checkpoint(folder) is None
