"""Drawing (darkpy/report/predictions.py)."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from darkpy.report.findings import Finding
from darkpy.report.predictions import class_colour, draw, save_picture

NAMES = ["cat", "dog"]


def finding(box: tuple[float, ...], *, best: int = 0, confidence: float = 0.9) -> Finding:
    """Make a finding of plain numbers."""
    return Finding(np.array(box, dtype=np.float32), best, np.float32(confidence), ())


@pytest.mark.parametrize(
    ("class_id", "colour"), [(1, (255, 15, 0)), (16, (255, 255, 0)), (2, (223, 255, 0)), (7, (143, 255, 0))]
)
def test_colours_of_coco_classes(class_id: int, colour: tuple[int, int, int]) -> None:
    assert class_colour(class_id, 80) == pytest.approx(colour, abs=1)


def test_corners_are_cut_off_and_kept_inside() -> None:
    drawn = draw(np.zeros((100, 200, 3), np.uint8), [finding((0.953, 0.955, 0.2, 0.1))], NAMES)
    red, green, blue = class_colour(0, 2)
    rows, columns = np.nonzero((drawn == (red, green, blue)).all(axis=2))
    assert (columns.min(), columns.max()) == (170, 199)
    assert (rows.max(), drawn[99, 170].tolist()) == (99, [red, green, blue])


def test_lines_grow_inward_with_the_picture() -> None:
    drawn = draw(np.zeros((1500, 1500, 3), np.uint8), [finding((0.5, 0.5, 0.5, 0.5))], NAMES)
    line = drawn[750, 370:385].any(axis=1)
    assert np.nonzero(line)[0].tolist() == [5, 6, 7]  # 1500 * .002 = 3 pixels from column 375 on


def test_most_certain_is_on_top_whatever_the_order() -> None:
    box = (0.5, 0.5, 0.5, 0.5)
    pair = [finding(box, best=0, confidence=0.9), finding(box, best=1, confidence=0.3)]
    picture = np.zeros((100, 100, 3), np.uint8)
    for findings in (pair, pair[::-1]):
        assert draw(picture, findings, NAMES)[75, 50].tolist() == list(class_colour(0, 2))


def test_label_stands_above_the_box_or_below_its_top() -> None:
    picture = np.zeros((200, 200, 3), np.uint8)
    above = draw(picture, [finding((0.5, 0.5, 0.4, 0.4))], NAMES)
    assert above[50:60, 62:100].any()  # the box begins in row 60
    below = draw(picture, [finding((0.5, 0.2, 0.4, 0.4))], NAMES)
    assert below[3:10, 62:100].any()


def test_e09_grey_pictures_are_drawn() -> None:
    """E09: one channel, with a detection."""
    drawn = draw(np.zeros((100, 100, 1), np.uint8), [finding((0.5, 0.5, 0.5, 0.5))], NAMES)
    assert drawn.shape == (100, 100, 1)
    assert drawn[75, 50, 0] == int(255 * 0.8)


def test_boxes_and_labels_outside_do_no_harm() -> None:
    outside = [finding((x, y, 0.1, 0.1)) for x in (-1.0, 0.5, 2.0) for y in (-1.0, 0.5, 2.0)]
    assert draw(np.zeros((40, 30, 3), np.uint8), outside, NAMES).shape == (40, 30, 3)


def test_picture_itself_stays() -> None:
    picture = np.zeros((100, 100, 3), np.uint8)
    draw(picture, [finding((0.5, 0.5, 0.5, 0.5))], NAMES)
    assert not picture.any()


def test_saved_as_rgb_jpeg(tmp_path: Path) -> None:
    picture = np.zeros((32, 32, 3), np.uint8)
    picture[:, :, 0] = 255
    assert save_picture(tmp_path / "a.jpg", picture)
    blue, green, red = cv2.imread(str(tmp_path / "a.jpg"))[16, 16].tolist()
    assert red > 240
    assert max(green, blue) < 15
    assert save_picture(tmp_path / "grey.jpg", picture[:, :, :1])


def test_unwritable_picture_is_reported(tmp_path: Path) -> None:
    assert not save_picture(tmp_path / "gone" / "a.jpg", np.zeros((8, 8, 3), np.uint8))
