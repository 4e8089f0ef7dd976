"""Folders named after classes -> a classifier's data set.

darknet has no label files here: a picture is of each class whose label is part of its path, anywhere, and there must be
exactly one. "cat" is part of "wildcat/1.jpg" and of "/home/cathy/1.jpg"; so labels are written as whole folder names,
"/cat/", and the folders are named so that no other part of a path reads the same.
Source: darknet src/data.c, fill_truth.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from darkpy.conversion.picture_files import files_below, is_picture
from darkpy.conversion.sample import Tally
from darkpy.errors import DataError

PARTS = {  # what a part of a set is called, where darknet's .data has the key
    "train": ("train", "training"),
    "valid": ("val", "valid", "validation"),
    "test": ("test", "testing"),
}

_NO_PICTURES = "files that are no pictures"


@dataclass(frozen=True, slots=True)
class ClassPicture:
    """A picture, and the class whose folder it is in."""

    path: Path
    class_name: str


def read_folders(folder: Path, tally: Tally) -> dict[str, list[ClassPicture]]:
    """Return the pictures of ``train``, ``valid`` and ``test``; of ``all`` if the folder has no such parts.

    Pictures count at any depth below a class's folder; other files are counted as left out, but for hidden ones.

    Raises:
        DataError: If the folder cannot be read, or has no picture in a class's folder.
    """
    below = _folders_in(folder)
    names = {name: part for part, words in PARTS.items() for name in words}
    parts = {names[one.name.lower()]: one for one in reversed(below) if one.name.lower() in names}
    if "train" not in parts or not _folders_in(parts["train"]):  # without classes below, "train" is one: of railways
        parts = {"all": folder}
    elif unused := [one for one in below if one.name.lower() not in names]:
        tally.add("folders beside train, left out", unused[0], len(unused))
    loose = _loose_pictures(folder, parts.values(), tally)
    found = {part: _pictures(parts[part], tally) for part in (*PARTS, "all") if part in parts}
    if not found.get("train", found.get("all")):
        if loose:
            raise DataError(
                f"{folder}: {loose} picture{'s' if loose > 1 else ''}, but none in a class's folder. If "
                f"{folder.absolute().name} is a class, name the folder above; else give each class a folder with its "
                "pictures."
            )
        raise DataError(f"{folder}: 0 pictures in CLASS/ or train/CLASS/. Give each class a folder with its pictures.")
    return {part: pictures for part, pictures in found.items() if pictures}


def _folders_in(folder: Path) -> list[Path]:
    try:
        return sorted(one for one in folder.iterdir() if one.is_dir() and not one.name.startswith("."))
    except OSError as error:
        raise DataError(f"{folder}: {error.strerror}. Name the folder that holds the classes' folders.") from error


def _loose_pictures(folder: Path, parts: Iterable[Path], tally: Tally) -> int:
    """Count the files that are in no class's folder; return how many of them are pictures."""
    loose = 0
    for place in dict.fromkeys((folder, *parts)):
        for path in sorted(one for one in place.iterdir() if one.is_file() and not one.name.startswith(".")):
            loose += is_picture(path)
            what = "pictures in no class's folder" if is_picture(path) else _NO_PICTURES
            tally.add(f"{what}, left out", path)
    return loose


def _pictures(part: Path, tally: Tally) -> list[ClassPicture]:
    pictures = []
    for folder in _folders_in(part):
        inside = []
        for path in files_below(folder):
            if is_picture(path):
                inside.append(ClassPicture(path, folder.name))
            else:
                tally.add(f"{_NO_PICTURES}, left out", path)
        if not inside:
            tally.add("folders without a picture, no classes", folder)
        pictures += inside
    return pictures


def class_folders(names: Sequence[str], parents: Sequence[str]) -> dict[str, str]:
    """Return for each class the name of its folder: its own, with ``_`` behind it where a parent reads the same.

    Args:
        names: Of the classes.
        parents: The folders that will hold them, as they stand in the lists: ``data/cells/train``.
    """
    parts = {part.casefold() for parent in parents for part in parent.split("/")}
    chosen: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        folder = name.strip().rstrip(".") or "class"  # Windows drops blanks and dots at the end
        while folder.casefold() in parts or folder.casefold() in taken:
            folder += "_"
        taken.add(folder.casefold())
        chosen[name] = folder
    return chosen


def reason(name: str, names: Iterable[str]) -> str:
    """Return why the folder of a class has another name than the class, as ``class_folders`` chose it."""
    other = next((one for one in names if one != name and one.casefold() == name.casefold()), None)
    if other is not None:
        return f"it differs from '{other}' only in letter case, which Windows and macOS do not tell apart"
    if name != name.strip().rstrip("."):
        return "Windows drops blanks and dots at the end of a name"
    return "its own name is part of the path to it"


def matches(path: str, labels: Sequence[str]) -> list[int]:
    """Return the classes that darknet finds in a path."""
    return [number for number, label in enumerate(labels) if label in path]
