"""Encodings that were interrupted, at any moment and in any way, and gone on with."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from tabnas import TabNASError
from tabnas.locks import FolderLock
from tabnas.stores import EncodingProgress, _checkpoint, encode_store, open_store
from tabnas.stores._progress import Phase
from tabnas.stores._summary import Summary
from tests.processes import started
from tests.stores.conftest import mixed_columns, write_csv

ROWS = 300


class Interruption(Exception):  # noqa: N818
    """What ends an encoding in these tests."""


def interrupting(phase: Phase, after: int) -> Callable[[EncodingProgress], None]:
    """Return a callback that ends the work after that many chunks of a phase."""
    calls = 0

    def callback(progress: EncodingProgress) -> None:
        nonlocal calls
        calls += progress.phase == phase
        if calls > after:
            raise Interruption

    return callback


@pytest.fixture
def paths(tmp_path: Path, small_chunks: Callable[[int, int], None]) -> list[Path]:
    small_chunks(2_000, 3_000)
    return [write_csv(tmp_path / f"{i}.csv", mixed_columns(ROWS, seed=i)) for i in range(2)]


@pytest.mark.parametrize(
    ("phase", "after"),
    [("reading", 0), ("reading", 12), ("fitting", 0), ("fitting", 20), ("encoding", 12)],
)
def test_an_interrupted_encoding_is_resumed(
    phase: Phase, after: int, paths: list[Path], tmp_path: Path
) -> None:
    whole = encode_store(paths, tmp_path / "whole", target="kind")
    with pytest.raises(Interruption):
        encode_store(paths, tmp_path / "store", target="kind", callback=interrupting(phase, after))
    with pytest.raises(TabNASError, match=r"go on with: tabnas encode .*--target kind --out"):
        open_store(tmp_path / "store")
    seen: list[EncodingProgress] = []
    store = encode_store(paths, tmp_path / "store", target="kind", callback=seen.append)
    assert store.digest == whole.digest
    assert store.rows == whole.rows
    assert seen[-1].rows == 2 * ROWS
    assert seen[-1].fraction == 1.0
    names = {path.name for path in (tmp_path / "store").iterdir()}
    assert names == {".lock", "plan.json", "pieces", "store.json"}
    assert not [path for path in (tmp_path / "store" / "pieces").iterdir() if path.name[0] == "."]


@pytest.mark.parametrize(
    ("phase", "after", "target"),
    [("reading", 13, "value"), ("fitting", 13, "value"), ("fitting", 17, "kind")],
)
def test_it_does_not_show_in_long_files(
    phase: Phase, after: int, target: str, tmp_path: Path, small_chunks: Callable[[int, int], None]
) -> None:
    small_chunks(2_000, 3_000)
    path = write_csv(tmp_path / "long.csv", mixed_columns(800))
    whole = encode_store(path, tmp_path / "whole", target=target)
    with pytest.raises(Interruption):
        encode_store(path, tmp_path / "store", target=target, callback=interrupting(phase, after))
    store = encode_store(path, tmp_path / "store", target=target)
    assert [piece.rows for piece in store.pieces] == [piece.rows for piece in whole.pieces]
    assert store.target == whole.target  # to the bit, also the mean and deviation of a quantity
    assert store.digest == whole.digest


@pytest.mark.parametrize(("phase", "after"), [("reading", 7), ("fitting", 7)])
def test_it_does_not_show_in_many_small_files(
    phase: Phase, after: int, tmp_path: Path, small_chunks: Callable[[int, int], None]
) -> None:
    small_chunks(1_000, 3_000)
    paths = [write_csv(tmp_path / f"{i}.csv", mixed_columns(25, seed=i)) for i in range(6)]
    whole = encode_store(paths, tmp_path / "whole", target="value")
    with pytest.raises(Interruption):
        encode_store(paths, tmp_path / "store", target="value", callback=interrupting(phase, after))
    store = encode_store(paths, tmp_path / "store", target="value")
    assert store.digest == whole.digest


@pytest.mark.parametrize("save", [1, 2])
def test_a_kill_while_what_was_learned_is_written(
    save: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_csv(tmp_path / "table.csv", mixed_columns(ROWS))  # of one piece, saved twice
    tables, n_saves = _checkpoint._to_tables, 0

    def cut_short(summary: Summary) -> Iterator[pa.Table]:
        nonlocal n_saves
        n_saves += 1
        yield tables(summary)[0]
        if n_saves == save:
            raise Interruption
        yield from tables(summary)[1:]

    with monkeypatch.context() as patched:
        patched.setattr(_checkpoint, "_to_tables", cut_short)
        with pytest.raises(Interruption):
            encode_store(path, tmp_path / "store", target="kind")
    assert encode_store(path, tmp_path / "store", target="kind").rows


def test_what_is_done_is_not_done_again(paths: list[Path], tmp_path: Path) -> None:
    with pytest.raises(Interruption):
        encode_store(
            paths, tmp_path / "store", target="kind", callback=interrupting("encoding", 12)
        )
    written = {path: path.stat().st_mtime_ns for path in (tmp_path / "store").rglob("*.numeric")}
    assert written
    store = encode_store(paths, tmp_path / "store", target="kind")
    assert {path: path.stat().st_mtime_ns for path in written} == written
    before = (store.path / "store.json").stat().st_mtime_ns
    seen: list[EncodingProgress] = []
    again = encode_store(paths, tmp_path / "store", target="kind", callback=seen.append)
    assert again.digest == store.digest
    assert not seen  # it was complete
    assert (store.path / "store.json").stat().st_mtime_ns == before


def test_files_that_were_read_are_not_read_again(paths: list[Path], tmp_path: Path) -> None:
    with pytest.raises(Interruption):
        encode_store(paths, tmp_path / "store", target="kind", callback=interrupting("reading", 12))
    copies = {path: path.stat().st_mtime_ns for path in (tmp_path / "store").rglob("*.feather")}
    assert len(copies) == 1
    with pytest.raises(Interruption):
        encode_store(paths, tmp_path / "store", target="kind", callback=interrupting("fitting", 0))
    assert {path: path.stat().st_mtime_ns for path in copies} == copies
    assert len(list((tmp_path / "store").rglob("*.feather"))) == 2
    encode_store(paths, tmp_path / "store", target="kind")
    assert not list((tmp_path / "store").rglob("*.feather"))


def test_another_command_is_refused(paths: list[Path], tmp_path: Path) -> None:
    with pytest.raises(Interruption):
        encode_store(paths, tmp_path / "store", target="kind", callback=interrupting("fitting", 12))
    for changes, sentence in (
        ({"min_count": 3}, "but min_count differ; name another folder, or type: tabnas enc"),
        ({"kinds": {"user": "hashed"}, "drop": ("same",)}, "but kinds, drop differ"),
        ({"target": "value"}, "but target differ"),
    ):
        with pytest.raises(TabNASError, match=sentence):
            encode_store(paths, tmp_path / "store", **({"target": "kind"} | changes))
    with pytest.raises(TabNASError, match="but the files differ"):
        encode_store(paths[:1], tmp_path / "store", target="kind")
    with paths[1].open("a") as file:
        file.write("\n")
    with pytest.raises(TabNASError, match=r"'1\.csv' must be as it was when the store"):
        encode_store(paths, tmp_path / "store", target="kind")


def test_a_file_must_not_change_meanwhile(paths: list[Path], tmp_path: Path) -> None:
    told = 0

    def observe(progress: EncodingProgress) -> None:
        nonlocal told
        told += 1
        if told == 45:
            os.utime(paths[1], (1, 1))

    with pytest.raises(TabNASError, match=r"'1\.csv' must stay as it is while it is encoded"):
        encode_store(paths, tmp_path / "store", target="kind", callback=observe)


def test_damaged_beginnings_are_refused(paths: list[Path], tmp_path: Path) -> None:
    with pytest.raises(Interruption):
        encode_store(paths, tmp_path / "store", target="kind", callback=interrupting("fitting", 12))
    (data,) = (tmp_path / "store").glob("learned-*.arrow")
    content = bytearray(data.read_bytes())
    content[len(content) // 2] ^= 1
    data.write_bytes(content)
    with pytest.raises(TabNASError, match=r"learned-.*must be as it was written"):
        encode_store(paths, tmp_path / "store", target="kind")


def test_one_process_to_a_store(paths: list[Path], tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    lock = FolderLock(tmp_path / "store")
    with pytest.raises(TabNASError, match="another process is working in"):
        encode_store(paths, tmp_path / "store", target="kind")
    lock.release()
    encode_store(paths, tmp_path / "store", target="kind")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").touch()
    with pytest.raises(TabNASError, match="must be new, empty or a store"):
        encode_store(paths, tmp_path / "other", target="kind")
    with pytest.raises(TabNASError, match="must be a folder, but"):
        encode_store(paths, tmp_path / "other" / "thesis.tex", target="kind")


KILLED = """
import sys
from pathlib import Path
from tabnas.stores import _first_pass, _settings, encode_store

