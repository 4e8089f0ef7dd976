"""``darkpy data to-coco``: a list of a .data file -> COCO's annotation file."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from darkpy.cfg.datafile import DataFile, read_names
from darkpy.conversion.coco_write import (
    LabelRows,
    MarkedPicture,
    coco_document,
    document_text,
    read_rows,
    shared_folder,
)
from darkpy.conversion.picture_size import PictureSize
from darkpy.conversion.sample import Tally
from darkpy.conversion.writer import check_file, put_text
from darkpy.data.index import label_path, read_image_list
from darkpy.errors import DataError
from darkpy.report.result_rows import coco_image_id
from darkpy.tasks._classes import difficult_list, open_datafile
from darkpy.tasks._conversion import in_threads, size_or_error, tell
from darkpy.tasks._progress import ProblemLog
from darkpy.tasks._say import find, say

Entry = tuple[str, str | None]  # a picture, and the one whose label file has its difficult objects
Read = tuple[PictureSize | DataError, LabelRows, LabelRows | None]


def to_coco(obj: Path, *, which: str, out: Path, force: bool) -> int:
    """Write the annotation file, and print what it holds.

    Args:
        obj: The .data file.
        which: Key of its list: ``valid`` or ``train``.
        out: The new file.
        force: Replace the file if it exists.

    Raises:
        CfgError: If the .data file, the list or the names cannot be read.
        DataError: If the file exists, is one that is read, or cannot be written, or no picture can be read.
    """
    data = open_datafile(obj)
    names = read_names(find(data.required("names", purpose="data to-coco")), asked_by=data.asked_by("names"))
    listed = _listed(data, which)
    check_file(out, named=f"-o {out}", sources=_sources(data, listed), force=force)
    tally, problems = Tally(), ProblemLog()
    pictures = []
    read = in_threads(partial(_read, classes=len(names)), listed, what="reading")
    for (path, _), (size, rows, crowd) in zip(listed, read, strict=True):
        if isinstance(size, DataError):
            say(str(size))
            tally.add("pictures that cannot be read, left out", path)
            continue
        for problem in (*rows.problems, *(crowd.problems if crowd else ())):
            problems(problem)
        pictures.append(MarkedPicture(path, size.width, size.height, rows, crowd))
    for line in problems.summary():
        say(line)
    tell(tally)
    _write(pictures, names, out)
    return 0


def _listed(data: DataFile, which: str) -> list[Entry]:
    path = data.required(which, purpose=f"data to-coco -list {which}")
    pictures = read_image_list(path, asked_by=data.asked_by(which))
    once = list(dict.fromkeys(pictures))
    difficult = difficult_list(data, pictures, path) if which == "valid" else None
    others = dict(zip(pictures, difficult, strict=True)) if difficult is not None else {}
    if len(once) < len(pictures):
        say(f"{path}: {len(pictures) - len(once)} of {len(pictures)} lines are repeated; each picture is taken once.")
    return [(picture, others.get(picture)) for picture in once]


def _sources(data: DataFile, listed: Sequence[Entry]) -> Iterator[str | Path]:
    """Yield every file that is read, or would be if it existed."""
    yield data.path
    yield from (path for key in ("train", "valid", "difficult", "names") if (path := data.file(key)))
    for picture, difficult in listed:
        yield from (picture, label_path(picture))
        yield from (label_path(difficult),) if difficult is not None else ()


def _read(entry: Entry, *, classes: int) -> Read:
    path, difficult = entry
    rows = read_rows(label_path(path), classes=classes)
    crowd = read_rows(label_path(difficult), classes=classes) if difficult is not None else None
    return size_or_error(Path(path)), rows, crowd


def _write(pictures: Sequence[MarkedPicture], names: Sequence[str], out: Path) -> None:
    if not pictures:
        raise DataError(f"-o {out}: 0 pictures can be read, but it needs 1. Lists count from the current folder.")
    document = coco_document(pictures, names, image_id=coco_image_id)
    put_text(out, document_text(document))
    folder = shared_folder([picture.path for picture in pictures]) or "the current folder"
    print(
        f"{out}: {len(document['images'])} pictures, {len(document['annotations'])} boxes, {len(names)} categories; "
        f"file names count from {folder}"
    )
