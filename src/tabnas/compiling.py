"""Compiled kernels, kept on disk: found wherever they lie, written wherever there is room.

Numba's own cache ends the import where it finds no folder to write to, ends the call where one of
its files is damaged, and does not look into folders that it can only read. This one looks for
machine code in these folders, and leaves new code in the first of them that it can write:

1. `NUMBA_CACHE_DIR`, if the user has set it;
2. `__pycache__` beside the source, which may also be read-only: an image that was built with
   kernels in it needs no other place;
3. the user's folder for caches (`XDG_CACHE_HOME`, `~/.cache`, or what the system has for it);
4. a folder of the user's own among the temporary files.

Machine code is code, and Numba wraps it in a pickle: whoever can write such a folder decides what
runs, and digests tell damage, not intent. So 3 and 4 are used only if they belong to the user and
nobody else can write there; `__pycache__` is as safe as the sources beside it.
"""

from __future__ import annotations

import inspect
import logging
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar
from uuid import uuid4

import llvmlite
import numba

from tabnas import __version__
from tabnas.files import user_cache

Function = TypeVar("Function", bound=Callable[..., Any])

MAGIC = b"tabnas kernel 1\n"
HEAD = len(MAGIC) + 32 + 32  # two digests: of what the code was made from and by, of the code
ENDING = ".kernel"
NEWEST_TESTED_NUMBA = (0, 68)
WAY = "whole"  # of compiling: what was compiled in another is compiled anew

logger = logging.getLogger("tabnas")

_njit: Any = numba.njit
_config: Any = numba.config


def compiled(function: Function) -> Function:
    """Compile a function for each kind of arguments that it is called with, and keep the code.

    What it calls must be in the same file, so that a change there is seen.
    """
    try:
        source = inspect.getsource(sys.modules[function.__module__])
    except OSError:  # an installation without sources: they are those of the version
        source = ""
    dispatcher: Function = kept(whole(nogil=True)(function), source)
    return dispatcher


def whole(**options: Any) -> Any:
    """Numba's `njit` for functions whose machine code is kept: it calls its own copies only."""
    internals = _internals()
    if internals is None:
        return _njit(**options)
    return _njit(pipeline_class=internals.IsolatingCompiler, **options)


def kept(
    dispatcher: Any,
    source: str,
    signature: Any = None,
    *,
    on_compile: Callable[[], None] = lambda: None,
) -> Any:
    """Let a function of Numba's find its machine code on disk, and leave it there.

    `source` stands for all that it is compiled from; with another one it is compiled anew. With a
    `signature` that happens at once, and other kinds of arguments are refused. `on_compile` is
    called before anything is compiled.
    """
    if _config.DISABLE_JIT:  # then Numba gives back the Python function
        return dispatcher
    if dispatcher.py_func.__closure__:
        raise TypeError("a kernel that is kept must not close over values: they are not in its key")
    internals = _internals()
    if internals is not None:
        files = _KernelFiles(dispatcher.py_func, source)

        def find(kind: str) -> bytes | None:
            payload = files.find(kind)
            if payload is None:
                on_compile()
            return payload

        internals.attach_cache(dispatcher, internals.OverloadCache(find, files.keep))
    else:
        on_compile()
    if signature is not None:
        dispatcher.compile(signature)
        dispatcher.disable_compile()
    return dispatcher


@cache
def _internals() -> ModuleType | None:
    """The module that stands on Numba's inner workings, or None if this Numba works otherwise.

    Numba's own cache is no way out: a process that has compiled a kernel would round otherwise than
    one that has found it there. Where every process compiles, all of them have the same.
    """
    try:
        from tabnas import numba_internals

        if numba.version_info[:2] > NEWEST_TESTED_NUMBA:
            numba_internals.probe()
    except Exception as error:
        logger.warning(
            "compiled kernels cannot be kept with Numba %s (%s: %s), so every process compiles "
            "them anew; with Numba %d.%d they can",
            *(numba.__version__, type(error).__name__, error, *NEWEST_TESTED_NUMBA),
        )
        return None
    return numba_internals


