"""Complete a folder whose process was killed after its result was written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from tabnas.errors import TabNASError
from tabnas.files import is_temporary, refuse_links, remove_temporaries
from tabnas.locks import LOCK_NAME as LOCK
from tabnas.locks import FolderLock
from tabnas.runs.folders._pages import write_pages
from tabnas.runs.folders._run_folder import CHECKPOINT, remove_progress
from tabnas.runs.folders._status import PROGRESS

Pages = Mapping[str, Callable[[Path], Path]]


def complete_folder(folder: Path, file_names: tuple[str, ...], pages: Pages) -> None:
    """Write the pages that are missing, and remove the checkpoint and the status.

    `file_names` are all files of such a folder. A complete folder is not touched, so it may be
    read-only. If a process is at work there, an error is raised.
    """
    refuse_links(folder, *file_names)
    try:
        if not _is_incomplete(folder, pages, file_names):
            return
        lock = FolderLock(folder)
        try:
            remove_progress(folder)
            remove_temporaries(folder, *file_names)
            write_pages(folder, _missing(folder, pages))
        finally:
            lock.release(remove=True)
    except OSError as error:
        raise TabNASError(
            f"the folder {str(folder)!r} cannot be written ({error.strerror or error})"
        ) from None


def _is_incomplete(folder: Path, pages: Pages, file_names: tuple[str, ...]) -> bool:
    names = [path.name for path in folder.iterdir() if is_temporary(path, *file_names)]
    left = [name for name in (CHECKPOINT, PROGRESS, LOCK) if (folder / name).exists()]
    return bool(names or left or _missing(folder, pages))


def _missing(folder: Path, pages: Pages) -> Pages:
    return {name: write for name, write in pages.items() if not (folder / name).exists()}
