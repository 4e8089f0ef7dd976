from pathlib import Path

import graph_laws
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sections import NET, PATH, conv, lines

from darkpy.blueprint import Blueprint, plan_network
from darkpy.cfg.text import parse_sections
from darkpy.report.graph import Graph, lay_out

RESIDUAL = conv(filters=4) + conv(filters=8, size=3, pad=1) + lines("shortcut", {"from": -3, "activation": "linear"})
YOLO = lines("yolo", {"mask": "0,1", "anchors": "4,5, 6,7, 8,9", "num": 3, "classes": 2, "jitter": 0.1, "random": 0})
HEAD = conv(filters=14) + YOLO


def plan(layers: str, *, width: int = 64, height: int = 64, path: Path = PATH) -> Blueprint:
    content = NET.format(width=width, height=height) + layers
    return plan_network(parse_sections(content.split("\n"), str(path)), path)


def graph(layers: str, **size: int) -> Graph:
    """The picture of a network, held to the laws."""
    blueprint = plan(layers, **size)
    made = lay_out(blueprint, parameters=1234567)
    graph_laws.hold(made, blueprint)
    return made


def route(*layers: int, **values: object) -> str:
    return lines("route", {"layers": ",".join(map(str, layers)), **values})


def down(filters: int = 8) -> str:
    return conv(filters=filters, size=3, stride=2, pad=1)


def test_head_line_names_the_network_and_its_cost() -> None:
    made = graph(conv(filters=14) + YOLO)
    assert made.title == "x.cfg"
    assert made.subtitle == "input 64 x 64 x 3 · 2 layers · 1 head · 0.000 BFLOPS · 1,234,567 parameters"


def test_lanes_are_the_halvings_of_the_picture() -> None:
    made = graph(conv() + down() + down() + lines("upsample", {"stride": 2}) + down() + down())
    assert [lane.title for lane in made.lanes] == ["stride 1", "stride 2", "stride 4", "stride 8"]
    order = [made.lanes.index(next(lane for lane in made.lanes if lane.x == placed.x)) for placed in made.boxes]
    assert order == [0, 0, 1, 2, 1, 2, 3]


def test_a_picture_may_grow() -> None:
    made = graph(lines("upsample", {"stride": 4}) + down())
    assert [lane.title for lane in made.lanes] == ["4 x the picture", "2 x the picture", "stride 1"]


def test_sizes_that_are_no_halvings_share_the_lane_of_the_nearest() -> None:
    made = graph(down() + lines("maxpool", {"size": 3, "stride": 1, "padding": 0}))
    assert [lane.title for lane in made.lanes] == ["stride 1", "stride 2"]
    assert [placed.box.title for placed in made.boxes] == ["64 x 64", "32 x 32", "30 x 30"]


def test_width_and_height_may_differ() -> None:
    assert graph(down() + HEAD, width=96, height=32).boxes[1].box.title == "48 x 16"


def test_following_boxes_are_joined_from_above() -> None:
    made = graph(conv() + down() + HEAD)
    assert [(line.source, line.target) for line in made.lines] == [(-1, 0), (0, 1), (2, 3)]
    assert all(line.is_fall for line in made.lines)


def test_a_new_branch_has_no_line_from_above_but_one_from_its_source() -> None:
    made = graph(conv() + down() + conv() + HEAD + route(2) + down())
    (line,) = [line for line in made.lines if line.target == 5]
    assert (line.source, line.is_fall) == (2, False)


def test_a_line_in_one_lane_runs_down_at_its_right() -> None:
    made = graph(conv(filters=8) + down() + HEAD + route(1) + lines("upsample", {"stride": 2}) + route(-1, 0))
    (line,) = [line for line in made.lines if (line.source, line.target) == (0, 6)]
    right = made.boxes[1].x + made.boxes[1].width
    assert [x > right for x, _ in line.points] == [False, True, True, False]


def test_a_row_with_a_line_in_and_a_line_out_has_room_for_both() -> None:
    made = graph(conv() + HEAD + route(0) + HEAD + route(3) + conv())
    inward, outward = (line for line in made.lines if not line.is_fall)
    assert (inward.target, outward.source) == (3, 3)
    assert inward.points[-1][1] - outward.points[0][1] > 7


SQUEEZE = lines("avgpool", {}) + conv(filters=8) + lines("scale_channels", {"from": -3})


