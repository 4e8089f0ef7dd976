"""The line of `detector recall` (darkpy/report/recall_report.py)."""

from darkpy.report.recall_report import recall_line
from darkpy.structures import RecallResult


def test_line_of_a_picture() -> None:
    result = RecallResult(pictures=3, correct=7, truths=8, proposals=256, iou_sum=5.51656)
    assert recall_line(result) == "    2     7     8\tRPs/Img: 85.33\tIOU: 68.96%\tRecall:87.50%"


def test_no_truths_yet_is_nan() -> None:
    result = RecallResult(pictures=1, correct=0, truths=0, proposals=189, iou_sum=0.0)
    assert recall_line(result) == "    0     0     0\tRPs/Img: 189.00\tIOU: nan%\tRecall:nan%"
