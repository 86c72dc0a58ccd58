"""Nothing that tabnas reads can be code: no module uses what would make objects of a file."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import tabnas

ROOT = Path(tabnas.__file__).parent
MODULES = {
    "pickle", "_pickle", "cPickle", "cloudpickle", "dill", "marshal", "shelve", "joblib", "yaml",
    "jsonpickle", "code", "codeop", "imp", "runpy", "subprocess", "numba.core.serialize",
}  # fmt: skip
"""Ways to turn bytes into objects or commands."""
BUILTINS = {"eval", "exec", "compile", "__import__"}
ATTRIBUTES = {"allow_pickle", "read_pickle", "to_pickle", "load_module", "import_module"}
FUNCTIONS = {"np.load", "numpy.load", "torch.load", "torch.save", "os.system", "os.popen"}

ALLOWED = {
    # the cache of machine code, which is code by nature: SECURITY.md says who may write there
    "numba_internals.py": {"numba.core.serialize"},
    # a process and its workers talk to one another; nothing of it is read from a file
    "jobs/_executor.py": {"pickle"},
    "jobs/_job_process.py": {"pickle"},
    "processes.py": {"joblib.externals.loky", "joblib.externals.loky.ProcessPoolExecutor"},
    # a C compiler of this machine, for files that tabnas wrote itself, with escaped texts only
    "export/c/_compiler.py": {"subprocess"},
    # of an empty text, to clear a flag of Python
    "cli/_entry_point.py": {"exec"},
}


def uses(source: str) -> Iterator[str]:
    """Whatever a module uses of these, also inside functions."""
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
        yield from (name for name in names if name in MODULES or name.split(".")[0] in MODULES)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield from {node.func.id} & BUILTINS
        if isinstance(node, ast.Attribute):
            yield from {node.attr} & ATTRIBUTES
            yield from {ast.unparse(node)} & FUNCTIONS
        if isinstance(node, ast.keyword) and node.arg in ATTRIBUTES:
            yield str(node.arg)


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_no_module_makes_objects_of_files(path: Path) -> None:
    allowed = ALLOWED.get(path.relative_to(ROOT).as_posix(), set())
    assert set(uses(path.read_text(encoding="utf-8"))) <= allowed


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from pickle import loads",
        "def f():\n    import joblib",
        "import numpy as np\nnp.load('x')",
        "eval('1')",
        "exec(text)",
        "__import__(name)",
        "f(x, allow_pickle=True)",
        "import pandas as pd\npd.read_pickle('x')",
        "import os\nos.system('x')",
        "from numba.core import serialize",
        "import importlib\nimportlib.import_module(name)",
    ],
)
def test_the_test_sees_them(source: str) -> None:
    assert list(uses(source))


def test_words_alone_are_no_use() -> None:
    assert not list(uses('"""No pickle, no eval()."""\nnet.eval()\nre.compile("x")'))
