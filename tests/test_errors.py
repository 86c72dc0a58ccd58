"""Every exception of the package survives the way to another process."""

from __future__ import annotations

import importlib
import inspect
import io
import pickle
import pkgutil
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, get_type_hints

import pytest

import tabnas
from tabnas import TabNASError

EXAMPLES: dict[type, Any] = {str: "a text", int: 7, float: 0.5, bool: True}
"""An argument of every type that the exceptions of the package take."""


class MadeInsideError(ValueError):
    """An exception that Python's own way of pickling fails for."""

    def __init__(self, step: int, loss: float) -> None:
        super().__init__(f"the loss of step {step} is {loss}")


class PlainPickler(pickle.Pickler):
    """A pickler without the reducers for exceptions that Dask registers for all of a process."""

    dispatch_table: dict[type, Any] = {}  # noqa: RUF012


def sent(error: BaseException, protocol: int) -> BaseException:
    """Return what another process would get."""
    file = io.BytesIO()
    PlainPickler(file, protocol).dump(error)
    received = pickle.loads(file.getvalue())
    assert isinstance(received, BaseException)
    return received


def exceptions_of_the_package() -> set[type[BaseException]]:
    """Import every module, but for those whose extra is not installed, and list the classes."""
    for module in pkgutil.walk_packages(tabnas.__path__, "tabnas.", onerror=lambda name: None):
        if module.name != "tabnas.__main__":
            with suppress(ImportError, TabNASError):
                importlib.import_module(module.name)
    return {kind for kind in subclasses(BaseException) if kind.__module__.startswith("tabnas.")}


def subclasses(base: type[BaseException]) -> Iterator[type[BaseException]]:
    for child in base.__subclasses__():
        yield child
        yield from subclasses(child)


def example(kind: type[BaseException]) -> BaseException:
    """Make an instance, with an argument for every parameter that `__init__` names."""
    if not inspect.isfunction(kind.__init__):  # that of BaseException, which takes anything
        return kind("what must hold", 3)
    hints = get_type_hints(kind.__init__)
    return kind(**{name: EXAMPLES[hints[name]] for name in inspect.signature(kind).parameters})


def shown(error: BaseException) -> tuple[object, ...]:
    """Return the type, the message, and all that a handler can read, `args` and notes included."""
    readable = {name: getattr(error, name) for name in dir(error) if name[0] != "_"}
    values = {name: value for name, value in readable.items() if not callable(value)}
    return type(error), str(error), values, getattr(error, "__notes__", [])


def test_every_exception_of_the_package_survives_pickling() -> None:
    kinds = exceptions_of_the_package()
    names = {kind.__name__ for kind in kinds}
    assert {"TabNASError", "NonFiniteLossError", "SearchDivergedError", "CommandExitError"} <= names
    faults = {}
    for kind in kinds:
        try:
            error = example(kind)
            error.add_note("seen in fold 3")
            for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
                assert shown(sent(error, protocol)) == shown(error)
        except Exception as fault:  # one class must not hide the others
            faults[kind.__name__] = repr(fault)
    assert not faults


def test_an_exception_that_does_not_survive_is_noticed() -> None:
    error = example(MadeInsideError)
    with pytest.raises(TypeError, match="required positional argument"):
        sent(error, pickle.HIGHEST_PROTOCOL)
