"""The engines by name, each imported when it is first used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from tabnas.errors import TabNASError, did_you_mean
from tabnas.nets._engine import Engine
from tabnas.nets._optimizers import Optimizer
from tabnas.nets._shape import SuperNetShape
from tabnas.types import Float32Array


class EngineFactory(Protocol):
    """A callable that returns an engine, usually its class."""

    def __call__(
        self,
        shape: SuperNetShape,
        optimizer: Optimizer,
        weights: Mapping[str, Float32Array],
        *,
        workers: int,
        device: str,
    ) -> Engine:
        """Return an engine that holds these weights and has taken no step.

        `workers` is the maximal number of children of a step. `device` is passed on from the user;
        every engine must know "cpu".
        """


@dataclass(frozen=True)
class LazyEngine:
    """An engine whose module is imported when it is first called.

    Numba and PyTorch take long to import, and PyTorch may be missing.
    """

    module: str
    name: str

    def load(self) -> EngineFactory:
        """Import the module and return the engine's class."""
        factory: EngineFactory = getattr(import_module(self.module), self.name)
        return factory

    def __call__(self, *args: Any, **kwargs: Any) -> Engine:
        return self.load()(*args, **kwargs)


ENGINES: dict[str, EngineFactory] = {
    "compiled": LazyEngine("tabnas.nets.compiled", "CompiledEngine"),
    "torch": LazyEngine("tabnas.nets.torch", "TorchEngine"),
    "torch.distributed": LazyEngine("tabnas.nets.torch", "DistributedTorchEngine"),
}
"""Every engine by name; add your own by assignment."""


def get_engine_factory(engine: str | EngineFactory) -> EngineFactory:
    """Return the factory of that name, or the factory itself."""
    if not isinstance(engine, str):
        return engine
    if engine not in ENGINES:
        raise TabNASError(f"unknown engine {engine!r}; {did_you_mean(engine, ENGINES)}")
    return ENGINES[engine]


def warm_up_engine(engine: str | EngineFactory) -> None:
    """Import an engine and compile its kernels, so that later timings do not include it."""
    factory = get_engine_factory(engine)
    if isinstance(factory, LazyEngine):
        factory.load()
