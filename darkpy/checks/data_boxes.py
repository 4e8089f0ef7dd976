"""What is wrong with boxes that can be used: labelled twice, thin, tiny, over the edge. All boxes at once."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from darkpy.checks.data_set import Boxes, DataSet
from darkpy.diagnostics import Diagnostic, Severity

Mask = npt.NDArray[np.bool_]

THIN = 0.01  # of the picture's side
_THIN_PX = 2.0
_OVERHANG_PX = 1.0  # less is rounding
_ROUNDING = 1e-4  # of a coordinate, relative to the picture
_CORNERS = 8  # boxes; fewer may look so by chance
_OVER = 0.25  # of them: of boxes anywhere in the picture, half; of those about its middle, fewer


@dataclass(frozen=True, slots=True)
class Grid:
    """A network's input, and the cells of its finest head."""

    width: int  # in pixels
    height: int
    stride: int  # side of a cell in pixels
    letter_box: bool = False  # whether it keeps a picture's aspect

    def scales(self, sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return (N, 2): network pixels for each pixel of pictures of (N, 2) width and height."""
        scales = np.array([self.width, self.height]) / np.maximum(sizes, 1)
        return np.repeat(scales.min(axis=1, keepdims=True), 2, axis=1) if self.letter_box else scales

    def sides(self, boxes: Boxes) -> npt.NDArray[np.float64]:
        """Return (N, 2): width and height of boxes in pixels of the network; inf where that is not known."""
        if not self.letter_box:  # right where the picture's size is not known too
            return boxes.truths[:, 2:4].astype(np.float64) * [self.width, self.height]
        return np.where(boxes.sizes > 0, boxes.sides_px * self.scales(boxes.sizes), np.inf)


def thin_boxes(boxes: Boxes) -> Mask:
    """Return which boxes are thinner than 1 % of their picture, or than 2 of its pixels."""
    sides = np.where(boxes.sizes > 0, boxes.sides_px, np.inf)
    return np.asarray((boxes.truths[:, 2:4] < THIN).any(axis=1) | (sides < _THIN_PX).any(axis=1))


def tiny_boxes(boxes: Boxes, grid: Grid) -> Mask:
    """Return which boxes cover less than one cell of the network's finest head."""
    return np.asarray(grid.sides(boxes).prod(axis=1) < grid.stride**2)


def box_diagnostics(data: DataSet, grid: Grid | None) -> Iterator[Diagnostic]:
    """Yield what is wrong with boxes, at their lines of the label files.

    Args:
        data: The set.
        grid: Of the network, if there is one.
    """
    yield from _repeated(data)
    thin = thin_boxes(data.boxes)
    for row in np.flatnonzero(thin).tolist():
        message = f"a box of {_size(data.boxes, row)}: thinner than 1 % of the picture or 2 pixels, hard to learn."
        yield _at(data, row, Severity.NOTE, "thin-box", message)
    if grid is not None:
        sides = grid.sides(data.boxes)
        for row in np.flatnonzero(tiny_boxes(data.boxes, grid) & ~thin).tolist():
            message = (
                f"a box of {sides[row, 0]:.1f} x {sides[row, 1]:.1f} pixels in the network, less than a cell of its "
                f"finest head ({grid.stride} x {grid.stride}): hard to find."
            )
            yield _at(data, row, Severity.NOTE, "tiny-box", message)
    corners = list(_corners(data))
    yield from corners or _overhanging(data)


def _repeated(data: DataSet) -> Iterator[Diagnostic]:
    """Yield boxes that stand in a label file twice, with one class or with two."""
    truths, owners, lines = data.boxes.truths, data.boxes.owners, data.boxes.lines
    order = np.lexsort((truths[:, 4], *truths[:, 3::-1].T, owners))
    after, before = order[1:], order[:-1]
    same_box = (owners[after] == owners[before]) & (truths[after, :4] == truths[before, :4]).all(axis=1)
    same_class = truths[after, 4] == truths[before, 4]
    for place in np.flatnonzero(same_box).tolist():
        rows = sorted((before[place], after[place]), key=lambda row: int(lines[row]))
        first, second = (int(row) for row in rows)
        if same_class[place]:
            message = f"the box of line {lines[first]} again: one object would count twice. Remove a line."
            yield _at(data, second, Severity.WARNING, "twice-labelled", message)
        else:
            message = f"the box of line {lines[first]} with another class. See which one is right."
            yield _at(data, second, Severity.NOTE, "two-classes", message)


def _corners(data: DataSet) -> Iterator[Diagnostic]:
    """Yield one warning if all boxes can be two corners, and many reach over the edge as centre and size."""
    boxes = data.boxes.truths[:, :4].astype(np.float64)
    first, second = boxes[:, :2], boxes[:, 2:]
    if len(boxes) < _CORNERS or not ((first >= 0) & (first < second) & (second <= 1 + _ROUNDING)).all():
        return
    over = ((first - second / 2 < -_ROUNDING) | (first + second / 2 > 1 + _ROUNDING)).any(axis=1)
    if over.mean() > _OVER:
        message = (
            f"{over.sum()} of the {len(boxes)} boxes of the set reach over the picture's edge, and in all of them the "
            "last two numbers are larger than the two before: they look like corners (left, top, right, bottom), but a "
            "record is class, centre x, centre y, width, height. Convert them."
        )
        yield _at(data, 0, Severity.WARNING, "corners", message)


def _overhanging(data: DataSet) -> Iterator[Diagnostic]:
    boxes = data.boxes
    centre, half = boxes.truths[:, :2].astype(np.float64), boxes.truths[:, 2:4].astype(np.float64) / 2
    beyond = np.maximum(half - centre, centre + half - 1) * boxes.sizes  # (N, 2) pixels over the worse edge
    for row in np.flatnonzero((beyond > _OVERHANG_PX).any(axis=1)).tolist():
        message = f"a box of {_size(boxes, row)} reaches {beyond[row].max():.0f} pixels beyond the picture's edge."
        yield _at(data, row, Severity.NOTE, "overhang", message)


def _size(boxes: Boxes, row: int) -> str:
    if not boxes.sizes[row].all():
        return f"{boxes.truths[row, 2]:.2%} x {boxes.truths[row, 3]:.2%}"
    width, height = boxes.truths[row, 2:4].astype(np.float64) * boxes.sizes[row]  # of this box alone: there are many
    return f"{width:.1f} x {height:.1f} pixels"


def _at(data: DataSet, row: int, severity: Severity, code: str, message: str) -> Diagnostic:
    label = data.samples[int(data.boxes.owners[row])].label
    return Diagnostic(severity, code, label.path, int(data.boxes.lines[row]), message)
