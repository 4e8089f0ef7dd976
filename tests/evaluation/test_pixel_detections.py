"""Detections in pixels (darkpy/evaluation/pixel_detections.py)."""

import pytest
import torch

from darkpy.evaluation.pixel_detections import above, in_pixels, infinite_boxes
from darkpy.structures import Detections, NmsRule


def detections(*boxes: tuple[float, ...]) -> Detections:
    """Return boxes x y w h with a probability; the objectness is 1."""
    table = torch.tensor(boxes, dtype=torch.float32)
    return Detections(table[:, :4], torch.ones(len(table)), table[:, 4:])


def test_boxes_are_in_pixels_of_the_picture() -> None:
    kept = in_pixels(detections((0.5, 0.25, 0.25, 0.5, 0.9)), NmsRule(), image_size=(200, 100))
    assert kept.boxes.tolist() == [[100.0, 25.0, 50.0, 50.0]]


def test_letterbox_is_undone() -> None:
    kept = in_pixels(detections((0.5, 0.5, 0.5, 0.25, 0.9)), NmsRule(), image_size=(64, 32), network_size=(32, 32))
    assert kept.boxes.tolist() == [[32.0, 16.0, 32.0, 16.0]]


def test_duplicates_go_above_an_iou_of_0_6() -> None:
    pair = ((0.5, 0.5, 0.4, 0.4, 0.9), (0.5, 0.5, 0.4, 0.25, 0.8))  # IoU 0.625
    near = ((0.5, 0.5, 0.4, 0.4, 0.9), (0.5, 0.5, 0.4, 0.23, 0.8))  # 0.575
    assert in_pixels(detections(*pair), NmsRule(), image_size=(100, 100)).probabilities[:, 0].count_nonzero() == 1
    assert in_pixels(detections(*near), NmsRule(), image_size=(100, 100)).probabilities[:, 0].count_nonzero() == 2


@pytest.mark.parametrize(("size", "count"), [((100, 1000), 1), ((1000, 10), 2)])
def test_greedynms_measures_centres_in_pixels(size: tuple[int, int], count: int) -> None:
    """Two boxes side by side, IoU 0.667: the centre term is 0.009 in a tall picture, 0.117 in a wide one."""
    pair = detections((0.5, 0.5, 0.4, 0.4, 0.9), (0.58, 0.5, 0.4, 0.4, 0.8))
    assert in_pixels(pair, NmsRule("greedynms"), image_size=size).probabilities.count_nonzero() == count


def test_boxes_that_are_no_numbers_are_left_out_and_noted() -> None:
    found = detections(
        (0.5, 0.5, float("inf"), 0.5, 0.9), (0.5, float("nan"), 0.5, 0.5, 0.8), (0.5, 0.5, 0.1, 0.1, 0.7)
    )
    assert in_pixels(found, NmsRule(), image_size=(10, 10)).probabilities.tolist() == [[pytest.approx(0.7)]]
    problem = infinite_boxes(found, "a.jpg")
    assert problem is not None
    assert problem.message.startswith("a.jpg: 2 boxes are no finite numbers")
    assert infinite_boxes(detections((0.5, 0.5, 0.1, 0.1, 0.7)), "a.jpg") is None


def test_a_higher_threshold_afterwards() -> None:
    found = Detections(
        torch.zeros(3, 4), torch.tensor([0.9, 0.1, 0.5]), torch.tensor([[0.8, 0.2], [0.1, 0.1], [0.5, 0.3]])
    )
    kept = above(found, 0.3)
    assert kept.objectness.tolist() == pytest.approx([0.9, 0.5])
    assert kept.probabilities.tolist() == [pytest.approx([0.8, 0.0]), pytest.approx([0.5, 0.0])]
