"""Latency tables survive a round trip; malformed files are refused."""

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
from tabnas.space import Precision
from tests.latency.conftest import make_c_table, make_latency_table


def test_a_table_survives_a_round_trip(tmp_path: Path) -> None:
    table = make_latency_table()
    path = save_table(table, tmp_path / "deep" / "device.json")
    assert load_table(path) == table
    assert [p.name for p in path.parent.iterdir()] == ["device.json"]


def test_a_table_describes_its_machine_and_nothing_private() -> None:
    document = json.loads(make_latency_table(machine=Machine.here()).to_json())
    assert set(document["machine"]) == {"processor", "system", "runtime", "version", "threads"}
    assert str(Path.home()) not in json.dumps(document)


def list_places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    children = value.items() if isinstance(value, dict) else enumerate(value)
    places = [path]
    for key, child in children:
        below = list_places(child, (*path, key)) if isinstance(child, dict | list) else []
        places += [(*path, key), *below]
    return places[1:] if path == () else places


@pytest.mark.parametrize("value", [None, 0.5])
def test_terms_must_suit_the_runtime(value: float | None) -> None:
    table = make_c_table() if value is None else make_latency_table()
    document = json.loads(table.to_json())
    document["calls"][0]["terms"]["single_weight_us"] = value
    with pytest.raises(TabNASError, match="have single_weight_us for the runtime"):
        LatencyTable.from_json(json.dumps(document))


def test_a_table_of_c_must_have_both_precisions() -> None:
    table = make_c_table()
    assert LatencyTable.from_json(table.to_json()) == table
    assert table.find_call(256, Precision.INT8).precision == Precision.INT8
    with pytest.raises(TabNASError, match="calls must be of 1 rows as float32, 1 rows as int8"):
        replace(table, calls=table.calls[::2]).to_json()


def test_an_unknown_runtime_is_refused() -> None:
    text = make_latency_table().to_json().replace('"onnxruntime"', '"onnxruntme"')
    with pytest.raises(TabNASError, match="no runtime 'onnxruntme'; did you mean 'onnxruntime'"):
        LatencyTable.from_json(text)


DOCUMENT = json.loads(make_latency_table().to_json())
PLACES = sorted(set(list_places(DOCUMENT)), key=str)
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
def test_any_changed_value_is_valid_or_refused(place: tuple[Any, ...], value: Any) -> None:
    changed = json.loads(json.dumps(DOCUMENT))
    holder = changed
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = value
    try:
        table = LatencyTable.from_json(json.dumps(changed))
    except TabNASError:
        return
    assert LatencyTable.from_json(table.to_json()) == table  # the value was valid


@given(st.text() | st.binary().map(lambda b: b.decode("latin-1")))
def test_any_text_is_refused(text: str) -> None:
    with pytest.raises(TabNASError, match="the latency table "):
        LatencyTable.from_json(text)


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_missing_fields_are_refused(place: tuple[Any, ...]) -> None:
    changed = json.loads(json.dumps(DOCUMENT))
    holder = changed
    for key in place[:-1]:
        holder = holder[key]
    del holder[place[-1]]
    with pytest.raises(TabNASError):
        LatencyTable.from_json(json.dumps(changed))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 50_000, "nested too deeply"),
        (json.dumps(DOCUMENT | {"format": 4}), "newer tabnas"),
        (json.dumps(DOCUMENT | {"format": 2}), "lacks the runtime; measure the machine again"),
        (json.dumps(DOCUMENT | {"kind": "another"}), "must be a tabnas latency table"),
        ('{"kind": 1, "kind": 1}', "twice"),
        (json.dumps(DOCUMENT | {"note": "x"}), "note is unknown"),
        (json.dumps(DOCUMENT | {"pad": " " * 70_000}), "at most 65,536"),
        (json.dumps(DOCUMENT | {"tabnas": "a\x1b[31m"}), "printable"),
        (
            json.dumps(DOCUMENT | {"calls": DOCUMENT["calls"][::-1]}),
            "calls must be of 1 rows as float32, 256 rows as float32, got 256",
        ),
    ],
)
def test_errors_name_the_problem(text: str, message: str) -> None:
    with pytest.raises(TabNASError, match=message):
        LatencyTable.from_json(text)


def test_unreadable_files_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.json"):
        with pytest.raises(TabNASError, match="cannot be read"):
            load_table(path)
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe")
    with pytest.raises(TabNASError, match="cannot be read"):
        load_table(tmp_path / "bytes.json")
    with pytest.raises(TabNASError, match="cannot be written"):
        save_table(make_latency_table(), tmp_path / "bytes.json" / "table.json")


class TestCachedTable:
    @pytest.fixture(autouse=True)
    def cache(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        return tmp_path

    def measure(self) -> LatencyTable:
        self.n_measured = getattr(self, "n_measured", 0) + 1
        return make_latency_table(machine=Machine.here())

    def test_a_machine_is_measured_once(self) -> None:
        assert load_or_measure_table(self.measure) == load_or_measure_table(self.measure)
        assert self.n_measured == 1

    def test_another_machine_has_another_file(self) -> None:
        here = Machine.here()
        others = [here, replace(here, version="0.1"), replace(here, runtime="c")]
        assert len({cached_table_path(other) for other in others}) == 3

    def test_a_table_of_another_machine_is_not_used(self) -> None:
        save_table(make_latency_table(), cached_table_path())
        assert load_or_measure_table(self.measure).machine == Machine.here()
        assert self.n_measured == 1

    def test_a_damaged_table_is_measured_again(self) -> None:
        load_or_measure_table(self.measure)
        cached_table_path().write_text("{")
        load_or_measure_table(self.measure)
        assert self.n_measured == 2
        assert load_table(cached_table_path()) == self.measure()

    def test_a_table_of_an_older_format_is_measured_again(self) -> None:
        table = json.loads(self.measure().to_json()) | {"format": 1}
        cached_table_path().parent.mkdir(parents=True)
        cached_table_path().write_text(json.dumps(table))
        load_or_measure_table(self.measure)
        assert self.n_measured == 2
        assert load_table(cached_table_path()).machine == Machine.here()

    def test_a_table_of_a_busy_machine_is_not_cached(self) -> None:
        calls = tuple(replace(call, spread=0.4) for call in self.measure().calls)
        busy = replace(self.measure(), calls=calls)
        assert load_or_measure_table(lambda: busy) == busy
        assert not cached_table_path().exists()

    def test_a_cache_that_cannot_be_written_is_no_error(self, cache: Path) -> None:
        (cache / "tabnas").write_text("a file is in the way")
        assert load_or_measure_table(self.measure).machine == Machine.here()
