"""What a data set holds, as lines for people and as values for JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from darkpy.report.anchor_files import plain_text

_BAR = 40  # characters of the longest bar
_MOST_SIZES = 5  # picture sizes that are named
_NAME = 24  # characters of a class name in the table


@dataclass(frozen=True, slots=True)
class ListCounts:
    """What one list holds; every different picture counts once."""

    key: str  # "train" or "valid"
    path: str
    pictures: int
    boxes: int
    negatives: int  # pictures with an empty label file
    without_label: int  # pictures whose label file is missing
    unreadable: int  # pictures that are missing or do not decode


@dataclass(frozen=True, slots=True)
class ClassCounts:
    """How often one class occurs, by list."""

    name: str
    boxes: tuple[int, ...]
    pictures: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PictureSizes:
    """Sizes of the readable pictures, width and height in pixels."""

    counts: tuple[tuple[int, int, int], ...]  # width, height, pictures; the most common first
    smallest: tuple[int, int]  # by area
    largest: tuple[int, int]
    upright: int
    wide: int
    square: int


@dataclass(frozen=True, slots=True)
class Advice:
    """What would fit the set."""

    width: int  # of the network, in pixels
    height: int
    stride: int  # of its finest head
    tiny_share: float  # of the boxes, which cover less than a cell at this size
    anchors_for: tuple[int, int]  # the network size of the anchors, in pixels
    anchors: tuple[tuple[float, float], ...]  # in pixels; empty where there are too few boxes, or none are better
    average_iou: float | None  # of the anchors with the boxes, 0..1
    own_average_iou: float | None  # of the network's own anchors
    masks: tuple[str, ...] = ()  # of the heads, where those of the network do not name every anchor

    @property
    def anchors_text(self) -> str:
        """The anchors as a cfg has them."""
        return plain_text(np.array(self.anchors, np.float64).reshape(-1, 2), width=self.anchors_for[0])


@dataclass(frozen=True, slots=True)
class DataSummary:
    """What a set holds."""

    data: str
    cfg: str | None
    lists: tuple[ListCounts, ...]
    classes: tuple[ClassCounts, ...]
    sizes: PictureSizes | None  # None: no picture can be read
    extensions: tuple[tuple[str, int], ...]  # of the pictures' names, the most common first
    box_sides: tuple[tuple[str, int], ...]  # root of the box's area as a part of the picture's, and boxes
    thin_boxes: int
    tiny_boxes: int | None  # None without a network
    advice: Advice | None

    def as_json(self) -> dict[str, Any]:
        """Return values that JSON can hold."""
        return asdict(self)


def summary_lines(summary: DataSummary) -> Iterator[str]:
    """Yield the report, block by block, from the whole to the details."""
    blocks = (_lists(summary), _classes(summary), _sizes(summary), _box_sides(summary), _advice(summary))
    for block in blocks:
        lines = list(block)
        if lines:
            yield from lines
            yield ""


def _lists(summary: DataSummary) -> Iterator[str]:
    rows: list[tuple[str, ...]] = [
        ("list", "pictures", "boxes", "without objects", "without label file", "unreadable", "file")
    ]
    for one in summary.lists:
        counts = (one.pictures, one.boxes, one.negatives, one.without_label, one.unreadable)
        rows.append((one.key, *map(str, counts), one.path))
    yield from _table(rows, left=(0, 6))


def _classes(summary: DataSummary) -> Iterator[str]:
    heads = [f"{one.key} {what}" for one in summary.lists for what in ("boxes", "pictures")]
    rows = [("class", "name", *heads)]
    for index, one in enumerate(summary.classes):
        counts = [count for pair in zip(one.boxes, one.pictures, strict=True) for count in pair]
        name = one.name if len(one.name) <= _NAME else one.name[: _NAME - 1] + "…"
        rows.append((str(index), name, *map(str, counts)))
    yield from _table(rows, left=(1,)) if summary.classes else ()


def _sizes(summary: DataSummary) -> Iterator[str]:
    sizes = summary.sizes
    if sizes is None:
        return
    shown = [f"{width}x{height}: {count}" for width, height, count in sizes.counts[:_MOST_SIZES]]
    more = len(sizes.counts) - _MOST_SIZES
    rest = [f"{more} other size{'s' if more > 1 else ''}"] if more > 0 else []
    yield "Picture sizes   " + ", ".join(shown + rest)
    (left, top), (right, bottom) = sizes.smallest, sizes.largest
    yield (
        f"                smallest {left}x{top}, largest {right}x{bottom}; "
        f"{sizes.upright} upright, {sizes.wide} wide, {sizes.square} square"
    )
    yield "File names      " + ", ".join(
        f"{extension or 'no extension'}: {count}" for extension, count in summary.extensions
    )


def _box_sides(summary: DataSummary) -> Iterator[str]:
    most = max((count for _, count in summary.box_sides), default=0)
    if not most:
        return
    yield "Box sizes       side of a square of the box's area, as a part of the picture's"
    for label, count in summary.box_sides:
        yield f"{label:>14}  {count:7d} {'#' * -(-count * _BAR // most)}".rstrip()
    tiny = "" if summary.tiny_boxes is None else f"; {summary.tiny_boxes} cover less than a cell of the finest head"
    yield f"                {summary.thin_boxes} thinner than 1 % of the picture or 2 pixels{tiny}"


def _advice(summary: DataSummary) -> Iterator[str]:
    advice = summary.advice
    if advice is None:
        return
    covered = 1 - advice.tiny_share
    yield (
        f"Suggested size  width={advice.width} height={advice.height}: the pictures' form, and {covered:.1%} "
        f"of the boxes cover a cell of stride {advice.stride}"
    )
    if advice.average_iou is not None:
        width, height = advice.anchors_for
        yield f"Suggested anchors for {width}x{height}, average IoU {advice.average_iou:.1%}:"
        yield f"                anchors = {advice.anchors_text}"
        if advice.masks:
            yield f"                {' and '.join(f'mask={mask}' for mask in advice.masks)}, in the order of the heads"
    if advice.own_average_iou is not None:
        head = "" if advice.anchors else "Anchors"  # there are too few boxes to suggest others, or none are better
        yield f"{head:14}  the anchors of {summary.cfg} have an average IoU of {advice.own_average_iou:.1%}"


def _table(rows: Sequence[Sequence[str]], *, left: Sequence[int]) -> Iterator[str]:
    """Yield rows with aligned columns, those of ``left`` to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            cell.ljust(width) if index in left else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()
