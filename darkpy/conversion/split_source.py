"""What is to be split, and by what: the pictures, the classes that each has, and which stay together."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from darkpy.conversion.folders import matches
from darkpy.conversion.shares import Counts
from darkpy.data.index import label_path
from darkpy.data.labels import read_labels

_ANY_CLASS = 2**31 - 1  # classes are what the labels have


def classes_in_labels(path: str) -> frozenset[int]:
    """Return the classes of a picture's label file; none if there is no file."""
    return frozenset(read_labels(label_path(path), classes=_ANY_CLASS).truths[:, 4].astype(np.int64).tolist())


def classes_in_path(path: str, *, labels: Sequence[str]) -> frozenset[int]:
    """Return the classes that darknet's classifier finds in a path."""
    return frozenset(matches(path, labels))


def folder_of(path: str) -> str:
    """Return the folder of a picture, as it is written."""
    return path.replace("\\", "/").rpartition("/")[0]


def counts_of(groups: Sequence[Sequence[int]], classes: Sequence[frozenset[int]]) -> tuple[Counts, list[int]]:
    """Return for each group how many of its pictures have each class, and the class of each column.

    Args:
        groups: Numbers of pictures.
        classes: Of each picture.
    """
    columns = sorted(frozenset[int]().union(*classes))
    place = {class_id: column for column, class_id in enumerate(columns)}
    counts = np.zeros((len(groups), len(columns)), np.int64)
    for row, group in enumerate(groups):
        for member in group:
            counts[row, [place[class_id] for class_id in classes[member]]] += 1
    return counts, columns


def members(groups: Sequence[Sequence[int]], chosen: npt.NDArray[np.bool_]) -> set[int]:
    """Return the pictures of the chosen groups."""
    return {member for group, is_chosen in zip(groups, chosen, strict=True) if is_chosen for member in group}


def is_folder(path: Path) -> bool:
    """Return whether a path is a folder; a name that cannot be one is none."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False
