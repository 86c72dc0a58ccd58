"""All that keeping machine code needs of Numba beyond what Numba promises to keep.

With a version of Numba that is newer than those that were tested, `compiling.py` lets `probe` try
it out first. Where that fails, it does without this module: kernels are compiled by every process,
which takes longer and computes the same.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numba
from llvmlite.binding import Linkage
from numba.core import caching, codegen, compiler, serialize

logger = logging.getLogger("tabnas")

_njit: Any = numba.njit
_serialize: Any = serialize
_result: Any = compiler.CompileResult
_library: Any = codegen.JITCodeLibrary
_compiler: Any = compiler.Compiler


class IsolatedLibrary(_library):  # type: ignore[misc]
    """Machine code whose functions are seen by nobody else, and that sees nobody else's.

    Numba leaves functions that were not inlined as weak symbols. Where they have been compiled by
    themselves as well, as they have in a process that finds no kernels on disk, such a symbol is
    bound to that other code, which may round otherwise: the first run after an installation would
    not be that of all later ones.
    """

    isolated = False

    def _finalize_final_module(self) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage is Linkage.linkonce_odr:
                function.linkage = Linkage.internal
        self.isolated = True
        super()._finalize_final_module()


class IsolatingCompiler(_compiler):  # type: ignore[misc]
    """Numba's usual passes, into such a library."""

    def define_pipelines(self) -> Any:
        self.state.library = IsolatedLibrary(self.state.targetctx.codegen(), "tabnas")
        self.state.library.enable_object_caching()
        return super().define_pipelines()


class OverloadCache(caching.NullCache):
    """What Numba asks for machine code before it compiles, and gives it to afterwards.

    `find` gets a text that stands for the types of the arguments and the processor, and returns the
    code as bytes, or None; `keep` gets both.
    """

    def __init__(
        self, find: Callable[[str], bytes | None], keep: Callable[[str, bytes], None]
    ) -> None:
        self._find = find
        self._keep = keep

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The code for a signature, or None."""
        target.refresh()
        payload = self._find(_kind(signature, target.codegen()))
        try:
            return payload and _result._rebuild(target, *_serialize.loads(payload))
        except Exception as error:  # Numba has made it, and compiling is always safe
            logger.warning("a kernel cannot be loaded (%s), so it is compiled once more", error)
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep the code for a signature."""
        self._keep(_kind(signature, result.codegen), _serialize.dumps(result._reduce()))


def _kind(signature: Any, codegen: Any) -> str:
    return repr((signature, codegen.magic_tuple()))


def attach_cache(dispatcher: Any, cache: OverloadCache) -> None:
    """Let a compiled function find its machine code."""
    dispatcher._cache = cache


def probe() -> None:
    """Compile a function, keep its code and load it again; raise an error if that goes wrong."""
    kept: list[tuple[str, bytes]] = []

    def call() -> Any:
        dispatcher = _njit(pipeline_class=IsolatingCompiler)(_call)
        cache = OverloadCache(lambda kind: dict(kept).get(kind), lambda *new: kept.append(new))
        attach_cache(dispatcher, cache)
        if dispatcher(20) != 41:
            raise RuntimeError("a kernel computes something else")
        (result,) = dispatcher.overloads.values()
        return result

    if not call().library.isolated:
        raise RuntimeError("a kernel is not isolated from others")
    call()
    if len(kept) != 1:
        raise RuntimeError("the code of a kernel is not kept, or not found again")


def _double(x: int) -> int:
    return 2 * x


_compiled_double = _njit(_double)


def _call(x: int) -> int:
    return int(_compiled_double(x)) + 1
