"""Decorators that compile functions with Numba."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, TypeVar

import numba
import numpy as np

from tabnas.kernel_cache import NEWEST_TESTED_NUMBA, cache_on_disk, isolated_njit
from tabnas.nets._engine import MAX_GRADIENT_NORM
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


def njit_helper(function: Function) -> Function:
    """Compile a function that only kernels call."""
    compiled: Function = _njit(**OPTIONS)(function)
    return compiled


def njit_in_order(function: Function) -> Function:
    """Compile a function that only kernels call, with sums in the order in which they are written.

    Otherwise a compiler may add in vectors, in an order that depends on what surrounds the loop.
    """
    compiled: Function = _njit(**OPTIONS | {"fastmath": FASTMATH - {"reassoc"}})(function)
    return compiled


def njit_inline(function: Function) -> Function:
    """Compile a small function into every function that calls it.

    Arrays are passed as some ten numbers each, which costs more than a short body.
    """
    compiled: Function = _njit(**_inline_options(), **OPTIONS)(function)
    return compiled


@cache
def _inline_options() -> dict[str, bool]:
    """Return Numba's option to inline. It is undocumented, so a later version may lack it."""
    if numba.version_info[:2] > NEWEST_TESTED_NUMBA:
        try:
            _njit("int64(int64)", forceinline=True)(lambda x: x)
        except Exception as error:
            logger.warning("kernels are slower than usual, Numba inlines nothing (%s)", error)
            return {}
    return {"forceinline": True}


def kernel(result: Any, *arguments: Any) -> Callable[[Function], Function]:
    """Compile a function that Python calls, for these types, and keep the machine code on disk."""

    def compile_(function: Function) -> Function:
        dispatcher = isolated_njit(**OPTIONS)(function)
        compiled: Function = cache_on_disk(
            dispatcher, SOURCES, result(*arguments), on_compile=announce
        )
        return compiled

    return compile_


@cache
def announce() -> None:
    """Log, once, that compiling takes a while."""
    logger.warning("compiling the network kernels, once; about half a minute")


@njit_inline
def address(array: Any) -> int:
    """Return where an array begins, as a signed number: one integer type keeps the kernels few."""
    return np.int64(array.ctypes.data)  # type: ignore[return-value]


def _digest_sources() -> str:
    """Return a digest of all kernel code: each kernel is compiled from most of it."""
    digest = sha256()
    for path in sorted(files(__package__).iterdir(), key=lambda path: path.name):
        if path.name.endswith(".py"):
            digest.update(path.read_bytes())
    digest.update(repr((NORM_EPSILON, MAX_GRADIENT_NORM)).encode())  # constants from elsewhere
    return digest.hexdigest()


SOURCES = _digest_sources()