_settings.MAX_CHUNK_BYTES, _first_pass.PIECE_BYTES = 2_000, 3_000
encode_store([Path(p) for p in sys.argv[2:]], sys.argv[1], target="kind", callback=print)
"""


@pytest.mark.slow
@pytest.mark.parametrize("after", [8, 24, 40])
def test_a_killed_process_leaves_nothing_wrong(
    after: int, paths: list[Path], tmp_path: Path
) -> None:
    whole = encode_store(paths, tmp_path / "whole", target="kind")
    command = [sys.executable, "-u", "-c", KILLED, str(tmp_path / "store"), *map(str, paths)]
    with started(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for number, _ in enumerate(process.stdout):
            if number == after:
                process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    store = encode_store(paths, tmp_path / "store", target="kind")
    assert store.digest == whole.digest
    store.verify()
    assert sorted(path.name for path in (tmp_path / "store").iterdir()) == [
        ".lock",
        "pieces",
        "plan.json",
        "store.json",
    ]
    assert not list((tmp_path / "store").glob("pieces/.*"))


def test_a_full_disk_ends_in_a_sentence(
    paths: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(TabNASError, match=r"cannot be written \(No space left on device\)"):
            encode_store(paths, tmp_path / "store", target="kind")
    assert encode_store(paths, tmp_path / "store", target="kind").rows
