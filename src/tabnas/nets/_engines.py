"""The engines by name, each imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from tabnas.errors import TabnasError, did_you_mean
from tabnas.nets._engine import Engine
from tabnas.nets._examples import Float32Array
from tabnas.nets._optimizers import Optimizer
from tabnas.nets._shape import SuperNetShape


class MakeEngine(Protocol):
    """What makes an engine: its class, as a rule."""

    def __call__(
        self,
        shape: SuperNetShape,
        optimizer: Optimizer,
        weights: Mapping[str, Float32Array],
        *,
        workers: int,
        device: str,
    ) -> Engine:
        """An engine that holds these weights and has taken no step.

        `workers` is the most children that a step has, `device` a word of the user's that the
        engine may know; "cpu" it must.
        """


@dataclass(frozen=True)
class Imported:
    """Something of a module that is imported only when it is called.

    Numba and PyTorch take their time, and PyTorch may be absent.
    """

    module: str
    name: str

    def load(self) -> MakeEngine:
        """What is meant."""
        make: MakeEngine = getattr(import_module(self.module), self.name)
        return make

    def __call__(self, *given: Any, **settings: Any) -> Engine:
        return self.load()(*given, **settings)


ENGINES: dict[str, MakeEngine] = {
    "compiled": Imported("tabnas.nets.compiled", "CompiledEngine"),
    "torch": Imported("tabnas.nets.torch", "TorchEngine"),
    "torch.distributed": Imported("tabnas.nets.torch", "DistributedTorchEngine"),
}
"""Every engine by name; one of your own goes in by assignment."""


def maker_of(engine: str | MakeEngine) -> MakeEngine:
    """What makes an engine, by its name or as it is."""
    if not isinstance(engine, str):
        return engine
    if engine not in ENGINES:
        raise TabnasError(f"there is no engine called {engine!r}; {did_you_mean(engine, ENGINES)}")
    return ENGINES[engine]


def load_engine(engine: str | MakeEngine) -> None:
    """Import an engine, and compile what is not compiled yet, before anyone looks at a clock."""
    make = maker_of(engine)
    if isinstance(make, Imported):
        make.load()
