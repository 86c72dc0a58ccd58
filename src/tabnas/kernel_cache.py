"""A cache of compiled kernels on disk.

Numba's own cache raises an error on import if it can write to no folder, raises an error on a call
if one of its files is damaged, and ignores read-only folders. This cache reads machine code from
these folders, and writes new code to the first of them that is writable:

1. `NUMBA_CACHE_DIR`, if the user has set it;
2. `__pycache__` beside the source, which may be read-only: a container image that was built with
   kernels in it needs no other folder;
3. the user's cache folder (`XDG_CACHE_HOME`, `~/.cache`, or that of the system);
4. a private folder among the temporary files.

Machine code is code, and Numba wraps it in a pickle. Any user who can write to such a folder can
run code, and digests detect damage, not malice. So 3 and 4 are used only if they belong to the user
and no other user can write there; `__pycache__` is as safe as the sources beside it.
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

import llvmlite
import numba

from tabnas import __version__
from tabnas.files import atomic_write, user_cache_folder

Function = TypeVar("Function", bound=Callable[..., Any])

MAGIC = b"tabnas kernel 1\n"
HEADER_BYTES = len(MAGIC) + 32 + 32  # two digests: of sources and versions, and of the code
SUFFIX = ".kernel"
NEWEST_TESTED_NUMBA = (0, 68)
# part of the cache key: code that was compiled or saved by another method is not used
METHOD = "isolated, with constants"

logger = logging.getLogger("tabnas")

_njit: Any = numba.njit
_config: Any = numba.config


def cached_njit(function: Function) -> Function:
    """Compile a function for the argument types of each call, and cache the code on disk.

    Functions that it calls must be in the same file: its source is part of the cache key.
    """
    try:
        source = inspect.getsource(sys.modules[function.__module__])
    except OSError:  # an installation without sources; the version identifies them
        source = ""
    dispatcher: Function = cache_on_disk(isolated_njit(nogil=True)(function), source)
    return dispatcher


def isolated_njit(**options: Any) -> Any:
    """Return Numba's `njit` for functions whose machine code is cached.

    Their code contains its own copies of all functions that it calls.
    """
    internals = _internals()
    if internals is None:
        return _njit(**options)
    return _njit(pipeline_class=internals.IsolatingCompiler, **options)


def cache_on_disk(
    dispatcher: Any,
    source: str,
    signature: Any = None,
    *,
    on_compile: Callable[[], None] = lambda: None,
) -> Any:
    """Let a compiled function load its machine code from disk, and save it there.

    `source` identifies all the code that it is compiled from; if it changes, the function is
    compiled again. With a `signature` the function is compiled or loaded at once, and refuses
    arguments of other types. `on_compile` is called before anything is compiled.
    """
    if _config.DISABLE_JIT:  # then Numba returns the Python function
        return dispatcher
    if dispatcher.py_func.__closure__:
        raise TypeError("a cached kernel must not close over values: they are not in its key")
    internals = _internals()
    if internals is not None:
        files = _KernelFiles(dispatcher.py_func, source)

        def load(signature_key: str) -> bytes | None:
            payload = files.load(signature_key)
            if payload is None:
                on_compile()
            return payload

        internals.attach_cache(dispatcher, internals.OverloadCache(load, files.save))
    else:
        on_compile()
    if signature is not None:
        dispatcher.compile(signature)
        dispatcher.disable_compile()
    return dispatcher


@cache
def _internals() -> ModuleType | None:
    """Return the module that uses Numba's internals, or None if this Numba has others.

    Numba's own cache is no alternative: a process that compiled a kernel could round differently
    from one that loaded it. If every process compiles, all of them have the same code.
    """
    try:
        from tabnas import numba_internals

        if numba.version_info[:2] > NEWEST_TESTED_NUMBA:
            numba_internals.probe()
    except Exception as error:
        logger.warning(
            "compiled kernels cannot be cached with Numba %s (%s: %s), so every process compiles "
            "them again; with Numba %d.%d they can",
            *(numba.__version__, type(error).__name__, error, *NEWEST_TESTED_NUMBA),
        )
        return None
    return numba_internals


class _KernelFiles:
    """The machine code of a function on disk, a file for each signature and processor.

    A file holds the digest of sources and versions, the digest of the code, and the code.
    """

    def __init__(self, function: Callable[..., Any], source: str) -> None:
        self._path = Path(inspect.getfile(function))
        self._name = f"{function.__module__}.{function.__qualname__}".replace(".<locals>", "")
        origin = (METHOD, __version__, numba.__version__, llvmlite.__version__, sys.version, source)
        self._origin = sha256(repr(origin).encode()).digest()

    def load(self, signature_key: str) -> bytes | None:
        """Return the code for a signature, or None if no file holds it intact and up to date."""
        for folder in _folders(self._path):
            path = folder / self._file_name(signature_key)
            try:
                content = path.read_bytes()
            except OSError:
                continue
            header, payload = content[:HEADER_BYTES], content[HEADER_BYTES:]
            if not header.startswith(MAGIC) or not header.endswith(sha256(payload).digest()):
                logger.warning("%s is damaged, so it is compiled again", path)
                with suppress(OSError):
                    path.unlink()
            elif header.startswith(MAGIC + self._origin):
                return payload
        return None

    def save(self, signature_key: str, payload: bytes) -> None:
        """Write the code for a signature to the first writable folder."""
        content = MAGIC + self._origin + sha256(payload).digest() + payload
        for folder in _folders(self._path, create=True):
            try:
                folder.mkdir(parents=True, exist_ok=True)
                atomic_write(folder / self._file_name(signature_key), content, sync=False)
            except OSError as error:
                if folder.parent == Path(_config.CACHE_DIR):
                    _warn_once(
                        "NUMBA_CACHE_DIR must be a writable folder, got "
                        f"{_config.CACHE_DIR!r} ({error.strerror}); kernels are saved elsewhere"
                    )
            else:
                return
        _warn_once(
            "no folder for compiled kernels is writable, so every process compiles them again; "
            "set NUMBA_CACHE_DIR to one"
        )

    def _file_name(self, signature_key: str) -> str:
        digest = sha256(signature_key.encode()).hexdigest()
        return f"{self._name}.{sys.implementation.cache_tag}.{digest[:16]}{SUFFIX}"


# -- folders ---------------------------------------------------------------------------------------


def _folders(source: Path, *, create: bool = False) -> Iterator[Path]:
    """Yield the folders that may hold the code of a source file; create those to write to."""
    package = str(source.parent.absolute())  # one cache serves several installations
    subfolder = f"tabnas-{sha256(package.encode()).hexdigest()[:16]}"
    if _config.CACHE_DIR:
        yield Path(_config.CACHE_DIR) / subfolder
    yield source.parent / "__pycache__"
    for locate in (user_cache_folder, _temporary_folder):
        try:
            private = locate()
            if create:
                private.parent.mkdir(parents=True, exist_ok=True)
                private.mkdir(mode=0o700, exist_ok=True)
            usable = _is_private(private)
        except (OSError, RuntimeError):  # there is no such folder, or no home folder
            continue
        if usable:
            yield private / subfolder
        else:
            _warn_once(
                f"{str(private)!r} must belong to you and be closed to others to hold compiled "
                "kernels, and does not; they are saved elsewhere"
            )


def _temporary_folder() -> Path:
    user = os.getuid() if hasattr(os, "getuid") else "kernels"
    return Path(tempfile.gettempdir()) / f"tabnas-{user}"


def _is_private(folder: Path) -> bool:
    """Return whether a folder belongs to the user, is no link, and only they can write to it."""
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode):
        return False
    if os.name != "posix":
        return True  # these systems give each user private folders
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022


@cache
def _warn_once(message: str) -> None:
    logger.warning(message)
