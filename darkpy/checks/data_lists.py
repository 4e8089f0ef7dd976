"""Lists of pictures: their text, repeated entries, and pictures that two lists share. No picture is opened.

Source: darknet src/data.c, get_paths; src/utils.c, replace_image_to_label.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from darkpy.cfg.text import decode, unreadable
from darkpy.checks.data_text import ODDITIES, oddities
from darkpy.data.index import label_path
from darkpy.diagnostics import Diagnostic, Severity, from_message

_DARKNET_EXTENSIONS = frozenset(
    form for small in ("jpg", "jpeg", "png", "bmp", "ppm", "tiff") for form in (small, small.upper())
)


@dataclass(frozen=True)
class ImageList:
    """A list file, whose entries are not yet opened."""

    key: str  # of the .data file: "train" or "valid"
    path: str  # as the .data file names it
    entries: tuple[tuple[int, str], ...]  # line (from 1) and picture path, ends trimmed, blank lines left out
    found: tuple[Diagnostic, ...]  # about its text

    @cached_property
    def first_lines(self) -> dict[str, int]:
        """The line of each different picture where it stands first."""
        lines: dict[str, int] = {}
        for line, picture in self.entries:
            lines.setdefault(identity(picture), line)
        return lines

    @cached_property
    def pictures(self) -> dict[str, str]:
        """The path of each different picture, as written where it stands first, by its identity."""
        paths: dict[str, str] = {}
        for _, picture in self.entries:
            paths.setdefault(identity(picture), picture)
        return paths


def identity(path: str) -> str:
    """Return one spelling for equal paths: ``./a//b.jpg`` and ``a/b.jpg``; on Windows without letter case.

    An absolute path below the current folder is one from there.
    """
    if os.path.isabs(path):
        here = os.path.join(os.path.normcase(os.getcwd()), "")
        path = os.path.normcase(os.path.normpath(path)).removeprefix(here)
    if os.sep == "/" and "//" not in path and "./" not in path:
        return path  # most are
    return os.path.normcase(os.path.normpath(path))


def read_list(path: Path, *, key: str) -> ImageList:
    """Read a list and look at its text.

    Args:
        path: The list. One that cannot be read has no entries, and the reason is among the findings.
        key: Of the .data file.
    """
    name = str(path)
    try:
        raw = path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        text = unreadable(path, error)
        return ImageList(key, name, (), (from_message(text, severity=Severity.ERROR, code="unreadable", path=name),))
    lines = decode(raw).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    found = list(text_diagnostics(raw, name))
    if any(one.code == "binary" for one in found):
        return ImageList(key, name, (), tuple(found))
    entries = tuple((number, text) for number, line in enumerate(lines, start=1) if (text := line.strip()))
    found += _line_diagnostics(lines, name)
    if not entries:
        message = "the list is empty; 0 of at least 1 picture. Write one picture path a line."
        found = [Diagnostic(Severity.ERROR, "empty-list", name, None, message)]
    return ImageList(key, name, entries, tuple(found))


def text_diagnostics(raw: bytes, path: str) -> Iterator[Diagnostic]:
    """Yield what is odd in a text file's bytes."""
    for code in oddities(raw):
        severity, sentence = ODDITIES[code]
        yield Diagnostic(severity, code, path, None, sentence)


def _line_diagnostics(lines: list[str], path: str) -> Iterator[Diagnostic]:
    last = len(lines)
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text and number < last:  # the end of the last line begins none
            message = (
                "a blank line, which darknet takes for a picture without a name (darkpy leaves it out). Remove it."
            )
            yield Diagnostic(Severity.WARNING, "blank-line", path, number, message)
        elif text and line != text:
            message = (
                f"blanks around '{text}', which darknet takes for part of the name (darkpy does not). Remove them."
            )
            yield Diagnostic(Severity.WARNING, "blanks", path, number, message, text)


