"""Detections x truths of one picture.  Source: darknet src/detector.c, validate_detector_map."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from darkpy.boxes import iou
from darkpy.structures import Detections


@dataclass(frozen=True, slots=True)
class Matches:
    """One record for each (detection, class) with a probability, in array order. R records."""

    confidences: NDArray[np.float32]  # (R,)
    classes: NDArray[np.int64]  # (R,)
    truths: NDArray[np.int64]  # (R,) row of the truth that it overlaps best, -1 for none
    ious: NDArray[np.float32]  # (R,) IoU with that truth, 0 for none
    first: NDArray[np.bool_]  # (R,) whether no record before it claims that truth, whatever its confidence
    ranked: NDArray[np.bool_]  # (R,) False: only a difficult truth is there, so it stays out of the curves


def match(detections: Detections, truths: Tensor, *, difficult: Tensor, iou_threshold: float) -> Matches:
    """Match the detections of one picture, in array order, with its truths.

    A record claims the truth of its class that it overlaps most, also if another claimed it before. Darknet counts a
    record as true positive only if it is the first in array order to claim its truth: a weak one that stands before a
    strong one takes it. A detection on a difficult truth stays out of the curves but is a false positive in the counts.

    Args:
        detections: N detections in the CPU's memory, boxes relative to the picture.
        truths: (T, 5) float32: centre x, y, width, height relative to the picture, class.
        difficult: (D, 5), as truths.
        iou_threshold: A match overlaps more than this.
    """
    probabilities = detections.probabilities.numpy()
    rows, classes = np.nonzero(probabilities > 0)  # row by row: array order, classes ascending
    boxes = detections.boxes[torch.from_numpy(rows)]
    claimed, ious = _best(_eligible(boxes, classes, truths, iou_threshold))
    on_difficult = (_eligible(boxes, classes, difficult, iou_threshold) > 0).any(axis=1)
    matched = claimed >= 0
    return Matches(
        confidences=probabilities[rows, classes],
        classes=classes,
        truths=claimed,
        ious=ious,
        first=first_of_each(claimed),
        ranked=matched | ~on_difficult,
    )


def first_of_each(claimed: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which entries are not negative and stand before every equal one.

    Args:
        claimed: (R,) numbers of truths, -1 for none.

    Returns:
        (R,) bool.
    """
    first = np.zeros(len(claimed), dtype=np.bool_)
    first[np.unique(claimed, return_index=True)[1]] = True
    return first & (claimed >= 0)


def _eligible(boxes: Tensor, classes: NDArray[np.int64], truths: Tensor, iou_threshold: float) -> NDArray[Any]:
    """Return IoUs (R, T), 0 where the class differs or the overlap is not above the threshold."""
    overlaps = iou(boxes[:, None], truths[None, :, :4]).numpy()
    allowed = (classes[:, None] == truths[:, 4].numpy()[None]) & (overlaps > np.float32(iou_threshold))
    return np.where(allowed, overlaps, np.float32(0))


def _best(overlaps: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the first largest truth of each row, -1 where all are 0, and its IoU.

    Args:
        overlaps: (R, T) float32.

    Returns:
        truths (R,) and IoUs (R,).
    """
    with_none = np.pad(overlaps, ((0, 0), (0, 1)))  # a last column of 0, so that no truths at all is no special case
    best = with_none.argmax(axis=1)
    ious = with_none[np.arange(len(best)), best]
    return np.where(ious > 0, best, -1), ious