class _KernelFiles:
    """The machine code of a function on disk.

    A file for each kind of arguments and processor: the digest of what it was compiled from and by,
    the digest of the rest, the rest.
    """

    def __init__(self, function: Callable[..., Any], source: str) -> None:
        self._path = Path(inspect.getfile(function))
        self._name = f"{function.__module__}.{function.__qualname__}".replace(".<locals>", "")
        made_by = (WAY, __version__, numba.__version__, llvmlite.__version__, sys.version, source)
        self._origin = sha256(repr(made_by).encode()).digest()

    def find(self, kind: str) -> bytes | None:
        """Return the code for a kind of arguments, or None if no file has it fresh and whole."""
        for folder in _folders(self._path):
            path = folder / self._file(kind)
            try:
                content = path.read_bytes()
            except OSError:
                continue
            head, payload = content[:HEAD], content[HEAD:]
            if not head.startswith(MAGIC) or not head.endswith(sha256(payload).digest()):
                logger.warning("%s is damaged, so it is compiled once more", path)
                with suppress(OSError):
                    path.unlink()
            elif head.startswith(MAGIC + self._origin):
                return payload
        return None

    def keep(self, kind: str, payload: bytes) -> None:
        """Write the code for a kind of arguments where that can be done."""
        content = MAGIC + self._origin + sha256(payload).digest() + payload
        for folder in _folders(self._path, make=True):
            try:
                _write(folder / self._file(kind), content)
            except OSError as error:
                if folder.parent == Path(_config.CACHE_DIR):
                    _say_once(
                        "NUMBA_CACHE_DIR must be a folder that can be written, however "
                        f"{_config.CACHE_DIR!r} cannot ({error.strerror}); kernels go elsewhere"
                    )
            else:
                return
        _say_once(
            "no folder can be written for compiled kernels, so every process compiles them anew; "
            "NUMBA_CACHE_DIR names one"
        )

    def _file(self, kind: str) -> str:
        digest = sha256(kind.encode()).hexdigest()
        return f"{self._name}.{sys.implementation.cache_tag}.{digest[:16]}{ENDING}"


# -- where -----------------------------------------------------------------------------------------


def _folders(source: Path, *, make: bool = False) -> Iterator[Path]:
    """The folders where the code of a source file may be, made if they are to be written to."""
    place = str(source.parent.absolute())  # one cache serves several installations
    own = f"tabnas-{sha256(place.encode()).hexdigest()[:16]}"
    if _config.CACHE_DIR:
        yield Path(_config.CACHE_DIR) / own
    yield source.parent / "__pycache__"
    for find in (user_cache, _temporary):
        try:
            private = find()
            if make:
                private.parent.mkdir(parents=True, exist_ok=True)
                private.mkdir(mode=0o700, exist_ok=True)
            usable = _is_private(private)
        except (OSError, RuntimeError):  # there is no such folder, or no home to have it in
            continue
        if usable:
            yield private / own
        else:
            _say_once(
                f"{str(private)!r} must be your own and closed to others to keep compiled kernels, "
                "however it is not; they go elsewhere"
            )


def _temporary() -> Path:
    user = os.getuid() if hasattr(os, "getuid") else "kernels"
    return Path(tempfile.gettempdir()) / f"tabnas-{user}"


def _is_private(folder: Path) -> bool:
    """Whether a folder is the user's own, no link, and nobody else can write to it."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        return False
    if os.name != "posix":
        return True  # these systems give each user such folders, closed to others
    return found.st_uid == os.geteuid() and not found.st_mode & 0o022


def _write(path: Path, content: bytes) -> None:
    """A file that appears whole or not at all, whoever else writes it at the same time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{uuid4().hex}{ENDING}")
    try:
        aside.write_bytes(content)
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


@cache
def _say_once(message: str) -> None:
    logger.warning(message)
