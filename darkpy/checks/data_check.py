"""The whole check of a data set: what to read, and what follows from what was read. It changes no file.

How bad a finding is: an error stops a run or spoils it (a picture that is not there, a class number out of range, boxes
in pixels); a warning costs quality, or makes darknet itself stumble where darkpy does not (no label file, an object
labelled twice, a byte-order mark, a picture in both lists); a note is a fact (CRLF, grey among colour, a thin box).
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from darkpy.cfg.datafile import KEYS, DataFile
from darkpy.cfg.shipped import locate
from darkpy.cfg.text import read_lines, unreadable
from darkpy.checks.data_advice import NetworkFacts, advise, network_diagnostics
from darkpy.checks.data_boxes import box_diagnostics
from darkpy.checks.data_classifier import classes_of_paths, is_classifier_set, path_diagnostics, picture_counts
from darkpy.checks.data_labels import ClassNames, class_counts, class_diagnostics, label_diagnostics
from darkpy.checks.data_lists import (
    ImageList,
    case_diagnostics,
    entry_diagnostics,
    overlap_diagnostics,
    read_list,
    text_diagnostics,
)
from darkpy.checks.data_pictures import picture_diagnostics
from darkpy.checks.data_reading import Sample
from darkpy.checks.data_set import DataSet, assemble, different_pictures
from darkpy.checks.data_summary import summarise
from darkpy.checks.datafile import at, check_datafile
from darkpy.diagnostics import Diagnostic, Severity, from_message
from darkpy.errors import CfgError
from darkpy.report.data_report import DataSummary

_MOST_CLASSES = 100_000  # more are a typing error, and a table of them fills the memory


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """What the text files say: which pictures to read."""

    path: str  # the .data file
    data: DataFile | None  # None: it cannot be read
    network: NetworkFacts | None
    lists: tuple[ImageList, ...]
    names: ClassNames
    labels: ClassNames  # of a classifier, for which paths are searched; none for a detector
    classes: int | None  # None: nothing says how many
    pictures: dict[str, str]  # path of each different picture, by its identity
    found: tuple[Diagnostic, ...]

    @property
    def classes_bound(self) -> int:
        """Number of classes that a label may have."""
        return _MOST_CLASSES if self.classes is None else min(self.classes, _MOST_CLASSES)


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What the check found."""

    summary: DataSummary | None  # None: there is nothing to read
    data: DataSet | None
    names: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]


def plan_check(obj: Path, net: Path | None) -> Plan:
    """Read the .data file, the network's file, the lists and the names.

    Args:
        obj: The .data file.
        net: The network's file, or None.
    """
    network: NetworkFacts | None = None
    found: list[Diagnostic] = []
    if net is not None:
        from darkpy.checks.data_network import read_network  # brings torch, which takes seconds

        network, found = read_network(net)
    data, of_data = check_datafile(
        locate(obj)[0], classes=network.classes if network else None, cfg=network.path if network else None
    )
    if data is None:
        return _nothing_to_read(obj, [*found, *of_data])
    of_text = list(text_diagnostics(data.path.read_bytes(), str(data.path)))
    if any(one.code == "binary" for one in of_text):
        return _nothing_to_read(obj, of_text)  # what was found in it means nothing
    if data.valueless and not data.values.keys() & set(KEYS):
        return _nothing_to_read(obj, [*found, _no_datafile(data)])
    found += [*of_data, *of_text, *_beside(data)]
    lists = tuple(_lists(data))
    for listed in lists:
        found += [*listed.found, *entry_diagnostics(listed), *case_diagnostics(listed)]
    by_key = {listed.key: listed for listed in lists}
    if {"train", "valid"} <= by_key.keys():
        place = (str(data.path), data.values["valid"][1])
        found += overlap_diagnostics(by_key["train"], by_key["valid"], data=place)
    found += _difficult(data, by_key.get("valid"))
    names, of_names = _names(data, "names")
    labels, of_labels = _names(data, "labels")
    found += [*of_names, *of_labels]
    classes = _classes(data, network, names)
    return Plan(str(data.path), data, network, lists, names, labels, classes, different_pictures(lists), tuple(found))


def finish_check(plan: Plan, samples: Sequence[Sample]) -> Outcome:
    """Return what follows from the plan and what was read of its pictures, in their order."""
    if plan.data is None or not plan.pictures:
        return Outcome(None, None, (), plan.found)
    data = assemble(plan.lists, tuple(plan.pictures), samples)
    if is_classifier_set(data, plan.labels):
        return _of_classifier(plan, data, plan.data.path.parent)
    known = plan.names.names[: plan.classes_bound]
    classes = max(len(known), int(data.boxes.classes.max(initial=-1)) + 1)  # those with a name or a box
    names = _padded(plan.names, classes)
    counts = class_counts(data, classes)
    network = plan.network
    grid = network.grid if network else None
    advice = advise(data, network, generator=np.random.default_rng(0))
    found = [*plan.found]
    found += picture_diagnostics(data, channels=network.channels if network else 3, data_folder=plan.data.path.parent)
    found += label_diagnostics(data, classes=plan.classes_bound, names=plan.names.names)
    if not any(one.code == "all-class-ids" for one in found):
        found += class_diagnostics(data, names, counts[0])
    found += box_diagnostics(data, grid)
    if network is not None:
        found += network_diagnostics(data, network, advice, names=names.names)
    summary = summarise(
        data, names, counts, path=plan.path, cfg=network.path if network else None, grid=grid, advice=advice
    )
    return Outcome(summary, data, names.names, tuple(found))