def entry_diagnostics(listed: ImageList) -> Iterator[Diagnostic]:
    """Yield what the entries of one list show without a look at the pictures."""
    first = listed.first_lines
    for line, picture in listed.entries:
        if first[identity(picture)] != line:
            message = f"'{picture}' is in {listed.path}:{first[identity(picture)]} too, so it counts twice. Remove one."
            yield Diagnostic(Severity.NOTE, "listed-twice", listed.path, line, message)
            continue
        if picture.rpartition(".")[2] not in _DARKNET_EXTENSIONS and not _is_no_picture(picture):
            message = (
                f"'{picture}': darknet finds label files for .jpg, .jpeg, .png, .bmp, .ppm and .tiff only, small or "
                f"capital; darkpy reads {label_path(picture)}. Convert or rename the picture."
            )
            yield Diagnostic(Severity.WARNING, "extension", listed.path, line, message)
    yield from _shared_labels(listed)


def _is_no_picture(path: str) -> bool:
    """Return whether an entry is a folder, or stands in quotes and is not there: then that is said."""
    return os.path.isdir(path) or (_unquoted(path) is not None and not os.path.exists(path))


def _unquoted(path: str) -> str | None:
    """Return what stands between quotes, or None."""
    return path[1:-1] if len(path) > 2 and path[0] == path[-1] and path[0] in "\"'" else None


def _shared_labels(listed: ImageList) -> Iterator[Diagnostic]:
    owners: dict[str, str] = {}
    for key, picture in listed.pictures.items():
        label = label_path(picture)
        owner = owners.setdefault(label, picture)
        if owner is not picture:
            message = f"'{picture}' has the same label file as '{owner}': {label}. Rename one of them."
            yield Diagnostic(Severity.WARNING, "shared-label", listed.path, listed.first_lines[key], message)


def overlap_diagnostics(train: ImageList, valid: ImageList, *, data: tuple[str, int | None]) -> Iterator[Diagnostic]:
    """Yield the pictures that are in both lists; one line for all where that seems to be meant.

    Args:
        train: The train list.
        valid: The valid list.
        data: The .data file, and its line with the valid list.
    """
    both = [key for key in valid.first_lines if key in train.first_lines]
    rule = "mAP is then measured on pictures that the network has seen"
    if both and len(both) in (len(valid.first_lines), len(train.first_lines)) and len(both) > 1:
        message = (
            f"{len(both)} of the {len(valid.first_lines)} pictures in {valid.path} are in {train.path} "
            f"({len(train.first_lines)} pictures) too: {rule}. Keep pictures for validation alone (darkpy data split)."
        )
        yield Diagnostic(Severity.WARNING, "train-in-valid", data[0], data[1], message)
        return
    for key in both:
        message = (
            f"'{valid.pictures[key]}' is in {train.path}:{train.first_lines[key]} too: {rule}. Take it off one list."
        )
        yield Diagnostic(Severity.WARNING, "train-in-valid", valid.path, valid.first_lines[key], message)


class FolderNames:
    """The names in folders, each folder read once: to find a file whose letter case differs."""

    def __init__(self) -> None:
        self._names: dict[str, dict[str, str]] = {}

    def other_case(self, path: str) -> str | None:
        """Return the path that differs from ``path`` in the letter case of its file name only, or None."""
        folder, name = os.path.split(path)
        if folder not in self._names:
            try:
                self._names[folder] = {other.lower(): other for other in os.listdir(folder or ".")}
            except (OSError, ValueError):
                self._names[folder] = {}
        other = self._names[folder].get(name.lower())
        return None if other is None or other == name else os.path.join(folder, other)


