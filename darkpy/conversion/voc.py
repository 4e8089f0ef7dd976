"""One annotation of Pascal VOC (an XML file of labelImg, CVAT and others) -> its objects.

Source: Everingham et al., VOC2012 development kit, section 5 (boxes count pixels from 1); darknet scripts/voc_label.py.
"""

import math
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

from darkpy.conversion.sample import Tally
from darkpy.errors import DataError

_CORNERS = ("xmin", "ymin", "xmax", "ymax")


@dataclass(frozen=True, slots=True)
class VocObject:
    """One object of an annotation."""

    name: str
    edges: tuple[float, float, float, float]  # left, top, right, bottom in pixels; the picture begins at 0
    is_difficult: bool


@dataclass(frozen=True, slots=True)
class VocAnnotation:
    """What an XML file says."""

    path: Path
    filename: str  # of the picture, as written; empty if missing
    size: tuple[int, int]  # width, height; (0, 0) if missing or no numbers
    objects: tuple[VocObject, ...]


def read_annotation(path: Path, *, first_pixel: int, tally: Tally) -> VocAnnotation:
    """Read an XML file. `truncated`, `occluded`, `pose` and parts of an object (head, hand) do not count.

    A box covers the pixels xmin to xmax. Counted from 1, they lie between the edges xmin - 1 and xmax; with
    ``first_pixel`` 0 the written numbers are the edges.

    Args:
        path: The file.
        first_pixel: 1 as VOC, or 0.
        tally: Takes note of objects that are left out.

    Raises:
        DataError: If the file cannot be read, or is no VOC annotation.
    """
    root = _parse(path)
    size = root.find("size")
    objects = [
        made
        for number, element in enumerate(root.findall("object"), start=1)
        if (made := _object(element, f"{path}, object {number}", first_pixel, tally))
    ]
    width, height = (_whole(_text(size, key)) for key in ("width", "height"))
    return VocAnnotation(path, _text(root, "filename"), (width, height), tuple(objects))


def _parse(path: Path) -> ElementTree.Element:
    try:
        raw = path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        why = getattr(error, "strerror", None) or error
        raise DataError(f"Couldn't open file: {path}: {why}. Name an annotation that can be read.") from error
    if b"<!ENTITY" in raw.replace(b"\0", b""):  # a few lines of them can fill the memory
        raise DataError(f"{path}: defines XML entities, which an annotation never needs. Remove its DOCTYPE.")
    try:
        root = ElementTree.fromstring(raw)
    except ElementTree.ParseError as error:
        line, message = error.position[0], str(error).partition(":")[0]
        raise DataError(f"{path}:{line}: no XML: {message}. Mend the file, or take it out of the folder.") from error
    except (ValueError, LookupError) as error:
        raise DataError(f"{path}: its encoding cannot be read: {error}. Save it as UTF-8.") from error
    if root.tag != "annotation":
        raise DataError(f"{path}: begins with <{root.tag}>, but a VOC annotation with <annotation>. Take it out.")
    return root


def _object(element: ElementTree.Element, where: str, first_pixel: int, tally: Tally) -> VocObject | None:
    name, box = " ".join(_text(element, "name").split()), element.find("bndbox")
    if not name or box is None:
        tally.add("objects without a name or a bndbox, left out", where)
        return None
    values = [_number(_text(box, key)) for key in _CORNERS]
    if not all(map(math.isfinite, values)):
        tally.add("objects whose bndbox is not four numbers, left out", where)
        return None
    left, top, right, bottom = values
    if left == right or top == bottom:  # a click of the mouse, not a pixel
        tally.add("boxes without size, left out", where)
        return None
    if left > right or top > bottom:
        tally.add("boxes whose min and max were swapped, put right", where)
    corner = (min(left, right) - first_pixel, min(top, bottom) - first_pixel)
    difficult = _whole(_text(element, "difficult")) == 1
    return VocObject(name, (*corner, max(left, right), max(top, bottom)), difficult)


def _text(element: ElementTree.Element | None, key: str) -> str:
    found = element.findtext(key) if element is not None else None
    return (found or "").strip()


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _whole(text: str) -> int:
    """Return a number such as ``640`` or ``640.0``; 0 for any other text."""
    value = _number(text)
    return int(value) if math.isfinite(value) and 0 < value < 2**31 else 0
