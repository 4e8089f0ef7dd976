from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from darkpy.conversion.frames import relative_boxes, turned
from darkpy.conversion.picture_size import PictureSize
from darkpy.conversion.sample import Floats, Tally, make_sample


def boxes(
    *edges: tuple[float, ...], said: tuple[int, int] = (0, 0), size: PictureSize | None = None, clip: bool = False
) -> tuple[list[list[float]], list[bool], Tally]:
    tally = Tally()
    sample = make_sample(Path("a.jpg"), said, [(0, edge, False) for edge in edges])
    found = relative_boxes(sample, size or PictureSize(100, 50), clip=clip, where="a.xml", tally=tally)
    return found.xywh_rel.round(12).tolist(), found.rows.tolist(), tally


@pytest.mark.parametrize("said", [(0, 0), (100, 50), (0, 50), (50, 100), (77, 50)])
def test_the_pictures_own_size_counts(said: tuple[int, int]) -> None:
    assert boxes((10, 10, 30, 20), said=said)[0] == [[0.2, 0.3, 0.2, 0.2]]


def test_a_wrong_size_is_said() -> None:
    assert boxes((10, 10, 30, 20), said=(50, 100))[2].lines() == [
        "sizes that are not the picture's, which counts: 1 (first: a.xml)"
    ]


def test_a_picture_that_was_scaled_keeps_its_boxes() -> None:
    found, _, tally = boxes((20, 20, 60, 40), said=(200, 100))
    assert found == [[0.2, 0.3, 0.2, 0.2]]
    assert tally["pictures scaled after they were marked, the said size counts"] == 1


def test_a_said_size_that_does_not_hold_the_boxes_is_wrong() -> None:
    found, _, tally = boxes((60, 30, 100, 50), said=(50, 25))
    assert found == [[0.8, 0.8, 0.4, 0.4]]
    assert tally["sizes that are not the picture's, which counts"] == 1


@pytest.mark.parametrize("orientation", [5, 6, 7, 8])
def test_boxes_of_the_stored_picture_turn_with_it(orientation: int, tmp_path: Path) -> None:
    """The box around one white pixel is again around it once OpenCV has turned the picture."""
    stored = np.zeros((5, 7), np.uint8)
    stored[1, 2] = 255
    turn = {
        5: lambda a: a.T,
        6: lambda a: cv2.rotate(a, cv2.ROTATE_90_CLOCKWISE),
        7: lambda a: cv2.rotate(a, cv2.ROTATE_180).T,
        8: lambda a: cv2.rotate(a, cv2.ROTATE_90_COUNTERCLOCKWISE),
    }
    upright = turn[orientation](stored)
    ((row, column),) = np.argwhere(upright).tolist()
    size = PictureSize(5, 7, orientation)
    ((x, y, w, h),) = boxes((2, 1, 3, 2), said=(7, 5), size=size)[0]
    np.testing.assert_allclose([x * 5, y * 7, w * 5, h * 7], [column + 0.5, row + 0.5, 1, 1])


def test_boxes_of_the_upright_picture_do_not_turn() -> None:
    assert boxes((1, 1, 3, 2), said=(5, 7), size=PictureSize(5, 7, 6))[0][0][:2] == pytest.approx([2 / 5, 1.5 / 7])


def test_what_is_no_box_is_left_out_and_counted() -> None:
    found, kept, tally = boxes(
        (10, 10, 30, 20), (10, 10, 10, 20), (120, 10, 130, 20), (float("nan"), 0, 1, 1), (-30, 0, 0, 10)
    )
    assert len(found) == 1
    assert kept == [True, False, False, False, False]
    assert tally["boxes without size, left out"] == 1
    assert tally["boxes fully outside the picture, left out"] == 2
    assert tally["boxes that are no finite numbers, left out"] == 1


def test_overhang_is_kept_or_cut() -> None:
    kept, _, told = boxes((-10, 0, 30, 50))
    cut, _, cut_told = boxes((-10, 0, 30, 50), clip=True)
    assert kept == [[0.1, 0.5, 0.4, 1.0]]
    assert cut == [[0.15, 0.5, 0.3, 1.0]]
    assert told["boxes that overhang the picture, kept as they are"] == 1
    assert cut_told["boxes that overhang the picture, cut at its edge"] == 1


def test_overhang_of_more_than_half_the_picture_is_cut() -> None:
    found, _, tally = boxes((-51, 0, 30, 50))
    assert found == [[0.15, 0.5, 0.3, 1.0]]
    assert tally["boxes that overhang the picture, cut at its edge"] == 1


def test_the_rounding_of_labels_is_no_overhang() -> None:
    assert boxes((-1e-4, 0, 30, 50))[2].lines() == []


def test_no_objects() -> None:
    assert boxes()[:2] == ([], [])


@given(
    orientation=st.sampled_from([5, 6, 7, 8]),
    corners=st.tuples(*[st.floats(0, 1) for _ in range(4)]),
)
def test_turning_back_gives_the_box(orientation: int, corners: tuple[float, ...]) -> None:
    """5 and 7 are their own inverses; 6 and 8 are each other's."""
    box: Floats = np.array([corners])
    back = {5: 5, 6: 8, 7: 7, 8: 6}[orientation]
    np.testing.assert_allclose(turned(turned(box, orientation), back), box, atol=1e-15)
