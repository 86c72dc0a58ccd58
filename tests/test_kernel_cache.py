"""Compiled kernels are found again, whatever folders can be written and whatever became of them."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from llvmlite.binding import Linkage

from tabnas import kernel_cache, numba_internals
from tabnas.kernel_cache import cache_on_disk
from tabnas.nets.compiled._kernels import KERNELS
from tests.processes import import_path

NAME = "made_kernels"
SOURCE = """
from tabnas.kernel_cache import cached_njit

@cached_njit
def twice(x):
    return {factor} * x
"""


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Path]]:
    """A source file, and the folders where its code may be kept."""
    source = tmp_path / "source"
    source.mkdir()
    (source / f"{NAME}.py").write_text(SOURCE.format(factor=2))
    found = {
        "named": tmp_path / "named",
        "beside": source / "__pycache__",
        "user": tmp_path / "user" / "tabnas",
        "temporary": tmp_path / "temporary" / f"tabnas-{os.getuid()}",
    }
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    kernel_cache._warn_once.cache_clear()
    yield found
    sys.modules.pop(NAME, None)


def loaded(places: dict[str, Path]) -> Any:
    """The kernel as a new process has it."""
    path = places["beside"].parent / f"{NAME}.py"
    spec = importlib.util.spec_from_file_location(NAME, path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = module
    spec.loader.exec_module(module)
    return module.twice


def was_compiled(places: dict[str, Path], *, gives: int = 42) -> bool:
    """Call the kernel; whether it had to be compiled for that."""
    twice = loaded(places)
    assert twice(21) == gives
    return not sum(twice.stats.cache_hits.values())


def kernels(places: dict[str, Path]) -> dict[str, list[Path]]:
    """The files in each place that has some."""
    found = {name: sorted(place.rglob("*.kernel")) for name, place in places.items()}
    return {name: files for name, files in found.items() if files}


def block(place: Path) -> None:
    """Make it a folder that nobody can write to, whatever their rights: it is a file."""
    place.parent.mkdir(exist_ok=True)
    place.touch()


@pytest.mark.parametrize(
    ("blocked", "named", "kept_in"),
    [
        ([], False, "beside"),
        ([], True, "named"),
        (["named"], True, "beside"),
        (["beside"], False, "user"),
        (["beside", "user"], False, "temporary"),
        (["named", "beside", "user"], True, "temporary"),
    ],
)
def test_kernels_are_kept_in_the_first_folder_that_can_be_written(
    blocked: list[str],
    named: bool,
    kept_in: str,
    places: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(places["named"]) if named else "")
    for name in blocked:
        block(places[name])
    assert was_compiled(places)
    assert list(kernels(places)) == [kept_in]
    assert not was_compiled(places)
    said = [record.message for record in caplog.records]
    assert [message[:20] for message in said if "NUMBA_CACHE_DIR" in message] == (
        ["NUMBA_CACHE_DIR must"] if "named" in blocked else []
    )


def test_without_any_folder_kernels_are_compiled_each_time_and_that_is_said_once(
    places: dict[str, Path], caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("beside", "user", "temporary"):
        block(places[name])
    assert was_compiled(places)
    assert was_compiled(places)
    said = [record.message for record in caplog.records if "no folder" in record.message]
    assert len(said) == 1
    assert "NUMBA_CACHE_DIR" in said[0]


def test_a_user_without_a_home_has_temporary_files(
    places: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def homeless(path: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "expanduser", homeless)
    block(places["beside"])
    assert was_compiled(places)
    assert list(kernels(places)) == ["temporary"]


def test_a_read_only_installation_with_kernels_in_it_needs_no_other_place(
    places: dict[str, Path], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    was_compiled(places)

    def read_only(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    for name in ("mkdir", "write_bytes", "unlink"):
        monkeypatch.setattr(Path, name, read_only)
    assert not was_compiled(places)
    assert not caplog.records


def test_damaged_files_are_compiled_anew(
    places: dict[str, Path], caplog: pytest.LogCaptureFixture
) -> None:
    """Cut anywhere, emptied, other bytes, one bit turned: what is run is what was compiled."""
    was_compiled(places)
    (path,) = kernels(places)["beside"]
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    damages = [b"", b"\0" * len(whole), b"garbage" * 99, whole + b"\0", whole[:50]]
    damages += [whole[:cut] for cut in rng.integers(1, len(whole), 4)]
    for place in rng.integers(80, len(whole), 4):
        turned = bytearray(whole)
        turned[place] ^= 1 << int(rng.integers(8))
        damages.append(bytes(turned))
    for damage in damages:
        path.write_bytes(damage)
        caplog.clear()
        assert was_compiled(places)
        (record,) = caplog.records
        assert f"{path} is damaged" in record.message
        assert not was_compiled(places)


def test_other_sources_are_compiled_anew_in_the_same_file(
    places: dict[str, Path], caplog: pytest.LogCaptureFixture
) -> None:
    was_compiled(places)
    before = kernels(places)
    (places["beside"].parent / f"{NAME}.py").write_text(SOURCE.format(factor=100))
    assert was_compiled(places, gives=2100)
    assert kernels(places) == before
    assert not caplog.records


@pytest.mark.parametrize("how", ["open to others", "of another user", "a link"])
def test_folders_that_others_can_write_are_not_trusted(
    how: str,
    places: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    block(places["beside"])
    was_compiled(places)
    assert list(kernels(places)) == ["user"]
    assert places["user"].stat().st_mode & 0o777 == 0o700
    if how == "open to others":
        places["user"].chmod(0o777)
    elif how == "a link":
        elsewhere = places["user"].rename(places["user"].with_name("elsewhere"))
        places["user"].symlink_to(elsewhere)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert was_compiled(places)
    assert "must belong to you and be closed to others" in caplog.text


def test_closures_are_refused() -> None:
    factor = 3

    def times(x: int) -> int:
        return factor * x

    with pytest.raises(TypeError, match="must not close over"):
        cache_on_disk(numba.njit(times), "")


def test_without_a_compiler_kernels_are_python(
    places: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    assert loaded(places)("ab") == "abab"


# -- other versions of Numba -----------------------------------------------------------------------


def test_this_numba_is_tested() -> None:
    assert numba.version_info[:2] <= kernel_cache.NEWEST_TESTED_NUMBA


@pytest.fixture
def later_numba(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if the installed Numba were newer than all that are tested."""
    monkeypatch.setattr(kernel_cache, "NEWEST_TESTED_NUMBA", (0, 1))
    kernel_cache._internals.cache_clear()
    yield
    kernel_cache._internals.cache_clear()


