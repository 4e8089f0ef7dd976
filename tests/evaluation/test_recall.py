"""Class-agnostic recall (darkpy/evaluation/recall.py)."""

import pytest
import torch

from darkpy.evaluation.recall import add_picture
from darkpy.structures import Detections, RecallResult

NOTHING = RecallResult(pictures=0, correct=0, truths=0, proposals=0, iou_sum=0.0)
BOX = (0.5, 0.5, 0.4, 0.4)


def found(*boxes: tuple[float, ...]) -> Detections:
    """Return boxes x y w h objectness."""
    table = torch.tensor(boxes, dtype=torch.float32).reshape(-1, 5)
    return Detections(table[:, :4], table[:, 4], torch.zeros(len(table), 3))


def truths(*rows: tuple[float, ...]) -> torch.Tensor:
    return torch.tensor(rows, dtype=torch.float32).reshape(-1, 5)


def test_class_does_not_matter() -> None:
    result = add_picture(NOTHING, found((*BOX, 0.9)), truths((*BOX, 2), (0.1, 0.1, 0.1, 0.1, 0)))
    assert result == RecallResult(pictures=1, correct=1, truths=2, proposals=1, iou_sum=pytest.approx(1.0))


def test_boxes_of_lower_objectness_go_above_an_iou_of_0_4() -> None:
    half = (0.5, 0.5, 0.4, 0.2)  # IoU 0.5
    apart = (0.5, 0.5, 0.4, 0.15)  # 0.375
    assert add_picture(NOTHING, found((*half, 0.5), (*BOX, 0.9)), truths()).proposals == 1
    assert add_picture(NOTHING, found((*apart, 0.5), (*BOX, 0.9)), truths()).proposals == 2


def test_an_iou_of_one_half_is_not_enough_but_is_summed() -> None:
    result = add_picture(NOTHING, found((0.5, 0.5, 0.5, 0.25, 0.9)), truths((0.5, 0.5, 0.5, 0.5, 0)))
    assert (result.correct, result.iou_sum) == (0, 0.5)


def test_counts_go_on() -> None:
    first = add_picture(NOTHING, found((*BOX, 0.9)), truths((*BOX, 0)))
    second = add_picture(first, found(), truths((*BOX, 0)))
    assert second == RecallResult(pictures=2, correct=1, truths=2, proposals=1, iou_sum=pytest.approx(1.0))
