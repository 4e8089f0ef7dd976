"""Detections x truths.  Source: darknet src/detector.c, validate_detector_map."""

from collections.abc import Sequence
from dataclasses import dataclass

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
    return match_each(detections, [len(detections)], [truths], difficult=[difficult], iou_threshold=iou_threshold)


def match_each(
    detections: Detections,
    counts: Sequence[int],
    truths: Sequence[Tensor],
    *,
    difficult: Sequence[Tensor],
    iou_threshold: float,
) -> Matches:
    """Do what ``match`` does for several pictures at once.

    Args:
        detections: Those of all pictures, picture after picture.
        counts: Detections of each picture.
        truths: (T, 5) of each picture.
        difficult: (D, 5) of each picture.
        iou_threshold: A match overlaps more than this.

    Returns:
        One record for each (detection, class), as if this were one picture: truths are numbered through.
    """
    probabilities = detections.probabilities.numpy()
    rows, classes = np.nonzero(probabilities > 0)  # row by row: array order, classes ascending
    pictures = np.repeat(np.arange(len(counts)), counts)[rows]
    boxes = detections.boxes.index_select(0, torch.from_numpy(rows))
    claimed, ious = _claims(boxes, pictures, classes, truths, iou_threshold)
    on_difficult = _claims(boxes, pictures, classes, difficult, iou_threshold)[0] >= 0
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


def _claims(
    boxes: Tensor,
    pictures: NDArray[np.int64],
    classes: NDArray[np.int64],
    truths: Sequence[Tensor],
    iou_threshold: float,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the truth that each record overlaps most, the first of equals, and its IoU; -1 and 0 for none.

    Only truths of the record's picture and class count, and only overlaps above the threshold.

    Args:
        boxes: (R, 4).
        pictures: (R,) the picture of each.
        classes: (R,) the class of each.
        truths: (T, 5) of each picture.
        iou_threshold: As for ``match``.
    """
    claimed, ious = np.full(len(boxes), -1), np.zeros(len(boxes), dtype=np.float32)
    table = torch.cat([*truths, boxes.new_zeros((0, 5))])
    records, candidates = _pairs(pictures, classes, table[:, 4].numpy(), [len(rows) for rows in truths])
    if not len(records):
        return claimed, ious
    of_record, of_truth = torch.from_numpy(records), torch.from_numpy(candidates)
    overlaps = iou(boxes.index_select(0, of_record), table[:, :4].index_select(0, of_truth)).numpy()
    enough = np.flatnonzero(overlaps > np.float32(iou_threshold))
    best_last = enough[np.lexsort((-candidates[enough], overlaps[enough]))]
    claimed[records[best_last]] = candidates[best_last]  # of several, the last one written stays
    ious[records[best_last]] = overlaps[best_last]
    return claimed, ious


def _pairs(
    pictures: NDArray[np.int64], classes: NDArray[np.int64], truth_classes: NDArray[np.float32], counts: Sequence[int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return each record with each truth of its picture and class, as two (P,) arrays."""
    of_truths = truth_classes.astype(np.int64)
    num_classes = 1 + max(of_truths.max(initial=0), classes.max(initial=0))
    truth_keys = np.repeat(np.arange(len(counts)), counts) * num_classes + of_truths
    by_key = np.argsort(truth_keys, kind="stable")
    keys = pictures * num_classes + classes
    starts, ends = (np.searchsorted(truth_keys[by_key], keys, side=side) for side in ("left", "right"))
    sizes = ends - starts
    first = np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)
    return np.repeat(np.arange(len(keys)), sizes), by_key[first + np.arange(len(first))]
