"""Draws the plan of a network's picture as SVG, with the package drawsvg (the extra ``graph``)."""

from collections.abc import Iterable
from typing import Any

from darkpy.errors import SetupError
from darkpy.report.graph import TITLE_FONT, Graph, Placed, Words
from darkpy.report.graph_box import CHIP, DETAIL_HEIGHT, FONT, GAP, PADDING, SMALL, TITLE_HEIGHT, TRACK, Arc, Frame, Row
from darkpy.report.graph_lines import Line
from darkpy.report.graph_words import printable, text_width

MARK = "<!-- drawn by darkpy cfg show -->"  # near the start of each picture; what has it may be drawn anew
_FONTS = "Arial, Helvetica, Liberation Sans, DejaVu Sans, sans-serif"
_PAPER, _INK, _GREY, _STRIPE, _RULE = "#ffffff", "#1f2933", "#5f6b7a", "#f5f7fa", "#c3ccd6"
_BOX, _BORDER, _HEAD, _HEAD_BORDER, _FRAME = "#ffffff", "#7b8794", "#fdeceb", "#c0392b", "#eef3f8"
_COLOURS = {
    "input": "#1f2933",
    "conv": "#4c78a8",
    "pool": "#39a6a0",
    "route": "#e08214",
    "shortcut": "#3f9142",
    "upsample": "#9467bd",
    "head": "#c0392b",
    "other": "#8c8c8c",
}
_LINES = ("#1b6ca8", "#b5541c", "#2e7d32", "#7b3fa0", "#a8324a", "#8a6d00")  # one after the other, to tell them apart
_FALL = "#52606d"
_PILL = 13  # height of a line's number
_ARROW = 6


def svg(graph: Graph) -> str:
    """Return the picture as the text of an SVG file.

    Raises:
        SetupError: If drawsvg is not installed.
    """
    draw = _drawsvg()
    picture = draw.Drawing(graph.width, graph.height, font_family=_FONTS)
    picture.append(draw.Raw(MARK))
    picture.append(draw.Rectangle(0, 0, graph.width, graph.height, fill=_PAPER))
    picture.extend(_head(draw, graph))
    body = draw.Group(transform=f"translate({graph.origin[0]},{graph.origin[1]:g})")
    body.extend(_lanes(draw, graph))
    sources = sorted({line.source for line in graph.lines if not line.is_fall})
    colours = {source: _LINES[number % len(_LINES)] for number, source in enumerate(sources)}
    for line in graph.lines:
        body.extend(_line(draw, line, _FALL if line.is_fall else colours[line.source]))
    for placed in graph.boxes:
        body.append(_box(draw, placed))
    picture.append(body)
    return str(picture.as_svg())


def _drawsvg() -> Any:
    try:
        import drawsvg  # type: ignore[import-untyped]
    except ImportError:
        raise SetupError(
            "-svg draws with the package drawsvg, which is not installed. Install it: pip install drawsvg"
        ) from None
    return drawsvg


def _text(draw: Any, text: str, x: float, y: float, *, size: float = FONT, fill: str = _INK, **looks: Any) -> Any:
    """Return one line of text whose letters are centred on y; 0.36 of their size is half the height of a digit."""
    return draw.Text(printable(text), size, x, round(y + 0.36 * size, 1), fill=fill, **looks)


def _head(draw: Any, graph: Graph) -> Iterable[Any]:
    x = graph.origin[0]
    yield _text(draw, graph.title, x, 30, size=TITLE_FONT, font_weight="bold")
    yield _text(draw, graph.subtitle, x, 58, fill=_GREY)
    for words in graph.legend:
        yield from _legend(draw, words)


def _legend(draw: Any, words: Words) -> Iterable[Any]:
    x = words.x
    if words.family:
        yield _chip(draw, words.family, x, words.y)
        x += CHIP + GAP
    yield _text(draw, words.text, x, words.y, size=SMALL, fill=_GREY)


def _chip(draw: Any, family: str, x: float, y: float) -> Any:
    return draw.Rectangle(x, y - CHIP / 2 - 1, CHIP, CHIP + 2, rx=1.5, fill=_COLOURS[family])


def _lanes(draw: Any, graph: Graph) -> Iterable[Any]:
    height = graph.boxes[-1].y + graph.boxes[-1].box.height
    for lane in graph.lanes:
        yield draw.Rectangle(lane.x, -24, lane.width, height + 24, fill=_STRIPE)
        yield _text(draw, lane.title, lane.x + lane.width / 2, -13, fill=_GREY, text_anchor="middle")


