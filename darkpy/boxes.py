"""Boxes: the IoU family element by element, NMS, and the way back from a letterbox.  Source: darknet src/box.c.

Every function takes boxes of shape (..., 4): centre x, centre y, width, height, in one unit, and broadcasts.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

DIOU_EXPONENT = 0.6  # darknet's box_diou raises the centre term to this power, in the value only
CIOU_EPSILON = 1e-6
_NMS_PAIRS = 1 << 17  # compared at once, and those of one more candidate: a few MB, near the processor

Indices = NDArray[np.int64]


class Overlap(NamedTuple):
    """Parts of an IoU, each of the broadcast shape (...)."""

    intersection: Tensor
    union: Tensor
    enclosing_width: Tensor
    enclosing_height: Tensor


def overlap(a: Tensor, b: Tensor) -> Overlap:
    """Return intersection, union and enclosing box of each pair; the intersection of disjoint boxes is 0."""
    width, enclosing_width = _extent(a[..., 0], a[..., 2], b[..., 0], b[..., 2])
    height, enclosing_height = _extent(a[..., 1], a[..., 3], b[..., 1], b[..., 3])
    intersection = width.clamp_min(0) * height.clamp_min(0)
    union = a[..., 2] * a[..., 3] + b[..., 2] * b[..., 3] - intersection
    return Overlap(intersection, union, enclosing_width, enclosing_height)


def _extent(centre_a: Tensor, size_a: Tensor, centre_b: Tensor, size_b: Tensor) -> tuple[Tensor, Tensor]:
    """Return overlap (may be negative) and enclosing length of two intervals."""
    low_a, high_a = centre_a - size_a / 2, centre_a + size_a / 2
    low_b, high_b = centre_b - size_b / 2, centre_b + size_b / 2
    inner = torch.minimum(high_a, high_b) - torch.maximum(low_a, low_b)
    outer = torch.maximum(high_a, high_b) - torch.minimum(low_a, low_b)
    return inner, outer


def _ratio(parts: Overlap) -> Tensor:
    empty = (parts.intersection == 0) | (parts.union == 0)
    return torch.where(empty, parts.intersection.new_zeros(()), parts.intersection / parts.union)


def _centre_term(a: Tensor, b: Tensor, parts: Overlap) -> Tensor:
    """Return squared centre distance over squared enclosing diagonal; 0 where the diagonal is 0."""
    distance = (a[..., 0] - b[..., 0]) ** 2 + (a[..., 1] - b[..., 1]) ** 2
    diagonal = parts.enclosing_width**2 + parts.enclosing_height**2
    return torch.where(diagonal == 0, distance.new_zeros(()), distance / diagonal)


def iou(a: Tensor, b: Tensor) -> Tensor:
    """Return the IoU of each pair, in [0, 1]; 0 where intersection or union is 0.

    Source: darknet src/box.c, box_iou.
    """
    return _ratio(overlap(a, b))


def iou_matrix(a: Tensor, b: Tensor) -> Tensor:
    """Return the IoU of every box of ``a`` with every box of ``b``.

    Args:
        a: (..., N, 4).
        b: (..., M, 4), with the same leading dimensions.

    Returns:
        (..., N, M).
    """
    inner_width = _inner_matrix(a[..., 0], a[..., 2], b[..., 0], b[..., 2]).clamp_min_(0)
    inner_height = _inner_matrix(a[..., 1], a[..., 3], b[..., 1], b[..., 3]).clamp_min_(0)
    intersection = inner_width.mul_(inner_height)
    areas_a, areas_b = a[..., 2] * a[..., 3], b[..., 2] * b[..., 3]
    union = (areas_a.unsqueeze(-1) + areas_b.unsqueeze(-2)).sub_(intersection)
    return torch.where(union == 0, union.new_zeros(()), intersection / union)


def _inner_matrix(centre_a: Tensor, size_a: Tensor, centre_b: Tensor, size_b: Tensor) -> Tensor:
    """Return the overlap (may be negative) of every interval (..., N) with every interval (..., M)."""
    high = torch.minimum((centre_a + size_a / 2).unsqueeze(-1), (centre_b + size_b / 2).unsqueeze(-2))
    return high.sub_(torch.maximum((centre_a - size_a / 2).unsqueeze(-1), (centre_b - size_b / 2).unsqueeze(-2)))


def giou(a: Tensor, b: Tensor) -> Tensor:
    """Return the generalized IoU of each pair, in (-1, 1].

    Source: Rezatofighi et al. 2019, arXiv:1902.09630; darknet src/box.c, box_giou.
    """
    parts = overlap(a, b)
    area = parts.enclosing_width * parts.enclosing_height
    gap = torch.where(area == 0, area.new_zeros(()), (area - parts.union) / area)
    return _ratio(parts) - gap


def diou(a: Tensor, b: Tensor, exponent: float = DIOU_EXPONENT) -> Tensor:
    """Return IoU minus the centre term to the power of ``exponent``.

    Source: Zheng et al. 2020, arXiv:1911.08287; darknet src/box.c, box_diou (which has the power of 0.6).
    """
    parts = overlap(a, b)
    return _ratio(parts) - _centre_term(a, b, parts) ** exponent


def ciou(a: Tensor, b: Tensor) -> Tensor:
    """Return the complete IoU of each pair (``a`` predicted, ``b`` truth).

    Source: Zheng et al. 2020, arXiv:1911.08287; darknet src/box.c, box_ciou.
    """
    parts = overlap(a, b)
    ratio = _ratio(parts)
    aspect = (4 / math.pi**2) * (torch.atan(b[..., 2] / b[..., 3]) - torch.atan(a[..., 2] / a[..., 3])) ** 2
    trade_off = aspect / (1 - ratio + aspect + CIOU_EPSILON)
    return ratio - (_centre_term(a, b, parts) + trade_off * aspect)


IOU_KINDS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"iou": iou, "giou": giou, "diou": diou, "ciou": ciou}


def from_letterbox(boxes: Tensor, *, fitted_size: tuple[int, int], network_size: tuple[int, int]) -> Tensor:
    """Return boxes of a letterboxed input relative to the picture itself.

    The border counts as half the free pixels, although the picture was pasted at the whole number below: darknet's
    half pixel where their number is odd.

    Args:
        boxes: (N, 4), relative to the network's input.
        fitted_size: (width, height) in pixels that the picture takes up in the input.
        network_size: (width, height) of the network's input in pixels.

    Returns:
        (N, 4), relative to the picture.

    Source: darknet src/yolo_layer.c, correct_yolo_boxes.
    """
    ratios = [inner / outer for inner, outer in zip(fitted_size, network_size, strict=True)]
    borders = [(outer - inner) / 2 / outer for inner, outer in zip(fitted_size, network_size, strict=True)]
    return (boxes - boxes.new_tensor([*borders, 0, 0])) / boxes.new_tensor([*ratios, *ratios])


def corners_within(boxes: Tensor, *, image_size: tuple[int, int], first_pixel: int = 0) -> Tensor:
    """Return the corners of boxes, the low ones not below the first pixel, the high ones not above the picture's size.

    Nothing else is clamped: a box that lies outside of the picture ends up inside out.

    Args:
        boxes: (N, 4), in pixels.
        image_size: (width, height) of the picture, in pixels.
        first_pixel: Number of the first pixel, which is added to every corner: 1 in PASCAL VOC, 0 elsewhere.

    Returns:
        (N, 4) float32: left, top, right, bottom.

    Source: darknet src/detector.c, print_detector_detections (sums in double precision, then rounded).
    """
    centres, halves = boxes[..., :2].double(), boxes[..., 2:].double() / 2
    low = (centres - halves + first_pixel).float().clamp_min(first_pixel)
    high = (centres + halves + first_pixel).float()
    return torch.cat([low, torch.minimum(high, high.new_tensor(image_size))], dim=-1)


def suppress(
    boxes: Tensor, probabilities: Tensor, *, threshold: float, kind: str = "default", beta: float = 0.6
) -> tuple[Tensor, Tensor]:
    """Suppress duplicates class by class, and return the array order that this leaves in darknet.

    Before each class the array is sorted by that class's probability, best first, equal ones as they stood. So the
    final order is by the last class, then by the one before it, and so on; files and counters depend on it.

    Args:
        boxes: (N, 4).
        probabilities: (N, C), 0 where a detection is not of that class.
        threshold: A weaker detection goes when it is more similar than this to a stronger one that stays.
        kind: ``default`` and ``cornersnms`` compare by IoU, ``greedynms`` by IoU minus the centre term to the power
            of 0.6, ``diounms`` by the same to the power of ``beta``.
        beta: The exponent of ``diounms``.

    Returns:
        order (N,), indices into the arguments, and probabilities (N, C) in that order with the suppressed ones at 0.

    Raises:
        ValueError: If the kind is unknown.

    Source: darknet src/box.c, do_nms_sort and diounms_sort.
    """
    return suppress_each(boxes, probabilities, [len(boxes)], threshold=threshold, kind=kind, beta=beta)


def suppress_each(
    boxes: Tensor,
    probabilities: Tensor,
    counts: Sequence[int],
    *,
    threshold: float,
    kind: str = "default",
    beta: float = 0.6,
) -> tuple[Tensor, Tensor]:
    """Do what ``suppress`` does for each of several pictures, in one go on the CPU.

    Args:
        boxes: (N, 4), picture after picture.
        probabilities: (N, C), at least 0.
        counts: Detections of each picture, N in all.
        threshold: As for ``suppress``.
        kind: As for ``suppress``.
        beta: As for ``suppress``.

    Returns:
        As ``suppress``: order (N,), which leaves each picture's detections at its rows, and probabilities (N, C).

    Raises:
        ValueError: If the kind is unknown.
    """
    similarity = _similarity(kind, beta)
    values = probabilities.cpu().numpy()
    pictures = np.repeat(np.arange(len(counts)), counts)
    order, rows, classes = _rank(values, pictures)
    kept = values.copy()
    if len(rows):
        groups = classes * len(counts) + pictures[rows]
        candidates = boxes.cpu().index_select(0, torch.from_numpy(rows))
        dropped = _duplicates(candidates, groups, similarity=similarity, threshold=threshold)
        kept[rows[dropped], classes[dropped]] = 0
    device = probabilities.device
    return torch.from_numpy(order).to(device), torch.from_numpy(kept[order]).to(device)


def _rank(values: NDArray[Any], pictures: Indices) -> tuple[Indices, Indices, Indices]:
    """Return darknet's final order (N,), and the M candidates class by class, picture by picture, best first.

    The candidates come as their rows (M,) and their classes (M,).
    """
    order = np.arange(len(values))
    ranked, classes = [order[:0]], [order[:0]]
    for class_id in np.flatnonzero((values > 0).any(axis=0)).tolist():
        probabilities = values[order, class_id]
        is_candidate = probabilities > 0
        candidates, others = order[is_candidate], order[~is_candidate]
        best_first = candidates[np.argsort(-probabilities[is_candidate], kind="stable")]
        order = np.concatenate([best_first, others])
        ranked.append(best_first[np.argsort(pictures[best_first], kind="stable")])
        classes.append(np.full(len(best_first), class_id))
    return order[np.argsort(pictures[order], kind="stable")], np.concatenate(ranked), np.concatenate(classes)


def _similarity(kind: str, beta: float) -> Callable[[Tensor, Tensor], Tensor]:
    if kind == "greedynms":
        return diou
    if kind == "diounms":
        return lambda a, b: diou(a, b, beta)
    if kind in ("default", "cornersnms"):
        return iou
    raise ValueError(f"unknown nms kind {kind!r}")


def _duplicates(
    boxes: Tensor, groups: Indices, *, similarity: Callable[[Tensor, Tensor], Tensor], threshold: float
) -> NDArray[np.bool_]:
    """Return which candidates are suppressed by a better one of their group.

    Args:
        boxes: (M, 4) in the CPU's memory, group after group, best first.
        groups: (M,) ascending; only candidates of one group are compared.
        similarity: Compares (P, 4) with (P, 4).
        threshold: More similar than this is a duplicate.

    Returns:
        (M,) bool.
    """
    worse_ones = np.searchsorted(groups, groups, side="right") - np.arange(len(groups)) - 1  # of each candidate
    pairs = np.cumsum(worse_ones)
    dropped = np.zeros(len(groups), dtype=np.bool_)
    start = 0
    while start < len(groups):
        reach = int(np.searchsorted(pairs, pairs[start] + _NMS_PAIRS, side="right"))
        better, worse = _pairs(start + np.flatnonzero(~dropped[start:reach]), worse_ones)
        of_open, onto_open = (torch.from_numpy(side) for side in (better, worse))
        similar = similarity(boxes.index_select(0, of_open), boxes.index_select(0, onto_open)) > threshold
        dropped = _settle(better[similar.numpy()], worse[similar.numpy()], dropped)
        start = reach
    return dropped


def _pairs(better: Indices, worse_ones: Indices) -> tuple[Indices, Indices]:
    """Return each candidate of ``better`` with each of those behind it in its group, as two (P,) arrays."""
    counts = worse_ones[better]
    ends = np.cumsum(counts)
    first = np.repeat(better + 1 - (ends - counts), counts)
    return np.repeat(better, counts), first + np.arange(len(first))


def _settle(better: Indices, worse: Indices, dropped: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which candidates go: those that have gone, and those similar to a better one that stays.

    Each round fixes at least the best one that was still open, so this ends, and at the greedy answer.

    Args:
        better: (P,) of each pair of similar candidates.
        worse: (P,), as ``better``.
        dropped: (M,) those that have gone.
    """
    gone = dropped
    while True:
        settled = dropped.copy()
        settled[worse[~gone[better]]] = True
        if np.array_equal(settled, gone):
            return gone
        gone = settled
