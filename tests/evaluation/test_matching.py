"""Detections x truths (darkpy/evaluation/matching.py)."""

import torch

from darkpy.evaluation.matching import Matches, match
from darkpy.structures import Detections

NONE = torch.zeros(0, 5)


def found(*rows: tuple[float, ...]) -> Detections:
    """Make detections of rows x, y, w, h, probabilities."""
    table = torch.tensor(rows, dtype=torch.float32)
    return Detections(table[:, :4], table[:, 4:].max(dim=1).values, table[:, 4:])


def matched(detections: Detections, truths: object, *, difficult: object = (), iou_threshold: float = 0.5) -> Matches:
    """Match with truths given as rows x, y, w, h, class."""
    as_rows = [torch.tensor(rows, dtype=torch.float32).reshape(-1, 5) for rows in (truths, difficult)]
    return match(detections, as_rows[0], difficult=as_rows[1], iou_threshold=iou_threshold)


def test_one_record_for_each_class_above_zero_in_array_order() -> None:
    result = matched(found((0.5, 0.5, 0.2, 0.2, 0.3, 0.0, 0.6), (0.1, 0.1, 0.1, 0.1, 0.0, 0.4, 0.0)), [])
    assert result.classes.tolist() == [0, 2, 1]
    assert result.truths.tolist() == [-1, -1, -1]
    assert not result.first.any()
    assert result.ranked.all()


def test_f05_overlap_of_exactly_the_threshold_is_no_match() -> None:
    """F05: the left half of an object, IoU exactly 0.5."""
    left_half = found((0.375, 0.5, 0.25, 0.25, 0.9))
    truth = [(0.5, 0.5, 0.5, 0.25, 0)]
    assert matched(left_half, truth).truths.tolist() == [-1]
    result = matched(left_half, truth, iou_threshold=0.49)
    assert result.truths.tolist() == [0]
    assert result.ious.tolist() == [0.5]


def test_f03_two_detections_on_one_object_claim_it_once() -> None:
    """F03."""
    result = matched(found((0.5, 0.5, 0.2, 0.2, 0.9), (0.5, 0.5, 0.2, 0.21, 0.8)), [(0.5, 0.5, 0.2, 0.2, 0)])
    assert result.truths.tolist() == [0, 0]
    assert result.first.tolist() == [True, False]


def test_weak_record_that_stands_first_takes_the_truth() -> None:
    result = matched(found((0.5, 0.5, 0.2, 0.21, 0.1), (0.5, 0.5, 0.2, 0.2, 0.9)), [(0.5, 0.5, 0.2, 0.2, 0)])
    assert result.first.tolist() == [True, False]


def test_best_truth_of_its_class_wins_and_the_first_of_equals() -> None:
    truths = [(0.5, 0.5, 0.2, 0.2, 1), (0.5, 0.5, 0.2, 0.25, 0), (0.5, 0.5, 0.2, 0.21, 0), (0.5, 0.5, 0.2, 0.21, 0)]
    assert matched(found((0.5, 0.5, 0.2, 0.2, 0.9)), truths).truths.tolist() == [2]


def test_detection_claims_its_best_truth_even_when_that_is_taken() -> None:
    truths = [(0.5, 0.5, 0.2, 0.2, 0), (0.5, 0.5, 0.2, 0.28, 0)]
    result = matched(found((0.5, 0.5, 0.2, 0.2, 0.9), (0.5, 0.5, 0.2, 0.21, 0.8)), truths)
    assert result.truths.tolist() == [0, 0]
    assert result.first.tolist() == [True, False]


def test_detection_on_a_difficult_truth_is_not_ranked() -> None:
    difficult = [(0.5, 0.5, 0.2, 0.2, 0)]
    result = matched(found((0.5, 0.5, 0.2, 0.2, 0.9), (0.1, 0.1, 0.1, 0.1, 0.8)), [], difficult=difficult)
    assert result.ranked.tolist() == [False, True]
    assert not result.first.any()


def test_match_wins_over_difficult() -> None:
    box = (0.5, 0.5, 0.2, 0.2)
    assert matched(found((*box, 0.9)), [(*box, 0)], difficult=[(*box, 0)]).ranked.tolist() == [True]


def test_difficult_of_another_class_leaves_the_record() -> None:
    box = (0.5, 0.5, 0.2, 0.2)
    assert matched(found((*box, 0.9)), [], difficult=[(*box, 1)]).ranked.tolist() == [True]


def test_no_detections_give_no_records() -> None:
    nothing = Detections(torch.zeros(0, 4), torch.zeros(0), torch.zeros(0, 2))
    assert len(match(nothing, torch.zeros(3, 5), difficult=NONE, iou_threshold=0.5).confidences) == 0
