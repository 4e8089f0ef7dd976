"""Curves and mAP (darkpy/evaluation/average_precision.py)."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from darkpy.evaluation.average_precision import average_precision, summarize
from darkpy.evaluation.matching import match
from darkpy.structures import Detections, MapResult

BOXES = [(0.1, 0.1, 0.1, 0.1), (0.3, 0.3, 0.1, 0.1), (0.5, 0.5, 0.1, 0.1), (0.7, 0.7, 0.1, 0.1)]
ELSEWHERE = (0.9, 0.1, 0.05, 0.05)


def hits(*values: int) -> np.ndarray:
    """Return hits as an array of bools."""
    return np.array(values, dtype=bool)


def evaluate(
    pictures: list[tuple[list[tuple[float, ...]], list[tuple[float, ...]]]], *, classes: int = 1, **settings: float
) -> MapResult:
    """Evaluate pictures given as (detections x y w h p..., truths x y w h class)."""
    matches, truth_classes = [], []
    for detections, truths in pictures:
        table = torch.tensor(detections, dtype=torch.float32).reshape(-1, 4 + classes)
        rows = torch.tensor(truths, dtype=torch.float32).reshape(-1, 5)
        found = Detections(table[:, :4], table[:, 4], table[:, 4:])
        matches.append(match(found, rows, difficult=torch.zeros(0, 5), iou_threshold=0.5))
        truth_classes.append(rows[:, 4].numpy().astype(np.int64))
    return summarize(matches, truth_classes, classes=classes, **settings)


def test_f01_best_detections_all_true_give_one() -> None:
    """F01: 4 objects, the 4 best detections are true."""
    assert average_precision(hits(1, 1, 1, 1, 0), 4) == 1.0


@pytest.mark.parametrize(
    ("points", "expected"),
    [(0, 1 / 3 + 2 / 9), (2, 0.5), (11, (4 * 1 + 3 * 2 / 3) / 11), (101, (34 * 1 + 33 * 2 / 3) / 101)],
)
def test_points_on_one_curve(points: int, expected: float) -> None:
    # recall 1/3 1/3 2/3 with precision 1 1/2 2/3, so 1 up to 1/3 and 2/3 up to 2/3
    assert average_precision(hits(1, 0, 1), 3, points=points) == pytest.approx(expected)


def test_nothing_found_or_nothing_to_find_is_zero() -> None:
    assert average_precision(hits(), 3) == 0.0
    assert average_precision(hits(0, 0), 0, points=11) == 0.0


@given(st.integers(1, 30), st.integers(0, 30), st.sampled_from([0, 2, 11, 101]))
def test_perfect_detections_have_average_precision_one(truths: int, wrong: int, points: int) -> None:
    ranked = np.concatenate([np.ones(truths, dtype=bool), np.zeros(wrong, dtype=bool)])
    assert average_precision(ranked, truths, points=points) == pytest.approx(1.0)


def test_f03_two_detections_on_one_object() -> None:
    """F03: TP 1, FP 1, FN 0."""
    result = evaluate([([(*BOXES[0], 0.9), (*BOXES[0], 0.8)], [(*BOXES[0], 0)])])
    assert (result.true_positives, result.false_positives, result.false_negatives) == (1, 1, 0)


def test_d16_same_label_twice_is_one_hit_and_one_miss() -> None:
    """D16: recall never above 1."""
    result = evaluate([([(*BOXES[0], 0.9)], [(*BOXES[0], 0), (*BOXES[0], 0)])])
    assert (result.true_positives, result.false_negatives) == (1, 1)
    assert result.recall == 0.5


@pytest.mark.parametrize("points", [0, 11])
def test_f06_no_detections(points: int) -> None:
    """F06: 3 objects, nothing found."""
    result = evaluate([([], [(*box, 0) for box in BOXES[:3]])], points=points)
    assert (result.true_positives, result.false_positives, result.false_negatives) == (0, 0, 3)
    assert result.mean_average_precision == 0.0
    assert (result.precision, result.recall, result.f1, result.average_iou) == (0.0, 0.0, 0.0, 0.0)


def test_f07_same_box_in_two_pictures_counts_twice() -> None:
    """F07."""
    picture = ([(*BOXES[0], 0.9)], [(*BOXES[0], 0)])
    result = evaluate([picture, picture])
    assert (result.true_positives, result.false_positives) == (2, 0)
    assert result.mean_average_precision == 1.0


def test_f13_counts_at_the_threshold() -> None:
    """F13: 4 objects; 3 right, 1 wrong."""
    detections = [(*box, 0.9) for box in BOXES[:3]] + [(*ELSEWHERE, 0.5)]
    result = evaluate([(detections, [(*box, 0) for box in BOXES])], threshold=0.25)
    (only,) = result.classes
    assert (only.true_positives, only.false_positives, only.truths - only.true_positives) == (3, 1, 1)
    assert (result.precision, result.recall, result.f1) == (0.75, 0.75, 0.75)
    assert result.average_iou == pytest.approx(0.75)


def test_c23_class_without_truths_counts_as_zero() -> None:
    """C23: the sum is divided by all classes."""
    result = evaluate([([(*BOXES[0], 0.9, 0, 0), (*BOXES[1], 0, 0, 0.9)], [(*BOXES[0], 0), (*BOXES[1], 2)])], classes=3)
    assert [one.average_precision for one in result.classes] == [1.0, 0.0, 1.0]
    assert result.mean_average_precision == pytest.approx(2 / 3)


def test_class_can_score_all_and_count_nothing() -> None:
    """A weak record that stands first in its picture takes the truth from the counts, not from the curve."""
    result = evaluate([([(*BOXES[0], 0.1), (*BOXES[0], 0.9)], [(*BOXES[0], 0)])], threshold=0.25)
    assert result.classes[0].average_precision == 1.0
    assert (result.true_positives, result.false_positives) == (0, 1)


def test_equal_confidences_rank_in_list_order() -> None:
    wrong, right = (*ELSEWHERE, 0.9), (*BOXES[0], 0.9)
    truths = [(*BOXES[0], 0)]
    assert evaluate([([right, wrong], truths)]).mean_average_precision == 1.0
    assert evaluate([([wrong, right], truths)]).mean_average_precision == 0.5


def test_threshold_is_strict() -> None:
    result = evaluate([([(*BOXES[0], 0.25)], [(*BOXES[0], 0)])], threshold=0.25)
    assert (result.true_positives, result.false_positives) == (0, 0)
    assert result.detections == 1


def test_no_pictures_give_zero() -> None:
    assert summarize([], [], classes=2).mean_average_precision == 0.0


def test_difficult_records_are_counted_but_not_ranked() -> None:
    found = Detections(torch.tensor([BOXES[0]]), torch.ones(1), torch.tensor([[0.9]]))
    difficult = torch.tensor([[*BOXES[0], 0]])
    result = summarize(
        [match(found, torch.zeros(0, 5), difficult=difficult, iou_threshold=0.5)], [np.zeros(0, np.int64)], classes=1
    )
    assert (result.detections, result.false_positives) == (0, 1)
