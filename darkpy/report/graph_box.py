"""One block of the picture of a network, laid out for itself: rows, frames of repeats, arcs of skips inside it."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from darkpy.blueprint import LayerPlan
from darkpy.report.graph_blocks import Block, Repeat, Step
from darkpy.report.graph_words import family, head_details, row_text, text_width, tooltip

# All lengths are in pixels of the picture.
FONT, SMALL = 12, 11  # letter heights
BOLD = 1.14  # bold letters are wider by this
TITLE_HEIGHT = 22
ROW_HEIGHT = 18
DETAIL_HEIGHT = 15
PORT_HEIGHT = 16  # for each line that comes in from elsewhere
FRAME_GAP = 4
PADDING = 8  # between a box's border and what it holds
TRACK = 7  # between two arcs
CHIP = 7  # width of a row's colour
GAP = 9  # between the columns of a row
_APART = 3  # where an arc leaves, below a row's middle, and where one arrives, above it

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a box; y from the box's top."""

    layers: tuple[int, ...]  # more than one in a repeated block; -1 is the picture
    sources: tuple[int, ...]  # of the first of them
    index: str
    text: str
    output: str  # channels; the whole shape if it is not that of the box
    details: tuple[str, ...]  # lines below
    family: str
    tooltip: str
    top: float
    ports: tuple[int, ...]  # those of its sources that a line from another box brings, at its side
    falls: bool  # as the first row, it reads the box before: the line comes from above
    is_cut: bool  # it does not read the row above

    @property
    def text_height(self) -> float:
        """Height without the details."""
        return max(ROW_HEIGHT, PORT_HEIGHT * len(self.ports))

    @property
    def bottom(self) -> float:
        """Where it ends."""
        return self.top + self.text_height + DETAIL_HEIGHT * len(self.details)

    @property
    def middle(self) -> float:
        """Where its first line of text is centred."""
        return self.top + self.text_height / 2


@dataclass(frozen=True, slots=True)
class Frame:
    """What surrounds the rows of a repeated block; y from the box's top."""

    first: int  # layer
    last: int  # layer
    title: str
    top: float
    height: float


@dataclass(frozen=True, slots=True)
class Arc:
    """A skip inside a box: from the rows at ``taps`` to the row of layer ``target``."""

    sources: tuple[int, ...]
    target: int
    taps: tuple[float, ...]  # y from the box's top
    end: float
    track: int  # 0 is next to the rows
    family: str  # of the row where it ends


@dataclass(frozen=True, slots=True)
class Box:
    """A block with everything in its place, but not yet on the page."""

    title: str
    layers: str  # "105 to 116"
    rows: tuple[Row, ...]
    frames: tuple[Frame, ...]
    arcs: tuple[Arc, ...]
    margin: float  # from the left border to the colour chips
    index_width: float
    width: float
    height: float
    is_head: bool


def picture_box(width: int, height: int, channels: int) -> Box:
    """Return the box of the network's input."""
    row = Row(
        layers=(-1,),
        sources=(),
        index="",
        text="picture",
        output=str(channels),
        details=(),
        family="input",
        tooltip="[net]",
        top=TITLE_HEIGHT,
        ports=(),
        falls=False,
        is_cut=False,
    )
    return _box(f"{width} x {height}", "input", (row,), (), ())


def block_box(block: Block) -> Box:
    """Return the box of a block."""
    rows, frames = _rows_and_frames(block)
    arcs = _in_tracks(_arcs(block, rows, frames))
    layers = f"{block.first}" if block.first == block.last else f"{block.first} to {block.last}"
    title = f"head, grid {block.width} x {block.height}" if block.is_head else f"{block.width} x {block.height}"
    return _box(title, layers, rows, frames, arcs, is_head=block.is_head)


