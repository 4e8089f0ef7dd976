"""``darkpy data split``: one list -> a train and a valid list that have the same classes."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from darkpy.cfg.datafile import DataFile, read_names
from darkpy.cfg.text import read_lines
from darkpy.conversion.picture_files import pictures_below
from darkpy.conversion.same_content import content_keys
from darkpy.conversion.shares import choose_valid, stay_together
from darkpy.conversion.split_source import classes_in_labels, classes_in_path, counts_of, folder_of, is_folder, members
from darkpy.conversion.writer import check_file, data_text, put_text
from darkpy.data.index import label_path, read_image_list
from darkpy.errors import DataError
from darkpy.tasks._classes import open_datafile
from darkpy.tasks._conversion import SHARE, in_threads
from darkpy.tasks._say import say

_FILE_KEYS = ("train", "valid", "difficult", "names", "labels")
_OWN_KEYS = ("train", "valid", "difficult")  # of the new .data file


@dataclass(frozen=True, slots=True)
class _Source:
    pictures: list[str]
    listed: Path  # where they are named, or the folder
    files: tuple[Path, ...] = ()  # that were read, and stay
    data: DataFile | None = None  # where it was a .data file
    names: Sequence[str] = ()  # of the classes, as far as they are known
    labels: Sequence[str] = ()  # of a classifier


def split(source: Path, *, out: Path, valid: float | None, seed: int | None, group: str, force: bool) -> int:
    """Write ``train.txt`` and ``valid.txt``, and a .data file if the source is one; print what they hold.

    Pictures are not read into memory, copied or moved; the lists keep their paths and their order.

    Args:
        source: A list, a .data file (its train list is shared out) or a folder of pictures.
        out: The folder of the new files.
        valid: Share of the pictures that go to valid, in (0, 1); None is a fifth.
        seed: Chooses which; None is 0.
        group: ``content`` keeps pictures with the same bytes together, ``folder`` also those of one folder.
        force: Replace files that exist.

    Raises:
        CfgError: If the .data file, the list or the names cannot be read.
        DataError: If there are fewer than two groups, or a file exists or cannot be written.
    """
    found = _read(source)
    _check_pictures(found)
    targets = [out / "train.txt", out / "valid.txt", *([out / source.name] if found.data else [])]
    _check_targets(targets, out, found.files, force=force)
    pictures = list(dict.fromkeys(found.pictures))
    if len(pictures) < len(found.pictures):
        say(f"{found.listed}: {len(found.pictures) - len(pictures)} lines are repeated; each picture is taken once.")
    classes = _classes(pictures, found.labels)
    groups = _groups(pictures, group)
    if len(groups) < 2:
        raise DataError(
            f"{source}: 1 group of pictures, but a split needs 2. Add pictures, or leave -group folder out."
        )
    counts, columns = counts_of(groups, classes)
    sizes = np.array([len(one) for one in groups])
    share, rng = SHARE if valid is None else valid, np.random.default_rng(seed or 0)
    chosen = members(groups, choose_valid(counts, sizes, share=share, rng=rng))
    parts = {
        "train": [number for number in range(len(pictures)) if number not in chosen],
        "valid": sorted(chosen),
    }
    _tell(parts, classes, columns, found.names)
    _write(parts, pictures, found.data, targets)
    return 0


def _read(source: Path) -> _Source:
    if is_folder(source):
        pictures = [path.as_posix() for path in pictures_below(source)]
        if not pictures:
            raise DataError(
                f"{source}: 0 pictures in the folder, but a split needs 2. Name the folder of the pictures."
            )
        return _Source(pictures, source)
    if source.suffix.lower() != ".data":
        return _Source(read_image_list(source), source, (source,))
    data = open_datafile(source)
    train = data.required("train", purpose="data split")
    pictures = read_image_list(train, asked_by=data.asked_by("train"))
    if data.text("valid"):
        say(f"{data.asked_by('valid')}: only the train list is shared out; this one is in neither part.")
    named = {key: path for key in ("names", "labels") if (path := data.file(key)) and path.is_file()}
    names, labels = (read_names(named[key]) if key in named else [] for key in ("names", "labels"))
    files = (data.path, *(path for key in _FILE_KEYS if (path := data.file(key))))
    return _Source(pictures, train, files, data, names or labels, labels)


def _check_pictures(found: _Source) -> None:
    """Refuse a file that is no list of pictures; say on stderr how many of a list are not there."""
    absent = [number for number, path in enumerate(found.pictures) if not os.path.isfile(path)]
    if not absent:
        return
    first, count, listed = found.pictures[absent[0]], len(found.pictures), found.listed
    if len(absent) == count:
        what = f"{listed}:{_line(listed, absent[0])}: '{first}'"
        if first.startswith("["):
            raise DataError(
                f"{what} is a section, so this is a cfg, not a list. Name a list, a .data file or a folder."
            )
        raise DataError(
            f"{what} is not there, nor any other of {count} lines; a split needs a list of pictures, whose paths count "
            "from the current folder. Name a list, a .data file or a folder."
        )
    say(f"{len(absent)} of {count} pictures are not there, the first: {listed}:{_line(listed, absent[0])}: {first}")


def _line(listed: Path, number: int) -> int:
    """Return the line, from 1, of a list's picture, from 0."""
    lines = [line for line, text in enumerate(read_lines(listed), start=1) if text.strip()]
    return lines[number]


