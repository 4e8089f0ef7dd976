"""The line that `detector recall` prints for each picture.

Source: darknet src/detector.c, validate_detector_recall.
"""

import numpy as np

from darkpy.structures import RecallResult


def recall_line(result: RecallResult) -> str:
    """Return the line after a picture: its number, hits and truths so far, proposals a picture, mean IoU and recall.

    The ratios are rounded as in darknet; those over no truths at all are nan.
    """
    proposals = np.float32(result.proposals) / np.float32(result.pictures)
    mean_iou = np.float32(result.iou_sum) * np.float32(100) / np.float32(result.truths) if result.truths else np.nan
    recall = 100.0 * result.correct / result.truths if result.truths else np.nan
    return (
        f"{result.pictures - 1:5d} {result.correct:5d} {result.truths:5d}\t"
        f"RPs/Img: {proposals:.2f}\tIOU: {mean_iou:.2f}%\tRecall:{recall:.2f}%"
    )
