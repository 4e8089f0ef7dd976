"""The .data file of a command, its difficult list, and its class names, held against the network."""

from collections.abc import Sequence
from pathlib import Path

from darkpy.cfg.datafile import DataFile, read_datafile, read_names
from darkpy.data.index import read_image_list
from darkpy.errors import DataError
from darkpy.tasks._say import find, say


def open_datafile(path: Path) -> DataFile:
    """Read a .data file, also one that comes with darkpy, and say on stderr what is odd in it.

    Raises:
        CfgError: If the file is missing, or is a cfg.
    """
    data = read_datafile(find(path))
    for note in data.notes:
        say(note)
    return data


def difficult_list(data: DataFile, paths: Sequence[str], valid: Path) -> list[str] | None:
    """Return the pictures whose labels are the difficult objects of a mAP, or None without such a list.

    Args:
        data: The .data file.
        paths: Pictures of the valid list.
        valid: That list, for messages.

    Raises:
        CfgError: If the list cannot be read.
        DataError: If it has another length than the valid list.
    """
    other = data.file("difficult")
    if other is None:
        return None
    difficult = read_image_list(other, asked_by=data.asked_by("difficult"))
    if len(difficult) != len(paths):
        raise DataError(
            f"{data.asked_by('difficult')}: {len(difficult)} images in {other}, but {len(paths)} in {valid}. "
            "Give one line for each line of the valid list, in the same order."
        )
    return difficult


def class_names(data: DataFile, *, classes: int, cfg: Path, exact: bool) -> list[str]:
    """Return one name for each class of the network, and say on stderr where .data and cfg differ.

    Args:
        data: The .data file.
        classes: Number of classes of the network's last layer.
        cfg: The network's file, for messages.
        exact: Whether more names than classes are an error too.

    Raises:
        CfgError: If the names file is not given or cannot be read.
        DataError: If the number of names does not fit.
    """
    path = find(data.required("names", purpose="this command"))
    names = read_names(path, asked_by=data.asked_by("names"))
    if len(names) < classes or (exact and len(names) > classes):
        raise DataError(
            f"{data.asked_by('names')}: number of names {len(names)} in {path} isn't equal to classes={classes} "
            f"in {cfg}. Give one line for each class."
        )
    if len(names) > classes:
        say(f"{path}: {len(names)} names, but classes={classes} in {cfg}: the first {classes} count.")
    tell_other_classes(data, classes=classes, cfg=cfg)
    return names[:classes]


def tell_other_classes(data: DataFile, *, classes: int, cfg: Path) -> None:
    """Say on stderr where the .data file has another number of classes than the network."""
    told = data.integer("classes")
    if told is not None and told != classes:
        say(f"{data.asked_by('classes')}={told}, but classes={classes} in {cfg}: the cfg counts.")
