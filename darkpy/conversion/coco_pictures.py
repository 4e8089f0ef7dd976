"""Where the pictures of a COCO annotation file are."""

from collections.abc import Iterator, Sequence
from pathlib import Path


class CocoPictures:
    """Finds the pictures of one annotation file.

    Args:
        annotations: The JSON file.
        images: The folder that a person names, or None.
        name: Of the list, such as ``train2017``: COCO's own folders are called so.
    """

    def __init__(self, annotations: Path, images: Path | None, *, name: str) -> None:
        self.folders = list(_folders(annotations, images, name))

    def find(self, file_name: str) -> Path | None:
        """Return the first file that is there: by its whole name, then by its name without folders."""
        written = file_name.replace("\\", "/")
        for wanted in dict.fromkeys((written, written.rpartition("/")[2])):
            for folder in self.folders:
                if wanted and _is_file(path := folder / wanted):
                    return path
        return None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that is too long, or has a NUL
        return False


def _folders(annotations: Path, images: Path | None, name: str) -> Iterator[Path]:
    """Yield where to look: the named folder, or those that are usual; each also with the list's name below."""
    bases: Sequence[Path] = (images,) if images is not None else _usual(annotations.absolute().parent)
    for base in bases:
        yield base
        yield base / name
        yield base / "images"
        yield base / "images" / name


def _usual(folder: Path) -> tuple[Path, Path]:
    return folder, folder.parent
