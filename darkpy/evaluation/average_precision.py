"""Curves of precision over recall, and mAP.  Source: darknet src/detector.c, validate_detector_map."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from darkpy.evaluation.matching import Matches, first_of_each
from darkpy.structures import ClassResult, MapResult


def summarize(
    matches: Sequence[Matches],
    truth_classes: Sequence[NDArray[np.int64]],
    *,
    classes: int,
    threshold: float = 0.25,
    iou_threshold: float = 0.5,
    points: int = 0,
) -> MapResult:
    """Return what an evaluation found.

    Args:
        matches: One entry for each picture.
        truth_classes: For each picture the (T,) classes of its truths, all in 0..classes-1.
        classes: Number of classes.
        threshold: Confidence above which a record counts as true or false positive.
        iou_threshold: The one that ``matches`` was made with.
        points: 0 for the area under the curve, else the number of recall points.
    """
    records = _join(matches, truth_classes)
    truths = np.bincount(np.concatenate([*truth_classes, np.empty(0, np.int64)]), minlength=classes)
    counted = records.confidences > np.float32(threshold)
    hits, misses = counted & records.first, counted & ~records.first
    true_positives = np.bincount(records.classes[hits], minlength=classes)
    false_positives = np.bincount(records.classes[misses], minlength=classes)
    areas = _average_precisions(records, truths, points)
    precision, recall, f1 = _ratios(int(hits.sum()), int(misses.sum()), int(truths.sum()))
    return MapResult(
        classes=tuple(
            ClassResult(float(area), int(true), int(false), int(count))
            for area, true, false, count in zip(areas, true_positives, false_positives, truths, strict=True)
        ),
        detections=int(records.ranked.sum()),
        truths=int(truths.sum()),
        precision=precision,
        recall=recall,
        f1=f1,
        average_iou=_average_iou(records.ious[hits], int(counted.sum())),
        mean_average_precision=float(areas.sum() / classes),
        threshold=threshold,
        iou_threshold=iou_threshold,
        points=points,
    )


def average_precision(hits: NDArray[np.bool_], truths: int, *, points: int = 0) -> float:
    """Return the average precision of one class, 0..1.

    Args:
        hits: (R,) whether each record found a truth that none before it found, best first.
        truths: Truths of the class.
        points: 0 for the area under the interpolated curve (PASCAL VOC from 2010 on), else the number of recall points
            from 0 to 1, at least 2 (11 in PASCAL VOC 2007, 101 in MS COCO).
    """
    if not truths or not len(hits):
        return 0.0
    true_positives = np.cumsum(hits)
    recall = true_positives / truths
    precision = true_positives / np.arange(1, len(hits) + 1)
    best = np.maximum.accumulate(precision[::-1])[::-1]  # the highest precision at this recall or more
    if points == 0:
        return float(np.sum(np.diff(recall, prepend=0.0) * best))
    at = np.searchsorted(recall, np.arange(points) / (points - 1))
    return float(np.append(best, 0.0)[at].mean())


def _average_precisions(records: Matches, truths: NDArray[np.int64], points: int) -> NDArray[np.float64]:
    """Return one average precision for each class."""
    best_first = np.argsort(-records.confidences[records.ranked], kind="stable")
    classes = records.classes[records.ranked][best_first]
    hits = first_of_each(records.truths[records.ranked][best_first])
    areas = [
        average_precision(hits[classes == class_id], int(count), points=points) for class_id, count in enumerate(truths)
    ]
    return np.array(areas)


def _join(matches: Sequence[Matches], truth_classes: Sequence[NDArray[np.int64]]) -> Matches:
    """Return the records of all pictures as one, with truths numbered through."""
    offsets = np.cumsum([0, *(len(classes) for classes in truth_classes)])
    numbered = [
        np.where(one.truths >= 0, one.truths + offset, -1) for one, offset in zip(matches, offsets[:-1], strict=True)
    ]
    return Matches(
        confidences=np.concatenate([np.empty(0, np.float32), *(one.confidences for one in matches)]),
        classes=np.concatenate([np.empty(0, np.int64), *(one.classes for one in matches)]),
        truths=np.concatenate([np.empty(0, np.int64), *numbered]),
        ious=np.concatenate([np.empty(0, np.float32), *(one.ious for one in matches)]),
        first=np.concatenate([np.empty(0, np.bool_), *(one.first for one in matches)]),
        ranked=np.concatenate([np.empty(0, np.bool_), *(one.ranked for one in matches)]),
    )


def _ratios(true_positives: int, false_positives: int, truths: int) -> tuple[float, float, float]:
    """Return precision, recall and F1 in float32, as darknet rounds them; 0 where it would print nan."""
    positives = true_positives + false_positives
    precision = np.float32(true_positives) / np.float32(positives) if positives else np.float32(0)
    recall = np.float32(true_positives) / np.float32(truths) if truths else np.float32(0)
    total = precision + recall
    f1 = np.float32(2) * precision * recall / total if total else np.float32(0)
    return float(precision), float(recall), float(f1)


def _average_iou(ious: NDArray[np.float32], positives: int) -> float:
    """Return the sum of the true positives' IoUs over true and false positives, summed one by one in float32."""
    if not len(ious):
        return 0.0
    return float(np.cumsum(ious, dtype=np.float32)[-1] / np.float32(positives))
