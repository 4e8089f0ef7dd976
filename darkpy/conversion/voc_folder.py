"""Which annotations, pictures and lists a folder of Pascal VOC's kind has."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from darkpy.cfg.text import read_lines
from darkpy.conversion.picture_files import is_picture
from darkpy.conversion.sample import Tally
from darkpy.errors import DataError

_PICTURE_FOLDERS = ("jpegimages", "images", "image", "img", "imgs")
_SETS = ("train", "val", "trainval", "test")


@dataclass(frozen=True, slots=True)
class VocFolder:
    """One VOC folder, or any other with XML files."""

    path: Path
    annotations: dict[str, Path]  # name without .xml -> file, in order of names
    sets: dict[str, list[Path]]  # those of ImageSets/Main that exist, of train, val, trainval, test


def voc_folders(folder: Path, tally: Tally) -> list[VocFolder]:
    """Return the data sets of a folder: itself, or, if it is a VOCdevkit, each VOC folder in it.

    Raises:
        DataError: If there is no XML file.
    """
    try:
        below = sorted(entry for entry in folder.iterdir() if entry.is_dir())
    except OSError as error:
        raise DataError(f"{folder}: {error.strerror}. Name a folder with XML annotations.") from error
    roots = [folder] if _annotations_of(folder) else [one for one in below if _annotations_of(one)] or [folder]
    found = [_read_folder(root, tally) for root in roots]
    if not any(one.annotations for one in found):
        raise DataError(f"{folder}: no .xml file in it or below. Name the folder that holds Annotations.")
    return found


def _annotations_of(folder: Path) -> Path | None:
    return next((one for one in _entries(folder) if one.name.lower() == "annotations" and one.is_dir()), None)


def _read_folder(root: Path, tally: Tally) -> VocFolder:
    base = _annotations_of(root) or root
    files = sorted(file for file in base.rglob("*.[xX][mM][lL]") if not _is_hidden(file.relative_to(base)))
    annotations: dict[str, Path] = {}
    for file in files:
        if file.stem in annotations:  # in two folders: told apart by the whole path
            annotations[file.relative_to(root).with_suffix("").as_posix()] = file
        else:
            annotations[file.stem] = file
    lists = root / "ImageSets" / "Main"
    sets = {
        name: _members(lists / f"{name}.txt", annotations, tally) for name in _SETS if (lists / f"{name}.txt").is_file()
    }
    return VocFolder(root, annotations, sets)


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _members(path: Path, annotations: dict[str, Path], tally: Tally) -> list[Path]:
    """Return the annotations that a set names, a line each: ``000012``, or ``000012 1``."""
    members = []
    for number, line in enumerate(read_lines(path), start=1):
        if not (whole := line.strip()):
            continue
        first = whole.split()[0]
        known = next((name for name in (whole, first, os.path.splitext(first)[0]) if name in annotations), None)
        if known is None:
            tally.add("ids of ImageSets/Main without an annotation, left out", f"{path}:{number}")
        else:
            members.append(annotations[known])
    return list(dict.fromkeys(members))


def share(folders: Sequence[VocFolder], tally: Tally) -> dict[str, list[Path]]:
    """Return the annotations of ``train`` and ``valid``.

    If any folder has annotations for its test set, train is trainval of all of them and valid is test, as is usual for
    VOC 2007 + 2012. Else train is train, and valid is val. Without sets, all annotations of a folder are train.
    """
    has_test = any(folder.sets.get("test") for folder in folders)
    lists: dict[str, list[Path]] = {"train": [], "valid": []}
    for folder in folders:
        if not folder.sets:
            lists["train"] += folder.annotations.values()
            continue
        sets = {name: folder.sets.get(name, []) for name in _SETS}
        both = _joined(sets["trainval"], sets["train"], sets["val"])
        valid = sets["test"] if has_test else sets["val"]
        taken = set(valid)
        wished = both if has_test else sets["train"] or both
        train = [one for one in wished if one not in taken]
        named = wished if has_test or sets["train"] else []  # trainval less val is train
        shared = [one for one in named if one in taken]
        tally.add("annotations in the sets of train and valid both, taken for valid", _first(shared), len(shared))
        lists["train"] += train
        lists["valid"] += valid
        used = taken.union(train)
        unused = [one for one in folder.annotations.values() if one not in used]
        tally.add("annotations in no list of ImageSets/Main, left out", _first(unused), len(unused))
    return lists


def _first(paths: Sequence[Path]) -> Path | None:
    return next(iter(paths), None)


def _joined(*parts: Iterable[Path]) -> list[Path]:
    return list(dict.fromkeys(one for part in parts for one in part))


@dataclass(frozen=True, slots=True)
class PictureFinder:
    """Finds the picture of an annotation; reads each folder once."""

    _names: dict[Path, dict[str, Path]] = field(default_factory=dict)

    def find(self, annotation: Path, *, root: Path, filename: str) -> Path | None:
        """Return the picture with the annotation's name, else the one that it names, or None.

        Searched are the annotation's folder, and JPEGImages, images, image, img and imgs beside that or in the root.
        """
        inner = annotation.parent.relative_to(root).parts[1:]
        parents = dict.fromkeys((annotation.parent.parent, root))
        folders = [annotation.parent]
        for parent in parents:
            for one in self._picture_folders(parent):
                folders += [one.joinpath(*inner), one]
        written = filename.replace("\\", "/").rpartition("/")[2]
        for key in (annotation.stem, os.path.splitext(written)[0]):
            for folder in dict.fromkeys(folders):
                if key and (found := self._pictures(folder).get(key)):
                    return found
        return None

    def _picture_folders(self, parent: Path) -> list[Path]:
        key = parent / "*"
        if key not in self._names:
            self._names[key] = {
                one.name: one for one in _entries(parent) if one.name.lower() in _PICTURE_FOLDERS and one.is_dir()
            }
        return list(self._names[key].values())

    def _pictures(self, folder: Path) -> dict[str, Path]:
        if folder not in self._names:
            pictures = [one for one in _entries(folder) if is_picture(one)]
            self._names[folder] = {one.stem: one for one in reversed(pictures)}
        return self._names[folder]


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []
