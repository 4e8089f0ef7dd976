"""What must be true of every picture of a network, whatever the network."""

from collections.abc import Iterator
from itertools import combinations, pairwise

from darkpy.blueprint import Blueprint
from darkpy.report.graph import Graph, Placed
from darkpy.report.graph_box import CHIP, FONT, GAP, PADDING, SMALL, Frame, Point, Row
from darkpy.report.graph_lines import Line
from darkpy.report.graph_words import text_width

NUMBER_HEIGHT = 13  # of the number at a line's end
Segment = tuple[Point, Point]


def hold(graph: Graph, blueprint: Blueprint) -> None:
    """Assert all laws."""
    each_layer_stands_once(graph, blueprint)
    everything_is_on_the_page(graph)
    no_boxes_overlap(graph)
    texts_fit(graph)
    lines_avoid_boxes(graph)
    lines_join_the_right_rows(graph)
    lines_keep_apart(graph)
    each_source_is_shown(graph, blueprint)
    frames_tell_the_truth(graph, blueprint)


def rows(graph: Graph) -> Iterator[tuple[Placed, Row]]:
    for placed in graph.boxes:
        for row in placed.box.rows:
            yield placed, row


def segments(line: Line) -> list[Segment]:
    return list(pairwise(line.points))


def each_layer_stands_once(graph: Graph, blueprint: Blueprint) -> None:
    found = [layer for _, row in rows(graph) for layer in row.layers]
    assert sorted(found) == list(range(-1, len(blueprint.layers)))
    shown = [row.layers[0] for _, row in rows(graph)]
    assert shown == sorted(shown), "from top to bottom as in the file"


def everything_is_on_the_page(graph: Graph) -> None:
    across, down = graph.origin
    for placed in graph.boxes:
        assert placed.x >= 0
        assert placed.y >= 0
        assert across + placed.x + placed.width < graph.width
        assert down + placed.y + placed.box.height < graph.height
    for line in graph.lines:
        for x, y in line.points:
            assert 0 < across + x < graph.width
            assert 0 < down + y < graph.height
    for words in graph.legend:
        assert words.x + text_width(words.text, SMALL) < graph.width
        assert words.y < down - FONT


def no_boxes_overlap(graph: Graph) -> None:
    for above, below in pairwise(graph.boxes):
        assert above.y + above.box.height < below.y


def texts_fit(graph: Graph) -> None:
    for placed in graph.boxes:
        box, width = placed.box, placed.width
        left = box.margin + CHIP + GAP + box.index_width + GAP
        assert PADDING + text_width(box.title, FONT) + text_width(box.layers, SMALL) + PADDING < width
        for row in box.rows:
            assert text_width(row.index, SMALL) <= box.index_width
            assert left + text_width(row.text, FONT) + GAP <= width - PADDING - text_width(row.output, FONT)
            assert all(left + text_width(line, SMALL) < width for line in row.details)
        for above, below in pairwise(box.rows):
            assert above.bottom <= below.top
        assert box.rows[-1].bottom < box.height
        for frame in box.frames:
            inside = [row for row in box.rows if frame.first <= row.layers[0] <= frame.last]
            assert frame.top < inside[0].top
            assert inside[-1].bottom <= frame.top + frame.height < box.height


def lines_avoid_boxes(graph: Graph) -> None:
    for line in graph.lines:
        for (x0, y0), (x1, y1) in segments(line):
            assert x0 == x1 or y0 == y1, "lines run across or down"
            for placed in graph.boxes:
                is_beside = max(x0, x1) <= placed.x or min(x0, x1) >= placed.x + placed.width
                is_off = max(y0, y1) <= placed.y or min(y0, y1) >= placed.y + placed.box.height
                assert is_beside or is_off, f"line {line.source} to {line.target} crosses {placed.box.layers}"


def lines_join_the_right_rows(graph: Graph) -> None:
    homes = {layer: (placed, row) for placed, row in rows(graph) for layer in row.layers}
    for line in graph.lines:
        (source, source_row), (target, target_row) = homes[line.source], homes[line.target]
        (x0, y0), (x1, y1) = line.points[0], line.points[-1]
        if line.is_fall:
            assert (x0, y0) == (source.x + source.width / 2, source.y + source.box.height)
            assert (x1, y1) == (target.x + target.width / 2, target.y)
            continue
        for placed, row, x, y in ((source, source_row, x0, y0), (target, target_row, x1, y1)):
            assert x in (placed.x, placed.x + placed.width)
            assert placed.y + row.top < y < placed.y + row.bottom
        before = line.points[-2][0]
        assert before < x1 if x1 == target.x else before > x1, "it arrives from outside"


def lines_keep_apart(graph: Graph) -> None:
    """Lines cross, but two from different layers never share a stretch; numbers at their ends do not touch."""
    for one, other in combinations(graph.lines, 2):
        if one.source != other.source:
            assert not any(overlap(a, b) for a in segments(one) for b in segments(other)), (one, other)
    beside = [line for line in graph.lines if not line.is_fall]
    for one, other in combinations([line.points[-1] for line in beside], 2):
        assert one[0] != other[0] or abs(one[1] - other[1]) >= NUMBER_HEIGHT
    for end in (line.points[-1] for line in beside):
        for start in (line.points[0] for line in beside):
            assert end[0] != start[0] or abs(end[1] - start[1]) > NUMBER_HEIGHT / 2 + 1


def overlap(a: Segment, b: Segment) -> bool:
    """Whether two segments lie on one line and have more than a point in common."""
    for fixed in (0, 1):
        values = {point[fixed] for point in (*a, *b)}
        if len(values) == 1:
            low, high = (sorted(point[1 - fixed] for point in segment) for segment in (a, b))
            return max(low[0], high[0]) < min(low[1], high[1])
    return False


def each_source_is_shown(graph: Graph, blueprint: Blueprint) -> None:
    """What a layer reads is the row above it, or has an arc, a line, or a place in a frame."""
    shown = {(line.source, line.target) for line in graph.lines}
    for placed in graph.boxes:
        for arc in placed.box.arcs:
            shown |= {(source, arc.target) for source in arc.sources}
        for row in placed.box.rows[1:]:
            if not row.is_cut:
                shown.add((row.layers[0] - 1, row.layers[0]))
    wanted = {(source, row.layers[0]) for _, row in rows(graph) for source in row.sources}
    assert shown == wanted


def frames_tell_the_truth(graph: Graph, blueprint: Blueprint) -> None:
    """The rows of a frame do the same each time, and only the last of all is read from outside."""
    frames = [frame for placed in graph.boxes for frame in placed.box.frames]
    repeated = {layer: row.layers.index(layer) for _, row in rows(graph) for layer in row.layers if len(row.layers) > 1}
    for plan in blueprint.layers:
        frame = next((frame for frame in frames if frame.first <= plan.index <= frame.last), None)
        assert (frame is not None) == (plan.index in repeated)
        for source in plan.sources:
            if frame is not None and frame.first <= source:
                times = repeated[plan.index] - repeated[source]
                assert times == 0 or (times == 1 and source + 1 in starts_of(graph, frame))
            elif frame is not None:
                assert source == frame.first - 1
                assert repeated[plan.index] == 0
            else:
                assert source not in repeated or source in {frame.last for frame in frames}


def starts_of(graph: Graph, frame: Frame) -> set[int]:
    """The layers with which a frame's rows begin each time."""
    return {layer for _, row in rows(graph) if row.layers[0] == frame.first for layer in row.layers}
