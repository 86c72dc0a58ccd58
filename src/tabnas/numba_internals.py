"""What the cache of machine code needs of Numba beyond its public interface.

With a version of Numba that is newer than the tested ones, `kernel_cache.py` calls `probe` first.
If that fails, it does not use this module: every process compiles the kernels, which takes longer
and computes the same.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numba
from llvmlite.binding import Linkage
from numba.core import caching, codegen, compiler, serialize
from numba.core.runtime.nrt import rtsys

logger = logging.getLogger("tabnas")

_njit: Any = numba.njit
_serialize: Any = serialize
_result: Any = compiler.CompileResult
_library: Any = codegen.JITCodeLibrary
_compiler: Any = compiler.Compiler
_runtime: Any = rtsys


class IsolatedLibrary(_library):  # type: ignore[misc]
    """Machine code that shares no functions with other machine code.

    Numba leaves functions that were not inlined as weak symbols. If they have been compiled
    separately as well, as in a process that finds no kernels on disk, such a symbol is bound to
    that other code, which may round differently: the first run after an installation would differ
    from all later ones.
    """

    isolated = False

    def _finalize_final_module(self) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage is Linkage.linkonce_odr:
                function.linkage = Linkage.internal
        self.isolated = True
        super()._finalize_final_module()


class IsolatingCompiler(_compiler):  # type: ignore[misc]
    """Numba's usual passes, into an isolated library."""

    def define_pipelines(self) -> Any:
        self.state.library = IsolatedLibrary(self.state.targetctx.codegen(), "tabnas")
        self.state.library.enable_object_caching()
        return super().define_pipelines()


class OverloadCache(caching.NullCache):
    """The cache that Numba asks for machine code before it compiles, and saves code to afterwards.

    `load` takes a text that identifies the argument types and the processor, and returns the code
    as bytes, or None; `save` takes both.
    """

    def __init__(
        self, load: Callable[[str], bytes | None], save: Callable[[str, bytes], None]
    ) -> None:
        self._load = load
        self._save = save

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return the code for a signature, or None."""
        payload = self._load(_signature_key(signature, target.codegen()))
        if payload is None:
            return None
        try:
            # Numba's own cache would refresh the target: import all that compiling needs, which
            # takes longer than to load the kernels. Machine code needs only the runtime.
            _runtime.initialize(target)
            return _result._rebuild(target, *_serialize.loads(payload))
        except Exception as error:  # compiling again is always safe
            logger.warning("a kernel cannot be loaded (%s), so it is compiled again", error)
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Save the code for a signature."""
        *parts, environments = result._reduce()
        # Compiled code reads an environment only for its constants. To load those of Numba's own
        # functions, which have none, would import most of what compiling needs.
        parts.append(tuple(e for e in environments if e.consts))
        self._save(_signature_key(signature, result.codegen), _serialize.dumps(tuple(parts)))


def _signature_key(signature: Any, codegen: Any) -> str:
    return repr((signature, codegen.magic_tuple()))


def attach_cache(dispatcher: Any, cache: OverloadCache) -> None:
    """Let a compiled function load and save its machine code."""
    dispatcher._cache = cache


def probe() -> None:
    """Compile a function, save its code and load it again; raise an error if that fails."""
    saved: list[tuple[str, bytes]] = []

    def call() -> Any:
        dispatcher = _njit(pipeline_class=IsolatingCompiler)(_call)
        cache = OverloadCache(lambda key: dict(saved).get(key), lambda *new: saved.append(new))
        attach_cache(dispatcher, cache)
        if dispatcher(20) != 41:
            raise RuntimeError("a kernel computes a wrong result")
        (result,) = dispatcher.overloads.values()
        return result

    if not call().library.isolated:
        raise RuntimeError("a kernel is not isolated from others")
    call()
    if len(saved) != 1:
        raise RuntimeError("the code of a kernel is not saved, or not loaded again")


def _double(x: int) -> int:
    return 2 * x


_compiled_double = _njit(_double)


def _call(x: int) -> int:
    return int(_compiled_double(x)) + 1
