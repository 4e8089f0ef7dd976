"""What is wrong with the label files of a set, and with its classes."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from darkpy.checks.data_lists import FolderNames
from darkpy.checks.data_reading import LabelFile
from darkpy.checks.data_set import DataSet, Integers
from darkpy.checks.data_text import ODDITIES
from darkpy.data.labels import NO_NUMBER, check_ids
from darkpy.diagnostics import Diagnostic, Severity, from_message
from darkpy.errors import DataError

_SEVERITY = {  # of a bad record
    "record": Severity.ERROR,
    "class-name": Severity.ERROR,
    "not-finite": Severity.ERROR,
    "class-id": Severity.ERROR,
    "not-normalised": Severity.ERROR,
    "box-without-size": Severity.WARNING,
    "box-at-origin": Severity.WARNING,
    "box-outside": Severity.WARNING,
    "six-columns": Severity.WARNING,
}
_COUNTED = {"crlf": "CRLF, as on Windows", "carriage-returns": "CR, as on old Macs"}  # oddities without effect here
_OF_A_LABEL = {  # where darknet reads a label otherwise than a list
    "byte-order-mark": "begins with a UTF-8 byte-order mark, so that darknet reads no box of it (darkpy does). "
    "Save it as UTF-8 without the mark.",
    "utf-16": "UTF-16, of which darknet reads no box (darkpy does). Save it as UTF-8 without a byte-order mark.",
}


_BESIDE = "darknet looks for the name of the picture with .txt, beside the picture: move"
_DOTTED = (
    "a class number with a dot, such as 1.0: darknet reads 1 and takes the rest for x, so that all later numbers shift "
    "(darkpy reads 1). Write 1."
)


@dataclass(frozen=True, slots=True)
class ClassNames:
    """The names of the classes, and where they stand."""

    path: str  # the .names file; the .data file where there is none
    names: tuple[str, ...]
    lines: tuple[int | None, ...]  # of each name


def label_diagnostics(data: DataSet, *, classes: int, names: Sequence[str] = ()) -> Iterator[Diagnostic]:
    """Yield what is wrong with label files.

    Args:
        data: The set.
        classes: Number of classes.
        names: Of the classes.
    """
    records = [one for sample in data.samples for one in _records(sample.label, names)]
    yield from _class_numbers(data, records, classes=classes)
    yield from _elsewhere(data)
    folders = FolderNames()
    for index, sample in enumerate(data.samples):
        label = sample.label
        if label.failure and not label.elsewhere and not sample.picture.failure:  # else its labels do not matter
            yield _unread(data, index, folders)
        if label.dotted is not None:
            yield Diagnostic(Severity.WARNING, "class-form", label.path, label.dotted, _DOTTED)
        for code in label.odd:
            if code not in _COUNTED:
                yield Diagnostic(ODDITIES[code][0], code, label.path, None, _OF_A_LABEL.get(code, ODDITIES[code][1]))
    yield from _line_ends(data)


def _records(label: LabelFile, names: Sequence[str]) -> Iterator[Diagnostic]:
    for problem in label.labels.problems:
        found = from_message(problem.message, severity=_SEVERITY[problem.code], code=problem.code, path=label.path)
        message = found.message.removeprefix("Wrong annotation: ")
        name = message[1:].partition(NO_NUMBER)[0]
        if problem.code == "class-name" and name in names:
            message += f" Write {names.index(name)} for '{name}'."
        yield Diagnostic(found.severity, found.code, found.path, found.line, message)


def _class_numbers(data: DataSet, records: Sequence[Diagnostic], *, classes: int) -> Iterator[Diagnostic]:
    """Yield the records that are wrong; one line in place of many if no class number of the set is right."""
    labels = [sample.label.labels for sample in data.samples]
    wrong = [one for one in records if one.code == "class-id"]
    example = wrong[0] if wrong else None
    try:
        notes = check_ids(labels, classes=classes, example="") if example else ()
    except DataError as error:
        if example is not None:
            yield _of_ids(str(error), Severity.ERROR, "all-class-ids", example)
        yield from (one for one in records if one.code != "class-id")
        return
    for note in notes:
        if example is not None:
            yield _of_ids(note.message, Severity.WARNING, note.code, example)
    yield from records


def _of_ids(text: str, severity: Severity, code: str, example: Diagnostic) -> Diagnostic:
    return Diagnostic(severity, code, example.path, example.line, text.removeprefix(" and others: "))


def _elsewhere(data: DataSet) -> Iterator[Diagnostic]:
    """Yield the pictures whose label files are in another place; one line for a list that has no other labels."""
    lists: dict[str, list[int]] = {}
    for index, sample in enumerate(data.samples):
        if sample.label.elsewhere and not sample.picture.failure:
            lists.setdefault(data.place(index)[0], []).append(index)
    if not lists:
        return
    right = {data.place(index)[0] for index, sample in enumerate(data.samples) if sample.label.failure != "missing"}
    for path, found in lists.items():
        whole = len(found) > 1 and path not in right
        for index in found[:1] if whole else found:
            label = data.samples[index].label
            what = f"'{data.samples[index].path}' has no label file {label.path}, but {label.elsewhere} exists"
            if whole:
                message = f"{len(found)} pictures of the list have their label files elsewhere: {what}. {_BESIDE} them."
            else:
                message = f"{what}. {_BESIDE} it."
            yield Diagnostic(Severity.WARNING, "label-elsewhere", *data.place(index), message, label.path)


def _unread(data: DataSet, index: int, folders: FolderNames) -> Diagnostic:
    sample = data.samples[index]
    label, (path, line) = sample.label, data.place(index)
    if label.failure != "missing":
        message = f"label file {label.path}: {label.failure}. Make it readable, or replace it."
        return Diagnostic(Severity.ERROR, "label-unreadable", path, line, message)
    other = folders.other_case(label.path)
    if other is not None:
        message = (
            f"'{sample.path}' has no label file {label.path}, but {other} exists. Rename it: Linux tells them apart."
        )
        return Diagnostic(Severity.WARNING, "label-elsewhere", path, line, message, label.path)
    message = (
        f"'{sample.path}' has no label file {label.path}, so it counts as a picture without objects. "
        "Write an empty file if there are none."
    )
    return Diagnostic(Severity.WARNING, "label-missing", path, line, message)


def _line_ends(data: DataSet) -> Iterator[Diagnostic]:
    counts = Counter(code for sample in data.samples for code in sample.label.odd if code in _COUNTED)
    files = sum(not sample.label.failure for sample in data.samples)
    for code, count in counts.items():
        first = next(sample.label.path for sample in data.samples if code in sample.label.odd)
        message = f"lines end in {_COUNTED[code]}, in {count} of {files} label files; darknet and darkpy read them."
        yield Diagnostic(Severity.NOTE, code, first, None, message)


def class_counts(data: DataSet, classes: int) -> tuple[Integers, Integers]:
    """Return boxes and pictures, (lists, classes) each, of each class in each list."""
    boxes, pictures = np.zeros((2, len(data.lists), classes), np.int64)
    owners, ids = data.boxes.owners, data.boxes.classes
    pairs = np.unique(owners * classes + ids)  # one for each class of each picture
    for row, member in enumerate(data.members):
        boxes[row] = np.bincount(ids[member[owners]], minlength=classes)
        pictures[row] = np.bincount(pairs[member[pairs // classes]] % classes, minlength=classes)
    return boxes, pictures


def class_diagnostics(data: DataSet, names: ClassNames, counts: Integers) -> Iterator[Diagnostic]:
    """Yield lists without a box, and classes that never occur in a list that has boxes.

    Args:
        data: The set.
        names: The names.
        counts: (lists, classes) boxes.
    """
    full = [row for row in range(len(data.lists)) if counts[row].any()]
    is_readable = np.array([not sample.picture.failure for sample in data.samples])
    for row, listed in enumerate(data.lists):
        if row not in full and data.members[row, is_readable].any():
            severity = Severity.ERROR if listed.key == "train" else Severity.WARNING
            message = "no picture of the list has a box that can be used. Check the label files, and the classes."
            yield Diagnostic(severity, "no-boxes", listed.path, None, message)
    for index in np.flatnonzero((counts[full] == 0).any(axis=0)) if full else ():
        absent = [data.lists[row] for row in full if counts[row, index] == 0]
        where = " and ".join(listed.path for listed in absent)
        is_unlearned = any(listed.key == "train" for listed in absent)
        follows = "it is not learned" if is_unlearned else "its AP is 0, and mAP counts it"
        message = (
            f"class {index} ('{names.names[index]}') has no box in {where}: {follows}. Add pictures of it, or take "
            "the class out."
        )
        yield Diagnostic(Severity.WARNING, "class-without-boxes", names.path, names.lines[index], message)