def _box(
    title: str,
    layers: str,
    rows: tuple[Row, ...],
    frames: tuple[Frame, ...],
    arcs: tuple[Arc, ...],
    *,
    is_head: bool = False,
) -> Box:
    tracks = 1 + max((arc.track for arc in arcs), default=-1)
    margin = PADDING + (TRACK * tracks + 6 if tracks else 0)
    index_width = math.ceil(max(text_width(row.index, SMALL) for row in rows))
    before = margin + CHIP + GAP + index_width + GAP
    widths = [before + text_width(row.text, FONT) + 2 * GAP + text_width(row.output, FONT) for row in rows]
    widths += [before + text_width(line, SMALL) for row in rows for line in row.details]
    widths += [margin + BOLD * text_width(frame.title, SMALL) + PADDING for frame in frames]
    widths.append(PADDING + BOLD * text_width(title, FONT) + 2 * GAP + text_width(layers, SMALL))
    ends = [rows[-1].bottom, *(frame.top + frame.height + FRAME_GAP for frame in frames)]
    return Box(
        title=title,
        layers=layers,
        rows=rows,
        frames=frames,
        arcs=arcs,
        margin=margin,
        index_width=index_width,
        width=math.ceil(max(widths)) + PADDING,
        height=max(ends) + PADDING / 2,
        is_head=is_head,
    )


def _rows_and_frames(block: Block) -> tuple[tuple[Row, ...], tuple[Frame, ...]]:
    starts = {repeat.first: repeat for repeat in block.repeats}
    rows: list[Row] = []
    frames: list[Frame] = []
    top = float(TITLE_HEIGHT)
    repeat: Repeat | None = None
    for number, step in enumerate(block.steps):
        repeat = starts.get(number, repeat)
        if number in starts:
            top += FRAME_GAP
            frame_top = top
            top += DETAIL_HEIGHT
        rows.append(_row(step, block, top, is_repeated=repeat is not None))
        top = rows[-1].bottom
        if repeat is not None and number == repeat.last:
            first, last = block.steps[repeat.first].indices[0], step.indices[-1]
            frames.append(Frame(first, last, f"{repeat.times} x, {first} to {last}", frame_top, top - frame_top))
            top += FRAME_GAP
            repeat = None
    return tuple(rows), tuple(frames)


def _row(step: Step, block: Block, top: float, *, is_repeated: bool) -> Row:
    plan = step.first
    before = plan.index - 1
    starts_block = plan.index == block.first
    falls = starts_block and before in plan.sources
    ports = () if is_repeated else tuple(s for s in plan.sources if s < block.first and not (falls and s == before))
    details = head_details(plan) if block.is_head else ()
    return Row(
        layers=step.indices,
        sources=plan.sources,
        index=str(plan.index),
        text=row_text(plan, names_sources=not is_repeated),
        output=_output(plan, block),
        details=details,
        family=family(plan),
        tooltip=tooltip(step.plans),
        top=top,
        ports=tuple(dict.fromkeys(ports)),
        falls=falls,
        is_cut=before not in plan.sources and not starts_block,
    )


def _output(plan: LayerPlan, block: Block) -> str:
    shape = plan.output
    if (shape.width, shape.height) == (block.width, block.height):
        return str(shape.channels)
    return f"{shape.width} x {shape.height} x {shape.channels}"


def _arcs(block: Block, rows: Sequence[Row], frames: Sequence[Frame]) -> list[Arc]:
    """Return the skips inside a box; where a repeated pattern reads what comes before it, from the frame's top."""
    middles = {layer: row.middle for row in rows for layer in row.layers}
    arcs = []
    for row in rows:
        target = row.layers[0]
        frame = next((frame for frame in frames if frame.first <= target <= frame.last), None)
        taps = {}
        for source in row.sources:
            if source == target - 1:
                continue  # the row above
            if frame is not None and source < frame.first:
                taps[source] = frame.top
            elif source >= block.first:
                taps[source] = middles[source] + _APART
        if taps:
            arcs.append(Arc(tuple(taps), target, tuple(taps.values()), row.middle - _APART, 0, row.family))
    return arcs


def _in_tracks(arcs: Iterable[Arc]) -> tuple[Arc, ...]:
    """Return the arcs side by side where they overlap, short ones next to the rows."""
    arcs = sorted(arcs, key=lambda arc: arc.end - min(arc.taps))
    tracks = first_fit([(min(arc.taps), arc.end) for arc in arcs])
    return tuple(replace(arc, track=track) for arc, track in zip(arcs, tracks, strict=True))


def first_fit(spans: Iterable[tuple[float, float]]) -> list[int]:
    """Return the lowest track for each span, in this order, on which it touches no other."""
    tracks: list[list[tuple[float, float]]] = []
    chosen = []
    for low, high in spans:
        free = (n for n, taken in enumerate(tracks) if all(high < start or stop < low for start, stop in taken))
        track = next(free, len(tracks))
        if track == len(tracks):
            tracks.append([])
        tracks[track].append((low, high))
        chosen.append(track)
    return chosen
