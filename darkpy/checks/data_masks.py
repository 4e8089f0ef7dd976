"""Boxes that no head learns: the anchor that they fit best is in no head's mask.

Source: darknet src/yolo_layer.c, process_batch: a truth goes to its best anchor of all, if the head's mask names that.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from darkpy.diagnostics import Diagnostic, Severity

Sizes = npt.NDArray[np.float64]  # (N, 2) width and height in pixels

_SHARE = 0.01  # of the boxes; fewer are no harm
_CLASS_SHARE = 0.5  # of the boxes of one class
_FEW = 5  # boxes


@dataclass(frozen=True, slots=True, eq=False)
class HeadAnchors:
    """Which anchors one head trains."""

    anchors: Sizes  # (K, 2) all that it lists
    mask: tuple[int, ...]  # those of this head
    iou_thresh: float  # anchors of the head with a higher IoU learn a box too; 1 is the best one only


def unlearnt_boxes(sides: Sizes, heads: Sequence[HeadAnchors]) -> npt.NDArray[np.bool_]:
    """Return which boxes, (N,), no head learns.

    Args:
        sides: (N, 2) of the boxes in pixels of the network.
        heads: Of the network.
    """
    learnt = np.zeros(len(sides), np.bool_)
    for head in heads:
        inner = np.minimum(sides[:, None], head.anchors).prod(axis=2)  # (N, K)
        ious = inner / (sides.prod(axis=1)[:, None] + head.anchors.prod(axis=1) - inner)
        mask = list(head.mask)
        learnt |= np.isin(ious.argmax(axis=1), mask) | (ious[:, mask] > head.iou_thresh).any(axis=1)
    return ~learnt


def idle_anchors(heads: Sequence[HeadAnchors]) -> list[int]:
    """Return the anchors that no head's mask names."""
    used = {place for head in heads for place in head.mask}
    return [place for place in range(max((len(head.anchors) for head in heads), default=0)) if place not in used]


def new_masks(heads: Sequence[HeadAnchors], areas: Sequence[float]) -> tuple[str, ...]:
    """Return masks, ``3,4,5`` for each head, with which each anchor has one; none where they would change the filters.

    As ``cfg adapt`` does it, the anchors are shared out evenly, the smallest to the head that had the smallest.

    Args:
        heads: Of the network.
        areas: Of the anchors, in the order in which the cfg lists them.
    """
    share, more = divmod(len(areas), len(heads))
    if more or any(len(head.mask) != share or len(head.anchors) != len(areas) for head in heads):
        return ()
    rising = sorted(range(len(areas)), key=lambda place: areas[place])
    order = sorted(range(len(heads)), key=lambda row: _mean_size(heads[row]))
    first = {row: rank * share for rank, row in enumerate(order)}
    return tuple(",".join(map(str, sorted(rising[first[row] :][:share]))) for row in range(len(heads)))


def _mean_size(head: HeadAnchors) -> float:
    return sum(math.log(max(float(head.anchors[place].prod()), 1e-9)) for place in head.mask) / len(head.mask)


def masks_text(masks: Sequence[str]) -> str:
    """Return ``mask=3,4,5 and mask=0,1,2, in the order of the heads``."""
    return f"{' and '.join(f'mask={mask}' for mask in masks)}, in the order of the heads"


def unlearnt_diagnostics(
    sides: Sizes, classes: npt.NDArray[np.int64], heads: Sequence[HeadAnchors], *, path: str, names: Sequence[str] = ()
) -> Iterator[Diagnostic]:
    """Yield a warning if more than 1 % of the boxes are learnt by no head, or more than half of those of one class.

    Args:
        sides: (N, 2) of the boxes to learn, in pixels of the network.
        classes: (N,) their classes.
        heads: Of the network.
        path: The network's file.
        names: Of the classes, as far as they are known.
    """
    idle = idle_anchors(heads)
    if not idle or not len(sides):
        return
    lost = unlearnt_boxes(sides, heads)
    every = np.bincount(classes)
    of_class = np.bincount(classes[lost], minlength=len(every))
    shares = of_class / np.maximum(every, 1)
    worst = int((of_class * shares).argmax())
    if lost.sum() < _FEW or (lost.mean() <= _SHARE and shares[worst] <= _CLASS_SHARE):
        return
    name = f" ('{names[worst]}')" if worst < len(names) else ""
    masks = new_masks(heads, heads[-1].anchors.prod(axis=1).tolist())
    message = (
        f"{lost.sum()} of {len(lost)} boxes to train on ({lost.mean():.1%}) fit best an anchor that no head's mask "
        f"names ({', '.join(map(str, idle))}), so no head learns them; of class {worst}{name} {of_class[worst]} of "
        f"{every[worst]}. Write masks so that every anchor has a head"
        f"{f': {masks_text(masks)}' if masks else ''}; or run darkpy detector calc_anchors OBJ.data -cfg {path}."
    )
    yield Diagnostic(Severity.WARNING, "unlearnt", path, None, message)
