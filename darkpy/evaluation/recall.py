"""Recall of a network whatever the class.  Source: darknet src/detector.c, validate_detector_recall."""

import numpy as np
from torch import Tensor

from darkpy.boxes import iou, suppress
from darkpy.structures import Detections, RecallResult

RECALL_THRESHOLD = 0.001  # boxes of a lower objectness are no proposals
_NMS_THRESHOLD = 0.4
_IOU_THRESHOLD = 0.5


def add_picture(so_far: RecallResult, found: Detections, truths: Tensor) -> RecallResult:
    """Return the counts with one more picture.

    Suppression goes by objectness and plain IoU. The sum of IoUs is rounded to float32 after each truth, as darknet
    does, since its printed digits depend on it.

    Args:
        so_far: The pictures before.
        found: N detections above ``RECALL_THRESHOLD``, before suppression, boxes relative to the picture.
        truths: (T, 5) float32: centre x, y, width, height relative to the picture, class.
    """
    order, kept = suppress(found.boxes, found.objectness[:, None], threshold=_NMS_THRESHOLD)
    boxes = found.boxes[order[kept[:, 0] > RECALL_THRESHOLD]].cpu()
    overlaps = iou(truths[:, None, :4], boxes[None]).numpy()  # (T, N)
    best = overlaps.max(axis=1, initial=np.float32(0))
    sums = np.cumsum(np.array([so_far.iou_sum, *best], dtype=np.float32), dtype=np.float32)
    return RecallResult(
        pictures=so_far.pictures + 1,
        correct=so_far.correct + int((best > np.float32(_IOU_THRESHOLD)).sum()),
        truths=so_far.truths + len(truths),
        proposals=so_far.proposals + len(boxes),
        iou_sum=float(sums[-1]),
    )
