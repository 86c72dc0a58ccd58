"""Compilation: announced when it happens, cached between processes."""

from __future__ import annotations

import subprocess
import sys

from tabnas.nets.compiled._jit import announced, inner


def test_only_real_compilation_is_announced(caplog):
    @inner
    def twice(x):
        return 2 * x

    with announced():
        assert twice(2) == 4
        assert twice(2.0) == 4.0
    assert [record.message[:9] for record in caplog.records] == ["compiling"]
    caplog.clear()
    with announced():
        twice(3)
    assert not caplog.records


def test_a_second_process_compiles_nothing():
    import tabnas.nets.compiled  # noqa: F401  (leaves the kernels in the cache on disk)

    done = subprocess.run(
        [sys.executable, "-c", "import tabnas.nets.compiled"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert "compiling" not in done.stderr
