"""Writes the adapted copy of a cfg, and prints what changed. Imports no torch."""

import codecs
import difflib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from darkpy.cfg.adapt import Wishes, adapt
from darkpy.cfg.shipped import locate
from darkpy.cfg.text import unreadable
from darkpy.errors import CfgError
from darkpy.files import replaced

_ERRORS = {"utf-8": "surrogateescape"}  # bytes that are no UTF-8 come back as they were; UTF-16 is exact or refused


def check_adapted(cfg: Path, wishes: Wishes) -> None:
    """Refuse, before anything slow, what ``write_adapted`` would refuse of a cfg that is there.

    Raises:
        CfgError: If the cfg cannot be read or adapted.
    """
    adapt(_read(cfg)[0], wishes, path=str(cfg))


def write_adapted(cfg: Path, wishes: Wishes, *, out: Path, force: bool) -> None:
    """Write a copy of a cfg that fulfils the wishes; print the difference on stdout, notes on stderr.

    Args:
        cfg: The file to adapt, or the name of one that comes with darkpy.
        wishes: What to adapt it to.
        out: The new file, in the encoding of the old one.
        force: Whether ``out`` may exist, and may be ``cfg`` itself.

    Raises:
        CfgError: If the cfg cannot be read or adapted, or ``out`` cannot be written.
    """
    found, note = locate(cfg)
    if note:
        _say(note)
    text, encoding = _read(found)
    check_free(out, found, force=force)
    adapted = adapt(text, wishes, path=str(found))
    _write(out, adapted.text.encode(encoding, errors=_ERRORS.get(encoding, "strict")))
    for line in _difference(text, adapted.text, names=(str(found), str(out))):
        print(line)
    for line in adapted.notes:
        _say(line)
    _say(f"Wrote {out}" if adapted.text != text else f"Nothing to change. Wrote {out}, a copy.")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _read(path: Path) -> tuple[str, str]:
    """Return a file's text, byte-order mark and line ends included, and its encoding."""
    try:
        raw = path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise CfgError(unreadable(path, error)) from error
    encoding = _encoding(raw)
    try:
        return raw.decode(encoding, errors=_ERRORS.get(encoding, "strict")), encoding
    except UnicodeDecodeError as error:
        raise CfgError(f"{path}: looks like {encoding}, but is none: {error.reason}. Save it as UTF-8.") from error


def _encoding(raw: bytes) -> str:
    if raw.startswith(codecs.BOM_UTF16_LE):
        return "utf-16-le"
    if raw.startswith(codecs.BOM_UTF16_BE):
        return "utf-16-be"
    if raw[:2].count(0) == 1 and len(raw) > 3:  # UTF-16 without a mark: every other byte of plain text is zero
        return "utf-16-le" if raw[1] == 0 else "utf-16-be"
    return "utf-8"


def check_free(out: Path, source: Path, *, force: bool) -> None:
    """Refuse a new file that is there already, unless the user insists, and a place where none can be.

    Args:
        out: The new file.
        source: The cfg that is read.
        force: Whether ``out`` may exist.

    Raises:
        CfgError: If ``out`` cannot be made, or must not be overwritten.
    """
    if os.path.isdir(out):
        raise CfgError(f"{out}: is a folder. Name the new file with -o.")
    if not os.path.isdir(out.parent):
        raise CfgError(f"{out}: there is no folder {out.parent}. Make it, or name another file with -o.")
    if force or not os.path.lexists(out):
        return
    what = "is the cfg that is read" if os.path.exists(out) and os.path.samefile(out, source) else "exists already"
    raise CfgError(f"{out}: {what}, and stays as it is. Name another file with -o, or overwrite it with -force.")


def _write(out: Path, raw: bytes) -> None:
    try:
        with replaced(out) as file:
            file.write(raw)
    except (OSError, ValueError) as error:
        raise CfgError(
            f"{out}: cannot be written: {getattr(error, 'strerror', None) or error}. Name another file with -o."
        ) from error


def _difference(old: str, new: str, *, names: tuple[str, str]) -> Iterator[str]:
    """Yield the lines of a unified diff, without line ends."""
    for line in difflib.unified_diff(_lines(old), _lines(new), *names):
        yield line.removesuffix("\n")
        if not line.endswith("\n"):
            yield "\\ No newline at end of file"


def _lines(text: str) -> list[str]:
    """Return lines with LF at their ends, but the last one as it is."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [line + "\n" for line in lines[:-1]] + [line for line in lines[-1:] if line]
