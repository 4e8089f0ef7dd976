"""Loss of [yolo]: darknet's deltas and printed costs, without a loop over cells, anchors or boxes.

Source: darknet src/yolo_layer.c, forward_yolo_layer, process_batch, delta_yolo_box, delta_yolo_class.

Letters: B images, A anchors of all cells (cell by cell, row-major, then by mask), E = 5 + C entries, T truths,
N assignments.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from darkpy.boxes import IOU_KINDS, giou, iou, iou_matrix
from darkpy.layers._adversarial import against
from darkpy.layers._box_gradient import box_gradient
from darkpy.layers._head import DeltaFilter, HeadLoss

_MATCHING_CLASS_SCORE = 0.25  # a cell without any class score above it is never spared as a good match
_DENSE_LIMIT = 1 << 24  # IoU values held at once
_FOCAL_EPSILON = 1e-15


@dataclass(frozen=True, slots=True)
class YoloRules:
    """Values of a [yolo] section that the loss and the boxes need. Anchors in network-input pixels."""

    classes: int
    anchors: tuple[tuple[float, float], ...]  # all of them: width, height
    mask: tuple[int, ...]  # those of this head
    ignore_thresh: float
    truth_thresh: float
    iou_thresh: float
    iou_thresh_kind: str
    iou_loss: str
    iou_normalizer: float
    obj_normalizer: float
    cls_normalizer: float
    delta_normalizer: float
    max_delta: float | None
    scale_x_y: float
    new_coords: bool
    objectness_smooth: bool
    focal_loss: bool
    label_smooth_eps: float
    class_multipliers: tuple[float, ...] | None
    class_map: tuple[int, ...] | None
    show_details: bool


def to_anchors(x: Tensor, num_masks: int) -> Tensor:
    """Return (B, A, E) for a head's (B, masks E, H, W); free of a copy for channels_last memory."""
    rows = x.permute(0, 2, 3, 1)  # (B, H, W, masks E)
    return rows.reshape(x.shape[0], x.shape[2] * x.shape[3] * num_masks, -1)


def activate(entries: Tensor, rules: YoloRules) -> Tensor:
    """Return the head's output for its input, both (B, A, E): sigmoid of all but w, h; x, y spread by scale_x_y."""
    output = entries.clone() if rules.new_coords else torch.sigmoid(entries)
    if not rules.new_coords:
        output[..., 2:4] = entries[..., 2:4]
    output[..., :2].mul_(rules.scale_x_y).sub_((rules.scale_x_y - 1) / 2)
    return output


