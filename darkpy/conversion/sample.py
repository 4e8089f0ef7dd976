"""A picture and what is marked in it, between one form of data set and another."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """One picture with its objects, as an annotation file says it. Letter: N objects."""

    picture: Path
    said_size: tuple[int, int]  # width and height that the boxes count in, in pixels; (0, 0) where nothing is said
    classes: Integers  # (N,)
    edges: Floats  # (N, 4) left, top, right, bottom in pixels; the picture begins at 0
    apart: Bools  # (N,) difficult or crowd: written to a list of its own


def make_sample(
    picture: Path, said_size: tuple[int, int], objects: Iterable[tuple[int, tuple[float, ...], bool]]
) -> Sample:
    """Return a sample of ``(class, (left, top, right, bottom), apart)`` for each object."""
    rows = list(objects)
    return Sample(
        picture,
        said_size,
        np.array([row[0] for row in rows], dtype=np.int64),
        np.array([row[1] for row in rows], dtype=np.float64).reshape(-1, 4),
        np.array([row[2] for row in rows], dtype=np.bool_),
    )


class Tally:
    """Counts what was left out or changed, and keeps the first place of each kind."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._first: dict[str, str] = {}

    def add(self, what: str, where: object, count: int = 1) -> None:
        """Count something.

        Args:
            what: In words, of many: "boxes without size, left out".
            where: A file, or a file and a place in it.
            count: How many; nothing is noted for 0.
        """
        if count:
            self._counts[what] = self._counts.get(what, 0) + count
            self._first.setdefault(what, str(where))

    def __getitem__(self, what: str) -> int:
        return self._counts.get(what, 0)

    def lines(self) -> list[str]:
        """Return ``boxes without size, left out: 2 (first: a.xml)`` for each kind, in order of appearance."""
        return [f"{what}: {count} (first: {self._first[what]})" for what, count in self._counts.items()]
