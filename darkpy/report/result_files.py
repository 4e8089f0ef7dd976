"""The result files of `detector valid`: written beside their places, and put there once all is done.

Source: darknet src/detector.c, validate_detector.
"""

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

from darkpy.errors import DataError
from darkpy.files import replaced
from darkpy.report.result_rows import (
    BDD_CATEGORIES,
    COCO_CATEGORIES,
    KITTI_TYPES,
    base_name,
    bdd_rows,
    coco_rows,
    imagenet_rows,
    kitti_rows,
    voc_rows,
)
from darkpy.structures import PictureResult

FORMS = ("voc", "coco", "bdd", "kitti", "imagenet")
NAMES = {
    "voc": "comp4_det_test_",
    "coco": "coco_results",
    "bdd": "bdd_results",
    "kitti": "kitti_results",
    "imagenet": "imagenet-detection",
}
MOST_CLASSES = {"coco": len(COCO_CATEGORIES), "bdd": len(BDD_CATEGORIES), "kitti": len(KITTI_TYPES)}

_MENDS = {
    errno.EMFILE: "There is one file for each class: raise the limit (ulimit -n 4096), or set eval=coco.",
    errno.ENOSPC: "Make room, or set results = FOLDER to one on another disk.",
}

Add = Callable[[PictureResult], None]


@contextmanager
def result_files(form: str, base: Path, *, class_names: Sequence[str]) -> Iterator[Add]:
    """Open the files of a form; yield the function that adds a picture. An error or Ctrl-C leaves older files alone.

    The form ``kitti`` has a file for each picture; those are put in their places one by one.

    Args:
        form: One of ``FORMS``.
        base: Folder and name that the files' names begin with; the folder is made if need be.
        class_names: For ``voc``, which has a file for each class.

    Raises:
        DataError: If a file cannot be made or written, or two classes would share one.
    """
    with ExitStack() as stack:
        with _named(base):
            add = stack.enter_context(_open(form, base, class_names))

        def guarded(result: PictureResult) -> None:
            with _named(base):
                add(result)

        yield guarded
        with _named(base):
            stack.close()


@contextmanager
def _named(base: Path) -> Iterator[None]:
    """Turn errors of the file system into the user's."""
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        why = getattr(error, "strerror", None) or error
        mend = _MENDS.get(getattr(error, "errno", 0) or 0, "Set results = FOLDER to one that can be written.")
        raise DataError(f"{base}: the results cannot be written: {why}. {mend}") from error


def class_files(base: Path, class_names: Sequence[str]) -> list[Path]:
    """Return the file of each class in the form ``voc``: the names, blanks included, stand at the end.

    Raises:
        DataError: If two classes would share a file, or a name cannot be part of one's name.
    """
    for index, name in enumerate(class_names):
        if "/" in name:
            raise DataError(
                f"class {index} '{name}': a file is named after each class, so '/' cannot be in it. Change the .names "
                "file, or set eval=coco."
            )
        if name in class_names[:index]:
            first = class_names.index(name)
            raise DataError(
                f"classes {first} and {index} are both '{name}', but a file is named after each. Change the .names "
                "file, or set eval=coco."
            )
    return [base.with_name(f"{base.name}{name}.txt") for name in class_names]


def _open(form: str, base: Path, class_names: Sequence[str]) -> AbstractContextManager[Add]:
    base.parent.mkdir(parents=True, exist_ok=True)
    if form == "coco":
        return _json_list(base.with_name(f"{base.name}.json"), coco_rows)
    if form == "bdd":
        return _json_list(base.with_name(f"{base.name}.json"), bdd_rows)
    if form == "kitti":
        return _file_a_picture(base / "data")
    if form == "imagenet":
        return _one_file(base.with_name(f"{base.name}.txt"))
    return _file_a_class(class_files(base, class_names))


@contextmanager
def _json_list(path: Path, rows: Callable[[PictureResult], str]) -> Iterator[Add]:
    """Write a JSON list whose rows end in a comma and a line end, the last one in a line end."""
    with replaced(path) as file:
        pending = ""  # the rows of the last picture, whose comma is dropped if no more follow

        def add(result: PictureResult) -> None:
            nonlocal pending
            text = rows(result)
            if text:
                file.write(pending.encode())
                pending = text

        file.write(b"[\n")
        yield add
        file.write(pending.removesuffix(",\n").encode())
        file.write(b"\n]\n" if pending else b"]\n")


@contextmanager
def _one_file(path: Path) -> Iterator[Add]:
    with replaced(path) as file:
        yield lambda result: _write(file, imagenet_rows(result))


@contextmanager
def _file_a_class(paths: Sequence[Path]) -> Iterator[Add]:
    with ExitStack() as stack:
        files = [stack.enter_context(replaced(path)) for path in paths]

        def add(result: PictureResult) -> None:
            for class_id, text in voc_rows(result).items():
                _write(files[class_id], text)

        yield add


@contextmanager
def _file_a_picture(folder: Path) -> Iterator[Add]:
    folder.mkdir(parents=True, exist_ok=True)

    def add(result: PictureResult) -> None:
        target = folder / f"{base_name(result.path)}.txt"
        unfinished = target.with_name(f"{target.name}.part")
        unfinished.write_bytes(kitti_rows(result).encode())
        os.replace(unfinished, target)

    yield add


def _write(file: BinaryIO, text: str) -> None:
    file.write(text.encode())
