"""cloud.png (darkpy/report/cloud.py): what is where, in which colour."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from darkpy.data.anchors import Clusters, cluster_from
from darkpy.errors import DataError
from darkpy.report.cloud import SIDE, colours, draw_cloud, ticks, write_cloud

SIZES = np.array([[100.0, 210.0], [100.0, 190.0], [300.0, 200.0]])
WHITE = [255, 255, 255]


def clusters() -> Clusters:
    return cluster_from(SIZES, SIZES[1:])


def test_boxes_are_dots_in_the_colour_of_their_anchor() -> None:
    canvas = draw_cloud(SIZES, clusters(), width=400, height=400)
    assert canvas.shape == (700, 700, 3)
    tints = colours(2).tolist()
    assert canvas[int(210 * 1.75), 175 + 1].tolist() == tints[0], "right of the rectangle's edge"
    assert canvas[int(190 * 1.75), 175 + 1].tolist() == tints[0]
    assert canvas[int(200 * 1.75) + 1, 525].tolist() == tints[1], "below the rectangle's corner"


def test_anchors_are_white_rectangles_from_the_origin() -> None:
    canvas = draw_cloud(SIZES, clusters(), width=400, height=400)
    assert (canvas[350, 60:170] == 255).all(), "lower edge of 100 x 200"
    assert (canvas[40:340, 175] == 255).all(), "its right edge"
    assert (canvas[350, 200:520] == 255).all(), "lower edge of 300 x 200"
    assert canvas[600, 300].tolist() == [0, 0, 0], "black where nothing is"


def test_the_sides_are_the_networks_width_and_height() -> None:
    canvas = draw_cloud(SIZES, clusters(), width=800, height=400)
    assert (canvas[40:340, int(100 * 700 / 800)] == 255).all()
    assert canvas[351, int(300 * 700 / 800)].tolist() == colours(2)[1].tolist()


def test_a_box_larger_than_the_network_is_at_the_edge() -> None:
    sizes = np.array([[500.0, 100.0], [10.0, 10.0]])
    canvas = draw_cloud(sizes, cluster_from(sizes, sizes), width=400, height=400)
    assert canvas[100 * SIDE // 400, SIDE - 1].tolist() == WHITE


def test_colours_are_darknets_hues_and_bright() -> None:
    found = colours(40).astype(int)
    assert (found.max(axis=1) == 255).all()
    numbers = np.arange(40)
    darknets = np.stack([(123 * numbers + 55) % 255, (321 * numbers + 33) % 255, (11 * numbers + 99) % 255], axis=1)
    assert np.abs(found / 255 - darknets / darknets.max(axis=1, keepdims=True)).max() < 1 / 255
    assert len({tuple(colour) for colour in found.tolist()}) == 40


@pytest.mark.parametrize(
    ("pixels", "expected"),
    [(416, [100, 200, 300, 400]), (13, [2, 4, 6, 8, 10, 12]), (1, []), (2, [1]), (608, [100, 200, 300, 400, 500, 600])],
)
def test_ticks_are_round_and_few(pixels: int, expected: list[int]) -> None:
    assert ticks(pixels) == expected


def test_there_are_at_most_eight_ticks() -> None:
    assert max(len(ticks(pixels)) for pixels in range(1, 5000, 7)) <= 8


def test_more_anchors_than_lines_of_the_key_can_be_drawn() -> None:
    sizes = np.stack([np.arange(1.0, 101.0), np.arange(1.0, 101.0)], axis=1)
    assert draw_cloud(sizes, cluster_from(sizes, sizes), width=416, height=416).any()


def test_the_file_is_a_png_with_the_picture(tmp_path: Path) -> None:
    picture = np.zeros((700, 700, 3), np.uint8)
    picture[:, :, 0] = 200
    write_cloud(tmp_path / "cloud.png", picture)
    assert cv2.imread(str(tmp_path / "cloud.png"))[5, 5].tolist() == [0, 0, 200], "OpenCV reads blue, green, red"
    assert [path.name for path in tmp_path.iterdir()] == ["cloud.png"]


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "cloud.png").mkdir()
    with pytest.raises(DataError, match=r"-show: .*cloud\.png: cannot be written"):
        write_cloud(tmp_path / "cloud.png", np.zeros((4, 4, 3), np.uint8))
