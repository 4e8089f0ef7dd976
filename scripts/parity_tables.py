"""What parity.py reads from the output of both programs, compares and writes: text in, values or markdown out."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

BEGIN, END = "<!-- parity -->", "<!-- /parity -->"

_MEAN = re.compile(r"mean average precision \(mAP@[\d.]+\) = ([\d.]+)")
_CLASS = re.compile(r"class_id = \d+, name = .*, ap = ([\d.]+)%")
_COUNT = re.compile(r"detections_count = (\d+)")
_LOSS = re.compile(r"^ *\d+: (-?[\d.]+|-?nan|inf), .* avg loss", re.MULTILINE)
_TABLE_HEAD = re.compile(r"^ *layer +filters ", re.MULTILINE)
_TOTAL = re.compile(r"^Total BFLOPS +([\d.]+)", re.MULTILINE)
_ROW = re.compile(r"^ +\d+ \w")


class Unreadable(Exception):
    """An output has not what is looked for; the message says what."""


@dataclass(frozen=True, slots=True)
class MapFigures:
    """What `detector map` printed."""

    mean: str  # as printed, six decimals
    average_precisions: tuple[float, ...]  # of each class, in percent
    detections: int


@dataclass(frozen=True, slots=True)
class Box:
    """One entry of the JSON file of `detector test`."""

    picture: str
    class_id: int
    confidence: float
    edges: tuple[float, float, float, float]  # centre x, y, width, height, relative to the picture


@dataclass(frozen=True, slots=True)
class BoxDifference:
    """How far the boxes of two programs are from each other."""

    theirs: int  # boxes of the reference
    ours: int
    strangers: int  # boxes of either that the other one has not
    confidence: float  # the largest difference
    pixels: float  # the largest difference of centre, width or height


def read_map(printed: str) -> MapFigures:
    """Return the figures of `detector map`.

    Raises:
        Unreadable: If there is no mAP.
    """
    mean, count = _MEAN.search(printed), _COUNT.search(printed)
    if mean is None or count is None:
        raise Unreadable("no mAP printed")
    return MapFigures(mean[1], tuple(float(value) for value in _CLASS.findall(printed)), int(count[1]))


def read_boxes(text: str) -> list[Box]:
    """Return the entries of a JSON file of `detector test`.

    Raises:
        Unreadable: If it is no such file.
    """
    try:
        return [
            Box(
                frame["filename"],
                found["class_id"],
                found["confidence"],
                tuple(found["relative_coordinates"][key] for key in ("center_x", "center_y", "width", "height")),
            )
            for frame in json.loads(text)
            for found in frame["objects"]
        ]
    except (ValueError, KeyError) as error:
        raise Unreadable(f"no whole JSON file of detections: {error}") from error


def read_losses(printed: str) -> list[float]:
    """Return the loss of each iteration that `detector train` printed.

    Raises:
        Unreadable: If there is none.
    """
    losses = [float(value) for value in _LOSS.findall(printed)]
    if not losses:
        raise Unreadable("no iteration printed")
    return losses


def read_table(printed: str) -> list[str]:
    """Return the rows that were printed at load, from the one below the head to the total, blanks at their ends cut.

    Raises:
        Unreadable: If there is no whole table.
    """
    head, total = _TABLE_HEAD.search(printed), _TOTAL.search(printed)
    if head is None or total is None:
        raise Unreadable("no whole table printed")
    lines = printed[head.start() : total.end()].splitlines()[1:]
    return [line.rstrip() for line in lines if line.strip()]


def equal_rows(ours: Sequence[str], theirs: Sequence[str]) -> tuple[int, int]:
    """Return how many layer rows are equal, and how many there are; what is printed between the rows does not count."""
    sides = [[line for line in side if _ROW.match(line)] for side in (ours, theirs)]
    return sum(a == b for a, b in zip(*sides, strict=False)), max(map(len, sides))


def box_difference(ours: Sequence[Box], theirs: Sequence[Box], sizes: Mapping[str, tuple[int, int]]) -> BoxDifference:
    """Pair the boxes of two programs by picture, class and place, and return how far they are apart.

    Args:
        ours: Of darkpy.
        theirs: Of the reference.
        sizes: Width and height of each picture, in pixels.
    """
    left, strangers, confidence, pixels = list(ours), 0, 0.0, 0.0
    for their in theirs:
        width, height = sizes[their.picture]
        apart = {
            index: max(
                abs(a - b) * side for a, b, side in zip(our.edges, their.edges, (width, height) * 2, strict=True)
            )
            for index, our in enumerate(left)
            if (our.picture, our.class_id) == (their.picture, their.class_id)
        }
        nearest = min(apart, key=apart.__getitem__, default=None)
        if nearest is None:
            strangers += 1
            continue
        pixels = max(pixels, apart[nearest])
        confidence = max(confidence, abs(left.pop(nearest).confidence - their.confidence))
    return BoxDifference(len(theirs), len(ours), strangers + len(left), confidence, pixels)


def largest_difference(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Return the largest difference of two equally long sequences.

    Raises:
        Unreadable: If their lengths differ.
    """
    if len(ours) != len(theirs):
        raise Unreadable(f"{len(theirs)} figures of the reference, {len(ours)} of darkpy")
    return max((abs(a - b) for a, b in zip(ours, theirs, strict=True)), default=0.0)


def largest_ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Return the largest relative difference of two equally long sequences; infinite for what is no number.

    Raises:
        Unreadable: If their lengths differ.
    """
    relative = [abs(a / b - 1) if b else abs(a) for a, b in zip(ours, theirs, strict=False)]
    largest_difference([0.0] * len(ours), [0.0] * len(theirs))
    return max((value if value == value else float("inf") for value in relative), default=0.0)


def markdown(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a markdown table; a bar inside a cell is escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)


def replaced(text: str, block: str) -> str:
    """Return a text with what stands between the two markers replaced.

    Raises:
        Unreadable: If the markers are not there, once each and in order.
    """
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise Unreadable(f"needs one line {BEGIN} and below it one line {END}")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    return f"{before}{BEGIN}\n{block.strip()}\n{END}{after}"
