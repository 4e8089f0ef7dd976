"""``darkpy data from-folders``: folders named after classes -> a classifier's data set."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from darkpy.conversion.folders import ClassPicture, class_folders, read_folders, reason
from darkpy.conversion.picture_files import PictureNames
from darkpy.conversion.same_content import content_keys
from darkpy.conversion.sample import Tally
from darkpy.conversion.shares import choose_valid, stay_together
from darkpy.conversion.writer import BACKUP, check_out, data_text, make_folders, names_text, put_picture, put_text
from darkpy.errors import DataError
from darkpy.tasks._conversion import SHARE, in_threads, shown_names, size_or_error, tell, tell_copies
from darkpy.tasks._say import say

_TOP = 5  # darknet's default of the accuracy that is not top 1


@dataclass(frozen=True, slots=True)
class _Placed:
    source: Path
    path: str  # in the list


def from_folders(folder: Path, *, out: Path, valid: float | None, seed: int | None, link: bool, force: bool) -> int:
    """Write the data set, and print what it holds.

    Args:
        folder: Holds train/CLASS and valid/CLASS (or val, test), or the classes' folders alone.
        out: The new folder.
        valid: Share of the pictures of each class that go to valid, if the folder has no valid part; in (0, 1).
            None is a fifth.
        seed: Chooses which; None is 0.
        link: Make hard links to the pictures instead of copies.
        force: Write into a folder that is not empty.

    Raises:
        DataError: If the folder has no classes, or a file cannot be read or written.
    """
    tally = Tally()
    parts = {part: _readable(pictures, tally) for part, pictures in read_folders(folder, tally).items()}
    every = [one for pictures in parts.values() for one in pictures]
    contents = content_keys([one.path for one in every], partial(in_threads, what="comparing"))
    _note_copies(every, contents, tally)
    if not parts.keys() & {"valid", "test"}:
        parts = _divided(every, contents, SHARE if valid is None else valid, seed or 0)
    elif valid is not None or seed is not None:
        say(f"-valid and -seed have no effect: {folder} has parts of its own.")
    names = sorted({one.class_name for pictures in parts.values() for one in pictures})
    folders = class_folders(names, [f"{out.as_posix()}/{part}" for part in parts])
    placed = {part: _placed(pictures, f"{out.as_posix()}/{part}", folders) for part, pictures in parts.items()}
    sources = {one.path.parent for pictures in parts.values() for one in pictures}
    targets = [f"{part}/{name}" for part in parts for name in folders.values()]
    tell(tally)
    if not placed.get("train"):
        raise DataError(f"{folder}: 0 pictures for train can be read, but it needs 1. See what was left out above.")
    if out.resolve().is_relative_to(folder.resolve()):
        raise DataError(f"-o {out}: is in {folder}, where a later run would take it for a class. Name another folder.")
    check_out(out, sources=sources, force=force, targets=targets)
    _tell_classes(parts, folders)
    make_folders(out, *targets, BACKUP)
    _write_pictures(placed, out, link=link)
    _write_texts(placed, out, folders)
    return 0


def _readable(pictures: Sequence[ClassPicture], tally: Tally) -> list[ClassPicture]:
    kept = []
    sizes = in_threads(size_or_error, [one.path for one in pictures], what="reading")
    for one, size in zip(pictures, sizes, strict=True):
        if isinstance(size, DataError):
            say(str(size))
            tally.add("pictures that cannot be read, left out", one.path)
        else:
            kept.append(one)
    return kept


def _note_copies(pictures: Sequence[ClassPicture], contents: Sequence[str], tally: Tally) -> None:
    """Count the pictures whose bytes are those of a picture of another class: one of the two is wrong."""
    first: dict[str, ClassPicture] = {}
    for one, content in zip(pictures, contents, strict=True):
        other = first.setdefault(content, one)
        if other.class_name != one.class_name:
            tally.add("pictures that are byte for byte one of another class, kept", f"{one.path} and {other.path}")


def _divided(
    pictures: Sequence[ClassPicture], contents: Sequence[str], share: float, seed: int
) -> dict[str, list[ClassPicture]]:
    """Return train and valid; each class is in both if it has two pictures that differ."""
    names = sorted({one.class_name for one in pictures})
    groups = stay_together([[content] for content in contents])
    counts = np.zeros((len(groups), len(names)), np.int64)
    for row, group in enumerate(groups):
        for member in group:
            counts[row, names.index(pictures[member].class_name)] += 1
    sizes = counts.sum(axis=1)
    is_valid = choose_valid(counts, sizes, share=share, rng=np.random.default_rng(seed))
    chosen = {member for group, valid in zip(groups, is_valid, strict=True) if valid for member in group}
    return {
        "train": [one for number, one in enumerate(pictures) if number not in chosen],
        "valid": [one for number, one in enumerate(pictures) if number in chosen],
    }


def _placed(pictures: Sequence[ClassPicture], parent: str, folders: Mapping[str, str]) -> list[_Placed]:
    names = {name: PictureNames() for name in folders}
    return [
        _Placed(one.path, f"{parent}/{folders[one.class_name]}/{names[one.class_name].choose(one.path.name)}")
        for one in pictures
    ]


def _tell_classes(parts: Mapping[str, Sequence[ClassPicture]], folders: Mapping[str, str]) -> None:
    """Say on stderr which classes are missing in a part, and which have another folder."""
    for part, pictures in parts.items():
        if missing := sorted(folders.keys() - {one.class_name for one in pictures}):
            say(f"{part} has no picture of {', '.join(missing)}.")
    for name, folder in folders.items():
        if name != folder:
            say(f"The folder of class '{name}' is called {folder}: {reason(name, folders)}.")


def _write_pictures(placed: Mapping[str, Sequence[_Placed]], out: Path, *, link: bool) -> None:
    every = [one for pictures in placed.values() for one in pictures]
    linked = in_threads(lambda one: put_picture(one.source, Path(one.path), link=link), every, what="writing")
    tell_copies(list(linked), out, link=link)


def _write_texts(placed: Mapping[str, Sequence[_Placed]], out: Path, folders: Mapping[str, str]) -> None:
    prefix = out.as_posix()
    for part, pictures in placed.items():
        put_text(out / f"{part}.list", "".join(f"{one.path}\n" for one in pictures))
        print(f"{out / part}.list: {len(pictures)} pictures")
    put_text(out / "labels.txt", names_text(f"/{folder}/" for folder in folders.values()))
    put_text(out / "classes.names", names_text(folders))
    values: dict[str, object] = {"classes": len(folders)}
    values |= {part: f"{prefix}/{part}.list" for part in placed}
    values.setdefault("valid", f"{prefix}/test.list")
    values |= {"labels": f"{prefix}/labels.txt", "names": f"{prefix}/classes.names", "backup": f"{prefix}/{BACKUP}/"}
    put_text(out / "obj.data", data_text({**values, "top": min(_TOP, len(folders))}))
    print(f"{out / 'obj.data'}: {len(folders)} classes: {shown_names(list(folders))}")
