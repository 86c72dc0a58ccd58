"""The plan of a store: its files and settings, and the command that encodes them."""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tabnas.errors import TabNASError
from tabnas.stores._document import read_document, write_document
from tabnas.stores._settings import StoreSettings
from tabnas.stores._sources import SourceRecord

PLAN = "plan.json"
OPTIONS = ("task", "scaling", "min_count", "max_categories", "buckets", "decimal", "seed", "memory")
KIND_OPTIONS = ("categorical", "numeric", "hashed")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything that determines the content of a store."""

    settings: StoreSettings
    sources: tuple[SourceRecord, ...]
    layout: dict[str, Any]  # what is done with each column
    shares: tuple[float, float]


def write_or_check_plan(folder: Path, plan: Plan) -> None:
    """Write the plan, or raise an error if the folder has another one."""
    if not (folder / PLAN).exists():
        write_document(folder, PLAN, plan)
        return
    known = read_document(folder, PLAN, Plan)
    for source, before in zip(plan.sources, known.sources, strict=False):
        if (source.path, source.part) == (before.path, before.part) and source != before:
            raise TabNASError(
                f"{source.name!r} must be as it was when the store {str(folder)!r} was begun, "
                "but its size or time has changed; encode it to another folder"
            )
    other = "the files" if known.sources != plan.sources else _find_difference(plan, known)
    if other:
        raise TabNASError(
            f"the store {str(folder)!r} must be continued by the command that began it, but "
            f"{other} differ; name another folder, or {_describe_continuation(known, folder)}"
        )


def describe_continuation(folder: Path) -> str:
    """Return how to continue the encoding of a store: a command, or the call to repeat."""
    return _describe_continuation(read_document(folder, PLAN, Plan), folder)


def _describe_continuation(plan: Plan, out: Path) -> str:
    command = _render_command(plan, out)
    if command is None:
        return "call encode_store again with the same arguments"
    return f"continue with: {command}"


def _render_command(plan: Plan, out: Path) -> str | None:
    """Return the command line: the files, the target, and the options that are not the default.

    There is none for settings that only Python has.
    """
    settings = plan.settings
    listed = (*settings.drop, *settings.kinds)
    if set(settings.kinds.values()) - set(KIND_OPTIONS) or any("," in name for name in listed):
        return None
    default = StoreSettings(target=settings.target)
    words = ["tabnas", "encode", *(_path(source) for source in plan.sources if source.part is None)]
    words += ["--target", settings.target, "--out", str(out)]
    for part in ("validation", "test"):
        for source in plan.sources:
            if source.part == part:
                words += [f"--{part}", _path(source)]
        share = getattr(settings.shares, part)
        if share != getattr(default.shares, part):
            words += [f"--{part}", repr(share)]
    for name in OPTIONS:
        value = getattr(settings, name)
        if value != getattr(default, name):
            words += [f"--{name.replace('_', '-')}", str(value)]
    for kind in KIND_OPTIONS:
        names = [name for name, declared in settings.kinds.items() if declared == kind]
        if names:
            words += [f"--{kind}", ",".join(names)]
    return shlex.join(words + (["--drop", ",".join(settings.drop)] if settings.drop else []))


def _path(source: SourceRecord) -> str:
    """Return a path, relative to the working folder if that is shorter."""
    path, here = Path(source.path), Path.cwd()
    short = str(path.relative_to(here) if path.is_relative_to(here) else path)
    return f"./{short}" if short.startswith("-") else short


def _find_difference(plan: Plan, known: Plan) -> str:
    """Return the names of the settings that differ; empty if there are none."""
    mine, theirs = asdict(plan.settings), asdict(known.settings)
    names = [name for name in mine if mine[name] != theirs[name]]
    if names:
        return ", ".join(names)
    same = plan.layout == known.layout and plan.shares == known.shares
    return "" if same else "the columns as this version of tabnas reads them"
