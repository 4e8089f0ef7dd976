"""The lines between the boxes of a network's picture, and the room that they need between lanes and boxes.

Each line is found in three steps: which way it goes (by lane and box), how many lines run side by side where it goes,
and then pixels. Gutter g is the room left of lane g; strip b is the room above box b, from edge to edge of the page.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from darkpy.report.graph_box import Box, Point, Row, first_fit

STRIP = 26  # height with one line across
TRACK = 9  # between two lines side by side
PORT = 44  # between a box and the first line beside it, where lines come in with their number
ASIDE = 14  # the same where none comes in
_LEAVES = 3  # below a row's top, where a line leaves if others come in


@dataclass(frozen=True, slots=True)
class Line:
    """A line from a box to a later one, with an arrowhead at its end."""

    source: int  # layer; -1 is the picture
    target: int  # layer
    points: tuple[Point, ...]
    is_fall: bool  # from one box down to the next: needs no number


@dataclass(frozen=True, slots=True)
class Routes:
    """Where lanes, boxes and lines are, from the upper left corner of what they fill."""

    lanes: tuple[float, ...]  # left borders
    tops: tuple[float, ...]  # of the boxes
    lines: tuple[Line, ...]
    width: float


@dataclass(frozen=True, slots=True)
class _Way:
    """Which way a line goes beside the lanes; y from the top of the box at that end."""

    source: int  # layer
    target: int  # layer
    source_box: int
    target_box: int
    out: int  # gutter beside the source
    into: int  # gutter beside the target; if it is another one, the line crosses in the strip above the target
    source_y: float
    target_y: float


@dataclass(frozen=True, slots=True)
class _Strips:
    """How the lines that cross in each strip lie one above the other."""

    counts: tuple[int, ...]
    tracks: dict[_Way | int, int]  # an int is the box that a fall comes down to

    def height(self, box: int) -> float:
        """Return the height of the strip above a box; the first has none."""
        return STRIP + TRACK * max(0, self.counts[box] - 1) if box else 0

    def y(self, line: _Way | int, box: int, tops: Sequence[float]) -> float:
        """Return where a line crosses in the strip above a box."""
        return tops[box] - self.height(box) + STRIP / 2 + TRACK * self.tracks[line]


@dataclass(frozen=True, slots=True)
class _Upright:
    """The part of a line in one gutter."""

    gutter: int
    start: float
    stop: float


def routes(boxes: Sequence[Box], lanes: Sequence[int], widths: Sequence[float]) -> Routes:
    """Return where lanes, boxes and lines go.

    Args:
        boxes: From top to bottom, the picture first.
        lanes: The lane of each box.
        widths: Of the lanes.
    """
    ways = _ways(boxes, lanes)
    falls = [number for number, box in enumerate(boxes) if box.rows[0].falls]
    strips = _strips(ways, falls, lanes)
    bottoms = accumulate(strips.height(number) + box.height for number, box in enumerate(boxes))
    tops = [bottom - box.height for bottom, box in zip(bottoms, boxes, strict=True)]
    uprights = {way: _uprights(way, strips, tops) for way in ways}
    tracks = _gutter_tracks(uprights)
    lefts, firsts, width = _across(ways, lanes, widths, tracks)
    lines = []
    for box in falls:
        xs = [lefts[lane] + widths[lane] / 2 for lane in lanes[box - 1 : box + 1]]
        ys = (tops[box - 1] + boxes[box - 1].height, strips.y(box, box, tops), tops[box])
        lines.append(_fall(boxes[box], xs, ys))
    for way, parts in uprights.items():
        ends = [(lanes[way.source_box], way.out), (lanes[way.target_box], way.into)]
        sides = [lefts[lane] + (widths[lane] if gutter > lane else 0) for lane, gutter in ends]
        xs = [firsts[part.gutter] + TRACK * tracks[way, part.gutter] for part in parts]
        lines.append(Line(way.source, way.target, _corners(parts, xs, sides), is_fall=False))
    return Routes(tuple(lefts), tuple(tops), tuple(lines), width)


def _ways(boxes: Sequence[Box], lanes: Sequence[int]) -> list[_Way]:
    """Return the lines that run beside the lanes: all but the falls."""
    homes = {layer: (number, row) for number, box in enumerate(boxes) for row in box.rows for layer in row.layers}
    wanted = [(source, row.layers[0]) for box in boxes for row in box.rows for source in row.ports]
    leaving = {source for source, _ in wanted}
    ways = []
    for source, target in wanted:
        (source_box, source_row), (target_box, target_row) = homes[source], homes[target]
        start, stop = lanes[source_box], lanes[target_box]
        leaves = not leaving.isdisjoint(target_row.layers)
        ways.append(
            _Way(
                source=source,
                target=target,
                source_box=source_box,
                target_box=target_box,
                out=start + 1 if start <= stop else start,
                into=stop if start < stop else stop + 1,
                source_y=_exit(source_row),
                target_y=_entry(target_row, source, leaves=leaves),
            )
        )
    return ways


def _exit(row: Row) -> float:
    """Return where a line leaves a row's side, from the box's top: above those that come in."""
    return row.top + _LEAVES if row.ports else row.middle


def _entry(row: Row, source: int, *, leaves: bool) -> float:
    """Return where a line comes in at a row's side, from the box's top."""
    above = _LEAVES + 2 if leaves else 0
    return row.top + above + (row.text_height - above) * (row.ports.index(source) + 0.5) / len(row.ports)


def _strips(ways: Sequence[_Way], falls: Sequence[int], lanes: Sequence[int]) -> _Strips:
    """Return the lines across each strip; a lane counts as an odd place, a gutter as the even one left of it."""
    spans: dict[int, dict[_Way | int, tuple[int, int]]] = defaultdict(dict)
    for box in falls:
        spans[box][box] = _span(2 * lanes[box - 1] + 1, 2 * lanes[box] + 1)
    for way in ways:
        if way.out != way.into:
            spans[way.target_box][way] = _span(2 * way.out, 2 * way.into)
    tracks: dict[_Way | int, int] = {}
    counts = [0] * len(lanes)
    for box, lines in spans.items():
        found = first_fit(lines.values())
        tracks.update(zip(lines, found, strict=True))
        counts[box] = max(found) + 1
    return _Strips(tuple(counts), tracks)


def _span(a: int, b: int) -> tuple[int, int]:
    return min(a, b), max(a, b)


def _uprights(way: _Way, strips: _Strips, tops: Sequence[float]) -> tuple[_Upright, ...]:
    """Return the parts of a line in gutters, one after the other."""
    start, stop = tops[way.source_box] + way.source_y, tops[way.target_box] + way.target_y
    if way.out == way.into:
        return (_Upright(way.out, start, stop),)
    across = strips.y(way, way.target_box, tops)
    return _Upright(way.out, start, across), _Upright(way.into, across, stop)


def _gutter_tracks(uprights: Mapping[_Way, tuple[_Upright, ...]]) -> dict[tuple[_Way, int], int]:
    """Return the track of each line in each gutter that it uses, short parts first."""
    by_gutter: dict[int, list[tuple[_Way, _Upright]]] = defaultdict(list)
    for way, parts in uprights.items():
        for part in parts:
            by_gutter[part.gutter].append((way, part))
    tracks = {}
    for gutter, users in by_gutter.items():
        users.sort(key=lambda user: user[1].stop - user[1].start)
        found = first_fit([(part.start, part.stop) for _, part in users])
        tracks.update({(way, gutter): track for (way, _), track in zip(users, found, strict=True)})
    return tracks


def _across(
    ways: Sequence[_Way], lanes: Sequence[int], widths: Sequence[float], tracks: Mapping[tuple[_Way, int], int]
) -> tuple[list[float], list[float], float]:
    """Return the left borders of the lanes, the first track of each gutter, and the width of all."""
    into = {(lanes[way.target_box], way.into) for way in ways}
    lefts, firsts, x = [], [], 0.0
    for gutter in range(len(widths) + 1):
        used = [track for (_, number), track in tracks.items() if number == gutter]
        before, after = (PORT if (lane, gutter) in into else ASIDE for lane in (gutter - 1, gutter))
        firsts.append(x + (before if gutter else 0))
        if used:
            x = firsts[-1] + TRACK * max(used) + (after if gutter < len(widths) else 0)
        elif 0 < gutter < len(widths):
            x += 2 * ASIDE
        if gutter < len(widths):
            lefts.append(x)
            x += widths[gutter]
    return lefts, firsts, x


def _fall(box: Box, xs: Sequence[float], ys: tuple[float, float, float]) -> Line:
    """Return the line from one box down to the next.

    Args:
        box: The next.
        xs: Where it leaves and arrives.
        ys: Where it leaves, crosses and arrives.
    """
    (start, stop), (above, across, below) = xs, ys
    bend = ((start, across), (stop, across)) if start != stop else ()
    target = box.rows[0].layers[0]
    return Line(target - 1, target, ((start, above), *bend, (stop, below)), is_fall=True)


def _corners(parts: Sequence[_Upright], xs: Sequence[float], sides: Sequence[float]) -> tuple[Point, ...]:
    """Return the points of a line that leaves and arrives at the sides of two boxes."""
    corners = [point for part, x in zip(parts, xs, strict=True) for point in ((x, part.start), (x, part.stop))]
    return ((sides[0], parts[0].start), *corners, (sides[1], parts[-1].stop))
