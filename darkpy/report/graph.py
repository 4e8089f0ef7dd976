"""The picture of a network as a plan of boxes and lines: where everything stands, without drawing it.

Layers run down the page. Boxes stand in lanes, one for each halving of the resolution: the backbone descends to the
right, the neck climbs back, and a head stands where its grid is. No two boxes share a height, so the strip between
two of them is free from edge to edge: lines run down between the lanes and across in these strips, never through a box.
"""

import math
from dataclasses import dataclass

from darkpy.blueprint import Blueprint
from darkpy.report.graph_blocks import Block, into_blocks
from darkpy.report.graph_box import BOLD, CHIP, FONT, GAP, SMALL, Box, Point, block_box, picture_box
from darkpy.report.graph_lines import Line, routes
from darkpy.report.graph_words import is_head, printable, text_width

TITLE_FONT = 20
BORDER = 24  # around everything
LINE_HEIGHT = 20  # of the legend
LANE_TITLE = 30  # room above the first box
LEGEND_TOP = 88  # middle of its first line
LEAST_WIDTH = 640
LEGEND = (  # family of the colour, what it says
    ("conv", "convolution"),
    ("pool", "pooling"),
    ("route", "route: joins or picks outputs"),
    ("shortcut", "shortcut: adds; scale_channels: multiplies"),
    ("upsample", "upsample"),
    ("head", "detection head"),
    ("other", "other"),
)
READING = (
    "number at a line: the layer it comes from",
    "line at the left: from a row to the row that reads it",
    "at the right of a row: its output channels",
    "dashed rule: what is below does not read what is above",
    "frame with n x: its rows n times, one after the other",
    "point at a row: its place in the cfg",
)


@dataclass(frozen=True, slots=True)
class Placed:
    """A box on the page; x and y are its upper left corner, width is that of its lane."""

    x: float
    y: float
    width: float
    box: Box


@dataclass(frozen=True, slots=True)
class Lane:
    """A column of the page, for one resolution."""

    title: str
    x: float
    width: float


@dataclass(frozen=True, slots=True)
class Words:
    """A line of text; y is its middle. With a family, a chip of that colour stands before it."""

    x: float
    y: float
    text: str
    family: str = ""


@dataclass(frozen=True, slots=True)
class Graph:
    """The whole picture. Lanes, boxes and lines count from ``origin``, the rest from the page's corner."""

    width: int
    height: int
    title: str
    subtitle: str
    legend: tuple[Words, ...]
    origin: Point
    lanes: tuple[Lane, ...]
    boxes: tuple[Placed, ...]  # in file order, the picture first
    lines: tuple[Line, ...]


def lay_out(blueprint: Blueprint, *, parameters: int) -> Graph:
    """Return the picture of a network.

    Args:
        blueprint: The network.
        parameters: Number of its trained values.
    """
    net = blueprint.net
    blocks = into_blocks(blueprint.layers)
    boxes = [picture_box(net.width, net.height, net.channels), *map(block_box, blocks)]
    levels = [0, *(_level(block, net.width * net.height) for block in blocks)]
    columns = sorted(set(levels))
    numbers = [columns.index(level) for level in levels]
    titles = [_lane_title(level) for level in columns]
    widths = [float(math.ceil(text_width(title, FONT))) for title in titles]
    for box, number in zip(boxes, numbers, strict=True):
        widths[number] = max(widths[number], box.width)
    found = routes(boxes, numbers, widths)
    title, subtitle = _titles(blueprint, parameters)
    width = math.ceil(max(text_width(title, TITLE_FONT) * BOLD, text_width(subtitle, FONT), LEAST_WIDTH, found.width))
    legend = _legend(width)
    origin = (BORDER, legend[-1].y + LINE_HEIGHT + LANE_TITLE)
    return Graph(
        width=width + 2 * BORDER,
        height=math.ceil(origin[1] + found.tops[-1] + boxes[-1].height + BORDER),
        title=title,
        subtitle=subtitle,
        legend=legend,
        origin=origin,
        lanes=tuple(map(Lane, titles, found.lanes, widths)),
        boxes=tuple(
            Placed(found.lanes[number], top, widths[number], box)
            for box, number, top in zip(boxes, numbers, found.tops, strict=True)
        ),
        lines=found.lines,
    )


def _level(block: Block, picture_size: int) -> int:
    """Return how many times the picture's sides are halved in a block, rounded; below 0 for a larger one."""
    return round(math.log2(picture_size / (block.width * block.height)) / 2)


def _lane_title(level: int) -> str:
    return f"stride {2**level}" if level >= 0 else f"{2**-level} x the picture"


def _titles(blueprint: Blueprint, parameters: int) -> tuple[str, str]:
    net, layers = blueprint.net, blueprint.layers
    heads = sum(1 for plan in layers if is_head(plan))
    parts = [
        f"input {net.width} x {net.height} x {net.channels}",
        f"{len(layers)} layers",
        f"{heads} head{'' if heads == 1 else 's'}",
        f"{blueprint.bflops:.3f} BFLOPS",
        f"{parameters:,} parameters",
    ]
    return printable(blueprint.path.name), " · ".join(parts)


def _legend(width: float) -> tuple[Words, ...]:
    """Return the legend's lines for a page of this width between its borders."""
    words: list[Words] = []
    x, y = float(BORDER), float(LEGEND_TOP)
    for family, text in (*LEGEND, *(("", sentence) for sentence in READING)):
        needed = (CHIP + GAP if family else 0) + text_width(text, SMALL)
        if x > BORDER and x + needed > BORDER + width:
            x, y = float(BORDER), y + LINE_HEIGHT
        words.append(Words(x, y, text, family))
        x += needed + 2 * GAP
    return tuple(words)
