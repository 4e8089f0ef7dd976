"""Detections x truths (darkpy/evaluation/matching.py)."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from darkpy.evaluation.matching import Matches, match, match_each
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


_EIGHTHS = st.integers(1, 4).map(lambda eighths: eighths / 8)  # few places, so that overlaps and ties are common
_BOX = st.tuples(_EIGHTHS, _EIGHTHS, _EIGHTHS, _EIGHTHS)
_TRUTHS = st.lists(st.tuples(_BOX, st.integers(0, 1)), max_size=4).map(
    lambda rows: torch.tensor([[*box, kind] for box, kind in rows], dtype=torch.float32).reshape(-1, 5)
)
_FOUND = st.lists(st.tuples(_BOX, _EIGHTHS, st.sampled_from([0.0, 0.5])), max_size=5).map(
    lambda rows: found(*((*box, one, other) for box, one, other in rows)) if rows else _nothing()
)


def _nothing() -> Detections:
    return Detections(torch.zeros(0, 4), torch.zeros(0), torch.zeros(0, 2))


@given(st.lists(st.tuples(_FOUND, _TRUTHS, _TRUTHS), min_size=1, max_size=4))
def test_several_pictures_at_once_are_each_on_its_own(
    pictures: list[tuple[Detections, torch.Tensor, torch.Tensor]],
) -> None:
    detections, truths, difficult = zip(*pictures, strict=True)
    tables = ((one.boxes, one.objectness, one.probabilities) for one in detections)
    joined = Detections(*map(torch.cat, zip(*tables, strict=True)))
    at_once = match_each(joined, list(map(len, detections)), truths, difficult=difficult, iou_threshold=0.5)
    start, first_truth = 0, 0
    for one, of_one, hard in pictures:
        alone = match(one, of_one, difficult=hard, iou_threshold=0.5)
        rows = slice(start, start + len(alone.classes))
        claimed = at_once.truths[rows]
        np.testing.assert_array_equal(np.where(claimed >= 0, claimed - first_truth, -1), alone.truths)
        for name in ("confidences", "classes", "ious", "first", "ranked"):
            np.testing.assert_array_equal(getattr(at_once, name)[rows], getattr(alone, name))
        start, first_truth = rows.stop, first_truth + len(of_one)
    assert len(at_once.classes) == start


@given(_FOUND, _TRUTHS)
def test_claims_equal_plain_loops(detections: Detections, truths: torch.Tensor) -> None:
    from darkpy.boxes import iou

    result = match(detections, truths, difficult=NONE, iou_threshold=0.5)
    expected = []
    for box, probabilities in zip(detections.boxes, detections.probabilities, strict=True):
        for kind in torch.nonzero(probabilities)[:, 0].tolist():
            best, best_iou = -1, 0.0
            for index, truth in enumerate(truths):
                overlap = float(iou(box, truth[:4]))
                if truth[4] == kind and overlap > 0.5 and overlap > best_iou:
                    best, best_iou = index, overlap
            expected.append((best, best_iou))
    assert list(zip(result.truths.tolist(), result.ious.tolist(), strict=True)) == expected
