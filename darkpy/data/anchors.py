"""Anchors: the box sizes that a network's boxes start from, clustered from those of the labels.

Source: darknet src/matrix.c, do_kmeans; src/detector.c, calc_anchors. The distance of two boxes is 1 - IoU with a
corner in common, a new centre is the mean of its boxes. Two things differ: the first centres are boxes of different
sizes (of two equal ones, one would get no box), and of several draws the best is kept.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from darkpy.errors import DataError

Sizes = npt.NDArray[np.float64]  # (N, 2) width and height in pixels
Values = npt.NDArray[np.float64]
Members = npt.NDArray[np.int64]  # (N,) the anchor of each box

_MOST_ITERATIONS = 1000
_ROUNDING = 1e-9  # of the sums of IoUs
_BLOCK, _SMALLEST_BLOCK = 2**16, 64  # IoUs, as many as fit in a core's cache; boxes
_SAMPLE = 20_000  # different sizes; where there are more, the draws are compared on so many of them
_FIRST_SPREAD = 0.05  # of a mutation, relative to the anchor
_GROWTH, _DECAY = 1.5, 1.5**-0.25  # of the spread: steady when one mutation of five is better (Rechenberg 1973)


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """Anchors, and how well they fit the boxes."""

    anchors: Sizes  # (K, 2) width and height in pixels, by area, the smallest first
    members: Members  # (N,) index of each box's anchor
    average_iou: float  # mean over the boxes of the IoU with their anchor, 0..1
    iterations: int  # of k-means: updates of the centres


@dataclass(frozen=True, slots=True, eq=False)
class _Boxes:
    """The different sizes among the boxes: everything counts once, however often it occurs, and in one order."""

    sizes: Sizes  # (D, 2)
    counts: npt.NDArray[np.int64]  # (D,) boxes of each size
    rows: Members  # (N,) the size of each box


def cluster(sizes: Sizes, clusters: int, *, generator: np.random.Generator, restarts: int = 1) -> Clusters:
    """Return anchors by k-means. The order of the boxes has no influence.

    Args:
        sizes: (N, 2) width and height of each box in pixels, above 0.
        clusters: Number of anchors.
        generator: Draws the first centres.
        restarts: Number of draws; the one with the best average IoU is kept, on a sample of very many boxes.

    Raises:
        DataError: If there are fewer boxes than clusters.
        ValueError: If a size is not above 0 and finite, or a number is below 1.
    """
    if clusters < 1 or restarts < 1:
        raise ValueError(f"{clusters} clusters, {restarts} restarts: both must be at least 1.")
    if len(sizes) < clusters:
        raise DataError(
            f"only {len(sizes)} boxes for {clusters} clusters. Ask for {len(sizes)} at most, or label more."
        )
    boxes = _distinct(sizes)
    if restarts == 1:
        return _of_all(_k_means(boxes, _draw(boxes, clusters, generator)), boxes)
    some = _sample(boxes, generator)
    found = (_k_means(some, _draw(some, clusters, generator)) for _ in range(restarts))
    best = max(found, key=lambda one: one.average_iou)
    return _of_all(best if some is boxes else _k_means(boxes, best.anchors), boxes)


def cluster_from(sizes: Sizes, centres: Sizes) -> Clusters:
    """Return anchors by k-means from the given first centres, (K, 2): darknet's result for its own draw.

    Raises:
        ValueError: If a size is not above 0 and finite.
    """
    boxes = _distinct(sizes)
    return _of_all(_k_means(boxes, centres), boxes)


def evolve(sizes: Sizes, clusters: Clusters, *, generator: np.random.Generator, generations: int = 1000) -> Clusters:
    """Return anchors that fit as well or better: mutations of which each that raises the average IoU is kept.

    K-means puts an anchor at the mean of its boxes, which is near the best place, but not in it. Of very many boxes a
    sample decides on each mutation, and all of them on the result.

    Args:
        sizes: (N, 2) the boxes in pixels.
        clusters: Where to start.
        generator: Draws the mutations.
        generations: Number of mutations, each of all anchors.

    Raises:
        ValueError: If a size is not above 0 and finite.
    """
    boxes = _distinct(sizes)
    some = _sample(boxes, generator)
    best, score, spread = clusters.anchors, _average_iou(some, clusters.anchors), _FIRST_SPREAD
    for _ in range(generations):
        mutant = best * np.exp(generator.normal(scale=spread, size=best.shape))
        fitness = _average_iou(some, mutant)
        is_better = fitness > score
        best, score = (mutant, fitness) if is_better else (best, score)
        spread *= _GROWTH if is_better else _DECAY
    evolved = _of_all(_clusters(boxes, best, iterations=clusters.iterations), boxes)
    return evolved if evolved.average_iou > clusters.average_iou else clusters


def average_iou(sizes: Sizes, anchors: Sizes) -> float:
    """Return the mean IoU of boxes (N, 2) with their best anchor of (K, 2) when they share a corner, 0..1."""
    return _average_iou(_distinct(sizes), anchors)


def _distinct(sizes: Sizes) -> _Boxes:
    if not (np.isfinite(sizes).all() and (sizes > 0).all()):
        raise ValueError("a box has a width or height that is not above 0 and finite.")
    pairs = np.ascontiguousarray(sizes, dtype=np.float64).view(np.complex128)[:, 0]  # sorts 10 times faster than rows
    different, rows, counts = np.unique(pairs, return_inverse=True, return_counts=True)
    return _Boxes(different.view(np.float64).reshape(-1, 2), counts, rows)


def _sample(boxes: _Boxes, generator: np.random.Generator) -> _Boxes:
    """Return at most 20,000 of the different sizes, which are as good as all to tell good anchors from better ones."""
    if len(boxes.sizes) <= _SAMPLE:
        return boxes
    chosen = np.sort(generator.choice(len(boxes.sizes), _SAMPLE, replace=False))
    return _Boxes(boxes.sizes[chosen], boxes.counts[chosen], np.arange(_SAMPLE))


def _draw(boxes: _Boxes, clusters: int, generator: np.random.Generator) -> Sizes:
    """Return random boxes of different sizes; where there are fewer sizes than clusters, they repeat."""
    different = min(clusters, len(boxes.sizes))
    chosen = generator.choice(len(boxes.sizes), different, replace=False, p=boxes.counts / boxes.counts.sum())
    return boxes.sizes[np.resize(chosen, clusters)]


def _k_means(boxes: _Boxes, centres: Sizes) -> Clusters:
    """Return darknet's clusters of the different sizes, each with the weight of its count.

    1 - IoU obeys the triangle inequality, so that a box whose centre is nearer than the next one by more than the
    centres moved keeps it, and is not looked at (Hamerly 2010); the result is that of looking at all.
    """
    weighted = boxes.sizes.T * boxes.counts
    members = np.zeros(len(boxes.sizes), dtype=np.int64)  # as darknet begins: one centre needs its mean first
    if len(centres) == 1:
        centres = _means(boxes, weighted, members, centres)
    lead = np.zeros(len(boxes.sizes))  # (D,) at least how much nearer a box's centre is than the next one
    iterations = 0
    while iterations < _MOST_ITERATIONS:
        unsure = np.flatnonzero(lead <= _ROUNDING)
        nearest, lead[unsure] = _nearest(boxes.sizes[unsure], centres)
        if np.array_equal(nearest, members[unsure]):
            break
        members[unsure] = nearest
        moved = _means(boxes, weighted, members, centres)
        shifts = 1 - _ious(moved, centres).diagonal()
        lead -= shifts[members] + shifts.max()
        centres, iterations = moved, iterations + 1
    return _clusters(boxes, centres, iterations=iterations)


def _means(boxes: _Boxes, weighted: Sizes, members: Members, centres: Sizes) -> Sizes:
    """Return the mean of each centre's boxes; a centre without boxes stays where it is.

    Args:
        boxes: The D different sizes.
        weighted: (2, D) their widths and heights times their counts.
        members: (D,) the centre of each.
        centres: (K, 2).
    """
    clusters = len(centres)
    totals = np.bincount(members, weights=boxes.counts, minlength=clusters)
    sums = np.stack([np.bincount(members, weights=row, minlength=clusters) for row in weighted], axis=1)
    return np.where(totals[:, None] > 0, sums / np.maximum(totals, 1)[:, None], centres)


def _ious(sizes: Sizes, anchors: Sizes) -> Values:
    """Return the IoUs, (K, N), of every anchor with every box when they share a corner."""
    shared = np.minimum(anchors[:, :1], sizes[:, 0]) * np.minimum(anchors[:, 1:], sizes[:, 1])
    ious: Values = shared / (anchors.prod(axis=1)[:, None] + sizes.prod(axis=1) - shared)
    return ious


def _nearest(sizes: Sizes, centres: Sizes) -> tuple[Members, Values]:
    """Return the nearest centre of each box, the first of equals as in darknet, and how much nearer it is.

    Args:
        sizes: (N, 2).
        centres: (K, 2).

    Returns:
        (N,) and (N,): the IoU with that centre less the best IoU with another one.
    """
    nearest, lead = np.empty(len(sizes), dtype=np.int64), np.empty(len(sizes))
    for block in _blocks(len(sizes), len(centres)):
        ious = _ious(sizes[block], centres)
        nearest[block] = ious.argmax(axis=0)
        columns = np.arange(ious.shape[1])
        best = ious[nearest[block], columns]
        ious[nearest[block], columns] = -1
        lead[block] = best - ious.max(axis=0)
    return nearest, lead


def _average_iou(boxes: _Boxes, anchors: Sizes) -> float:
    """Return the mean over the boxes of the best IoU with an anchor."""
    blocks = _blocks(len(boxes.sizes), len(anchors))
    sums = (_ious(boxes.sizes[block], anchors).max(axis=0) @ boxes.counts[block] for block in blocks)
    return min(float(sum(sums) / boxes.counts.sum()), 1.0)  # rounding can lead past 1


def _blocks(boxes: int, anchors: int) -> Iterator[slice]:
    """Return slices of the boxes, small enough for the cache whatever the number of anchors."""
    step = max(_BLOCK // anchors, _SMALLEST_BLOCK)
    return (slice(first, first + step) for first in range(0, boxes, step))


def _clusters(boxes: _Boxes, centres: Sizes, *, iterations: int) -> Clusters:
    """Return the clusters of the different sizes around the centres, sorted."""
    anchors = centres[np.argsort(centres.prod(axis=1), kind="stable")]
    return Clusters(anchors, _nearest(boxes.sizes, anchors)[0], _average_iou(boxes, anchors), iterations)


def _of_all(clusters: Clusters, boxes: _Boxes) -> Clusters:
    """Return the clusters with a member for every box in place of every size."""
    return replace(clusters, members=clusters.members[boxes.rows])
