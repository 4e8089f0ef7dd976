"""The folders that a .data file names for what a command writes, checked before it begins."""

import os
from pathlib import Path

from darkpy.cfg.datafile import DataFile
from darkpy.errors import DataError
from darkpy.tasks._network import say


def writable_folder(data: DataFile, key: str, *, default: str, holds: str) -> Path:
    """Return the folder that a key names; it is made if need be.

    Args:
        data: The .data file.
        key: Such as ``backup``.
        default: Where the key is missing, which is said.
        holds: What goes there, for that line.

    Raises:
        DataError: If it cannot be made or written to.
    """
    named = data.text(key)
    folder = Path(os.path.expanduser(named or default))  # Path.expanduser raises for a name like ~a
    if named is None:
        say(f"{data.path}: no '{key} = ...' line; {holds} go to {folder}/")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        why = getattr(error, "strerror", None) or error
        raise DataError(
            f"{data.asked_by(key)}: cannot make the folder {folder}: {why}. Name one that can be written."
        ) from error
    if not os.access(folder, os.W_OK):
        raise DataError(f"{data.asked_by(key)}: the folder {folder} cannot be written. Name another one.")
    return folder