def missing_diagnostic(listed: ImageList, line: int, picture: str, folders: FolderNames) -> Diagnostic:
    """Return the error for a picture that is not there."""
    other = folders.other_case(picture)
    if other is not None:
        message = f"'{picture}' is '{os.path.basename(other)}' on disk, and Linux tells them apart. Write that."
        return Diagnostic(Severity.ERROR, "letter-case", listed.path, line, message, other)
    unquoted = _unquoted(picture)
    if unquoted is not None:
        message = f"{picture} is not there, as the quotes count as part of the name. Remove the quotes."
        return Diagnostic(Severity.ERROR, "quotes", listed.path, line, message, unquoted)
    slashed = picture.replace("\\", "/")
    if slashed != picture and os.path.exists(slashed):
        message = f"'{picture}' is not there, as only Windows takes \\ for a folder's end. Write '{slashed}'."
        return Diagnostic(Severity.ERROR, "backslashes", listed.path, line, message, slashed)
    message = f"'{picture}' is not there. Check the path, which counts from the current folder, or remove the line."
    return Diagnostic(Severity.ERROR, "picture-missing", listed.path, line, message)


def case_diagnostics(listed: ImageList, *, platform: str = sys.platform) -> Iterator[Diagnostic]:
    """Yield pictures that are there only because this system does not tell apart small and capital letters.

    Args:
        listed: The list.
        platform: As in ``sys.platform``; on Linux such a picture is missing, which is said elsewhere.
    """
    if platform not in ("win32", "darwin"):
        return
    folders = FolderNames()
    for key, picture in listed.pictures.items():
        other = folders.other_case(picture)
        if other is not None and os.path.exists(picture):
            message = f"'{picture}' is '{os.path.basename(other)}' on disk: Linux will not find it. Write that."
            yield Diagnostic(Severity.WARNING, "letter-case", listed.path, listed.first_lines[key], message, other)


def nothing_found(listed: ImageList, data_folder: Path) -> Diagnostic | None:
    """Return the one error in place of many if all paths of a list count from another folder than the current one.

    Args:
        listed: A list none of whose pictures is there.
        data_folder: Of the .data file.
    """
    example = listed.entries[0][1]
    for folder in (Path(listed.path).parent, data_folder, *data_folder.absolute().parents):
        if os.path.exists(folder / example):
            message = (
                f"none of its {len(listed.first_lines)} pictures is there: paths count from the current folder, "
                f"and '{example}' is in {folder.absolute()}. Run darkpy there."
            )
            return Diagnostic(Severity.ERROR, "wrong-folder", listed.path, None, message)
    return None


def missing_diagnostics(listed: ImageList, missing: Iterable[str], *, data_folder: Path) -> Iterator[Diagnostic]:
    """Yield the pictures of a list that are not there.

    Args:
        listed: The list.
        missing: Identities of its pictures that are not there.
        data_folder: Of the .data file.
    """
    absent = list(missing)
    if absent and len(absent) == len(listed.first_lines):
        for_all = nothing_found(listed, data_folder)
        if for_all is not None:
            yield for_all
            return
    folders = FolderNames()
    for key in absent:
        yield missing_diagnostic(listed, listed.first_lines[key], listed.pictures[key], folders)


def quick_list_diagnostics(
    train: Path, valid: Path | None, *, data: Path | None = None, valid_line: int | None = None
) -> list[Diagnostic]:
    """Return what is wrong with the lists of a run, without opening a picture or a label.

    Args:
        train: The train list.
        valid: The valid list, if it is used.
        data: The .data file that names them.
        valid_line: Its line that names the valid list.
    """
    lists = [read_list(path, key=key) for key, path in (("train", train), ("valid", valid)) if path is not None]
    found: list[Diagnostic] = []
    folder = Path() if data is None else data.parent
    for listed in lists:
        missing = [key for key, path in listed.pictures.items() if not os.path.exists(path)]
        found += [*listed.found, *entry_diagnostics(listed), *case_diagnostics(listed)]
        found += missing_diagnostics(listed, missing, data_folder=folder)
    if len(lists) == 2:
        found += overlap_diagnostics(*lists, data=(str(data or valid), valid_line))
    return found
