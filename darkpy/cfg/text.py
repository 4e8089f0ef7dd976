"""Text files of darknet: decoding, and lines <-> sections.

Source: darknet src/parser.c, read_cfg; src/option_list.c.
"""

import codecs
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from darkpy.errors import CfgError

_BLANKS = str.maketrans("", "", " \t\r\n")
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One option line of a section."""

    key: str
    value: str | None  # None: a line without "=", which darknet treats as an absent key
    line: int  # counted from 1


@dataclass(frozen=True, slots=True)
class Section:
    """One ``[kind]`` of a cfg file with its option lines, in file order."""

    kind: str  # as written, without brackets
    line: int  # of the [kind] line, counted from 1
    path: str  # of the file, for messages
    entries: tuple[Entry, ...]
    notes: tuple[str, ...] = ()  # lines that were dropped, one sentence each

    def find(self, key: str) -> Entry | None:
        """Return the entry that counts for ``key``: the first one, as in darknet."""
        return next((entry for entry in self.entries if entry.key == key), None)


def decode(raw: bytes) -> str:
    """Return the text of a file that may carry a byte-order mark (UTF-8 or UTF-16), without the mark.

    Bytes that are no UTF-8 are kept as surrogates, so that a path made of them still opens its file.
    """
    for mark, encoding in _BYTE_ORDER_MARKS:
        if raw.startswith(mark):
            return raw[len(mark) :].decode(encoding, errors="surrogateescape" if encoding == "utf-8" else "replace")
    if raw[:2].count(0) == 1 and len(raw) > 3:  # UTF-16 without a mark: every other byte of plain text is zero
        return raw.decode("utf-16-le" if raw[1] == 0 else "utf-16-be", errors="replace")
    return raw.decode("utf-8", errors="surrogateescape")


def read_lines(path: Path, *, asked_by: str = "") -> list[str]:
    """Return the lines of a text file: LF, CRLF or CR line ends, any byte-order mark.

    Args:
        path: The file.
        asked_by: Who names this file, for the message (``"obj.data:2: valid"``).

    Raises:
        CfgError: If the file is missing, is a folder or cannot be read.
    """
    try:
        raw = path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise CfgError(unreadable(path, error, asked_by=asked_by)) from error
    return decode(raw).replace("\r\n", "\n").replace("\r", "\n").split("\n")


def unreadable(path: Path, error: OSError | ValueError, *, asked_by: str = "") -> str:
    """Return the one line that says why ``path`` cannot be opened, and which near name exists."""
    where = f"{asked_by}: " if asked_by else ""
    if os.path.isdir(path):  # of os.path, since Path's own raise for a name that is too long
        return f"{where}Couldn't open file: {path}: it is a folder. Name a file."
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        near = _near_name(path)
        mend = f"Did you mean {near}?" if near else "Check the path; it counts from the current folder."
        return f"{where}Couldn't open file: {path}: not found. {mend}"
    return f"{where}Couldn't open file: {path}: {getattr(error, 'strerror', None) or error}."


def _near_name(path: Path) -> Path | None:
    """Return a file beside ``path`` whose name a person may have meant: ``obj.data`` -> ``obj.data.txt``."""
    import difflib

    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return None
    longer = sorted(name for name in names if name.startswith(path.name + ".") or name.lower() == path.name.lower())
    near = longer or difflib.get_close_matches(path.name, names, n=1, cutoff=0.8)
    return path.parent / near[0] if near else None


def parse_sections(
    lines: Iterable[str], path: str, *, refused: Callable[[CfgError], None] | None = None
) -> list[Section]:
    """Return the sections of a cfg text.

    Blanks are deleted everywhere in a line; lines that begin with ``#`` or ``;`` are comments; an option line
    is split at its first ``=``. A ``#`` after a section's name starts a comment (for darknet it belongs to the name).

    Args:
        lines: Physical lines, without line ends.
        path: Name of the file, for messages.
        refused: Takes the error of each line that cannot be read, which is then left out; None raises the first.

    Raises:
        CfgError: If an option stands before the first section, or there is no section.
    """

    def refuse(error: CfgError) -> None:
        if refused is None:
            raise error
        refused(error)

    sections: list[tuple[str, int, list[Entry], list[str]]] = []
    for number, raw in enumerate(lines, start=1):
        line = raw.translate(_BLANKS)
        if not line or line[0] in "#;":
            continue
        if line[0] == "[":
            try:
                sections.append((_section_name(line, number, path), number, [], []))
            except CfgError as error:
                refuse(error)
            continue
        if not sections:
            stray = f"{path}:{number}: '{raw.strip()}' stands before the first section. "
            refuse(CfgError(stray + "A cfg begins with [net]; put the option under it."))
            continue
        key, equals, value = line.partition("=")
        if equals and not value:
            sections[-1][3].append(f"{path}:{number}: '{key}=' has no value, so the line is dropped.")
            continue
        sections[-1][2].append(Entry(key, value if equals else None, number))
    if not sections:
        raise CfgError(f"{path}: Config file has no sections. A cfg begins with [net].")
    return [Section(kind, line, path, tuple(entries), tuple(notes)) for kind, line, entries, notes in sections]


def _section_name(line: str, number: int, path: str) -> str:
    name, bracket, rest = line[1:].partition("]")
    if not bracket or (rest and rest[0] not in "#;"):
        raise CfgError(
            f"{path}:{number}: '{line}' is no section. Write [{name.strip('[]') or 'net'}] alone on its line."
        )
    return name


def read_sections(path: Path, *, refused: Callable[[CfgError], None] | None = None) -> list[Section]:
    """Return the sections of a cfg file.

    Args:
        path: The file.
        refused: As of ``parse_sections``.

    Raises:
        CfgError: As ``read_lines`` and ``parse_sections``, or if the file is no text.
    """
    lines = read_lines(path)
    if any("\0" in line for line in lines):
        raise CfgError(f"{path}: not a cfg: it is no text. Name a .cfg file; detector takes DATA CFG WEIGHTS.")
    return parse_sections(lines, str(path), refused=refused)


def format_sections(sections: Sequence[Section]) -> str:
    """Return a cfg text that ``parse_sections`` reads back to the same kinds, keys and values."""
    blocks = []
    for section in sections:
        lines = [f"[{section.kind}]"]
        lines += [entry.key if entry.value is None else f"{entry.key}={entry.value}" for entry in section.entries]
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)
