"""The yolo loss in plain loops: one cell, one anchor, one truth at a time, in double precision.

Written from darknet's rules, and on purpose without anything that the vectorised loss has.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from darkpy.layers._box_gradient import box_gradient
from darkpy.layers._yolo_loss import YoloRules

ROWS, COLUMNS, SIZE = 2, 3, (96, 64)  # of the grid, and the network's width and height in pixels

Box = tuple[float, float, float, float]


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def score(kind: str, a: Box, b: Box) -> float:
    """IoU, GIoU, DIoU (with its power of 0.6) or CIoU of two boxes."""
    left, right = max(a[0] - a[2] / 2, b[0] - b[2] / 2), min(a[0] + a[2] / 2, b[0] + b[2] / 2)
    top, bottom = max(a[1] - a[3] / 2, b[1] - b[3] / 2), min(a[1] + a[3] / 2, b[1] + b[3] / 2)
    inner = (right - left) * (bottom - top) if right > left and bottom > top else 0.0
    union = a[2] * a[3] + b[2] * b[3] - inner
    ratio = inner / union if inner and union else 0.0
    width = max(a[0] + a[2] / 2, b[0] + b[2] / 2) - min(a[0] - a[2] / 2, b[0] - b[2] / 2)
    height = max(a[1] + a[3] / 2, b[1] + b[3] / 2) - min(a[1] - a[3] / 2, b[1] - b[3] / 2)
    if kind == "giou":
        return ratio - (width * height - union) / (width * height)
    distance = ((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) / (width**2 + height**2)
    if kind == "diou":
        return ratio - distance**0.6
    if kind == "ciou":
        aspect = 4 / math.pi**2 * (math.atan(b[2] / b[3]) - math.atan(a[2] / a[3])) ** 2
        return ratio - distance - aspect**2 / (1 - ratio + aspect + 1e-6)
    return ratio


@dataclass
class Loops:
    """One image, one cell and one truth at a time, in double precision."""

    rules: YoloRules
    x: np.ndarray  # (masks E, rows, columns)
    truths: Sequence[Sequence[float]]
    delta: dict[tuple[int, int, int], list[float]] = field(default_factory=dict)  # (row, column, mask) -> E values
    ious: list[float] = field(default_factory=list)
    gious: list[float] = field(default_factory=list)
    rewritten: int = 0
    assigned: int = 0

    def run(self) -> None:
        """Visit every cell and anchor, then every truth, then average."""
        self.list = []
        for truth in self.truths:
            if truth[0] == 0:
                break
            self.list.append(truth)
        self.valid = [truth for truth in self.list if 0 <= truth[4] < self.rules.classes]
        self.cells = [(j, i, m) for j in range(ROWS) for i in range(COLUMNS) for m in range(len(self.rules.mask))]
        for key in self.cells:
            self.delta[key] = [0.0] * (5 + self.rules.classes)
            self.background(key)
        for truth in self.valid:
            self.assign(truth)
        if self.rules.iou_thresh < 1:
            for values in self.delta.values():
                raised = sum(value > 0 for value in values[5:])
                if values[4] != 0 and raised:
                    values[:4] = [value / raised for value in values[:4]]

    def output(self, key: tuple[int, int, int]) -> list[float]:
        """What the head gives at a cell and anchor."""
        row, column, mask = key
        size = 5 + self.rules.classes
        raw = [float(value) for value in self.x[mask * size : (mask + 1) * size, row, column]]
        if not self.rules.new_coords:
            raw = [value if entry in (2, 3) else sigmoid(value) for entry, value in enumerate(raw)]
        spread = self.rules.scale_x_y
        return [value * spread - (spread - 1) / 2 if entry < 2 else value for entry, value in enumerate(raw)]

    def box(self, key: tuple[int, int, int]) -> Box:
        """The box that it decodes to."""
        out, (row, column, mask) = self.output(key), key
        anchor = self.rules.anchors[self.rules.mask[mask]]
        w, h = (4 * v * v if self.rules.new_coords else math.exp(v) for v in out[2:4])
        return (column + out[0]) / COLUMNS, (row + out[1]) / ROWS, w * anchor[0] / SIZE[0], h * anchor[1] / SIZE[1]

    def multiplier(self, kind: int) -> float:
        return 1.0 if self.rules.class_multipliers is None else self.rules.class_multipliers[kind]

    def kind(self, truth: Sequence[float]) -> int:
        return int(truth[4]) if self.rules.class_map is None else self.rules.class_map[int(truth[4])]

    def background(self, key: tuple[int, int, int]) -> None:
        """The first phase at one cell and anchor."""
        rules, out, box = self.rules, self.output(key), self.box(key)
        best, best_truth, match = 0.0, None, 0.0
        for truth in self.valid:
            overlap = score("iou", box, tuple(truth[:4]))  # type: ignore[arg-type]
            if overlap > best:
                best, best_truth = overlap, truth
            if max(out[5:]) > 0.25:
                match = max(match, overlap)
        values = self.delta[key]
        values[4] = rules.obj_normalizer * (0 - out[4])
        if match > rules.ignore_thresh:
            smooth = max(values[4], rules.obj_normalizer * (match - out[4]))
            values[4] = smooth if rules.objectness_smooth else 0.0
        if best_truth is None or best <= rules.truth_thresh:
            return
        goal = best**2 if rules.objectness_smooth else 1.0
        values[4] = rules.obj_normalizer * (goal - out[4])
        kind = self.kind(best_truth)
        self.classes(key, kind)
        if rules.objectness_smooth:
            values[5 + kind] = self.multiplier(kind) * (best**2 - out[5 + kind])
        self.move(key, best_truth)

    def assign(self, truth: Sequence[float]) -> None:
        """The second phase for one truth: its best anchor, then others that resemble it."""
        rules = self.rules
        shape = (0.0, 0.0, truth[2], truth[3])
        anchors = [(0.0, 0.0, w / SIZE[0], h / SIZE[1]) for w, h in rules.anchors]
        best, best_index = 0.0, 0
        for index, anchor in enumerate(anchors):
            if score("iou", anchor, shape) > best:
                best, best_index = score("iou", anchor, shape), index
        chosen = [best_index] if best_index in rules.mask else []
        if rules.iou_thresh < 1:
            for index, anchor in enumerate(anchors):
                if index != best_index and index in rules.mask:
                    chosen += [index] if score(rules.iou_thresh_kind, anchor, shape) > rules.iou_thresh else []
        for index in chosen:
            self.raise_one((int(truth[1] * ROWS), int(truth[0] * COLUMNS), rules.mask.index(index)), truth)

    def raise_one(self, key: tuple[int, int, int], truth: Sequence[float]) -> None:
        """Train one anchor towards one truth."""
        rules, out, kind = self.rules, self.output(key), self.kind(truth)
        box = tuple(truth[:4])
        self.ious.append(score("iou", self.box(key), box))  # type: ignore[arg-type]
        self.gious.append(score("giou", self.box(key), box))  # type: ignore[arg-type]
        self.move(key, truth)
        up = self.multiplier(kind) * rules.obj_normalizer * (1 - out[4])
        if not rules.objectness_smooth or self.delta[key][4] == 0:
            self.delta[key][4] = up
        self.classes(key, kind)

    def classes(self, key: tuple[int, int, int], kind: int) -> None:
        """Class deltas of one anchor."""
        rules, scores, values = self.rules, self.output(key)[5:], self.delta[key]
        eps, weighted = rules.label_smooth_eps, rules.class_multipliers is not None
        goals = [(k == kind) * (1 - eps) + eps / 2 for k in range(rules.classes)]
        if values[5 + kind] != 0:
            values[5 + kind] = (goals[kind] - scores[kind]) * self.multiplier(kind)
        elif rules.focal_loss:
            p = scores[kind] + 1e-15
            factor = -(1 - p) * (2 * p * math.log(p) + p - 1)
            values[5:] = [((k == kind) - scores[k]) * 0.5 * factor for k in range(rules.classes)]
        else:
            values[5:] = [goal - value for goal, value in zip(goals, scores, strict=True)]
            if weighted:
                values[5 + kind] *= self.multiplier(kind) * rules.cls_normalizer

    def move(self, key: tuple[int, int, int], truth: Sequence[float]) -> None:
        """Box delta of one anchor towards one truth, on top of what is there."""
        rules, out, (row, column, mask) = self.rules, self.output(key), key
        anchor, values = rules.anchors[rules.mask[mask]], self.delta[key]
        self.assigned += 1
        self.rewritten += any(value != 0 for value in values[:4])
        norm = rules.iou_normalizer * self.multiplier(self.kind(truth))
        if rules.iou_loss == "mse":
            ratios = [truth[2] * SIZE[0] / anchor[0], truth[3] * SIZE[1] / anchor[1]]
            goals = [truth[0] * COLUMNS - column, truth[1] * ROWS - row]
            goals += [math.sqrt(ratio / 4) if rules.new_coords else math.log(ratio) for ratio in ratios]
            change = [(2 - truth[2] * truth[3]) * (goal - now) * norm for goal, now in zip(goals, out[:4], strict=True)]
        else:
            pair = (torch.tensor([box], dtype=torch.float64) for box in (self.box(key), tuple(truth[:4])))
            change = box_gradient(*pair, rules.iou_loss)[0].tolist()  # held to its own figures in test_box_gradient.py
            if not rules.new_coords:
                change[2:] = [change[2] * math.exp(out[2]), change[3] * math.exp(out[3])]
            limit = math.inf if rules.max_delta is None else rules.max_delta
            change = [min(max(value * norm, -limit), limit) for value in change]
        values[:4] = [now + more for now, more in zip(values[:4], change, strict=True)]


def loop_figures(rules: YoloRules, images: Sequence[Loops]) -> dict[str, float]:
    """The figures that darknet prints."""
    squares = [value**2 for image in images for values in image.delta.values() for value in values]
    others = sum(value**2 for image in images for values in image.delta.values() for value in values[4:])
    ious = [iou for image in images for iou in image.ious]
    gious = [iou for image in images for iou in image.gious]
    count = max(len(ious), 1)
    class_loss = rules.obj_normalizer * others
    cost = sum(squares)
    if rules.iou_loss != "mse" and rules.show_details:
        cost = (
            rules.iou_normalizer * sum(1 - v for v in (gious if rules.iou_loss == "giou" else ious)) / count
            + class_loss
        )
    return {
        "cost": cost,
        "average_iou": sum(ious) / count,
        "count": count,
        "class_loss": class_loss / len(images),
        "iou_loss": (sum(squares) - class_loss) / len(images),
        "total_loss": sum(squares) / len(images),
        "rewritten": sum(image.rewritten for image in images),
        "assigned": sum(image.assigned for image in images),
    }
