"""Which detections are shown (darkpy/report/findings.py)."""

import torch

from darkpy.report.findings import select
from darkpy.structures import Detections

NAMES = ["cat", "dont_show_dog", "cow"]


def found(*rows: tuple[float, ...]) -> Detections:
    """Make detections of class probabilities, each with its own box."""
    probabilities = torch.tensor(rows, dtype=torch.float32).reshape(len(rows), 3)
    boxes = torch.arange(len(rows)).float()[:, None].expand(-1, 4)
    return Detections(boxes, torch.ones(len(rows)), probabilities)


def test_best_class_and_others_in_class_order() -> None:
    (one,) = select(found((0.5, 0.4, 0.9)), NAMES, threshold=0.25)
    assert one.best == 2
    assert [index for index, _ in one.others] == [0, 1]


def test_lowest_class_wins_a_tie() -> None:
    assert select(found((0.5, 0.0, 0.5)), NAMES, threshold=0.25)[0].best == 0


def test_threshold_is_strict_and_order_stays() -> None:
    chosen = select(found((0.25, 0, 0), (0.3, 0, 0), (0, 0, 0), (0, 0, 0.9)), NAMES, threshold=0.25)
    assert [float(one.box[0]) for one in chosen] == [1.0, 3.0]


def test_hidden_class_is_never_best_but_may_stand_beside() -> None:
    (one,) = select(found((0.3, 0.9, 0.0)), NAMES, threshold=0.25)
    assert (one.best, [index for index, _ in one.others]) == (0, [1])


def test_hidden_class_alone_is_not_shown() -> None:
    assert select(found((0.0, 0.9, 0.0), (0.2, 0.9, 0.0)), NAMES, threshold=0.25) == []


def test_threshold_zero_shows_no_empty_detections() -> None:
    assert select(found((0.0, 0.0, 0.0)), NAMES, threshold=0.0) == []


def test_nothing_found() -> None:
    assert select(found(), NAMES, threshold=0.25) == []
