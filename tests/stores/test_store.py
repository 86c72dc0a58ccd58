"""Stores can be read in any order, and damaged stores are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabnas import TabNASError
from tabnas.stores import Store, encode_store, open_store
from tabnas.stores._document import _digest
from tests.mutations import mutate_bytes, mutate_values
from tests.stores.conftest import make_mixed_columns, write_csv

ROWS = 300


@pytest.fixture(scope="module")
def shared_store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Return a store of several pieces."""
    folder = tmp_path_factory.mktemp("store")
    path = write_csv(folder / "table.csv", make_mixed_columns(ROWS))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("tabnas.stores._settings.MAX_CHUNK_BYTES", 2_000)
        patched.setattr("tabnas.stores._first_pass.PIECE_BYTES", 3_000)
        store = encode_store(path, folder / "store", target="kind", kinds={"user": "hashed"})
    assert len(store.pieces) > 3
    return store


@pytest.fixture
def copy(shared_store: Store, tmp_path: Path) -> Path:
    """Return a copy of the store that a test can damage."""
    import shutil

    return Path(shutil.copytree(shared_store.path, tmp_path / "copy"))


@given(st.data())
def test_any_rows_can_be_read(shared_store: Store, data: st.DataObject) -> None:
    part = data.draw(st.sampled_from(["train", "validation", "test"]))
    total = shared_store.rows[part]
    start = data.draw(st.integers(0, total))
    stop = data.draw(st.integers(start, total))
    all_rows, selected = shared_store.read(part, 0, total), shared_store.read(part, start, stop)
    assert (selected.encoded.numeric == all_rows.encoded.numeric[start:stop]).all()
    assert (selected.encoded.categorical == all_rows.encoded.categorical[start:stop]).all()
    assert (selected.y == all_rows.y[start:stop]).all()


@given(st.data())
def test_blocks_are_returned_in_the_requested_order(
    shared_store: Store, data: st.DataObject
) -> None:
    rows = data.draw(st.integers(1, 250))
    all_rows = shared_store.read("train", 0, shared_store.rows["train"])
    last = (shared_store.rows["train"] - 1) // rows
    blocks = data.draw(st.lists(st.integers(0, last), max_size=6))
    numbers = [np.arange(shared_store.rows["train"])[b * rows : (b + 1) * rows] for b in blocks]
    numbers = np.concatenate([np.empty(0, int), *numbers])
    read = shared_store.read_blocks("train", blocks, rows)
    assert (read.encoded.numeric == all_rows.encoded.numeric[numbers]).all()
    assert (read.encoded.categorical == all_rows.encoded.categorical[numbers]).all()
    assert (read.y == all_rows.y[numbers]).all()


def test_classes_are_counted_over_all_pieces(shared_store: Store) -> None:
    y = shared_store.read("train", 0, shared_store.rows["train"]).y
    assert shared_store.class_counts.tolist() == np.bincount(y, minlength=2).tolist()


def test_types_are_those_of_a_table_in_memory(shared_store: Store) -> None:
    rows = shared_store.read("train", 3, 9)
    assert rows.encoded.numeric.dtype == np.float32
    assert rows.encoded.categorical.dtype == np.int32
    assert rows.y.dtype == np.int32
    assert rows.encoded.numeric.flags.writeable
    assert rows.encoded.categorical.max() < max(shared_store.encoder.n_categories)
    nothing = shared_store.read("test", 0, 0)
    assert nothing.encoded.numeric.shape == (0, len(shared_store.encoder.features))


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda s: s.read("train", 0, 10**6), "rows must be among the .* of the part 'train'"),
        (lambda s: s.read("train", -1, 5), "but -1 to 5 were asked for"),
        (lambda s: s.read("train", 5, 4), "but 5 to 4 were asked for"),
        (lambda s: s.read("tests", 0, 1), "there is no part 'tests'; did you mean 'test'"),
        (lambda s: s.read_blocks("test", [0, 9], 30), "blocks must be among the 2 of the part"),
        (lambda s: s.read_blocks("test", [0], 0), "block_rows must be an integer of at least 1"),
    ],
)
def test_rows_out_of_range_are_refused(
    shared_store: Store, read: Callable[[Store], object], message: str
) -> None:
    with pytest.raises(TabNASError, match=message):
        read(shared_store)


def test_verify_finds_a_flipped_bit(copy: Path) -> None:
    open_store(copy).verify()
    path = copy / "pieces" / "000001" / "train.numeric"
    content = bytearray(path.read_bytes())
    content[5] ^= 1
    path.write_bytes(content)
    store = open_store(copy)  # only sizes are checked here
    with pytest.raises(
        TabNASError, match=r"pieces/000001/train\.numeric must be as it was written"
    ):
        store.verify()


def test_truncated_files_and_links_are_refused(copy: Path, tmp_path: Path) -> None:
    path = copy / "pieces" / "000000" / "test.target"
    content = path.read_bytes()
    path.write_bytes(content[:-4])
    with pytest.raises(TabNASError, match=r"pieces/000000/test\.target must be a file of .* bytes"):
        open_store(copy)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(content)
    path.unlink()
    path.symlink_to(elsewhere)
    with pytest.raises(TabNASError, match="the store is damaged"):
        open_store(copy)


def test_a_missing_piece_is_named_in_the_error(copy: Path) -> None:
    store = open_store(copy)
    (copy / "pieces" / "000001" / "train.numeric").unlink()
    for read in (lambda: store.read("train", 0, store.rows["train"]), store.verify):
        with pytest.raises(
            TabNASError, match=r"pieces/000001/train\.numeric must be there .*\(No such file or"
        ):
            read()


def test_folders_that_are_not_complete_stores_are_refused(tmp_path: Path, copy: Path) -> None:
    with pytest.raises(TabNASError, match=r"there is no store .*; name a file, or make a store"):
        open_store(tmp_path / "nothing")
    (copy / "store.json").unlink()
    with pytest.raises(
        TabNASError, match=r"must be complete.* continue with: tabnas encode .*table\.csv"
    ):
        open_store(copy)
    document = json.loads((copy / "plan.json").read_text()) | {"format": 3}
    (copy / "plan.json").write_text(json.dumps(document))
    with pytest.raises(TabNASError, match="must have format 2, but it has 3"):
        open_store(copy)


@pytest.mark.parametrize("seed", range(40))
def test_damaged_stores_are_refused_or_readable(seed: int, copy: Path) -> None:
    rng = Random(seed)
    path = copy / "store.json"
    if seed % 2:
        path.write_bytes(mutate_bytes(rng, path.read_bytes()))
    else:  # with a valid digest
        document = mutate_values(rng, json.loads(path.read_bytes()))
        if isinstance(document, dict):
            document.pop("sha256", None)
            document["sha256"] = _digest(document)
        path.write_text(json.dumps(document))
    try:
        store = open_store(copy)
    except TabNASError:
        return
    for part, rows in store.rows.items():
        assert len(store.read(part, 0, rows).y) == rows