def test_a_later_numba_that_works_alike_keeps_kernels(
    later_numba: None, places: dict[str, Path], caplog: pytest.LogCaptureFixture
) -> None:
    assert was_compiled(places)
    assert not was_compiled(places)
    assert not caplog.records


CHANGES: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "a class is gone": lambda patch: patch.delattr("numba.core.codegen.JITCodeLibrary"),
    "modules are finalised elsewhere": lambda patch: patch.delattr(
        numba_internals.IsolatedLibrary, "_finalize_final_module"
    ),
    "code is cached elsewhere": lambda patch: patch.setattr(
        numba_internals, "attach_cache", lambda dispatcher, cache: None
    ),
    "results are loaded otherwise": lambda patch: patch.delattr(
        numba_internals._result, "_rebuild"
    ),
    "results are saved otherwise": lambda patch: patch.delattr(numba_internals._result, "_reduce"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_with_a_numba_that_works_otherwise_every_process_compiles(
    change: str,
    later_numba: None,
    places: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Numba's own cache is not used: a process that finds code there may round otherwise."""
    if change == "a class is gone":  # seen by whoever imports the module for the first time
        monkeypatch.delitem(sys.modules, "tabnas.numba_internals")
        monkeypatch.delattr("tabnas.numba_internals")
    CHANGES[change](monkeypatch)
    assert was_compiled(places)
    assert was_compiled(places)
    assert not kernels(places)
    said = [record.message for record in caplog.records if "cannot be cached" in record.message]
    assert len(said) == 1
    assert f"Numba {numba.__version__}" in said[0]


# -- processes -------------------------------------------------------------------------------------

CALL = f"from {NAME} import twice; print(twice(21), sum(twice.stats.cache_hits.values()))"


def process(path: Path, cache: Path) -> subprocess.Popen[str]:
    changed = {"PYTHONPATH": str(path), "XDG_CACHE_HOME": str(cache), "NUMBA_CACHE_DIR": ""}
    return subprocess.Popen(
        [sys.executable, "-c", CALL],
        env=os.environ | changed, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@pytest.mark.slow
def test_processes_may_compile_at_the_same_time(places: dict[str, Path], tmp_path: Path) -> None:
    source = places["beside"].parent
    several = [process(source, tmp_path) for _ in range(2)]
    for one in several:
        said, errors = one.communicate()
        assert (said[:2], errors) == ("42", "")
    said, errors = process(source, tmp_path).communicate()
    assert (said, errors) == ("42 1\n", "")


@pytest.mark.slow
def test_a_zipped_package_keeps_its_kernels_in_the_users_folder(
    places: dict[str, Path], tmp_path: Path
) -> None:
    with zipfile.ZipFile(tmp_path / "package.zip", "w") as archive:
        archive.writestr(f"{NAME}.py", SOURCE.format(factor=2))
    for hits in (0, 1):
        said, errors = process(tmp_path / "package.zip", tmp_path / "user").communicate()
        assert (said, errors) == (f"42 {hits}\n", "")
    assert list(kernels(places)) == ["user"]


MADE_ARRAY = """
import numpy as np
from tabnas.kernel_cache import cached_njit

@cached_njit
def count(x):
    return np.full(3, x).cumsum() if x else np.zeros(0, np.int64)
"""
CALL_IN_A_PROCESS = f"""
import sys
from {NAME} import count
print(count(2).tolist(), sum(count.stats.cache_hits.values()), "numba.np.linalg" in sys.modules)
"""


def test_to_load_a_kernel_is_not_to_import_the_compiler(places: dict[str, Path]) -> None:
    """The code calls functions of Numba, whose modules would be most of a compiler."""
    source = places["beside"].parent
    (source / f"{NAME}.py").write_text(MADE_ARRAY)
    said = [
        subprocess.run(
            [sys.executable, "-c", CALL_IN_A_PROCESS],
            env=import_path(source), capture_output=True, text=True, check=True,
        ).stdout
        for _ in range(2)
    ]  # fmt: skip
    assert said == ["[2, 4, 6] 0 True\n", "[2, 4, 6] 1 False\n"]


def test_a_kernel_calls_its_own_copies_of_functions() -> None:
    """Bound to those that its process has compiled by themselves, it could round otherwise.

    What other libraries may be bound to, or may bind, is weak in the code that is kept.
    """
    (built,) = KERNELS.train.overloads.values()
    entries = {built.fndesc.llvm_func_name, built.fndesc.llvm_cpython_wrapper_name}
    module = built.library._get_module_for_linking()
    defined = {one.name: one.linkage for one in module.functions if not one.is_declaration}
    shared = {name for name, linkage in defined.items() if linkage is not Linkage.internal}
    assert len(defined) > len(entries)  # some were not inlined
    assert shared - {built.fndesc.llvm_cfunc_wrapper_name} == entries
