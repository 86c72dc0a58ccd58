"""Models on disk: equal bytes, equal predictions, and an error for every malformed file."""

from __future__ import annotations

import json
import os
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tabnas import InfeasibleError, TabNASError
from tabnas.data import ClassTarget
from tabnas.model import Model, _files, load_model, save_model
from tabnas.model._document import digest, render_document
from tabnas.model._files import DOCUMENT, WEIGHTS
from tests.model.conftest import Fitted, make_mixed_columns
from tests.model.test_model import change_model

FUZZ = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


def read_files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def saved(mixed: Fitted, tmp_path: Path) -> Path:
    save_model(mixed.model, tmp_path / "model")
    return tmp_path / "model"


# -- round trips ---------------------------------------------------------------------------------


def test_a_loaded_model_predicts_the_same_bits(fitted: Fitted, tmp_path: Path):
    save_model(fitted.model, tmp_path / "deep" / "model")
    loaded = load_model(tmp_path / "deep" / "model")
    np.testing.assert_array_equal(
        loaded.predict_raw(fitted.table), fitted.model.predict_raw(fitted.table)
    )
    answers = fitted.model.predict(fitted.table)
    np.testing.assert_array_equal(loaded.predict(fitted.table), answers)
    assert loaded.predict(fitted.table).dtype == answers.dtype
    for name in (
        "architecture", "category_dimensions", "knots", "limits", "classes", "feature_names",
        "costs",
    ):  # fmt: skip
        assert getattr(loaded, name) == getattr(fitted.model, name)


def test_equal_models_give_equal_files(fitted: Fitted, tmp_path: Path):
    save_model(fitted.model, tmp_path / "first")
    backwards = dict(reversed(fitted.model.weights.items()))
    save_model(change_model(fitted.model, weights=backwards), tmp_path / "second")
    save_model(load_model(tmp_path / "first"), tmp_path / "third")
    assert read_files(tmp_path / "first") == read_files(tmp_path / "second")
    assert read_files(tmp_path / "first") == read_files(tmp_path / "third")


def test_the_format_of_the_files_is_as_documented(saved: Path):
    document = json.loads((saved / DOCUMENT).read_text())
    assert set(read_files(saved)) == {"model.json", "weights.safetensors"}
    assert document["format"] == 2
    assert document["architecture"] == "8"
    assert document["limits"] == {"latency_us": 5.5, "parameters": 2000}
    from safetensors.numpy import load_file

    shapes = {name: list(array.shape) for name, array in load_file(saved / WEIGHTS).items()}
    assert document["weights"]["shapes"] == shapes


# -- writing -------------------------------------------------------------------------------------


def test_models_are_replaced_only_with_overwrite(saved: Path, iris: Fitted):
    before = read_files(saved)
    with pytest.raises(TabNASError, match="holds a model already; choose another folder or set"):
        save_model(iris.model, saved)
    assert read_files(saved) == before
    save_model(iris.model, saved, overwrite=True)
    assert load_model(saved).classes == iris.model.classes
    assert [path.name for path in saved.parent.iterdir()] == ["model"]


def test_folders_that_are_not_models_are_never_replaced(iris: Fitted, tmp_path: Path, saved: Path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "thesis.txt").write_text("years of work")
    (saved / "mine.txt").write_text("beside a model")
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "notes", saved, tmp_path / "file"):
        with pytest.raises(TabNASError, match="holds something else"):
            save_model(iris.model, folder, overwrite=True)
    assert (saved / "mine.txt").exists()
    (tmp_path / "empty").mkdir()
    save_model(iris.model, tmp_path / "empty")
    load_model(tmp_path / "empty")


@pytest.mark.parametrize("failing", ["fsync", "rename"])
def test_a_failed_save_keeps_the_existing_model(
    saved: Path, iris: Fitted, monkeypatch: pytest.MonkeyPatch, failing: str
):
    before = read_files(saved)

    def fail(*_: object) -> None:
        raise OSError("disk full")

    if failing == "fsync":
        monkeypatch.setattr(os, "fsync", fail)
    else:
        rename = Path.rename
        monkeypatch.setattr(
            Path, "rename", lambda self, to: fail() if self.suffix == ".new" else rename(self, to)
        )
    with pytest.raises(TabNASError, match=r"cannot be written to .*disk full"):
        save_model(iris.model, saved, overwrite=True)
    assert read_files(saved) == before
    assert [path.name for path in saved.parent.iterdir()] == ["model"]


