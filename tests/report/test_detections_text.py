"""Printed detections (darkpy/report/detections_text.py)."""

import numpy as np

from darkpy.report.detections_text import printed_lines
from darkpy.report.findings import Finding

NAMES = ["cat", "traffic light"]


def finding(box: tuple[float, ...], *, best: int = 0, confidence: float = 0.9, others: tuple = ()) -> Finding:
    """Make a finding of plain numbers."""
    return Finding(np.array(box, dtype=np.float32), best, np.float32(confidence), others)


def test_sorted_by_left_edge() -> None:
    right, wide = finding((0.5, 0.5, 0.2, 0.2)), finding((0.6, 0.5, 0.8, 0.2), best=1, confidence=0.25)
    assert printed_lines([right, wide], NAMES) == ["traffic light: 25%", "cat: 90%"]


def test_equal_left_edges_keep_array_order() -> None:
    first, second = finding((0.5, 0.5, 0.2, 0.2), confidence=0.3), finding((0.5, 0.1, 0.2, 0.2), confidence=0.8)
    assert printed_lines([first, second], NAMES) == ["cat: 30%", "cat: 80%"]


def test_other_classes_follow_with_the_same_box() -> None:
    one = finding((0.5, 0.5, 0.2, 0.4), others=((1, np.float32(0.5)),))
    assert printed_lines([one], NAMES, image_size=(100, 50)) == [
        "cat: 90%\t(left_x:   40   top_y:   15   width:   20   height:   20)",
        "traffic light: 50%\t(left_x:   40   top_y:   15   width:   20   height:   20)",
    ]


def test_boxes_are_rounded_half_away_from_zero_and_not_clipped() -> None:
    one = finding((0.0, 1.0, 0.25, 0.25))
    (line,) = printed_lines([one], NAMES, image_size=(20, 100))
    assert line == "cat: 90%\t(left_x:   -3   top_y:   88   width:    5   height:   25)"
