"""Which files are pictures, and what they are called in a new data set."""

import re
from collections.abc import Iterator
from pathlib import Path

from darkpy.data.index import label_path

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
# Those whose label file darknet's own program finds, too: src/utils.c, replace_image_to_label.
DARKNET_EXTENSIONS = (".jpg", ".jpeg", ".png", ".bmp", ".ppm", ".tiff")


def is_picture(path: Path) -> bool:
    """Return whether a name has the extension of a picture; hidden files (``._1.jpg`` of macOS) are none."""
    named = not path.name.startswith(".") and path.suffix != ""
    return named and path.suffix.lower() != ".txt" and label_path(path.name) == f"{path.stem}.txt"


def pictures_below(folder: Path) -> Iterator[Path]:
    """Yield the pictures of a folder and of those in it, in order of their paths, without hidden folders."""
    return (path for path in _paths_below(folder) if is_picture(path) and path.is_file())


def files_below(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder and of those in it, in order of their paths, without hidden ones."""
    return (path for path in _paths_below(folder) if path.is_file())


def _paths_below(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if not any(part.startswith(".") for part in path.relative_to(folder).parts):
            yield path


class PictureNames:
    """Gives each picture of a new folder a name of its own.

    Two names that differ in extension or case only would share a label file on some system; the later one gets ``_2``.
    """

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def choose(self, wish: str) -> str:
        """Return the wished file name, changed as little as a list, darknet and other pictures need."""
        stem, dot, extension = wish.rpartition(".")
        stem, extension = (stem, dot + extension) if dot and stem else (wish, "")
        stem = _CONTROL.sub("_", stem).strip() or "picture"
        if extension not in (extension.lower(), extension.upper()):
            extension = extension.lower()  # darknet knows .jpg and .JPG, not .Jpg
        free, number = stem, 1
        while free.casefold() in self._taken:
            number += 1
            free = f"{stem}_{number}"
        self._taken.add(free.casefold())
        return free + extension
