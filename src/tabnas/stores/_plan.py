"""The plan of a store: what was asked of which files, and the command that says so."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tabnas.errors import TabNASError
from tabnas.stores._document import damaged, read_document, write_document
from tabnas.stores._settings import StoreSettings

PLAN = "plan.json"
FIELDS = ("layout", "settings", "shares", "sources")
OPTIONS = ("task", "scaling", "min_count", "max_categories", "buckets", "decimal", "seed", "memory")
DECLARING = ("categorical", "numeric", "hashed")


def agree(folder: Path, plan: Mapping[str, Any]) -> None:
    """Write the plan, or find that the one that is there says the same; another is refused."""
    if not (folder / PLAN).exists():
        write_document(folder, PLAN, plan)
        return
    known = read_document(folder, PLAN, FIELDS)
    for mine, theirs in zip(plan["sources"], known["sources"], strict=False):
        if mine["path"] == theirs["path"] and mine != theirs and mine["part"] == theirs["part"]:
            raise TabNASError(
                f"{mine['name']!r} must be as it was when the store {str(folder)!r} was begun, "
                "but its size or time has changed; encode it to another folder"
            )
    other = "the files" if known["sources"] != plan["sources"] else _difference(plan, known)
    if other:
        raise TabNASError(
            f"the store {str(folder)!r} must be gone on with by the command that began it, but "
            f"{other} differ; name another folder, or type: {encode_command(known, folder)}"
        )


def planned_command(folder: Path) -> str:
    """The command that goes on with a store."""
    return encode_command(read_document(folder, PLAN, FIELDS), folder)


def encode_command(plan: Mapping[str, Any], out: Path) -> str:
    """What to type: the files, the target, and the options that are not as usual."""
    try:
        if set(plan["settings"]["kinds"].values()) - set(DECLARING):
            return "encode_store, called as before, for there is no such command"
        return shlex.join(_words(plan["sources"], plan["settings"], out))
    except (TypeError, ValueError, LookupError, AttributeError):
        raise damaged(PLAN) from None


def _words(sources: Any, said: Mapping[str, Any], out: Path) -> list[str]:
    usual = StoreSettings(target=said["target"]).to_dict()
    words = ["tabnas", "encode", *(_path(one) for one in sources if one["part"] is None)]
    words += ["--target", said["target"], "--out", str(out)]
    for part in ("validation", "test"):
        for source in sources:
            if source["part"] == part:
                words += [f"--{part}", _path(source)]
        if said["shares"][part] != usual["shares"][part]:
            words += [f"--{part}", repr(said["shares"][part])]
    for name in OPTIONS:
        if said[name] != usual[name]:
            words += [f"--{name.replace('_', '-')}", str(said[name])]
    for kind in DECLARING:
        names = [name for name, one in said["kinds"].items() if one == kind]
        if names:
            words += [f"--{kind}", ",".join(names)]
    return words + (["--drop", ",".join(said["drop"])] if said["drop"] else [])


def _path(source: Mapping[str, Any]) -> str:
    """As short as it can be said from here."""
    path, here = Path(source["path"]), Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _difference(plan: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    """The settings that are others than they were, by name; empty if there are none."""
    mine, theirs = plan["settings"], known["settings"]
    names = [name for name in mine if mine[name] != theirs.get(name)]
    if names:
        return ", ".join(names)
    same = plan["layout"] == known["layout"] and plan["shares"] == known["shares"]
    return "" if same else "the columns as this version of tabnas sees them"