def test_labels_that_json_cannot_store_are_refused(iris: Fitted, tmp_path: Path):
    import datetime

    days = tuple(datetime.date(2024, 1, day) for day in (1, 2, 3))
    model = change_model(iris.model, target=ClassTarget(name="day", classes=days))
    with pytest.raises(TabNASError, match="only be saved if it holds texts, numbers and booleans"):
        save_model(model, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_document_too_large_to_read_is_not_written(
    iris: Fitted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(_files, "MAX_DOCUMENT", 100)
    with pytest.raises(TabNASError, match=r"model\.json must be at most 100 bytes"):
        save_model(iris.model, tmp_path / "model")


# -- reading -------------------------------------------------------------------------------------


def rewrite(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the document and update its digest."""
    document = json.loads((folder / DOCUMENT).read_text())
    del document["sha256"], document["kind"]
    change(document)
    (folder / DOCUMENT).write_bytes(render_document(document))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "another"}, "kind must be one of 'tabnas model', got 'another'"),
        ({"format": 3}, "written by a newer tabnas"),
        ({"format": "1"}, "format must be an integer, got '1'"),
        ({"format": True}, "format must be an integer, got True"),
        ({"extra": 1}, "model.json: extra is unknown"),
        ({"architecture": 8}, "architecture must be a string, got 8"),
        ({"architecture": "8-x"}, "architecture: an architecture must be written as"),
        (
            {"architecture": "9" * 5000},
            r"architecture: an architecture must be written as .{,300}$",
        ),
        ({"architecture": "1000000-1000000"}, "weights: the shapes must be those of the"),
        ({"dimensions": [3]}, "dimensions and knots: there must be one embedding dimension"),
        ({"dimensions": [3, "3"]}, r"dimensions\[1\] must be an integer, got '3'"),
        ({"dimensions": [3, 10**30]}, "weights: the shapes must be those of the"),
        ({"dimensions": None}, "dimensions must be a list, got None"),
        (
            {"limits": {"parameters": "many"}},
            "limits.parameters must be an integer or a number, got 'many'",
        ),
        ({"limits": {"parameters": 10**400}}, None),
        ({"limits": []}, "limits must be an object"),
        ({"encoder": {}}, "encoder: "),
        ({"encoder": []}, "encoder must be an object"),
        ({"target": {}}, "target: "),
        ({"target": {"kind": "classes"}}, "target: "),
        ({"target": None}, "target must be an object"),
        ({"weights": {}}, "weights.sha256 is missing"),
    ],
)
def test_fields_are_checked(saved: Path, change: dict[str, Any], message: str | None):
    rewrite(saved, lambda document: document.update(change))
    if message is None:
        load_model(saved)
        return
    with pytest.raises(TabNASError, match=message):
        load_model(saved)


def test_limits_are_checked_on_loading(saved: Path):
    rewrite(saved, lambda document: document["limits"].update(parameters=10))
    with pytest.raises(InfeasibleError, match="the limit on parameters is 10, but"):
        load_model(saved)


@pytest.fixture
def saved_embedded(embedded: Fitted, tmp_path: Path) -> Path:
    save_model(embedded.model, tmp_path / "embedded")
    return tmp_path / "embedded"


def change_knots(
    change: Callable[[list[list[Any]]], object],
) -> Callable[[dict[str, Any]], None]:
    """Return a change of the document that changes its knots in place."""
    return lambda document: [change(document["knots"]), None][1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (change_knots(lambda knots: knots[0].append(1e6)), "weights: the shapes must be those"),
        (change_knots(lambda knots: knots[0].pop()), "weights: the shapes must be those"),
        (change_knots(lambda knots: knots[0].reverse()), "column 0 must be at least two finite"),
        (change_knots(lambda knots: knots[0].insert(1, knots[0][0])), "numbers that ascend"),
        (change_knots(lambda knots: knots[0].append(1e39)), "column 0 must be at least two finite"),
        (
            change_knots(lambda knots: knots[0].append(10**400)),
            r"knots\[0\]\[\d\] must be a number",
        ),
        (change_knots(lambda knots: knots[0].append("1")), r"knots\[0\]\[\d\] must be a number"),
        (change_knots(lambda knots: knots[0].append(None)), r"knots\[0\]\[\d\] must be a number"),
        (change_knots(lambda knots: knots.pop()), r"each of the \d+ numeric columns, got \d+"),
        (change_knots(lambda knots: knots.append([])), r"each of the \d+ numeric columns, got"),
        (change_knots(lambda knots: knots.clear()), "embeds numbers, but no feature has knots"),
        (lambda document: document.pop("knots"), "embeds numbers, but no feature has knots"),
        (lambda document: document.update(knots=3), "knots must be a list, got 3"),
        (lambda document: document.update(architecture="8"), "there must be no knots, since"),
        (lambda document: document.update(architecture="d2-8"), "weights: the shapes must be"),
        (lambda document: document.update(architecture="d0-8"), "architecture: an architecture"),
        (lambda document: document.update(architecture="d1001-8"), "must be at most 1,000, got"),
    ],
)
def test_knots_are_checked(
    saved_embedded: Path, change: Callable[[dict[str, Any]], None], message: str
):
    rewrite(saved_embedded, change)
    with pytest.raises(TabNASError, match=rf"^model\.json.*{message}"):
        load_model(saved_embedded)


def test_knots_that_are_not_numbers_are_refused(saved_embedded: Path):
    text = (saved_embedded / DOCUMENT).read_text()
    first = json.dumps(json.loads(text)["knots"][0][0])
    (saved_embedded / DOCUMENT).write_text(text.replace(first, "NaN"))
    with pytest.raises(TabNASError, match="NaN is not a JSON number"):
        load_model(saved_embedded)


def test_limits_of_models_with_embeddings_are_checked_on_loading(
    saved_embedded: Path, embedded: Fitted
):
    needs = int(embedded.model.costs["parameters"])
    rewrite(saved_embedded, lambda document: document["limits"].update(parameters=needs))
    load_model(saved_embedded)
    rewrite(saved_embedded, lambda document: document["limits"].update(parameters=needs - 1))
    with pytest.raises(InfeasibleError, match=f"the limit on parameters is {needs - 1:,}, but"):
        load_model(saved_embedded)


def test_files_of_the_first_format_are_read(saved: Path, mixed: Fitted):
    """They had no knots."""
    document = json.loads((saved / DOCUMENT).read_text())
    del document["sha256"], document["knots"]
    (saved / DOCUMENT).write_bytes(render_document(document | {"format": 1}))
    np.testing.assert_array_equal(
        load_model(saved).predict_raw(mixed.table), mixed.model.predict_raw(mixed.table)
    )


def test_a_missing_field_is_refused(saved: Path):
    rewrite(saved, lambda document: document.pop("limits"))
    with pytest.raises(TabNASError, match=r"model\.json: limits is missing"):
        load_model(saved)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cannot be read as JSON"),
        (b"\xff\xfe", "cannot be read as JSON"),
        (b"[]", "must be an object of names and values"),
        (b"{}", "kind is missing"),
        (b"[" * 1_000_000, "nested too deep"),
        (b'{"a": NaN}', "NaN is not a JSON number"),
        (
            b'{"kind": "tabnas model", "format": 1, "sha256": "", "a": 1e999}',
            "cannot be read as JSON",
        ),
        (b'{"a": 1, "a": 2}', "the same key twice"),
        (b'{"a": ' + b"9" * 5000 + b"}", "cannot be read as JSON"),
    ],
)
def test_documents_are_checked(saved: Path, content: bytes, message: str):
    (saved / DOCUMENT).write_bytes(content)
    with pytest.raises(TabNASError, match=message):
        load_model(saved)


def test_whitespace_does_not_matter(saved: Path, mixed: Fitted):
    document = json.loads((saved / DOCUMENT).read_text())
    (saved / DOCUMENT).write_text(json.dumps(document))
    np.testing.assert_array_equal(
        load_model(saved).predict_raw(mixed.table), mixed.model.predict_raw(mixed.table)
    )


def test_folders_that_are_not_models_are_refused(tmp_path: Path, saved: Path):
    for folder in (tmp_path, tmp_path / "absent", saved / DOCUMENT, "\0"):
        with pytest.raises(TabNASError, match="must be the folder of a model"):
            load_model(folder)
    (saved / WEIGHTS).unlink()
    (saved / WEIGHTS).mkdir()
    with pytest.raises(TabNASError, match="must be a file of the model's folder"):
        load_model(saved)


@pytest.mark.parametrize("name", [DOCUMENT, WEIGHTS])
def test_links_out_of_the_folder_are_refused(saved: Path, tmp_path: Path, name: str):
    (saved / name).rename(tmp_path / "elsewhere")
    (saved / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(TabNASError, match=f"{name} must be a file of the model's folder"):
        load_model(saved)
    (saved / name).unlink()
    (tmp_path / "elsewhere").rename(saved / "inside")
    (saved / name).symlink_to("inside")
    load_model(saved)


def test_a_circular_link_is_refused(saved: Path):
    (saved / DOCUMENT).unlink()
    (saved / DOCUMENT).symlink_to(DOCUMENT)
    with pytest.raises(TabNASError, match="cannot be read"):
        load_model(saved)


def test_a_fifo_does_not_hang(saved: Path):
    (saved / DOCUMENT).unlink()
    os.mkfifo(saved / DOCUMENT)
    with pytest.raises(TabNASError, match="must be a file"):
        load_model(saved)


# -- weights -------------------------------------------------------------------------------------


def read_header(data: bytes) -> tuple[dict[str, Any], bytes]:
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def with_header(header: Any, body: bytes) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


def replace_weights(folder: Path, data: bytes) -> None:
    (folder / WEIGHTS).write_bytes(data)
    rewrite(folder, lambda document: document["weights"].update(sha256=digest(data)))


def make_header_change(change: Callable[[dict[str, Any]], None]) -> Callable[[bytes], bytes]:
    def changed(data: bytes) -> bytes:
        header, body = read_header(data)
        change(header)
        return with_header(header, body)

    return changed


HEADERS = {
    "a huge length": (lambda data: (10**10).to_bytes(8, "little") + data[8:], "claims 10,000,000"),
    "no length": (lambda data: bytes(8) + data[8:], "claims 0"),
    "no JSON": (
        lambda data: with_header(b"x" * 50, read_header(data)[1]),
        "header of weights.safetensors cannot be read as JSON",
    ),
    "no object": (
        lambda data: with_header([1], read_header(data)[1]),
        "header of weights.safetensors must be an object",
    ),
    "another type": (
        make_header_change(lambda header: header["head.1.bias"].update(dtype="I32")),
        "head.1.bias.dtype must be one of 'F32', 'F16', 'I8', got 'I32'",
    ),
    "another precision": (
        make_header_change(lambda header: header["head.1.bias"].update(dtype="F16")),
        r"head.1.bias must be F32 of the shape \(1,\), got F16 \(1,\)",
    ),
    "another shape": (
        make_header_change(lambda header: header["head.1.bias"].update(shape=[10**10])),
        r"head.1.bias must be F32 of the shape \(1,\), got F32 \(10000000000,\)",
    ),
    "another name": (
        make_header_change(lambda header: header.update(other=header.pop("head.1.bias"))),
        "head.1.bias, other are missing or unknown",
    ),
    "a malformed entry": (
        make_header_change(lambda header: header.update({"head.1.bias": 3})),
        "head.1.bias must be an object of names and values, got 3",
    ),
    "odd offsets": (
        make_header_change(lambda header: header["head.1.bias"].update(data_offsets=["a", None])),
        r"data_offsets\[0\] must be an integer, got 'a'",
    ),
    "shared bytes": (
        make_header_change(
            lambda header: header["layer.1.bias"].update(
                data_offsets=header["layer.1.shift"]["data_offsets"]
            )
        ),
        "offsets must be",
    ),
    "more bytes": (lambda data: data + bytes(4), "offsets must be"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_headers_are_checked(saved: Path, name: str):
    change, message = HEADERS[name]
    replace_weights(saved, change((saved / WEIGHTS).read_bytes()))
    with pytest.raises(TabNASError, match=message):
        load_model(saved)


def test_weights_must_be_finite_and_undamaged(saved: Path):
    data = (saved / WEIGHTS).read_bytes()
    damaged = data[:-4] + np.float32(np.nan).tobytes()
    (saved / WEIGHTS).write_bytes(damaged)
    with pytest.raises(TabNASError, match="does not match its digest"):
        load_model(saved)
    replace_weights(saved, damaged)
    with pytest.raises(TabNASError, match="must be finite"):
        load_model(saved)


def test_small_files_cannot_allocate_much_memory(saved: Path):
    def claim(document: dict[str, Any]) -> None:
        document["architecture"] = "50000-50000"  # 10 GB
        width = document["weights"]["shapes"]["layer.1.weight"][0]
        shapes = document["weights"]["shapes"]
        for layer, fan_in in ((1, width), (2, 50_000)):
            shapes[f"layer.{layer}.weight"] = [fan_in, 50_000]
            for vector in ("bias", "scale", "shift"):
                shapes[f"layer.{layer}.{vector}"] = [50_000]
        del shapes["head.1.weight"], shapes["head.1.bias"]
        shapes.update({"head.2.weight": [50_000, 1], "head.2.bias": [1]})

    rewrite(saved, claim)
    tracemalloc.start()
    try:
        with pytest.raises(TabNASError, match=r"weights\.safetensors must have 10,0\d\d,\d\d\d,\d"):
            load_model(saved)
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


# -- fuzz ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["mixed", "embedded"])
def saved_model(request: pytest.FixtureRequest) -> Fitted:
    """Return a model without and one with numeric embeddings."""
    fitted_model: Fitted = request.getfixturevalue(request.param)
    return fitted_model


@pytest.fixture(scope="module")
def original(saved_model: Fitted, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("fuzz") / "model"
    save_model(saved_model.model, folder)
    return read_files(folder)


def attempt(folder: Path, files: dict[str, bytes]) -> Model | None:
    """Load these files; return None if that is a TabNASError."""
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    try:
        return load_model(folder)
    except TabNASError:
        return None


@FUZZ
@given(data=st.data(), name=st.sampled_from([DOCUMENT, WEIGHTS]))
def test_damaged_files_are_refused_or_harmless(data, name, original, saved_model, tmp_path):
    content = bytearray(original[name])
    kind = data.draw(st.sampled_from(["cut", "flip", "overwrite", "insert"]))
    position = data.draw(st.integers(0, len(content) - 1))
    if kind == "cut":
        del content[position:]
    elif kind == "flip":
        content[position] ^= 1 << data.draw(st.integers(0, 7))
    elif kind == "overwrite":
        piece = data.draw(st.binary(min_size=1, max_size=8))
        content[position : position + len(piece)] = piece
    else:
        content[position:position] = data.draw(st.binary(min_size=1, max_size=8))
    model = attempt(tmp_path / "model", original | {name: bytes(content)})
    if model is not None:
        np.testing.assert_array_equal(
            model.predict_raw(saved_model.table), saved_model.model.predict_raw(saved_model.table)
        )


def list_paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path to every value inside a JSON value."""
    inside = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [path, *(place for key, item in inside for place in list_paths(item, (*path, key)))]


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.sampled_from([0, -1, 1e308, 5e-324, 0.5, 10**30, "", "none", "robust", "a\ud800", "x"]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.lists(st.one_of(st.integers(), st.text(max_size=2)), max_size=3),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=2),
)


@FUZZ
@given(data=st.data())
def test_edits_with_a_valid_digest_give_an_error_or_a_model(data, original, tmp_path):
    document = json.loads(original[DOCUMENT])
    del document["sha256"], document["kind"]
    where = data.draw(st.sampled_from([place for place in list_paths(document) if place]))
    parent: Any = document
    for key in where[:-1]:
        parent = parent[key]
    if data.draw(st.integers(0, 4)) == 0:
        del parent[where[-1]]
    else:
        parent[where[-1]] = data.draw(ODD)
    model = attempt(tmp_path / "model", original | {DOCUMENT: render_document(document)})
    if model is not None:
        with np.errstate(all="ignore"), suppress(TabNASError):
            assert len(model.predict_proba(make_mixed_columns(5))) == 5


@FUZZ
@given(data=st.data())
def test_changed_weights_with_a_valid_digest_give_an_error_or_a_model(data, original, tmp_path):
    content = bytearray(original[WEIGHTS])
    length = int.from_bytes(content[:8], "little") + 8
    for _ in range(data.draw(st.integers(1, 3))):
        position = data.draw(st.integers(0, length + 40))
        content[position] = data.draw(st.integers(0, 255))
    document = json.loads(original[DOCUMENT])
    del document["sha256"], document["kind"]
    document["weights"]["sha256"] = digest(bytes(content))
    files = {DOCUMENT: render_document(document), WEIGHTS: bytes(content)}
    model = attempt(tmp_path / "model", files)
    if model is not None:  # only the weights have changed
        assert {n: a.shape for n, a in model.weights.items()} == {
            name: tuple(shape) for name, shape in document["weights"]["shapes"].items()
        }
        assert all(np.isfinite(array).all() for array in model.weights.values())
        assert model.costs["parameters"] <= model.limits["parameters"]
