"""The name under which a run writes in its backup folder, and its claim on it.

Two things are kept out: two runs that write the same files at one time, and two cfgs whose names darknet cuts to the
same word (``net.v1.cfg``, ``net.v2.cfg``). ``NAME.run`` says whose the files ``NAME_*`` are; a run that goes on holds a
lock on it, which the system frees when the process ends, however it ends.
"""

import os
import re
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from darkpy.errors import DataError
from darkpy.tasks._network import say

_PROCESS = ", process "  # behind the cfg's name in a .run file
_LONGEST_TEXT = 1000
_LOCKED_BYTE = 2**30  # beyond the text: Windows lets nobody read what is locked


def base_name(cfg: Path) -> str:
    """Return what weights and charts of a cfg are named after: its name up to the first dot, as in darknet."""
    return cfg.name.partition(".")[0]


@contextmanager
def claimed_name(folder: Path, cfg: Path, weights: Path | None) -> Iterator[str]:
    """Yield the name of a run's files in a folder, and keep it from other runs inside the block.

    It is the cfg's name up to its first dot, as in darknet; where files of that name are another cfg's, it is the whole
    name without ``.cfg``.

    Args:
        folder: The backup folder.
        cfg: The network.
        weights: What the run starts from: files of that name beside it are then its own.

    Raises:
        DataError: If another run is writing files of that name there.
    """
    base, whole = base_name(cfg), cfg.name.removesuffix(".cfg")
    file, owner = _lock(folder, base)
    if base != whole and (file is None or not _is_own(owner, folder, cfg, weights)):
        say(
            f"{cfg.name}: {folder} has {base}_*.weights of {owner or 'an unknown cfg'}; this run's files are named "
            f"{whole}_*.weights."
        )
        _unlock(file)
        base = whole
        file, owner = _lock(folder, base)
    elif base != whole:
        say(f"{cfg.name}: weights are named {base}_*.weights, as darknet cuts the name at its first dot.")
    try:
        if file is None:
            raise DataError(
                f"{folder}: another run is writing {base}_*.weights there ({_description(folder, base)}). "
                "Wait for its end, or name another backup folder in the .data file."
            )
        if owner not in ("", cfg.name) and _has_weights(folder, base):
            raise DataError(
                f"{folder}: {base}_*.weights there are of {owner}, and {cfg.name} would overwrite them. "
                "Name another backup folder in the .data file, or rename the cfg."
            )
        _write_description(file, folder / f"{base}.run", cfg)
        _tell_others(folder, base)
        _remove_unfinished(folder, base)
        yield base
    finally:
        _unlock(file)


def _is_own(owner: str, folder: Path, cfg: Path, weights: Path | None) -> bool:
    if owner:
        return owner == cfg.name
    base = base_name(cfg)
    resumes = weights is not None and weights.name.startswith(f"{base}_") and _is_same(weights.parent, folder)
    return resumes or not _has_weights(folder, base)


def _has_weights(folder: Path, name: str) -> bool:
    return any(path.name.startswith(f"{name}_") and path.suffix == ".weights" for path in folder.iterdir())


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _lock(folder: Path, name: str) -> tuple[TextIO | None, str]:
    """Return the locked file, or None if another process has it; and the cfg that it names, if any.

    Raises:
        DataError: If the file cannot be written.
    """
    path = folder / f"{name}.run"
    try:
        file = path.open("a+", encoding="utf-8")
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror}. Name another backup folder.") from error
    owner = _owner(path)
    if _is_locked(file):
        file.close()
        return None, owner
    return file, owner


def _is_locked(file: TextIO) -> bool:
    """Try to lock the file; return whether another process has it. A file system without locks has none."""
    try:
        if sys.platform == "win32":
            import msvcrt

            file.seek(_LOCKED_BYTE)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # not inherited by worker processes, unlike flock
    except (BlockingIOError, PermissionError):
        return True
    except OSError:
        return False
    return False


def _unlock(file: TextIO | None) -> None:
    if file is not None:
        with suppress(OSError):  # a full disk: the text is for people only
            file.close()


def _owner(path: Path) -> str:
    return _description(path.parent, path.stem).partition(_PROCESS)[0]


def _description(folder: Path, name: str) -> str:
    try:
        with (folder / f"{name}.run").open(encoding="utf-8", errors="replace") as file:
            return file.read(_LONGEST_TEXT).strip()
    except OSError:
        return ""


def _write_description(file: TextIO, path: Path, cfg: Path) -> None:
    began = time.strftime("%Y-%m-%d %H:%M:%S")
    try:
        file.seek(0)
        file.truncate()
        file.write(f"{cfg.name}{_PROCESS}{os.getpid()} on {socket.gethostname()}, since {began}\n")
        file.flush()
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror}. Free space, or name another folder.") from error


def _tell_others(folder: Path, name: str) -> None:
    for path in sorted(folder.glob("*.run")):
        if path.stem == name:
            continue
        try:
            file, _ = _lock(folder, path.stem)
        except DataError:
            continue  # nothing that a run wrote, or another user's
        if file is None:
            say(f"Warning: {folder}: another run writes there too: {_description(folder, path.stem)}.")
        _unlock(file)


def _remove_unfinished(folder: Path, name: str) -> None:
    """Remove what a killed run left half written."""
    unfinished = re.compile(rf"\.{re.escape(name)}(_(last|best|final|ema|\d+)\.(weights|state|map)|\.csv)\.\w+\.tmp")
    for path in folder.iterdir():
        if unfinished.fullmatch(path.name):
            with suppress(OSError):
                path.unlink()
