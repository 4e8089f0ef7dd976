"""A new data set in darknet's form: pictures with label files beside them, lists, names, .data.

Nothing that exists is changed: pictures are copied (or linked), and every file is written aside and then put in place.
"""

import os
import re
import shutil
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from darkpy.conversion.picture_files import PictureNames
from darkpy.data.index import label_path
from darkpy.errors import DataError
from darkpy.files import file_id, is_among

PICTURES = "obj"  # darknet's usual name of the folder
BACKUP = "backup"  # where training puts weights; darknet does not make it
APART = "difficult"  # the folder of the second labels, and the key of .data
_UNFIT = re.compile(r"[\x00-\x1f\x7f]| #")  # a .data file and a list cannot hold these


@dataclass(frozen=True, slots=True)
class LabelledPicture:
    """A picture and the text of its label files."""

    source: Path
    label: str
    apart: str = ""  # of the difficult objects


@dataclass(frozen=True, slots=True)
class NamedPicture:
    """A picture, and what it is called in the new data set."""

    name: str
    picture: LabelledPicture


def name_pictures(lists: Mapping[str, Sequence[LabelledPicture]]) -> dict[str, list[NamedPicture]]:
    """Give each picture a name; one that is in two lists with the same labels is one file."""
    names, known = PictureNames(), dict[LabelledPicture, NamedPicture]()
    for picture in (one for pictures in lists.values() for one in pictures):
        if picture not in known:
            known[picture] = NamedPicture(names.choose(picture.source.name), picture)
    return {key: [known[one] for one in pictures] for key, pictures in lists.items()}


def write_picture(named: NamedPicture, out: Path, *, link: bool) -> bool:
    """Write a picture and its label files into a new data set.

    Args:
        named: The picture.
        out: The data set's folder, in which ``make_folders`` made those for pictures and labels.
        link: Make a hard link instead of a copy, where that is possible.

    Returns:
        Whether the picture is a link.

    Raises:
        DataError: If a file cannot be read or written.
    """
    linked = put_picture(named.picture.source, out / PICTURES / named.name, link=link)
    put_text(Path(label_path(f"{out.as_posix()}/{PICTURES}/{named.name}")), named.picture.label)
    return linked


def write_apart(pictures: Sequence[NamedPicture], out: Path) -> None:
    """Write the difficult objects of a list: label files in a folder of their own, and the list that names them.

    The list has a line for each line of the valid list; the pictures of its paths do not exist, as only their label
    files are read.

    Raises:
        DataError: If a file cannot be written.
    """
    for named in pictures:
        put_text(Path(label_path(f"{out.as_posix()}/{APART}/{named.name}")), named.picture.apart)
    put_text(out / f"{APART}.txt", list_text(pictures, out, folder=APART))


def list_text(pictures: Iterable[NamedPicture], out: Path, *, folder: str = PICTURES) -> str:
    """Return the lines of a list. Paths begin with ``out`` as given: darknet counts them from the current folder."""
    return "".join(f"{out.as_posix()}/{folder}/{named.name}\n" for named in pictures)


def names_text(names: Iterable[str]) -> str:
    """Return the lines of a .names file."""
    return "".join(f"{name}\n" for name in names)


def data_text(values: Mapping[str, object]) -> str:
    """Return the ``key = value`` lines of a .data file."""
    return "".join(f"{key} = {value}\n" for key, value in values.items())


def make_folders(out: Path, *folders: str) -> None:
    """Make folders in the new data set.

    Raises:
        DataError: If that is not possible.
    """
    for folder in folders:
        try:
            (out / folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            why = error.strerror
            raise DataError(f"-o {out}: cannot make {out / folder}: {why}. Name another folder.") from error


def check_out(out: Path, *, sources: Iterable[Path], force: bool, targets: Iterable[str] = (PICTURES, APART)) -> None:
    """Refuse a folder that cannot take a new data set; make it.

    Args:
        out: The folder.
        sources: Folders of the original pictures, which must stay as they are.
        force: Whether it may hold something.
        targets: Folders in it that will be written to.

    Raises:
        DataError: If it is not empty, cannot be made, holds originals, or has a name that darknet's files cannot hold.
    """
    _check_path(out)
    try:
        out.mkdir(parents=True, exist_ok=True)
        occupied = any(out.iterdir())
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        why = getattr(error, "strerror", None) or error
        raise DataError(f"-o {out}: cannot be made or read: {why}. Name a folder that can be written.") from error
    if occupied and not force:
        raise DataError(f"-o {out}: the folder is not empty. Name a new one, or add -force to write into it.")
    written = {found for target in targets if (found := file_id(out / target))}
    if mixed := next((source for source in sources if file_id(source) in written), None):
        raise DataError(f"-o {out}: {mixed} holds pictures that are to be converted. Name another folder.")


def check_file(path: Path, *, named: str, sources: Iterable[str | Path], force: bool) -> None:
    """Refuse to replace a file.

    Args:
        path: Will be written.
        named: What the command line calls it: ``-o valid.json``.
        sources: Files that are read, which must stay as they are.
        force: Whether any other may be replaced.

    Raises:
        DataError: If the path is a source, or exists and ``force`` is off.
    """
    if is_among(path, sources):
        raise DataError(f"{named}: is a file of the data set, so it is not replaced. Name another place.")
    if os.path.lexists(path) and not force:
        raise DataError(f"{named}: exists. Name another place, or add -force to replace it.")


def _check_path(out: Path) -> None:
    text = out.as_posix()
    if text != text.strip() or _UNFIT.search(text):
        raise DataError(
            f"-o {text!r}: no list or .data file can hold this path. Choose one without blanks at its ends and ' #'."
        )
    example = f"{text}/{PICTURES}/1.jpg"
    if label_path(example) != f"{text}/{PICTURES}/1.txt":
        raise DataError(
            f"-o {out}: for {example} darknet looks for the label in {label_path(example)}. "
            "Choose a folder that is not below JPEGImages, images/train2017 or the like."
        )


def put_text(path: Path, text: str) -> None:
    """Write a file whole or not at all, UTF-8 with LF; odd bytes of file names come out as they were.

    Raises:
        DataError: If it cannot be written.
    """
    _put(path, lambda target: target.write_bytes(text.encode("utf-8", errors="surrogateescape")))


def put_picture(source: Path, path: Path, *, link: bool) -> bool:
    """Copy a picture, or make a hard link to it; where links are not possible it is copied.

    Returns:
        Whether it is a link.

    Raises:
        DataError: If it cannot be read or written.
    """
    linked = False

    def make(target: Path) -> None:
        nonlocal linked
        if link:
            try:
                os.link(os.path.realpath(source), target)  # a link to a symbolic link would break with it
            except OSError:  # another disk, or a file system without them
                pass
            else:
                linked = True
                return
        shutil.copyfile(source, target)

    _put(path, make)
    return linked


def _put(path: Path, make: Callable[[Path], object]) -> None:
    """Let ``make`` write a file that does not exist yet, then put it in the place of ``path``.

    An old file is never written into: it may be a hard link to an original.
    """
    target = path.with_name(f".{uuid.uuid4().hex}.tmp")  # short, whatever the name
    try:
        try:
            make(target)
            os.replace(target, path)
        except BaseException:
            target.unlink(missing_ok=True)
            raise
    except OSError as error:
        name = error.filename or path
        raise DataError(
            f"{path}: cannot be written: {error.strerror or error}: {name}. Mend that, run again."
        ) from error
