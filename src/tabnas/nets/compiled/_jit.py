"""How kernels are compiled."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, TypeVar

import numba
import numpy as np

from tabnas.compiling import NEWEST_TESTED_NUMBA, kept, whole
from tabnas.nets._engine import LARGEST_NORM
from tabnas.nets._shape import NORM_EPSILON

Function = TypeVar("Function", bound=Callable[..., Any])

logger = logging.getLogger("tabnas")

_njit: Any = numba.njit

# all of fastmath but nnan and ninf, under which a diverged loss could not be seen
FASTMATH = {"arcp", "contract", "nsz", "reassoc"}
OPTIONS: dict[str, Any] = {
    "nogil": True,
    "fastmath": FASTMATH,
    "error_model": "numpy",
    "boundscheck": False,
}


def inner(function: Function) -> Function:
    """Compile a function that only kernels call."""
    compiled: Function = _njit(**OPTIONS)(function)
    return compiled


def inlined(function: Function) -> Function:
    """Compile a small function into whatever calls it.

    Arrays are passed as some ten numbers each, which costs more than a short body.
    """
    compiled: Function = _njit(**_inlining(), **OPTIONS)(function)
    return compiled


@cache
def _inlining() -> dict[str, bool]:
    """Numba's option to inline, which its manual does not mention: a later version may lack it."""
    if numba.version_info[:2] > NEWEST_TESTED_NUMBA:
        try:
            _njit("int64(int64)", forceinline=True)(lambda x: x)
        except Exception as error:
            logger.warning("kernels are slower than usual, Numba inlines nothing (%s)", error)
            return {}
    return {"forceinline": True}


def kernel(result: Any, *arguments: Any) -> Callable[[Function], Function]:
    """Compile a function that Python calls, for these types; the machine code is kept on disk."""

    def compile_(function: Function) -> Function:
        dispatcher = whole(**OPTIONS)(function)
        compiled: Function = kept(dispatcher, SOURCES, result(*arguments), on_compile=announce)
        return compiled

    return compile_


@cache
def announce() -> None:
    """Tell the user, once, why nothing happens for a while."""
    logger.warning("compiling the network kernels, once; about half a minute")


@inlined
def address(array: Any) -> int:
    """Where an array begins, as a signed number: one integer type keeps the kernels few."""
    return np.int64(array.ctypes.data)  # type: ignore[return-value]


def _sources() -> str:
    """A digest of all kernel code: each kernel is compiled from most of it."""
    digest = sha256()
    for path in sorted(files(__package__).iterdir(), key=lambda path: path.name):
        if path.name.endswith(".py"):
            digest.update(path.read_bytes())
    digest.update(repr((NORM_EPSILON, LARGEST_NORM)).encode())  # the constants from elsewhere
    return digest.hexdigest()


SOURCES = _sources()
