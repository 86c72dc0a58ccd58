"""The experiments, a package each.

A new one is a package with a `definition.toml` and a subclass of `Experiment` named `EXPERIMENT`.
"""

from __future__ import annotations

from importlib import import_module, resources

from tabnas.errors import TabNASError, did_you_mean
from tabnas.paper._experiment import Experiment

__all__ = ["get_experiment", "list_experiments"]


def list_experiments() -> list[str]:
    """Return the names of all experiments."""
    folders = resources.files("tabnas.paper.experiments").iterdir()
    return sorted(folder.name for folder in folders if (folder / "definition.toml").is_file())


def get_experiment(name: str) -> type[Experiment]:
    """Return the class of the experiment with this name."""
    if name not in list_experiments():
        hint = did_you_mean(name, list_experiments())
        raise TabNASError(f"there is no experiment {name!r}; {hint}")
    experiment: type[Experiment] = import_module(f"tabnas.paper.experiments.{name}").EXPERIMENT
    return experiment
