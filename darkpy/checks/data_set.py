"""A data set as read: lists, facts of each picture, and all boxes in one table. Letters: S pictures, N boxes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from darkpy.checks.data_lists import ImageList
from darkpy.checks.data_reading import Sample

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """All usable boxes, picture by picture."""

    truths: Floats  # (N, 5) centre x, y, width, height relative to the picture, class
    owners: Integers  # (N,) index of the picture
    lines: Integers  # (N,) of the label file, from 1
    sizes: Integers  # (N, 2) width and height of the box's picture in pixels; 0 where it is not known

    @property
    def classes(self) -> Integers:
        """(N,) class ids."""
        return self.truths[:, 4].astype(np.int64)

    @property
    def sides_px(self) -> npt.NDArray[np.float64]:
        """(N, 2) width and height in pixels of the picture."""
        return self.truths[:, 2:4].astype(np.float64) * self.sizes


@dataclass(frozen=True, slots=True, eq=False)
class DataSet:
    """What was read."""

    lists: tuple[ImageList, ...]
    keys: tuple[str, ...]  # identity of each different picture, S of them
    samples: tuple[Sample, ...]  # S
    members: npt.NDArray[np.bool_]  # (lists, S): which pictures are in which list
    boxes: Boxes

    def place(self, index: int) -> tuple[str, int]:
        """Return list and line where a picture stands first."""
        key = self.keys[index]
        listed = next(one for one in self.lists if key in one.first_lines)
        return listed.path, listed.first_lines[key]


def different_pictures(lists: Sequence[ImageList]) -> dict[str, str]:
    """Return the path of each different picture of all lists, by its identity."""
    paths: dict[str, str] = {}
    for listed in lists:
        for key, path in listed.pictures.items():
            paths.setdefault(key, path)
    return paths


def assemble(lists: Sequence[ImageList], keys: Sequence[str], samples: Sequence[Sample]) -> DataSet:
    """Put what was read together.

    Args:
        lists: The lists.
        keys: Identity of each picture, S of them.
        samples: What was read of each.
    """
    members = np.array([[key in listed.first_lines for key in keys] for listed in lists], dtype=np.bool_)
    labels = [sample.label.labels for sample in samples]
    counts = np.array([len(one.lines) for one in labels], dtype=np.int64)
    owners = np.repeat(np.arange(len(samples)), counts)
    truths = np.concatenate([np.zeros((0, 5), np.float32), *(one.truths for one in labels)])
    lines = np.concatenate([np.zeros(0, np.int64), *(one.lines for one in labels)])
    sizes = np.array([(one.picture.width, one.picture.height) for one in samples], dtype=np.int64).reshape(-1, 2)
    boxes = Boxes(truths, owners, lines, sizes[owners])
    return DataSet(tuple(lists), tuple(keys), tuple(samples), members.reshape(len(lists), len(keys)), boxes)