def decode(output: Tensor, rules: YoloRules, *, grid: tuple[int, int], network_size: tuple[int, int]) -> Tensor:
    """Return the boxes (B, A, 4), relative to the network's input, of a head's output (B, A, E).

    Args:
        output: As ``activate`` returns it.
        rules: The head's.
        grid: Columns, rows.
        network_size: Width, height in pixels.
    """
    columns, rows = grid
    masks = len(rules.mask)
    cell = torch.arange(output.shape[1], device=output.device) // masks
    corner = torch.stack([cell % columns, cell // columns], dim=1).to(output.dtype)  # (A, 2)
    centre = (corner + output[..., :2]) / output.new_tensor([columns, rows])
    anchors = output.new_tensor([rules.anchors[index] for index in rules.mask]).repeat(columns * rows, 1)  # (A, 2)
    size = output[..., 2:4]
    factor = size * size * 4 if rules.new_coords else torch.exp(size)
    return torch.cat([centre, factor * anchors / output.new_tensor(network_size)], dim=-1)


@dataclass(frozen=True, slots=True)
class _Assignments:
    """N pairs of a truth and an anchor, in darknet's order; each (N, ...)."""

    image: Tensor
    anchor: Tensor  # 0..A-1
    anchor_size: Tensor  # (N, 2) pixels
    cell: Tensor  # (N, 2) column, row
    truth: Tensor  # (N, 4)
    kind: Tensor  # class


class YoloLoss:
    """One evaluation of the loss: holds the output, the boxes and the delta that it builds up."""

    def __init__(self, x: Tensor, truths: Tensor, rules: YoloRules, network_size: tuple[int, int]) -> None:
        self.rules = rules
        self.shape = x.shape
        self.grid = (x.shape[3], x.shape[2])
        self.network_size = network_size
        self.output = activate(to_anchors(x.detach().float(), len(rules.mask)), rules)
        self.boxes = decode(self.output, rules, grid=self.grid, network_size=network_size)
        self.delta = torch.zeros_like(self.output, memory_format=torch.contiguous_format)  # it is viewed as (B A, E)
        valid = (truths[..., 0] != 0).to(torch.uint8).cumprod(1).bool()  # a list of truths ends at the first x == 0
        self.valid = valid & (truths[..., 4] >= 0) & (truths[..., 4] < rules.classes)
        self.truths = truths
        multipliers = rules.class_multipliers
        self.multipliers = None if multipliers is None else self.output.new_tensor(multipliers)
        self.class_map = None if rules.class_map is None else torch.tensor(rules.class_map, device=x.device)
        self.touched: list[Tensor] = []  # flat anchors with box and class deltas

    def evaluate(self, *, keep: DeltaFilter | None = None, adversarial: bool = False) -> HeadLoss:
        """Return the deltas and the printed figures; the arguments are those of ``Head.loss``."""
        written = self._every_anchor(adversarial=adversarial)
        assignments = self._assign()
        ious, losses = self._ious(assignments)
        rewritten = self._boxes_and_classes(assignments)
        if self.rules.iou_thresh < 1:
            self._average_boxes()
        if keep is not None:
            self.delta = keep(self.delta)
        return self._figures(ious, losses, written + assignments.image.numel(), rewritten)

    # --- every anchor of the grid -------------------------------------------------------------------------------

    def _every_anchor(self, *, adversarial: bool) -> int:
        """Set the objectness deltas of all anchors; return how many boxes ``truth_thresh`` assigned."""
        rules, objectness = self.rules, self.output[..., 4]
        best, best_truth = self._best_iou()
        scored = (self.output[..., 5:] > _MATCHING_CLASS_SCORE).any(-1)
        match = torch.where(scored, best, torch.zeros_like(best))
        down = -rules.obj_normalizer * objectness
        if rules.objectness_smooth:
            spared = torch.maximum(down, rules.obj_normalizer * (match - objectness))
        else:
            spared = torch.zeros_like(down)
        self.delta[..., 4] = torch.where(match > rules.ignore_thresh, spared, down)
        if adversarial:
            self.delta = against(self.output, self.boxes, self.delta, match <= rules.ignore_thresh)
        if rules.truth_thresh >= 1:
            return 0
        return self._overwhelming_truths(best, best_truth)

    def _best_iou(self) -> tuple[Tensor, Tensor]:
        """Return the largest IoU with a truth, (B, A), and the index of that truth."""
        best = self.boxes.new_zeros(self.boxes.shape[:2])
        best_truth = torch.zeros(best.shape, dtype=torch.long, device=best.device)
        chunk = max(1, _DENSE_LIMIT // max(best.numel(), 1))
        for start in range(0, self.truths.shape[1], chunk):  # a second round only for hundreds of truths
            part = slice(start, start + chunk)
            ious = iou_matrix(self.boxes, self.truths[:, part, :4]) * self.valid[:, None, part]
            value, index = ious.max(-1)
            better = value > best
            best = torch.where(better, value, best)
            best_truth = torch.where(better, index + start, best_truth)
        return best, best_truth

    def _overwhelming_truths(self, best: Tensor, best_truth: Tensor) -> int:
        """Train anchors whose IoU exceeds ``truth_thresh`` towards their truth."""
        rules = self.rules
        image, anchor = (best > rules.truth_thresh).nonzero(as_tuple=True)
        found = self._pair(image, anchor, best_truth[image, anchor])
        target = best[image, anchor] ** 2
        goal = target if rules.objectness_smooth else torch.ones_like(target)
        self.delta[image, anchor, 4] = rules.obj_normalizer * (goal - self.output[image, anchor, 4])
        self._class_delta(found, slice(None))
        if rules.objectness_smooth:
            score = self.output[image, anchor, 5 + found.kind]
            self.delta[image, anchor, 5 + found.kind] = self._multiplier(found.kind) * (target - score)
        self._box_delta(found)
        return int(image.numel())

    def _pair(self, image: Tensor, anchor: Tensor, truth: Tensor) -> _Assignments:
        """Return the assignments of anchors (N,) to truths (N,) of their images."""
        cell = torch.div(anchor, len(self.rules.mask), rounding_mode="floor")
        sizes = self.output.new_tensor([self.rules.anchors[index] for index in self.rules.mask])
        rows = self.truths[image, truth]
        kind = rows[:, 4].long()
        return _Assignments(
            image=image,
            anchor=anchor,
            anchor_size=sizes[anchor % len(self.rules.mask)],
            cell=torch.stack([cell % self.grid[0], cell // self.grid[0]], dim=1),
            truth=rows[:, :4],
            kind=kind if self.class_map is None else self.class_map[kind],
        )

    # --- truths ---------------------------------------------------------------------------------------------------

    def _assign(self) -> _Assignments:
        """Pair each truth with its best anchor, if this head has it, and with its other anchors above iou_thresh."""
        rules = self.rules
        columns, rows = self.grid
        anchors = self.output.new_tensor(rules.anchors) / self.output.new_tensor(self.network_size)  # (num, 2)
        at_zero = torch.nn.functional.pad(anchors, (2, 0))  # (num, 4): centred at 0
        truth_at_zero = torch.nn.functional.pad(self.truths[..., 2:4], (2, 0)).unsqueeze(2)  # (B, T, 1, 4)
        best = iou(at_zero, truth_at_zero).argmax(-1)  # (B, T)
        in_mask = torch.zeros(len(rules.anchors), dtype=torch.bool, device=best.device)
        in_mask[list(rules.mask)] = True
        is_best = torch.nn.functional.one_hot(best, len(rules.anchors)).bool()  # (B, T, num)
        chosen = [in_mask[best].unsqueeze(-1)]  # the best one comes first
        if rules.iou_thresh < 1:
            similar = IOU_KINDS[rules.iou_thresh_kind](at_zero, truth_at_zero) > rules.iou_thresh
            chosen.append(similar & in_mask & ~is_best)
        image, truth, slot = (torch.cat(chosen, -1) & self.valid.unsqueeze(-1)).nonzero(as_tuple=True)
        number = torch.where(slot == 0, best[image, truth], slot - 1)
        position = torch.zeros(len(rules.anchors), dtype=torch.long, device=best.device)
        position[list(rules.mask)] = torch.arange(len(rules.mask), device=best.device)
        centre = self.truths[image, truth, :2]
        column = (centre[:, 0] * columns).long().clamp(0, columns - 1)
        row = (centre[:, 1] * rows).long().clamp(0, rows - 1)
        anchor = (row * columns + column) * len(rules.mask) + position[number]
        return self._pair(image, anchor, truth)

    def _ious(self, found: _Assignments) -> tuple[Tensor, Tensor]:
        """Return the IoU of each assignment and its loss (1 - giou for giou, else 1 - iou), each (N,)."""
        predicted = self.boxes[found.image, found.anchor]
        ious = iou(predicted, found.truth)
        return ious, 1 - (giou(predicted, found.truth) if self.rules.iou_loss == "giou" else ious)

    def _boxes_and_classes(self, found: _Assignments) -> Tensor:
        """Write box, objectness and class deltas; return how many assignments met an anchor that had one."""
        written = (self.delta[found.image, found.anchor, :4] != 0).any(-1)
        self._box_delta(found)
        rank = self._rank(found)
        # Truths of one anchor follow each other: round r takes the r-th of every anchor, so order is darknet's.
        for turn in range(int(rank.max()) + 1 if rank.numel() else 0):
            chosen = rank == turn
            self._objectness_delta(found, chosen)
            self._class_delta(found, chosen)
        return (written | (rank > 0)).sum()

    def _flat(self, found: _Assignments) -> Tensor:
        return found.image * self.output.shape[1] + found.anchor

    def _rank(self, found: _Assignments) -> Tensor:
        """Return for each assignment how many earlier ones have the same anchor, (N,)."""
        flat = self._flat(found)
        ordered, order = flat.sort(stable=True)
        place = torch.arange(flat.numel(), device=flat.device)
        is_first = torch.ones_like(ordered, dtype=torch.bool)
        is_first[1:] = ordered[1:] != ordered[:-1]
        first = torch.where(is_first, place, torch.zeros_like(place)).cummax(0).values if flat.numel() else place
        rank = torch.empty_like(place)
        rank[order] = place - first
        return rank

    def _objectness_delta(self, found: _Assignments, chosen: Tensor) -> None:
        image, anchor = found.image[chosen], found.anchor[chosen]
        up = self._multiplier(found.kind[chosen]) * self.rules.obj_normalizer * (1 - self.output[image, anchor, 4])
        if self.rules.objectness_smooth:  # only where the grid left exactly 0: elsewhere its negative delta stays
            now = self.delta[image, anchor, 4]
            up = torch.where(now == 0, up, now)
        self.delta[image, anchor, 4] = up

    def _multiplier(self, kind: Tensor) -> Tensor:
        return self.output.new_ones(kind.shape) if self.multipliers is None else self.multipliers[kind]

    def _class_delta(self, found: _Assignments, chosen: Tensor | slice) -> None:
        """Write the class deltas of anchors that differ from each other."""
        rules = self.rules
        image, anchor, kind = found.image[chosen], found.anchor[chosen], found.kind[chosen]
        score, now = self.output[image, anchor, 5:], self.delta[image, anchor, 5:]  # (N, C)
        own = torch.nn.functional.one_hot(kind, rules.classes).bool()
        multiplier = self._multiplier(kind).unsqueeze(1)
        high, low = 1 - rules.label_smooth_eps / 2, rules.label_smooth_eps / 2
        goal = torch.where(own, score.new_tensor(high), score.new_tensor(low))
        again = goal - score
        if self.multipliers is not None:
            again = again * multiplier
        if rules.focal_loss:
            truth_score = score.gather(1, kind.unsqueeze(1)) + _FOCAL_EPSILON
            focus = -(1 - truth_score) * (2 * truth_score * truth_score.log() + truth_score - 1)
            first = (own.to(score.dtype) - score) * 0.5 * focus
        else:
            first = goal - score
            if self.multipliers is not None:
                first = torch.where(own, first * multiplier * rules.cls_normalizer, first)
            first = torch.where(first.isfinite(), first, now)
        has_truth = (now.gather(1, kind.unsqueeze(1)) != 0).expand_as(own)
        further = torch.where(own & again.isfinite(), again, now)
        self.delta[image, anchor, 5:] = torch.where(has_truth, further, first)

    def _box_delta(self, found: _Assignments) -> None:
        rules = self.rules
        output = self.output[found.image, found.anchor, :4]
        norm = rules.iou_normalizer * self._multiplier(found.kind).unsqueeze(1)
        if rules.iou_loss == "mse":
            change = (2 - found.truth[:, 2:3] * found.truth[:, 3:4]) * (self._targets(found) - output) * norm
        else:
            predicted = self.boxes[found.image, found.anchor].clone()
            size = predicted[:, 2:]
            predicted[:, 2:] = torch.where(size == 0, torch.ones_like(size), size)
            change = box_gradient(predicted, found.truth, rules.iou_loss)
            if not rules.new_coords:
                change[:, 2:] *= output[:, 2:].exp()
            change = torch.nan_to_num(change * norm, nan=0.0, posinf=0.0, neginf=0.0)
            if rules.max_delta is not None:
                change = change.clamp(-rules.max_delta, rules.max_delta)
        flat = self._flat(found)
        entries = self.delta.shape[-1]  # several assignments to one anchor add up
        self.delta.view(-1, entries).index_add_(0, flat, torch.nn.functional.pad(change, (0, entries - 4)))
        self.touched.append(flat)

    def _targets(self, found: _Assignments) -> Tensor:
        """Return what the raw x, y, width and height should be for the mse loss, (N, 4)."""
        centre = found.truth[:, :2] * found.truth.new_tensor(self.grid) - found.cell
        ratio = found.truth[:, 2:] * found.truth.new_tensor(self.network_size) / found.anchor_size
        return torch.cat([centre, (ratio / 4).sqrt() if self.rules.new_coords else ratio.log()], dim=1)

    def _average_boxes(self) -> None:
        """Divide the box deltas of an anchor by the number of classes it was told to raise."""
        flat = torch.unique(torch.cat(self.touched))
        delta = self.delta.view(-1, self.delta.shape[-1])
        rows = delta[flat]
        raised = (rows[:, 5:] > 0).sum(1, keepdim=True).clamp_min(1)
        delta[flat, :4] = torch.where(rows[:, 4:5] != 0, rows[:, :4] / raised, rows[:, :4])

    # --- figures --------------------------------------------------------------------------------------------------

    def _figures(self, ious: Tensor, losses: Tensor, written: int, rewritten: Tensor) -> HeadLoss:
        rules, images = self.rules, self.shape[0]
        others = self.delta[..., 4:].square().sum()  # summed apart: next to large box deltas a difference is inexact
        total = self.delta[..., :4].square().sum() + others
        class_loss = rules.obj_normalizer * others
        count = ious.new_tensor(max(ious.numel(), 1))
        cost = total
        if rules.iou_loss != "mse" and rules.show_details:
            cost = rules.iou_normalizer * losses.sum() / count + class_loss
        delta = self.delta.reshape(images, self.shape[2], self.shape[3], -1).permute(0, 3, 1, 2)
        return HeadLoss(
            delta=delta * rules.delta_normalizer if rules.delta_normalizer != 1 else delta,
            cost=cost,
            average_iou=ious.sum() / count,
            count=count,
            class_loss=class_loss / images,
            iou_loss=(total - class_loss) / images,
            total_loss=total / images,
            rewritten=rewritten,
            assigned=ious.new_tensor(written),
        )
