"""Directories of runs as values: what the pickle of a model holds."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

LOCK = ".lock"  # of the process that trains in a directory


def files_of(folder: Path) -> dict[str, bytes]:
    """The files of a directory by their names in it."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != LOCK)
    if not files:
        raise ValueError(f"{folder}: the files of the model are gone")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def written(files: dict[str, bytes]) -> Path:
    """A new directory with these files. It is the only one in its parent, which is temporary."""
    folder = Path(tempfile.mkdtemp(prefix="segre-")) / "run"
    try:
        for name, contents in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(contents)
    except BaseException:
        shutil.rmtree(folder.parent, ignore_errors=True)
        raise
    return folder
