"""The direction in which darknet moves a predicted box.  Source: darknet src/box.c, dx_box_iou.

It is not the derivative of the IoU values in boxes.py: sizes move by full, not half edges, disjoint boxes keep a signed
overlap, and the centre and aspect terms of diou and ciou are simplified. Users' rates and normalizers are tuned for it.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from darkpy.boxes import CIOU_EPSILON


class _Axis(NamedTuple):
    """One axis of N pairs of boxes; each (N,)."""

    predicted: Tensor  # length
    inner: Tensor  # signed overlap
    outer: Tensor  # enclosing length
    starts_after: Tensor  # 0 or 1: the predicted low edge is inside the truth's
    ends_before: Tensor
    starts_before: Tensor
    ends_after: Tensor


def _axis(centre: Tensor, size: Tensor, truth_centre: Tensor, truth_size: Tensor) -> _Axis:
    low, high = centre - size / 2, centre + size / 2
    truth_low, truth_high = truth_centre - truth_size / 2, truth_centre + truth_size / 2
    return _Axis(
        predicted=high - low,
        inner=torch.minimum(high, truth_high) - torch.maximum(low, truth_low),
        outer=torch.maximum(high, truth_high) - torch.minimum(low, truth_low),
        starts_after=(low > truth_low).to(size.dtype),
        ends_before=(high < truth_high).to(size.dtype),
        starts_before=(low < truth_low).to(size.dtype),
        ends_after=(high > truth_high).to(size.dtype),
    )


def box_gradient(predicted: Tensor, truth: Tensor, kind: str) -> Tensor:
    """Return the ascent direction of the IoU-like score of each pair.

    Args:
        predicted: (N, 4) centre x, y, width, height, relative to the picture.
        truth: (N, 4), as predicted.
        kind: iou, giou, diou or ciou.

    Returns:
        (N, 4): for x, y, width and height.
    """
    x = _axis(predicted[:, 0], predicted[:, 2], truth[:, 0], truth[:, 2])
    y = _axis(predicted[:, 1], predicted[:, 3], truth[:, 1], truth[:, 3])
    union = x.predicted * y.predicted + truth[:, 2] * truth[:, 3] - x.inner * y.inner
    overlapping = (_iou_part(x, y, union), _iou_part(y, x, union))
    disjoint = (x.inner <= 0) | (y.inner <= 0)
    if kind == "giou":
        extra = (_enclosing_part(x, y, union), _enclosing_part(y, x, union))
    elif kind in ("diou", "ciou"):
        extra = _distance_part(predicted, truth, x, y)
        if kind == "ciou":
            extra = _add_aspect(extra, predicted, truth, x.inner * y.inner / union)
    else:
        extra, disjoint = ((torch.zeros_like(union),) * 2,) * 2, torch.zeros_like(disjoint)
    (gx, gw), (gy, gh) = (
        tuple(torch.where(disjoint, e, o + e) for o, e in zip(part, more, strict=True))
        for part, more in zip(overlapping, extra, strict=True)
    )
    return torch.stack([gx, gy, gw, gh], dim=1)


def _centre_and_size(low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
    """Return the parts for centre and size from those of the two edges (the size gets full edges, as in darknet)."""
    return low + high, high - low


def _iou_part(axis: _Axis, other: _Axis, union: Tensor) -> tuple[Tensor, Tensor]:
    intersection = axis.inner * other.inner

    def edge(sign: float, bounds_overlap: Tensor) -> Tensor:
        d_intersection = sign * other.inner * bounds_overlap
        d_union = sign * other.predicted - d_intersection
        value = (union * d_intersection - intersection * d_union) / union**2
        return torch.where(union > 0, value, torch.zeros_like(value))

    return _centre_and_size(edge(-1.0, axis.starts_after), edge(1.0, axis.ends_before))


def _enclosing_part(axis: _Axis, other: _Axis, union: Tensor) -> tuple[Tensor, Tensor]:
    area = axis.outer * other.outer

    def edge(sign: float, bounds_overlap: Tensor, bounds_enclosing: Tensor) -> Tensor:
        d_union = sign * other.predicted - sign * other.inner * bounds_overlap
        d_area = sign * other.outer * bounds_enclosing
        value = (area * d_union - union * d_area) / area**2
        return torch.where(area > 0, value, torch.zeros_like(value))

    low = edge(-1.0, axis.starts_after, axis.starts_before)
    return _centre_and_size(low, edge(1.0, axis.ends_before, axis.ends_after))


_Parts = tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]


def _distance_part(predicted: Tensor, truth: Tensor, x: _Axis, y: _Axis) -> _Parts:
    apart = truth[:, :2] - predicted[:, :2]
    distance = (apart**2).sum(1)
    diagonal = x.outer**2 + y.outer**2

    def axis_part(axis: _Axis, offset: Tensor) -> tuple[Tensor, Tensor]:
        by_centre = axis.ends_after - axis.starts_before
        by_size = (axis.ends_after + axis.starts_before) / 2
        centre = (2 * offset * diagonal - 2 * axis.outer * by_centre * distance) / diagonal**2
        size = 2 * axis.outer * by_size * distance / diagonal**2
        nothing = torch.zeros_like(centre)
        return torch.where(diagonal > 0, centre, nothing), torch.where(diagonal > 0, size, nothing)

    return axis_part(x, apart[:, 0]), axis_part(y, apart[:, 1])


def _add_aspect(parts: _Parts, predicted: Tensor, truth: Tensor, ratio: Tensor) -> _Parts:
    (gx, gw), (gy, gh) = parts
    difference = torch.atan(truth[:, 2] / truth[:, 3]) - torch.atan(predicted[:, 2] / predicted[:, 3])
    aspect = 4 / math.pi**2 * difference**2
    trade_off = aspect / (1 - ratio + aspect + CIOU_EPSILON)
    push = trade_off * (8 / math.pi**2) * difference
    return (gx, gw + push * predicted[:, 3]), (gy, gh - push * predicted[:, 2])
