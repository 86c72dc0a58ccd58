"""Compilation is announced when it happens, and cached between processes."""

from __future__ import annotations

import subprocess
import sys

import numba
import pytest
from numba import types

from tabnas.nets.compiled import _jit


def test_only_real_compilation_is_announced_and_only_once(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    for announcements in (1, 0):
        _jit.announce.cache_clear()
        caplog.clear()
        for result, kind in ((types.int64, types.int64), (types.float64, types.float64)):

            @_jit.kernel(result, kind)
            def twice(x):
                return 2 * x

            assert twice(2) == 4
        assert [record.message[:9] for record in caplog.records] == ["compiling"] * announcements


@pytest.mark.parametrize("has_option", [True, False])
def test_a_later_numba_may_lack_the_option_to_inline(has_option, monkeypatch, caplog):
    njit = numba.njit

    def njit_without(*arguments, forceinline=None, **options):
        if forceinline:
            raise KeyError("Unrecognized options: {'forceinline'}")
        return njit(*arguments, **options)

    monkeypatch.setattr(_jit, "NEWEST_TESTED_NUMBA", (0, 1))
    if not has_option:
        monkeypatch.setattr(_jit, "_njit", njit_without)
    _jit._inline_options.cache_clear()
    try:
        assert _jit.njit_inline(lambda x: 2 * x)(2) == 4
    finally:
        _jit._inline_options.cache_clear()
    assert ["inlines nothing" in record.message for record in caplog.records] == [True] * (
        not has_option
    )


@pytest.mark.slow
def test_a_second_process_uses_the_cache():
    import tabnas.nets.compiled  # noqa: F401  (leaves the kernels in the cache on disk)

    done = subprocess.run(
        [sys.executable, "-c", "import tabnas.nets.compiled"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert "compiling" not in done.stderr
