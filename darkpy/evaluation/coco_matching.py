"""Detections x truths of one class in one picture, by the rules of MS COCO.  Source: cocoapi, COCOeval.evaluateImg.

All groups, thresholds and areas go through one loop over the ranks of the detections: a detection takes what a better
one has left, so the ranks cannot be done at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]
Flags = NDArray[np.bool_]

IOU_THRESHOLDS: Doubles = np.linspace(0.5, 0.95, 10)
AREAS_PX: Doubles = np.array([[0, 1e10], [0, 32**2], [32**2, 96**2], [96**2, 1e10]])  # all, small, medium, large


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Detections of one class in one picture that overlap a truth enough for the lowest threshold, best first."""

    records: NDArray[np.int64]  # (D,) their numbers in the whole evaluation
    overlaps: Doubles  # (D, N) IoU with each truth
    truth_outside: Flags  # (A, N) whether the truth is of another area


@dataclass(frozen=True, slots=True, eq=False)
class Matched:
    """What became of the detections of groups. R detections, A areas, T thresholds."""

    records: NDArray[np.int64]  # (R,)
    hits: Flags  # (R, A, T) took a truth of the area
    spared: Flags  # (R, A, T) took a truth of another area: neither hit nor miss


def iou_px(a: Doubles, b: Doubles) -> Doubles:
    """Return the IoU of each of (D, 4) with each of (N, 4) boxes: left, top, width, height, in pixels.

    Source: cocoapi, maskApi.c, bbIou.
    """
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum((a[:, :2] + a[:, 2:])[:, None], (b[:, :2] + b[:, 2:])[None])
    sides: Doubles = high - low  # (D, N, 2)
    width, height = sides[..., 0], sides[..., 1]
    inner = np.where((width > 0) & (height > 0), width * height, 0.0)
    union = (a[:, 2] * a[:, 3])[:, None] + (b[:, 2] * b[:, 3])[None] - inner
    return np.divide(inner, union, out=np.zeros_like(inner), where=inner > 0)


def outside_areas(areas: Doubles) -> Flags:
    """Return (A, N) whether each of (N,) areas in square pixels is none of an area range; its limits belong to it."""
    return (areas[None] < AREAS_PX[:, :1]) | (areas[None] > AREAS_PX[:, 1:])


def match_groups(groups: Sequence[Group]) -> Matched:
    """Match the detections of each group, best first, each with the truth that it overlaps most of those left.

    A truth of the area is taken before one of another; of equal overlaps the last truth counts.
    """
    buckets: dict[int, list[Group]] = {}
    for group in groups:
        buckets.setdefault(group.overlaps.shape[1].bit_length(), []).append(group)  # so that little is padded
    parts = [_match_bucket(bucket) for bucket in buckets.values()]
    shape = (0, len(AREAS_PX), len(IOU_THRESHOLDS))
    return Matched(
        records=np.concatenate([np.zeros(0, np.int64), *(part.records for part in parts)]),
        hits=np.concatenate([np.zeros(shape, np.bool_), *(part.hits for part in parts)]),
        spared=np.concatenate([np.zeros(shape, np.bool_), *(part.spared for part in parts)]),
    )


def _match_bucket(groups: Sequence[Group]) -> Matched:
    groups = sorted(groups, key=lambda group: -len(group.records))
    counts = np.array([len(group.records) for group in groups])
    overlaps, outside = _padded(groups)  # (G, D, N), (G, A, N)
    free = np.ones((len(groups), len(AREAS_PX), len(IOU_THRESHOLDS), overlaps.shape[2]), dtype=np.bool_)
    records, hits, spared = [], [], []
    for rank in range(int(counts[0])):
        active = int((counts > rank).sum())  # groups stand from many detections to few
        taken, is_outside = _take(overlaps[:active, rank], outside[:active], free[:active])
        records.append(np.array([group.records[rank] for group in groups[:active]]))
        hits.append(taken & ~is_outside)
        spared.append(taken & is_outside)
    return Matched(np.concatenate(records), np.concatenate(hits), np.concatenate(spared))


def _padded(groups: Sequence[Group]) -> tuple[Doubles, Flags]:
    """Return overlaps (G, D, N), 0 where there is nothing, and truth_outside (G, A, N)."""
    detections = max(len(group.records) for group in groups)
    truths = max(group.overlaps.shape[1] for group in groups)
    overlaps = np.zeros((len(groups), detections, truths))
    outside = np.ones((len(groups), len(AREAS_PX), truths), dtype=np.bool_)
    for index, group in enumerate(groups):
        rows, columns = group.overlaps.shape
        overlaps[index, :rows, :columns] = group.overlaps
        outside[index, :, :columns] = group.truth_outside
    return overlaps, outside


def _take(overlaps: Doubles, outside: Flags, free: Flags) -> tuple[Flags, Flags]:
    """Let one detection of each group take a truth, and mark that one as taken.

    Args:
        overlaps: (G, N).
        outside: (G, A, N).
        free: (G, A, T, N); changed in place.

    Returns:
        (G, A, T) whether a truth was taken, and whether that one is of another area.
    """
    near = overlaps[:, None, :] >= IOU_THRESHOLDS[None, :, None]  # (G, T, N)
    open_ = free & near[:, None]
    inside = open_ & ~outside[:, :, None]
    has_inside: Any = inside.any(axis=3, keepdims=True)  # numpy's types allow a scalar here
    open_ = np.where(has_inside, inside, open_)
    values = np.where(open_, overlaps[:, None, None], -1.0)
    best = values.shape[3] - 1 - values[..., ::-1].argmax(axis=3)[..., None]  # the last of equal ones
    taken: NDArray[Any] = np.take_along_axis(open_, best, axis=3)
    np.put_along_axis(free, best, np.take_along_axis(free, best, axis=3) & ~taken, axis=3)
    return taken[..., 0], (taken & ~has_inside)[..., 0]
