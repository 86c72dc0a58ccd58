"""Tables as files: whole, or refused in a sentence."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabnas.errors import TabNASError
from tabnas.latency import (
    LatencyTable,
    Machine,
    cached_table_path,
    load_or_measure_table,
    load_table,
    save_table,
)
from tests.latency.conftest import make_latency_table


def test_a_table_comes_back_from_its_file(tmp_path: Path) -> None:
    table = make_latency_table()
    path = save_table(table, tmp_path / "deep" / "device.json")
    assert load_table(path) == table
    assert [p.name for p in path.parent.iterdir()] == ["device.json"]


def test_it_says_where_it_comes_from_and_nothing_private() -> None:
    said = json.loads(make_latency_table(machine=Machine.here()).to_json())
    assert set(said["machine"]) == {"processor", "system", "onnxruntime", "threads"}
    assert str(Path.home()) not in json.dumps(said)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    children = value.items() if isinstance(value, dict) else enumerate(value)
    found = [path]
    for key, child in children:
        below = places(child, (*path, key)) if isinstance(child, dict | list) else []
        found += [(*path, key), *below]
    return found[1:] if path == () else found


SAID = json.loads(make_latency_table().to_json())
PLACES = sorted(set(places(SAID)), key=str)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 10**400),
    st.floats(),
    st.text(max_size=300),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


@settings(max_examples=400)
@given(st.sampled_from(PLACES), VALUES)
def test_no_other_value_anywhere_breaks_it(place: tuple[Any, ...], value: Any) -> None:
    changed = json.loads(json.dumps(SAID))
    holder = changed
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = value
    try:
        table = LatencyTable.from_json(json.dumps(changed))
    except TabNASError:
        return
    assert LatencyTable.from_json(table.to_json()) == table  # it was a value that can be


@given(st.text() | st.binary().map(lambda b: b.decode("latin-1")))
def test_no_text_breaks_it(text: str) -> None:
    with pytest.raises(TabNASError, match="the latency table "):
        LatencyTable.from_json(text)


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_nothing_may_be_missing(place: tuple[Any, ...]) -> None:
    changed = json.loads(json.dumps(SAID))
    holder = changed
    for key in place[:-1]:
        holder = holder[key]
    del holder[place[-1]]
    with pytest.raises(TabNASError):
        LatencyTable.from_json(json.dumps(changed))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * 50_000, "nested too deeply"),
        (json.dumps(SAID | {"format": 2}), "newer tabnas"),
        (json.dumps(SAID | {"kind": "another"}), "must be a tabnas latency table"),
        ('{"kind": 1, "kind": 1}', "twice"),
        (json.dumps(SAID | {"note": "x"}), "note is unknown"),
        (json.dumps(SAID | {"pad": " " * 70_000}), "at most 65,536"),
        (json.dumps(SAID | {"tabnas": "a\x1b[31m"}), "printable"),
        (json.dumps(SAID | {"calls": SAID["calls"][::-1]}), "one of one row"),
    ],
)
def test_refusals_say_why(text: str, words: str) -> None:
    with pytest.raises(TabNASError, match=words):
        LatencyTable.from_json(text)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.json"):
        with pytest.raises(TabNASError, match="cannot be read"):
            load_table(path)
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe")
    with pytest.raises(TabNASError, match="cannot be read"):
        load_table(tmp_path / "bytes.json")
    with pytest.raises(TabNASError, match="cannot be written"):
        save_table(make_latency_table(), tmp_path / "bytes.json" / "table.json")


class TestKept:
    @pytest.fixture(autouse=True)
    def cache(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        return tmp_path

    def measured(self) -> LatencyTable:
        self.times = getattr(self, "times", 0) + 1
        return make_latency_table(machine=Machine.here())

    def test_a_machine_is_measured_once(self) -> None:
        assert load_or_measure_table(self.measured) == load_or_measure_table(self.measured)
        assert self.times == 1

    def test_another_machine_has_another_file(self) -> None:
        here = Machine.here()
        other = Machine(processor=here.processor, system=here.system, onnxruntime="0.1", threads=1)
        assert cached_table_path(other) != cached_table_path(here)

    def test_a_table_of_another_machine_is_not_believed(self) -> None:
        save_table(make_latency_table(), cached_table_path())
        assert load_or_measure_table(self.measured).machine == Machine.here()
        assert self.times == 1

    def test_a_damaged_one_is_measured_again(self) -> None:
        load_or_measure_table(self.measured)
        cached_table_path().write_text("{")
        load_or_measure_table(self.measured)
        assert self.times == 2
        assert load_table(cached_table_path()) == self.measured()

    def test_one_of_a_busy_machine_serves_once(self) -> None:
        calls = {rows: replace(call, spread=0.4) for rows, call in self.measured().calls.items()}
        busy = replace(self.measured(), calls=calls)
        assert load_or_measure_table(lambda: busy) == busy
        assert not cached_table_path().exists()

    def test_where_nothing_can_be_kept_it_serves_once(self, cache: Path) -> None:
        (cache / "tabnas").write_text("a file is in the way")
        assert load_or_measure_table(self.measured).machine == Machine.here()
