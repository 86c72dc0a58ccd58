"""An encoding that is interrupted at any moment can be resumed and gives the same store."""

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
from tests.stores.conftest import make_mixed_columns, write_csv

ROWS = 300


class Interruption(Exception):  # noqa: N818
    """Interrupts an encoding in these tests."""


def interrupt(phase: Phase, after: int) -> Callable[[EncodingProgress], None]:
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
    return [write_csv(tmp_path / f"{i}.csv", make_mixed_columns(ROWS, seed=i)) for i in range(2)]


@pytest.mark.parametrize(
    ("phase", "after"),
    [("reading", 0), ("reading", 12), ("fitting", 0), ("fitting", 20), ("encoding", 12)],
)
def test_an_interrupted_encoding_is_resumed(
    phase: Phase, after: int, paths: list[Path], tmp_path: Path
) -> None:
    uninterrupted = encode_store(paths, tmp_path / "uninterrupted", target="kind")
    with pytest.raises(Interruption):
        encode_store(paths, tmp_path / "store", target="kind", on_progress=interrupt(phase, after))
    with pytest.raises(TabNASError, match=r"continue with: tabnas encode .*--target kind --out"):
        open_store(tmp_path / "store")
    reports: list[EncodingProgress] = []
    store = encode_store(paths, tmp_path / "store", target="kind", on_progress=reports.append)
    assert store.digest == uninterrupted.digest
    assert store.rows == uninterrupted.rows
    assert reports[-1].rows == 2 * ROWS
    assert reports[-1].fraction == 1.0
    names = {path.name for path in (tmp_path / "store").iterdir()}
    assert names == {".lock", "plan.json", "pieces", "store.json"}
    assert not [path for path in (tmp_path / "store" / "pieces").iterdir() if path.name[0] == "."]


@pytest.mark.parametrize(
    ("phase", "after", "target"),
    [("reading", 13, "value"), ("fitting", 13, "value"), ("fitting", 17, "kind")],
)
def test_a_resumed_encoding_of_a_long_file_gives_the_same_store(
    phase: Phase, after: int, target: str, tmp_path: Path, small_chunks: Callable[[int, int], None]
) -> None:
    small_chunks(2_000, 3_000)
    path = write_csv(tmp_path / "long.csv", make_mixed_columns(800))
    uninterrupted = encode_store(path, tmp_path / "uninterrupted", target=target)
    with pytest.raises(Interruption):
        encode_store(path, tmp_path / "store", target=target, on_progress=interrupt(phase, after))
    store = encode_store(path, tmp_path / "store", target=target)
    assert [piece.rows for piece in store.pieces] == [piece.rows for piece in uninterrupted.pieces]
    assert store.target == uninterrupted.target  # to the bit, also mean and deviation of a number
    assert store.digest == uninterrupted.digest


@pytest.mark.parametrize(("phase", "after"), [("reading", 7), ("fitting", 7)])
def test_a_resumed_encoding_of_many_small_files_gives_the_same_store(
    phase: Phase, after: int, tmp_path: Path, small_chunks: Callable[[int, int], None]
) -> None:
    small_chunks(1_000, 3_000)
    paths = [write_csv(tmp_path / f"{i}.csv", make_mixed_columns(25, seed=i)) for i in range(6)]
    uninterrupted = encode_store(paths, tmp_path / "uninterrupted", target="value")
    with pytest.raises(Interruption):
        encode_store(paths, tmp_path / "store", target="value", on_progress=interrupt(phase, after))
    store = encode_store(paths, tmp_path / "store", target="value")
    assert store.digest == uninterrupted.digest


