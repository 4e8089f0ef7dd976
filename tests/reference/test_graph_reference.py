"""The picture of every network of darknet that loads obeys the laws, and fits a page."""

import math
from pathlib import Path

import graph_laws
import pytest

from darkpy.blueprint import Blueprint, read_blueprint
from darkpy.errors import CfgError
from darkpy.report.graph import lay_out
from darkpy.report.graph_blocks import into_blocks

pytestmark = pytest.mark.reference

LOADED = 63
TALLEST = 2.5  # heights for one width


def loadable(folder: Path) -> dict[str, Blueprint]:
    found = {}
    for path in sorted(folder.rglob("*.cfg")):
        try:
            found[path.name] = read_blueprint(path)
        except CfgError:
            continue
    return found


MANY = 160  # layers


@pytest.mark.slow
def test_every_network_of_darknet(shared: Path) -> None:
    networks = loadable(shared / "cfg-reference")
    assert len(networks) >= LOADED
    for name, blueprint in networks.items():
        graph = lay_out(blueprint, parameters=1)
        graph_laws.hold(graph, blueprint)
        many = len(blueprint.layers) / MANY  # such as densenet201, of which little folds
        assert graph.height / graph.width < TALLEST * max(many, 1), name


@pytest.mark.parametrize(
    ("name", "repeats"),
    [  # as their papers describe them: residual blocks in each stage
        ("yolov3", [2, 8, 8, 4]),
        ("yolov4", [2, 8, 8, 4]),
        ("yolov4-p6", [3, 15, 15, 7, 7]),
    ],
)
def test_stages_of_residual_blocks_fold(shared: Path, name: str, repeats: list[int]) -> None:
    layers = read_blueprint(shared / "cfg-reference" / f"{name}.cfg").layers
    folds = [
        repeat.times
        for block in into_blocks(layers)
        for repeat in block.repeats
        if block.steps[repeat.last].first.kind == "shortcut"
    ]
    assert folds == repeats


@pytest.mark.parametrize("name", ["yolov3", "yolov4", "yolov4-tiny", "yolov7-tiny", "enet-coco"])
def test_backbone_descends_lane_by_lane(shared: Path, name: str) -> None:
    """The boxes go to the right until the deepest lane is reached."""
    graph = lay_out(read_blueprint(shared / "cfg-reference" / f"{name}.cfg"), parameters=1)
    xs = [placed.x for placed in graph.boxes]
    backbone = xs[: xs.index(max(xs)) + 1]
    assert backbone == sorted(backbone)
    assert len(set(backbone)) == len(graph.lanes) == 1 + round(math.log2(32))