def _check_targets(targets: Sequence[Path], out: Path, files: Sequence[Path], *, force: bool) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        why = getattr(error, "strerror", None) or error
        raise DataError(f"-o {out}: cannot be made: {why}. Name a folder that can be written.") from error
    for target in targets:
        check_file(target, named=f"-o {out}: {target}", sources=files, force=force)


def _classes(pictures: Sequence[str], labels: Sequence[str]) -> list[frozenset[int]]:
    if labels:
        return [classes_in_path(path, labels=labels) for path in pictures]
    classes = list(in_threads(classes_in_labels, pictures, what="labels"))
    if not any(classes):
        say(
            f"No label file has an object (looked for {label_path(pictures[0])}): chance alone shares out the pictures."
        )
    return classes


def _groups(pictures: Sequence[str], group: str) -> list[list[int]]:
    """Return the numbers of the pictures that stay together."""
    contents = content_keys([Path(path) for path in pictures], partial(in_threads, what="comparing"))
    folders = [folder_of(path) if group == "folder" else path for path in pictures]
    keys = zip(contents, folders, map(label_path, pictures), strict=True)
    groups = stay_together([[("content", a), ("folder", b), ("label", c)] for a, b, c in keys])
    if copies := len(pictures) - len(set(contents)):
        say(f"{copies} pictures have the same content as another; they stay in its part.")
    return groups


def _tell(
    parts: Mapping[str, Sequence[int]],
    classes: Sequence[frozenset[int]],
    columns: Sequence[int],
    names: Sequence[str],
) -> None:
    """Say on stderr which classes are in one part only."""
    held = {part: frozenset[int]().union(*(classes[number] for number in numbers)) for part, numbers in parts.items()}
    for part, others in held.items():
        for class_id in columns:
            if class_id not in others:
                name = f" ({names[class_id]})" if class_id < len(names) else ""
                say(f"{part} has no picture of class {class_id}{name}: too few pictures or groups have it.")


def _write(
    parts: Mapping[str, Sequence[int]], pictures: Sequence[str], data: DataFile | None, targets: Sequence[Path]
) -> None:
    for numbers, target in zip(parts.values(), targets, strict=False):
        put_text(target, "".join(f"{pictures[number]}\n" for number in numbers))
        print(f"{target}: {len(numbers)} pictures")
    if data is None:
        return
    lists: dict[str, object] = {part: target.as_posix() for part, target in zip(parts, targets, strict=False)}
    kept = {key: _kept(data, key) for key in data.values if key not in _OWN_KEYS}
    first = {"classes": kept.pop("classes")} if "classes" in kept else {}
    put_text(targets[-1], data_text({**first, **lists, **kept}))
    print(targets[-1])


def _kept(data: DataFile, key: str) -> str:
    """Return a value of the old .data file for the new one; a file that lies beside the old one is named from here."""
    value = data.values[key][0]
    path = data.file(key)
    return value if path is None or key not in _FILE_KEYS or not path.is_file() else path.as_posix()
