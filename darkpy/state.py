"""What a run needs to go on exactly, beside its weights: figures and arrays in one file.

The file is a zip of .npy arrays and of one JSON text (numpy's .npz form): plain data, which cannot run code, with a
checksum for each member. It names the weights file that it belongs to by the SHA-256 of its bytes.
"""

import hashlib
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from darkpy.errors import StateError
from darkpy.files import replaced

VERSION = 1
_FIGURES = "figures"
# what zipfile and numpy raise for a damaged file; RuntimeError: it says that it is encrypted, or oddly compressed
_UNREADABLE = (OSError, ValueError, EOFError, KeyError, TypeError, RuntimeError, zipfile.BadZipFile, zlib.error)


@dataclass(frozen=True, slots=True)
class RunState:
    """What a run knows besides its weights."""

    figures: Mapping[str, Any]  # what JSON can hold; floats come back to the last bit
    arrays: Mapping[str, npt.NDArray[Any]]


def write_state(path: Path, state: RunState, *, weights_hash: str) -> None:
    """Write a state file, whole or not at all.

    Args:
        path: The file; an older one is replaced only when the new one is complete on disk.
        state: What to store. No array may be called ``figures``.
        weights_hash: ``file_hash`` of the weights file that the state belongs to.

    Raises:
        OSError: If it cannot be written; an older file is untouched.
    """
    text = json.dumps({"version": VERSION, "weights": weights_hash, "figures": dict(state.figures)})
    with replaced(path) as file:
        np.savez(file, allow_pickle=False, **{_FIGURES: np.array(text)}, **dict(state.arrays))


def read_state(path: Path) -> RunState:
    """Read a state file.

    Raises:
        StateError: If it cannot be read, is damaged or of another version.
    """
    _figures(path)
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files if name != _FIGURES}
    except _UNREADABLE as error:
        raise StateError(f"{path}: cannot be read as a state file: {error}. Remove it.") from error
    return RunState(_figures(path)["figures"], arrays)


def weights_hash_in(path: Path) -> str:
    """Return the hash of the weights file that a state file belongs to, without reading its arrays.

    Raises:
        StateError: If it cannot be read, is damaged or of another version.
    """
    return str(_figures(path)["weights"])


def _figures(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            header = json.loads(str(stored[_FIGURES]))
        version, _, _ = header["version"], header["weights"], header["figures"]
    except _UNREADABLE as error:
        raise StateError(f"{path}: cannot be read as a state file: {error}. Remove it.") from error
    if version != VERSION:
        raise StateError(f"{path}: a state file of version {version}, this darkpy reads version {VERSION}. Remove it.")
    return header  # type: ignore[no-any-return]


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal digits.

    Raises:
        OSError: If it cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