def test_a_line_to_a_lane_far_right_crosses_above_its_target() -> None:
    """Layer 2 is one pixel inside a box of 64 x 64; the route to it stands in the lane of one pixel."""
    made = graph(conv(filters=8) + SQUEEZE + HEAD + route(2) + conv())
    (line,) = [line for line in made.lines if line.target == 6]
    assert line.source == 2
    assert len(line.points) == 4  # the next lane: one gutter is beside both
    made = graph(conv(filters=8) + SQUEEZE + down() + HEAD + route(2) + conv())
    (line,) = [line for line in made.lines if line.target == 7]
    assert len(line.points) == 6
    target = made.boxes[-1]
    assert target.y > line.points[2][1] > target.y - 40
    assert line.points[-1][0] == target.x


def test_a_line_to_a_lane_far_left_arrives_at_its_right() -> None:
    """The other way round: one pixel inside the last box is added to by one from the deepest lane."""
    again = lines("avgpool", {}) + lines("shortcut", {"from": 3, "activation": "linear"})
    wide = route(0) + again + lines("scale_channels", {"from": -3})
    made = graph(conv(filters=8) + down() + lines("avgpool", {}) + conv(filters=8) + wide)
    (line,) = [line for line in made.lines if (line.source, line.target) == (3, 6)]
    target = made.boxes[-1]
    assert len(line.points) == 6
    assert line.points[0][0] == made.boxes[3].x
    assert line.points[-1][0] == target.x + target.width


def test_one_layer_is_a_network() -> None:
    made = graph(conv())
    assert [placed.box.layers for placed in made.boxes] == ["input", "0"]


@pytest.mark.parametrize("name", ["a" * 300 + ".cfg", "ä\udcff\x07.cfg"])
def test_odd_file_names_fit(name: str) -> None:
    blueprint = plan(conv(), path=Path(name))
    made = lay_out(blueprint, parameters=1)
    graph_laws.hold(made, blueprint)
    made.title.encode()


Part = tuple[str, int, int]  # a section, its output channels and side


def simple(kind: str, channels: int, side: int) -> list[Part]:
    """Sections that read what comes before them."""
    residual = [(conv(filters=4), 4, side), (conv(filters=channels), channels, side)]
    skip = (lines("shortcut", {"from": -3, "activation": "linear"}), channels, side)
    scale = (lines("scale_channels", {"from": -3}), channels, side)
    parts = {
        "conv": [(conv(filters=4), 4, side)],
        "residual": [*residual, skip],
        "down": [(down(), 8, (side + 1) // 2)],
        "up": [(lines("upsample", {"stride": 2}), channels, side * 2)],
        "head": [(conv(filters=14), 14, side), (YOLO, 14, side)],
        "squeeze": [(lines("avgpool", {}), channels, 1), (conv(filters=channels), channels, 1), scale],
    }
    return parts[kind]


def joining(kind: str, parts: list[Part], draw: st.DrawFn) -> list[Part]:
    """A section that reads any layers before it, of the size of the last one if they are joined to that."""
    _, channels, side = parts[-1]
    alike = [number for number, part in enumerate(parts) if part[2] == side]
    if kind == "route":
        chosen = draw(st.lists(st.sampled_from(alike), min_size=1, max_size=4, unique=True))
        return [(route(*chosen), sum(parts[number][1] for number in chosen), side)]
    if kind == "jump":
        number = draw(st.integers(0, len(parts) - 1))
        return [(route(number), *parts[number][1:])]
    return [(lines("shortcut", {"from": draw(st.sampled_from(alike)), "activation": "leaky"}), channels, side)]


@st.composite
def networks(draw: st.DrawFn) -> str:
    """Layers of all kinds that fit together, with routes and shortcuts from anywhere to anywhere."""
    parts = simple("conv", 3, 64)
    kinds = "conv conv residual residual down up head squeeze route jump shortcut".split()
    for kind in draw(st.lists(st.sampled_from(kinds), max_size=25)):
        joins = kind in ("route", "jump", "shortcut")
        parts += joining(kind, parts, draw) if joins else simple(kind, *parts[-1][1:])
    return "".join(part[0] for part in parts)


@settings(max_examples=25)
@given(networks())
def test_every_network_has_a_picture_that_obeys_the_laws(layers: str) -> None:
    graph(layers)
