"""Boxes: the IoU family element by element, NMS, and the way back from a letterbox.  Source: darknet src/box.c.

Every function takes boxes of shape (..., 4): centre x, centre y, width, height, in one unit, and broadcasts.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

import torch
from torch import Tensor

DIOU_EXPONENT = 0.6  # darknet's box_diou raises the centre term to this power, in the value only
CIOU_EPSILON = 1e-6
_NMS_BLOCK = 512  # candidates compared at once with all worse ones of a class: 20,000 need 40 MB a step


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
    similarity = _similarity(kind, beta)
    order = torch.arange(len(boxes), device=boxes.device)
    counts = [(index, count) for index, count in enumerate((probabilities != 0).sum(dim=0).tolist()) if count]
    ranked = []  # for each class its candidates, best first
    for class_id, count in counts:
        order = order[torch.argsort(probabilities[order, class_id], descending=True, stable=True)]
        ranked.append(order[:count])
    kept = probabilities.clone()
    if ranked:
        rows = torch.cat(ranked)
        classes = torch.cat([rows.new_full((count,), class_id) for class_id, count in counts])
        ends = list(accumulate(count for _, count in counts))
        dropped = _duplicates(boxes[rows], classes, ends=ends, similarity=similarity, threshold=threshold)
        kept[rows[dropped], classes[dropped]] = 0
    return order, kept[order]


def _similarity(kind: str, beta: float) -> Callable[[Tensor, Tensor], Tensor]:
    if kind == "greedynms":
        return diou
    if kind == "diounms":
        return lambda a, b: diou(a, b, beta)
    if kind in ("default", "cornersnms"):
        return iou
    raise ValueError(f"unknown nms kind {kind!r}")


def _duplicates(
    boxes: Tensor,
    classes: Tensor,
    *,
    ends: Sequence[int],
    similarity: Callable[[Tensor, Tensor], Tensor],
    threshold: float,
) -> Tensor:
    """Return which candidates are suppressed by a better one of their class. All classes in one go, block by block.

    Args:
        boxes: (M, 4), class after class, best first.
        classes: (M,), ascending.
        ends: For each class, where the next one begins.
        similarity: Compares (K, 1, 4) with (1, L, 4).
        threshold: More similar than this is a duplicate.

    Returns:
        (M,) bool.
    """
    dropped = torch.zeros(len(boxes), dtype=torch.bool, device=boxes.device)
    for start in range(0, len(boxes), _NMS_BLOCK):
        stop = min(start + _NMS_BLOCK, len(boxes))
        block, of_block = boxes[start:stop], classes[start:stop]
        similar = (similarity(block[:, None], block[None]) > threshold) & (of_block[:, None] == of_block[None])
        keep = _settle(similar.triu(1), ~dropped[start:stop])  # [better, worse]
        dropped[start:stop] = ~keep
        end = ends[bisect_left(ends, stop)]  # of the last class in the block
        if end > stop:
            better = block[keep & (of_block == of_block[-1])]
            dropped[stop:end] |= (similarity(better[:, None], boxes[None, stop:end]) > threshold).any(dim=0)
    return dropped


def _settle(similar: Tensor, alive: Tensor) -> Tensor:
    """Return which candidates stay: those that are alive and not similar to a better one that stays.

    Each round fixes at least the best one that was still open, so this ends, and at the greedy answer.
    """
    keep = alive
    while True:
        settled = alive & ~(similar & keep[:, None]).any(dim=0)
        if torch.equal(settled, keep):
            return keep
        keep = settled
