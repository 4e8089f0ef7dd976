"""MS COCO's average precision and recall of boxes.  Source: cocoapi, COCOeval.accumulate, summarize.

Areas are those of the boxes: label files know no segments, from which COCO's own files have their areas.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from darkpy.boxes import corners_within
from darkpy.evaluation.coco_matching import (
    AREAS_PX,
    IOU_THRESHOLDS,
    Doubles,
    Flags,
    Group,
    Matched,
    iou_px,
    match_groups,
    outside_areas,
)
from darkpy.structures import CocoResult, Detections

_MOST = (1, 10, 100)  # detections of a picture and class that count, best first
_RECALL_POINTS: Doubles = np.linspace(0.0, 1.0, 101)
_PENDING = 2**20  # IoUs that wait for their matching: 8 MiB


@dataclass(frozen=True, slots=True, eq=False)
class _Records:
    """Detections in the order in which they came: by picture, then by class, best first."""

    confidences: NDArray[np.float32]  # (R,)
    classes: NDArray[np.int32]  # (R,)
    ranks: NDArray[np.uint8]  # (R,) among those of its picture and class
    outside: Flags  # (A, R) whether the box is of another area


class CocoEvaluation:
    """Takes picture after picture, and returns the twelve figures at the end.

    It keeps 13 bytes a detection, and 90 more for each that overlaps a truth.

    Args:
        classes: Number of classes.
    """

    def __init__(self, classes: int) -> None:
        self._classes = classes
        self._truths = np.zeros((len(AREAS_PX), classes), dtype=np.int64)  # of each area and class
        self._records: list[_Records] = []
        self._count = 0
        self._groups: list[Group] = []
        self._pending = 0
        self._matched: list[Matched] = []

    def add(self, found: Detections, truths: Tensor, *, image_size: tuple[int, int]) -> None:
        """Take the detections and truths of one picture.

        Args:
            found: N detections in the CPU's memory, boxes in pixels; they are cut at the picture's borders.
            truths: (T, 5) float32: centre x, y, width, height relative to the picture, class.
            image_size: (width, height) of the picture, in pixels.
        """
        truth_boxes, truth_classes = _truth_boxes(truths, image_size)
        outside = outside_areas(truth_boxes[:, 2] * truth_boxes[:, 3])
        for area in range(len(AREAS_PX)):
            self._truths[area] += np.bincount(truth_classes[~outside[area]], minlength=self._classes)
        rows, classes, ranks = _best_of_each_class(found.probabilities.numpy())
        boxes = _detection_boxes(found, image_size)
        overlaps = iou_px(boxes, truth_boxes)
        self._match_later(rows, classes, overlaps=overlaps, truth_classes=truth_classes, truth_outside=outside)
        self._records.append(
            _Records(
                confidences=found.probabilities.numpy()[rows, classes],
                classes=classes.astype(np.int32),
                ranks=ranks.astype(np.uint8),
                outside=outside_areas(boxes[:, 2] * boxes[:, 3])[:, rows],
            )
        )
        self._count += len(rows)

    def result(self) -> CocoResult:
        """Return the figures of all pictures so far."""
        self._match_now()
        records, matched = self._joined()
        precisions = np.full((len(AREAS_PX), self._classes, len(IOU_THRESHOLDS)), np.nan)
        recalls = np.full((len(_MOST), *precisions.shape), np.nan)
        for class_id in np.flatnonzero(self._truths.any(axis=0)):
            curves = _ClassCurves(records, matched, int(class_id))
            for area in np.flatnonzero(self._truths[:, class_id]):
                for place in range(len(_MOST)) if area == 0 else (len(_MOST) - 1,):
                    precisions[area, class_id], recalls[place, area, class_id] = curves.measure(
                        int(area), most=_MOST[place], truths=int(self._truths[area, class_id])
                    )  # the precision that stays is the last one, with most detections
        return CocoResult(
            average_precision=_mean(precisions[0]),
            average_precision_50=_mean(precisions[0, :, 0]),
            average_precision_75=_mean(precisions[0, :, 5]),
            average_precision_by_area=(_mean(precisions[1]), _mean(precisions[2]), _mean(precisions[3])),
            average_recall=(_mean(recalls[0, 0]), _mean(recalls[1, 0]), _mean(recalls[2, 0])),
            average_recall_by_area=(_mean(recalls[2, 1]), _mean(recalls[2, 2]), _mean(recalls[2, 3])),
        )

    def _match_later(
        self,
        rows: NDArray[np.int64],
        classes: NDArray[np.int64],
        *,
        overlaps: Doubles,
        truth_classes: NDArray[np.int64],
        truth_outside: Flags,
    ) -> None:
        """Put the detections that overlap a truth of their class aside; the others are misses already."""
        same = classes[:, None] == truth_classes[None]  # (R, N)
        near = np.flatnonzero((same & (overlaps[rows] >= IOU_THRESHOLDS[0])).any(axis=1))
        for class_id in np.unique(classes[near]):
            chosen = near[classes[near] == class_id]
            columns = truth_classes == class_id
            group = Group(self._count + chosen, overlaps[rows[chosen]][:, columns], truth_outside[:, columns])
            self._groups.append(group)
            self._pending += group.overlaps.size
        if self._pending >= _PENDING:
            self._match_now()

    def _match_now(self) -> None:
        self._matched.append(match_groups(self._groups))
        self._groups, self._pending = [], 0

    def _joined(self) -> tuple[_Records, Matched]:
        """Return everything as one, the matched detections in the order of the records."""
        parts, found = self._records, self._matched
        records = _Records(
            confidences=np.concatenate([np.zeros(0, np.float32), *(part.confidences for part in parts)]),
            classes=np.concatenate([np.zeros(0, np.int32), *(part.classes for part in parts)]),
            ranks=np.concatenate([np.zeros(0, np.uint8), *(part.ranks for part in parts)]),
            outside=np.concatenate([np.zeros((len(AREAS_PX), 0), np.bool_), *(part.outside for part in parts)], axis=1),
        )
        numbers = np.concatenate([part.records for part in found])
        order = np.argsort(numbers)
        hits, spared = (np.concatenate(flags)[order] for flags in ([p.hits for p in found], [p.spared for p in found]))
        return records, Matched(numbers[order], hits, spared)


class _ClassCurves:
    """The detections of one class, best first, equal ones as they came."""

    def __init__(self, records: _Records, matched: Matched, class_id: int) -> None:
        chosen = np.flatnonzero(records.classes == class_id)
        chosen = chosen[np.argsort(-records.confidences[chosen], kind="stable")]
        self._ranks = records.ranks[chosen]
        self._outside = records.outside[:, chosen]
        at = np.minimum(np.searchsorted(matched.records, chosen), max(len(matched.records) - 1, 0))
        has = matched.records[at] == chosen if len(matched.records) else np.zeros(len(chosen), np.bool_)
        self._places = np.flatnonzero(has)  # of the matched ones among the chosen
        self._hits, self._spared = matched.hits[at[has]], matched.spared[at[has]]

    def measure(self, area: int, *, most: int, truths: int) -> tuple[Doubles, Doubles]:
        """Return average precision and recall at each IoU threshold, (T,) each.

        Args:
            area: Index of the area range.
            most: Detections of a picture that count.
            truths: Of the class and area, at least 1.
        """
        few = self._ranks < most
        figures = np.zeros((2, len(IOU_THRESHOLDS)))
        for index in range(len(IOU_THRESHOLDS)):
            hits = np.zeros(len(few), dtype=np.bool_)
            hits[self._places] = self._hits[:, area, index]
            passed_over = self._outside[area] & ~hits
            passed_over[self._places] |= self._spared[:, area, index]
            figures[:, index] = _precision_and_recall(hits[few & ~passed_over], truths)
        return figures[0], figures[1]


def _precision_and_recall(hits: Flags, truths: int) -> tuple[float, float]:
    """Return the mean of the interpolated precision at 101 recalls, and the recall in the end."""
    if not hits.any():
        return 0.0, 0.0
    found = np.cumsum(hits)
    recall = found / truths
    precision = np.maximum.accumulate((found / np.arange(1, len(hits) + 1))[::-1])[::-1]
    at = np.searchsorted(recall, _RECALL_POINTS, side="left")
    return float(np.append(precision, 0.0)[at].mean()), float(recall[-1])


def _best_of_each_class(
    probabilities: NDArray[np.float32],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return row, class and rank of at most 100 detections of each class, by class, best first."""
    rows, classes = np.nonzero(probabilities > 0)
    order = np.lexsort((-probabilities[rows, classes], classes))
    rows, classes = rows[order], classes[order]
    ranks = np.arange(len(classes)) - np.searchsorted(classes, classes)
    few = ranks < _MOST[-1]
    return rows[few], classes[few], ranks[few]


def _detection_boxes(found: Detections, image_size: tuple[int, int]) -> Doubles:
    """Return (N, 4) left, top, width, height in pixels, as they are written for COCO."""
    corners = corners_within(found.boxes, image_size=image_size).numpy()
    return np.column_stack([corners[:, :2], corners[:, 2:] - corners[:, :2]]).astype(np.float64)


def _truth_boxes(truths: Tensor, image_size: tuple[int, int]) -> tuple[Doubles, NDArray[np.int64]]:
    """Return (T, 4) left, top, width, height in pixels, and (T,) classes."""
    table = truths.numpy().astype(np.float64)
    size = np.array(image_size, dtype=np.float64)
    low = (table[:, :2] - table[:, 2:4] / 2) * size
    return np.column_stack([low, table[:, 2:4] * size]), table[:, 4].astype(np.int64)


def _mean(values: Doubles) -> float:
    """Return the mean of what is no nan, -1 of nothing."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else -1.0