@pytest.mark.parametrize("save", [1, 2])
def test_an_encoding_interrupted_while_its_summary_is_written_can_be_resumed(
    save: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_csv(
        tmp_path / "table.csv", make_mixed_columns(ROWS)
    )  # one piece, which is saved twice
    tables, n_saves = _checkpoint._to_tables, 0

    def interrupted_tables(summary: Summary) -> Iterator[pa.Table]:
        nonlocal n_saves
        n_saves += 1
        yield tables(summary)[0]
        if n_saves == save:
            raise Interruption
        yield from tables(summary)[1:]

    with monkeypatch.context() as patched:
        patched.setattr(_checkpoint, "_to_tables", interrupted_tables)
        with pytest.raises(Interruption):
            encode_store(path, tmp_path / "store", target="kind")
    assert encode_store(path, tmp_path / "store", target="kind").rows


def test_finished_pieces_are_not_encoded_again(paths: list[Path], tmp_path: Path) -> None:
    with pytest.raises(Interruption):
        encode_store(
            paths, tmp_path / "store", target="kind", on_progress=interrupt("encoding", 12)
        )
    written = {path: path.stat().st_mtime_ns for path in (tmp_path / "store").rglob("*.numeric")}
    assert written
    store = encode_store(paths, tmp_path / "store", target="kind")
    assert {path: path.stat().st_mtime_ns for path in written} == written
    before = (store.path / "store.json").stat().st_mtime_ns
    reports: list[EncodingProgress] = []
    again = encode_store(paths, tmp_path / "store", target="kind", on_progress=reports.append)
    assert again.digest == store.digest
    assert not reports  # it was complete
    assert (store.path / "store.json").stat().st_mtime_ns == before


def test_files_that_were_read_are_not_read_again(paths: list[Path], tmp_path: Path) -> None:
    with pytest.raises(Interruption):
        encode_store(paths, tmp_path / "store", target="kind", on_progress=interrupt("reading", 12))
    copies = {path: path.stat().st_mtime_ns for path in (tmp_path / "store").rglob("*.feather")}
    assert len(copies) == 1
    with pytest.raises(Interruption):
        encode_store(paths, tmp_path / "store", target="kind", on_progress=interrupt("fitting", 0))
    assert {path: path.stat().st_mtime_ns for path in copies} == copies
    assert len(list((tmp_path / "store").rglob("*.feather"))) == 2
    encode_store(paths, tmp_path / "store", target="kind")
    assert not list((tmp_path / "store").rglob("*.feather"))


def test_another_command_is_refused(paths: list[Path], tmp_path: Path) -> None:
    with pytest.raises(Interruption):
        encode_store(paths, tmp_path / "store", target="kind", on_progress=interrupt("fitting", 12))
    for changes, message in (
        ({"min_count": 3}, "but min_count differ; name another folder, or continue with: "),
        ({"kinds": {"user": "hashed"}, "drop": ("same",)}, "but kinds, drop differ"),
        ({"target": "value"}, "but target differ"),
    ):
        with pytest.raises(TabNASError, match=message):
            encode_store(paths, tmp_path / "store", **({"target": "kind"} | changes))
    with pytest.raises(TabNASError, match="but the files differ"):
        encode_store(paths[:1], tmp_path / "store", target="kind")
    with paths[1].open("a") as file:
        file.write("\n")
    with pytest.raises(TabNASError, match=r"'1\.csv' must be as it was when the store"):
        encode_store(paths, tmp_path / "store", target="kind")


def test_a_file_that_changes_while_it_is_encoded_is_refused(
    paths: list[Path], tmp_path: Path
) -> None:
    calls = 0

    def on_progress(progress: EncodingProgress) -> None:
        nonlocal calls
        calls += 1
        if calls == 45:
            os.utime(paths[1], (1, 1))

    with pytest.raises(TabNASError, match=r"'1\.csv' must stay as it is while it is encoded"):
        encode_store(paths, tmp_path / "store", target="kind", on_progress=on_progress)


def test_damaged_summaries_are_refused(paths: list[Path], tmp_path: Path) -> None:
    with pytest.raises(Interruption):
        encode_store(paths, tmp_path / "store", target="kind", on_progress=interrupt("fitting", 12))
    (data,) = (tmp_path / "store").glob("first_pass-*.arrow")
    content = bytearray(data.read_bytes())
    content[len(content) // 2] ^= 1
    data.write_bytes(content)
    with pytest.raises(TabNASError, match=r"first_pass-.*must be as it was written"):
        encode_store(paths, tmp_path / "store", target="kind")


def test_only_one_process_can_use_a_store(paths: list[Path], tmp_path: Path) -> None:
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
encode_store([Path(p) for p in sys.argv[2:]], sys.argv[1], target="kind", on_progress=print)
"""


@pytest.mark.slow
@pytest.mark.parametrize("after", [8, 24, 40])
def test_an_encoding_whose_process_was_killed_can_be_resumed(
    after: int, paths: list[Path], tmp_path: Path
) -> None:
    uninterrupted = encode_store(paths, tmp_path / "uninterrupted", target="kind")
    command = [sys.executable, "-u", "-c", KILLED, str(tmp_path / "store"), *map(str, paths)]
    with started(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for number, _ in enumerate(process.stdout):
            if number == after:
                process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    store = encode_store(paths, tmp_path / "store", target="kind")
    assert store.digest == uninterrupted.digest
    store.verify()
    assert sorted(path.name for path in (tmp_path / "store").iterdir()) == [
        ".lock",
        "pieces",
        "plan.json",
        "store.json",
    ]
    assert not list((tmp_path / "store").glob("pieces/.*"))


def test_a_full_disk_ends_an_encoding_with_a_clear_error(
    paths: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raise_disk_full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", raise_disk_full)
        with pytest.raises(TabNASError, match=r"cannot be written \(No space left on device\)"):
            encode_store(paths, tmp_path / "store", target="kind")
    assert encode_store(paths, tmp_path / "store", target="kind").rows