def _line(draw: Any, line: Line, colour: str) -> Iterable[Any]:
    """Return a line, its arrowhead and its number."""
    (x, y), before = line.points[-1], line.points[-2]
    path = [value for point in line.points for value in point]
    yield draw.Lines(*path, fill="none", stroke=colour, stroke_width=1.4)
    if line.is_fall:
        yield _arrow(draw, x, y, (0, 1), colour)
        return
    side = 1 if before[0] < x else -1  # it goes to the right, or to the left
    yield _arrow(draw, x, y, (side, 0), colour)
    width = text_width(str(line.source), SMALL) + 6
    middle = x - side * (_ARROW + 3 + width / 2)
    yield draw.Rectangle(
        middle - width / 2, y - _PILL / 2, width, _PILL, rx=4, fill=_PAPER, stroke=colour, stroke_width=1
    )
    yield _text(draw, str(line.source), middle, y, size=SMALL, fill=colour, text_anchor="middle")


def _arrow(draw: Any, x: float, y: float, way: tuple[int, int], colour: str) -> Any:
    """Return an arrowhead whose tip is at a point."""
    across, down = way
    back_x, back_y = x - across * _ARROW, y - down * _ARROW
    half = _ARROW * 0.6
    corners = (x, y, back_x - down * half, back_y - across * half, back_x + down * half, back_y + across * half)
    return draw.Lines(*corners, close=True, fill=colour)


def _box(draw: Any, placed: Placed) -> Any:
    box, width = placed.box, placed.width
    group = draw.Group(transform=f"translate({placed.x:g},{placed.y:g})")
    fill, border = (_HEAD, _HEAD_BORDER) if box.is_head else (_BOX, _BORDER)
    group.append(draw.Rectangle(0, 0, width, box.height, rx=5, fill=fill, stroke=border, stroke_width=1.2))
    middle = TITLE_HEIGHT / 2
    group.append(_text(draw, box.title, PADDING, middle, fill=border if box.is_head else _INK, font_weight="bold"))
    group.append(_text(draw, box.layers, width - PADDING, middle, size=SMALL, fill=_GREY, text_anchor="end"))
    group.extend(_frame(draw, frame, box.margin, width) for frame in box.frames)
    for arc in box.arcs:
        group.extend(_arc(draw, arc, box.margin))
    group.extend(_row(draw, row, placed) for row in box.rows)
    return group


def _frame(draw: Any, frame: Frame, margin: float, width: float) -> Any:
    group = draw.Group()
    left = PADDING / 2
    looks = {"fill": _FRAME, "stroke": _RULE, "stroke_width": 1}
    group.append(draw.Rectangle(left, frame.top, width - 2 * left, frame.height, rx=4, **looks))
    middle = frame.top + DETAIL_HEIGHT / 2 + 1
    group.append(_text(draw, frame.title, margin, middle, size=SMALL, font_weight="bold"))
    return group


def _arc(draw: Any, arc: Arc, margin: float) -> Iterable[Any]:
    colour = _COLOURS[arc.family]
    right = margin - 2
    left = right - 6 - TRACK * arc.track
    tip = right - 1
    yield draw.Lines(left, min(arc.taps), left, arc.end, tip - _ARROW, arc.end, fill="none", stroke=colour)
    for tap in arc.taps:
        yield draw.Line(left, tap, right, tap, stroke=colour)
        yield draw.Circle(left, tap, 1.6, fill=colour)  # joined, where other lines only cross
    yield _arrow(draw, tip, arc.end, (1, 0), colour)


def _row(draw: Any, row: Row, placed: Placed) -> Any:
    box, width = placed.box, placed.width
    group = draw.Group()
    group.append_title(printable(row.tooltip))
    group.append(draw.Rectangle(box.margin, row.top, width - box.margin - 2, row.bottom - row.top, fill_opacity=0))
    if row.is_cut:
        looks = {"stroke": _GREY, "stroke_dasharray": "3 3", "stroke_width": 0.8}
        group.append(draw.Line(box.margin, row.top, width - PADDING, row.top, **looks))
    group.append(_chip(draw, row.family, box.margin, row.middle))
    numbers = box.margin + CHIP + GAP + box.index_width
    group.append(_text(draw, row.index, numbers, row.middle, size=SMALL, fill=_GREY, text_anchor="end"))
    group.append(_text(draw, row.text, numbers + GAP, row.middle))
    group.append(_text(draw, row.output, width - PADDING, row.middle, text_anchor="end"))
    for number, line in enumerate(row.details):
        y = row.top + row.text_height + DETAIL_HEIGHT * (number + 0.5)
        group.append(_text(draw, line, numbers + GAP, y, size=SMALL))
    return group