def _of_classifier(plan: Plan, data: DataSet, data_folder: Path) -> Outcome:
    """Return what follows for a set whose pictures have their classes in their paths."""
    labels = plan.labels
    classes = classes_of_paths(data, labels)
    counts = picture_counts(data, classes, labels)
    found = [one for one in plan.found if not _is_about_names(one)]  # the labels name the classes, too
    found += picture_diagnostics(data, channels=plan.network.channels if plan.network else 3, data_folder=data_folder)
    found += path_diagnostics(data, classes, counts, labels)
    names = _padded(plan.names if len(plan.names.names) == len(labels.names) else labels, len(labels.names))
    cfg = plan.network.path if plan.network else None
    summary = summarise(data, names, (np.zeros_like(counts), counts), path=plan.path, cfg=cfg, grid=None, advice=None)
    return Outcome(summary, data, names.names, tuple(found))


def _is_about_names(one: Diagnostic) -> bool:
    """Return whether it says that the .data file names no file of class names."""
    return one.code == "missing-key" and one.message.startswith("no 'names ")


def _nothing_to_read(obj: Path, found: Sequence[Diagnostic]) -> Plan:
    none = ClassNames(str(obj), (), ())
    return Plan(str(obj), None, None, (), none, none, None, {}, tuple(found))


def _no_datafile(data: DataFile) -> Diagnostic:
    """Return the one error in place of one for each line, where no line has a key of a .data file."""
    lines = len(data.valueless) + len(data.values)
    message = (
        f"none of {lines} lines is 'key = value', so this is a list of pictures (or names), not a .data file. Name the "
        f".data file in which 'train = {data.path.name}' or the like stands."
    )
    return Diagnostic(Severity.ERROR, "no-datafile", str(data.path), None, message)


def _beside(data: DataFile) -> Iterator[Diagnostic]:
    """Yield the files that darknet would not find, as they are not in the current folder but beside the .data file."""
    for key in ("train", "valid", "difficult", "names", "labels"):
        path = data.file(key)
        if path is not None and path != Path(os.path.expanduser(data.text(key) or "")):
            message = (
                f"{key} is not in the current folder; taken from beside {data.path} (darknet would not find it). Paths "
                "in the lists count from the current folder."
            )
            yield at(data, key, severity=Severity.NOTE, code="beside", message=message)


def _lists(data: DataFile) -> Iterator[ImageList]:
    for key in ("train", "valid"):
        path = data.file(key)
        if path is not None and os.path.isfile(path):  # else check_datafile says so
            yield read_list(path, key=key)


def _difficult(data: DataFile, valid: ImageList | None) -> Iterator[Diagnostic]:
    """Yield what is wrong with the list whose labels are the difficult objects of mAP."""
    path = data.file("difficult")
    if path is None or not os.path.isfile(path):
        return
    difficult = read_list(path, key="difficult")
    yield from difficult.found
    if valid is not None and difficult.entries and len(difficult.entries) != len(valid.entries):
        message = (
            f"{len(difficult.entries)} pictures, but {len(valid.entries)} in {valid.path}: map needs one line for each "
            "line of the valid list, in the same order."
        )
        yield Diagnostic(Severity.ERROR, "difficult", difficult.path, None, message)


def _names(data: DataFile, key: str) -> tuple[ClassNames, list[Diagnostic]]:
    """Return the lines of the file that ``names`` or ``labels`` names, and what is odd about it."""
    given, none = data.file(key), ClassNames(str(data.path), (), ())
    if given is None:
        return none, []
    path = locate(given)[0]
    if not os.path.isfile(path):
        text = unreadable(path, FileNotFoundError(), asked_by=data.asked_by(key))
        absent = from_message(text, severity=Severity.ERROR, code="missing-file", path=str(data.path))
        return none, [] if key == "names" else [absent]  # check_datafile says it of names
    try:
        lines = read_lines(path)
    except CfgError as error:
        found = from_message(str(error), severity=Severity.ERROR, code="unreadable", path=str(path))
        return none, [found]
    rows = [(number, line.strip()) for number, line in enumerate(lines, start=1) if line.strip()]
    names = ClassNames(str(path), tuple(name for _, name in rows), tuple(number for number, _ in rows))
    return names, list(text_diagnostics(path.read_bytes(), str(path)))


def _classes(data: DataFile, network: NetworkFacts | None, names: ClassNames) -> int | None:
    """Return the number of classes: the network's, else the .data file's, else that of the names."""
    try:
        told = data.integer("classes")
    except CfgError:
        told = None  # said already
    of_network = network.classes if network else None
    return of_network or told or len(names.names) or None


def _padded(names: ClassNames, classes: int) -> ClassNames:
    """Return one name for each class."""
    missing = range(len(names.names), classes)
    return ClassNames(
        names.path,
        (*names.names[:classes], *(f"class {index}" for index in missing)),
        (*names.lines[:classes], *(None for _ in missing)),
    )
