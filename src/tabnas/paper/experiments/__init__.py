"""The experiments: a TOML file that says what is compared on what, a module that does it.

A new one is these two files of one name; the module's `EXPERIMENT` is its class.
"""

from __future__ import annotations

from importlib import import_module, resources

from tabnas.errors import TabNASError, did_you_mean
from tabnas.paper._experiment import Experiment

__all__ = ["experiment_called", "experiment_names"]


def experiment_names() -> list[str]:
    """All experiments there are."""
    files = resources.files("tabnas.paper.experiments").iterdir()
    return sorted(file.name[: -len(".toml")] for file in files if file.name.endswith(".toml"))


def experiment_called(name: str) -> type[Experiment]:
    """The experiment of a name."""
    if name not in experiment_names():
        raise TabNASError(
            f"there is no experiment {name!r}; {did_you_mean(name, experiment_names())}"
        )
    found: type[Experiment] = import_module(f"tabnas.paper.experiments.{name}").EXPERIMENT
    return found
