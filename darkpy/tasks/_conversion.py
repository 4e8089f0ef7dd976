"""What the conversions share: threads with a progress bar, the writing of a set, and what is said at the end."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import TypeVar

from tqdm import tqdm

from darkpy.conversion.class_names import case_twins
from darkpy.conversion.frames import relative_boxes
from darkpy.conversion.label_text import label_text
from darkpy.conversion.picture_size import PictureSize, picture_size
from darkpy.conversion.sample import Sample, Tally
from darkpy.conversion.writer import (
    APART,
    BACKUP,
    PICTURES,
    LabelledPicture,
    NamedPicture,
    data_text,
    list_text,
    make_folders,
    name_pictures,
    names_text,
    put_text,
    write_apart,
    write_picture,
)
from darkpy.errors import DataError
from darkpy.tasks._say import say

A = TypeVar("A")
B = TypeVar("B")
_THREADS = min(16, 4 * (os.cpu_count() or 1))  # they wait for the disk, mostly
_AHEAD = 64  # items in work
SHARE = 0.2  # of the pictures that become valid, where nothing is said


def in_threads(work: Callable[[A], B], items: Sequence[A], *, what: str) -> Iterator[B]:
    """Yield ``work(item)`` for each item, in order, made by threads, with a bar on a terminal.

    Args:
        work: What is done; may run at the same time as others.
        items: Its arguments.
        what: Named at the bar: "copying".
    """
    rest = iter(items)
    with (
        ThreadPoolExecutor(_THREADS) as pool,
        tqdm(total=len(items), desc=what, unit="img", disable=not sys.stderr.isatty(), leave=False) as bar,
    ):
        running = [pool.submit(work, item) for item in islice(rest, _AHEAD)]
        running.reverse()
        try:
            while running:
                result = running.pop().result()
                running[:0] = [pool.submit(work, item) for item in islice(rest, 1)]
                bar.update()
                yield result
        finally:
            for future in running:
                future.cancel()


def size_or_error(path: Path) -> PictureSize | DataError:
    """Return the size of a picture, or what is wrong with it."""
    try:
        return picture_size(path)
    except DataError as error:
        return error


def labelled(samples: Sequence[Sample], *, clip: bool, tally: Tally) -> list[LabelledPicture]:
    """Return the pictures with the text of their label files; unreadable ones are left out and counted.

    Args:
        samples: Pictures with boxes in pixels.
        clip: Cut boxes at the picture's edges.
        tally: Takes note of what is left out or changed.
    """
    sizes = in_threads(size_or_error, [sample.picture for sample in samples], what="reading")
    pictures = []
    for sample, size in zip(samples, sizes, strict=True):
        if isinstance(size, DataError):
            say(str(size))
            tally.add("pictures that cannot be read, left out", sample.picture)
            continue
        boxes = relative_boxes(sample, size, clip=clip, where=str(sample.picture), tally=tally)
        classes, apart = sample.classes[boxes.rows], sample.apart[boxes.rows]
        texts = (label_text(classes[rows], boxes.xywh_rel[rows]) for rows in (~apart, apart))
        pictures.append(LabelledPicture(sample.picture, *texts))
    return pictures


def write_set(
    lists: Mapping[str, Sequence[LabelledPicture]],
    out: Path,
    *,
    names: Sequence[str],
    roles: Mapping[str, str],
    link: bool,
    with_apart: bool,
) -> None:
    """Write a detector's data set, and print what it holds. The .data file comes last: it marks a set as complete.

    Args:
        lists: Name of each list without ``.txt``, and its pictures.
        out: An existing folder.
        names: Of the classes.
        roles: Key of the .data file -> the list's name.
        link: Make hard links to the pictures where that is possible.
        with_apart: Whether the difficult objects of the valid list get a list.

    Raises:
        DataError: If there is no picture, or a file cannot be written.
    """
    for name in [name for name, pictures in lists.items() if not pictures]:
        say(f"{out / name}.txt is not written: 0 pictures are left for it.")
    lists = {name: pictures for name, pictures in lists.items() if pictures}
    roles = {key: name for key, name in roles.items() if name in lists}
    with_apart = with_apart and "valid" in roles
    if not lists:
        raise DataError(f"-o {out}: 0 pictures are left for it, but a data set needs 1. See what was left out above.")
    make_folders(out, PICTURES, BACKUP, *([APART] if with_apart else []))
    named = name_pictures(lists)
    _write_pictures(named, out, link=link)
    for name, pictures in named.items():
        put_text(out / f"{name}.txt", list_text(pictures, out))
        print(f"{out / name}.txt: {_counted(pictures)}")
    prefix = out.as_posix()
    values: dict[str, object] = {"classes": len(names)}
    values |= {key: f"{prefix}/{name}.txt" for key, name in roles.items()}
    if with_apart:
        write_apart(named[roles["valid"]], out)
        values[APART] = f"{prefix}/{APART}.txt"
        print(f"{out / APART}.txt: {sum(one.picture.apart.count(chr(10)) for one in named[roles['valid']])} boxes")
    put_text(out / "obj.names", names_text(names))
    put_text(out / "obj.data", data_text({**values, "names": f"{prefix}/obj.names", "backup": f"{prefix}/{BACKUP}/"}))
    print(f"{out / 'obj.data'}: {len(names)} classes: {shown_names(names)}")


def _write_pictures(named: Mapping[str, Sequence[NamedPicture]], out: Path, *, link: bool) -> None:
    unique = list(dict.fromkeys(one for pictures in named.values() for one in pictures))
    linked = in_threads(lambda one: write_picture(one, out, link=link), unique, what="writing")
    tell_copies(list(linked), out, link=link)


def tell_copies(linked: Sequence[bool], out: Path, *, link: bool) -> None:
    """Say on stderr if links were asked for and could not be made.

    Args:
        linked: For each picture, whether it is a link.
        out: The new folder.
        link: Whether links were asked for.
    """
    if link and (copies := linked.count(False)):
        say(f"-link: {copies} of {len(linked)} pictures are copies: {out} is on another disk, or that has no links.")


def _counted(pictures: Sequence[NamedPicture]) -> str:
    boxes = [one.picture.label.count("\n") for one in pictures]
    return f"{len(pictures)} pictures, {sum(boxes)} boxes, {boxes.count(0)} pictures without objects"


def shown_names(names: Sequence[str], *, most: int = 10) -> str:
    """Return ``0 cat, 1 dog``, the first few."""
    shown = ", ".join(f"{number} {name}" for number, name in enumerate(names[:most]))
    return f"{shown}, ..." if len(names) > most else shown


def tell(tally: Tally) -> None:
    """Say on stderr what was left out or changed."""
    for line in tally.lines():
        say(line)


def tell_case_twins(names: Sequence[str]) -> None:
    """Say on stderr which classes differ only in letter case."""
    for one, other in case_twins(names):
        say(f"Classes '{one}' and '{other}' differ only in letter case: if they are one, write it the same everywhere.")


def tell_odd_extensions(pictures: Iterable[Path], extensions: Sequence[str]) -> None:
    """Say on stderr if there are pictures whose label files darknet's own program does not find."""
    odd = sorted({path.suffix.lower() for path in pictures} - set(extensions))
    if odd:
        say(
            f"Pictures of {', '.join(odd)}: darkpy reads their labels, but C darknet knows {' '.join(extensions)} only."
        )
