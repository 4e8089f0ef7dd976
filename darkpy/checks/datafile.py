"""What is wrong with a .data file: its keys, the files that it names, and the names of the classes."""

import os
from collections.abc import Iterator
from pathlib import Path

from darkpy.cfg.datafile import DataFile, read_datafile
from darkpy.cfg.shipped import locate
from darkpy.cfg.text import read_lines, unreadable
from darkpy.diagnostics import Diagnostic, Severity, from_message
from darkpy.errors import CfgError
from darkpy.report.result_files import FORMS

_NEEDED = (  # key, how bad it is to leave it out, what follows
    ("train", Severity.ERROR, "training needs it. Add the list of pictures to train on."),
    ("valid", Severity.WARNING, "-map then measures on the train list, and map, valid and recall need it. Add one."),
    ("names", Severity.WARNING, "map, test and train -map need it. Add a file with one class name a line."),
    ("backup", Severity.NOTE, "weights go to backup/ here (darknet would write to /backup/)."),
)


def check_datafile(path: Path, *, classes: int | None, cfg: str | None) -> tuple[DataFile | None, list[Diagnostic]]:
    """Check a .data file, the files it names and its class names; no list is read.

    Args:
        path: The .data file.
        classes: Number of classes of the network, or None if there is none: the .data file's own number then counts.
        cfg: The network's file, for messages.

    Returns:
        The file's values, or None where it cannot be read, and what was found.
    """
    try:
        data = read_datafile(path)
    except CfgError as error:
        return None, [from_message(str(error), severity=Severity.ERROR, code="unreadable", path=str(path))]
    found = [*_key_diagnostics(data), *_missing_keys(data), *_missing_files(data), *_numbers(data)]
    found += _classes_diagnostics(data, classes, cfg)
    found += _names_diagnostics(data, classes, cfg)
    return data, found


def at(
    data: DataFile, key: str, *, severity: Severity, code: str, message: str, expected: str | None = None
) -> Diagnostic:
    """Return a diagnostic at the line of a key; at the file if the key is not there."""
    known = data.values.get(key)
    return Diagnostic(severity, code, str(data.path), known[1] if known else None, message, expected)


def _key_diagnostics(data: DataFile) -> Iterator[Diagnostic]:
    for kind, notes in (("unknown-key", data.unknown), ("duplicate-key", data.repeated), ("no-value", data.valueless)):
        for note in notes:
            yield from_message(note, severity=Severity.WARNING, code=kind, path=str(data.path))


def _missing_keys(data: DataFile) -> Iterator[Diagnostic]:
    for key, severity, follows in _NEEDED:
        if data.text(key) is None:
            message = f"no '{key} = ...' line: {follows}"
            yield at(data, key, severity=severity, code="missing-key", message=message)


def _missing_files(data: DataFile) -> Iterator[Diagnostic]:
    for key in ("train", "valid", "difficult", "names"):
        path = data.file(key)
        if path is None or os.path.isfile(locate(path)[0] if key == "names" else path):
            continue
        text = unreadable(path, FileNotFoundError(), asked_by=data.asked_by(key))
        yield from_message(text, severity=Severity.ERROR, code="missing-file", path=str(data.path))
    for key in ("backup", "results"):
        folder = data.file(key)
        if folder is None or os.path.isdir(folder):
            continue
        if os.path.exists(folder):
            message = f"{key} = {folder}: is a file, but must be a folder. Name another one."
            yield at(data, key, severity=Severity.ERROR, code="no-folder", message=message)
        elif key == "backup":
            message = (
                f"{key} = {folder}: the folder does not exist; training makes it (darknet fails at its first save)."
            )
            yield at(data, key, severity=Severity.NOTE, code="missing-folder", message=message)


def _numbers(data: DataFile) -> Iterator[Diagnostic]:
    for key in ("classes", "saveweights", "savelast", "top"):
        try:
            data.integer(key)
        except CfgError as error:
            yield from_message(str(error), severity=Severity.ERROR, code="value", path=str(data.path))
    form = data.text("eval")
    if form is not None and form not in FORMS:
        message = f"eval = {form}: unknown, so valid writes the form voc. Use one of: {', '.join(FORMS)}."
        yield at(data, "eval", severity=Severity.WARNING, code="value", message=message)


def _integer(data: DataFile, key: str) -> int | None:
    try:
        return data.integer(key)
    except CfgError:
        return None  # said already


def _classes_diagnostics(data: DataFile, classes: int | None, cfg: str | None) -> Iterator[Diagnostic]:
    told = _integer(data, "classes")
    if told is not None and classes is not None and told != classes:
        message = (
            f"classes = {told}, but classes={classes} in {cfg}, which counts. Write classes = {classes}; or, if the "
            f"set has {told}: darkpy cfg adapt {cfg} -classes {told}."
        )
        yield at(
            data,
            "classes",
            severity=Severity.WARNING,
            code="classes",
            message=message,
            expected=f"classes = {classes}",
        )


def _names_diagnostics(data: DataFile, classes: int | None, cfg: str | None) -> Iterator[Diagnostic]:
    given = data.file("names")
    if given is None:
        return
    path = locate(given)[0]
    try:
        lines = [line.strip() for line in read_lines(path)]
    except CfgError:
        return  # said already
    rows = [(number, name) for number, name in enumerate(lines, start=1) if name]
    yield from _blank_lines(path, lines)
    yield from _repeated_names(path, rows)
    wanted, source = (classes, cfg) if classes is not None else (_integer(data, "classes"), str(data.path))
    if wanted is not None and len(rows) != wanted:
        message = (
            f"names = {path}: {len(rows)} names, but classes={wanted} in {source}. Give one line for each class, or "
            f"set classes={len(rows)} (darkpy cfg adapt NET.cfg -names {path})."
        )
        yield at(data, "names", severity=Severity.ERROR, code="names", message=message, expected=f"{wanted} names")


def _blank_lines(path: Path, lines: list[str]) -> Iterator[Diagnostic]:
    """Yield the blank lines, which darknet counts as classes; the end of the last line begins none."""
    for number, name in enumerate(lines[:-1] if lines[-1] == "" else lines, start=1):
        if not name:
            message = "a blank line, which darknet counts as one more class name (darkpy leaves it out). Remove it."
            yield Diagnostic(Severity.WARNING, "blank-line", str(path), number, message)


def _repeated_names(path: Path, rows: list[tuple[int, str]]) -> Iterator[Diagnostic]:
    first: dict[str, int] = {}
    for number, name in rows:
        if name in first:
            message = f"'{name}' is the name of line {first[name]} already. Give each class its own name."
            yield Diagnostic(Severity.WARNING, "duplicate-name", str(path), number, message)
        first.setdefault(name, number)
