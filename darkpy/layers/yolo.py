"""[yolo]: a detection head on anchors.  Source: darknet src/yolo_layer.c; src/parser.c, parse_yolo."""

import difflib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from torch import Tensor, nn

from darkpy.cfg.options import Options
from darkpy.cfg.text import read_lines
from darkpy.errors import CfgError
from darkpy.layers._base import PlainSpec, Shape, WrongChannels, layer
from darkpy.layers._head import DataRule, DeltaFilter, HeadLoss
from darkpy.layers._yolo_loss import YoloLoss, YoloRules, activate, decode, to_anchors
from darkpy.structures import NmsRule

LOSSES = {"iou": 0, "giou": 1, "mse": 2, "diou": 3, "ciou": 4}
NMS_KINDS = {"default": 0, "greedynms": 1, "diounms": 2}
_MOST_BOXES = 100_000  # truths of a picture
_MOST_ANCHORS = 10_000
_LARGEST_JITTER = 0.99  # of a side: more leaves nothing of the picture
_LARGEST_ZOOM = 10.0
_KNOWN_ELSEWHERE = (  # tracking and its display: a later version
    "embedding_layer track_history_size sim_thresh dets_for_track dets_for_show track_ciou_norm"
)


class Yolo(nn.Module):
    """Activates its input and decodes boxes; in training it passes its input on, for the loss to take."""

    type_id = 28  # darknet's number for [yolo], printed
    has_loss = True

    def __init__(self, spec: "YoloSpec") -> None:
        super().__init__()
        self.rules = spec.rules
        self.classes = spec.rules.classes
        self.nms_rule = spec.nms_rule
        self.data_rule = spec.data_rule
        self.loss_name = spec.rules.iou_loss if spec.rules.iou_loss in ("mse", "giou") else "iou"
        self.normalizers = (spec.rules.iou_normalizer, spec.rules.obj_normalizer, spec.rules.cls_normalizer)
        self.detailed = spec.rules.show_details

    def forward(self, x: Tensor) -> Tensor:
        """Return (B, masks (5 + classes), H, W), activated as darknet lays it out; x itself in training."""
        if self.training:
            return x
        output = activate(to_anchors(x, len(self.rules.mask)), self.rules)
        return output.reshape(x.shape[0], x.shape[2], x.shape[3], -1).permute(0, 3, 1, 2)

    def loss(
        self,
        x: Tensor,
        truths: Tensor,
        network_size: tuple[int, int],
        *,
        keep: DeltaFilter | None = None,
        adversarial: bool = False,
    ) -> HeadLoss:
        """Return the loss of the head's input for truths (B, T, 5)."""
        return YoloLoss(x, truths, self.rules, network_size).evaluate(keep=keep, adversarial=adversarial)

    def boxes(self, output: Tensor, network_size: tuple[int, int]) -> tuple[Tensor, Tensor, Tensor]:
        """Return boxes (B, N, 4), objectness (B, N), class scores (B, N, classes): cell by cell, then by mask."""
        entries = to_anchors(output, len(self.rules.mask))
        grid = (output.shape[3], output.shape[2])
        return decode(entries, self.rules, grid=grid, network_size=network_size), entries[..., 4], entries[..., 5:]


@layer("yolo")
@dataclass(frozen=True, slots=True)
class YoloSpec(PlainSpec):
    """Values of a [yolo] section."""

    where: str
    rules: YoloRules
    nms_rule: NmsRule
    data_rule: DataRule
    loss_word: str  # as the cfg has it, for the table

    @classmethod
    def parse(cls, options: Options) -> Self:
        classes = options.integer("classes", 20, at_least=1, loud=True)
        num = options.integer("num", 1, at_least=1, at_most=_MOST_ANCHORS, loud=True)
        mask = options.integers("mask") or tuple(range(num))
        strangers = [index for index in mask if not 0 <= index < num]
        if strangers:
            options.fail(
                "mask",
                f"names anchor {strangers[0]}, but num={num} has anchors 0 to {num - 1}. "
                "Use masks of these, or raise num.",
            )
        max_boxes = options.integer("max", 200, at_least=1, at_most=_MOST_BOXES)
        anchors = _anchors(options, num)
        jitter = options.real("jitter", 0.2, at_least=0.0, at_most=_LARGEST_JITTER, loud=True)
        resize = options.real("resize", 1.0, at_least=1 / _LARGEST_ZOOM, at_most=_LARGEST_ZOOM)
        random = options.real("random", 0.0, at_least=0.0, at_most=_LARGEST_ZOOM)
        ignore_thresh = options.real("ignore_thresh", 0.5, loud=True)
        truth_thresh = options.real("truth_thresh", 1.0, loud=True)
        loss_word = options.text("iou_loss", "mse")
        if loss_word not in LOSSES:
            what = f"{options.at('iou_loss')} iou_loss={loss_word} is unknown"
            options.notes.append(f"{what}: iou is used, as in darknet.{_near(loss_word)}")
        max_delta = options.real("max_delta", sys.float_info.max, above=0.0)
        for key in _KNOWN_ELSEWHERE.split():
            if options.has(key):
                options.notes.append(f"{options.at(key)} {key} has no effect in this version of darkpy.")
        rules = YoloRules(
            classes=classes,
            anchors=anchors,
            mask=mask,
            ignore_thresh=ignore_thresh,
            truth_thresh=truth_thresh,
            iou_thresh=options.real("iou_thresh", 1.0),
            iou_thresh_kind=options.choice("iou_thresh_kind", "iou", ("iou", "giou", "diou", "ciou")),
            iou_loss=loss_word if loss_word in LOSSES else "iou",
            iou_normalizer=options.real("iou_normalizer", 0.75),
            obj_normalizer=options.real("obj_normalizer", 1.0),
            cls_normalizer=options.real("cls_normalizer", 1.0),
            delta_normalizer=options.real("delta_normalizer", 1.0),
            max_delta=max_delta if options.has("max_delta") else None,
            scale_x_y=options.real("scale_x_y", 1.0),
            new_coords=options.flag("new_coords"),
            objectness_smooth=options.flag("objectness_smooth"),
            focal_loss=options.flag("focal_loss"),
            label_smooth_eps=options.real("label_smooth_eps", 0.0),
            class_multipliers=_class_multipliers(options, classes, max_delta),
            class_map=_class_map(options, classes),
            show_details=options.integer("show_details", 1) != 0,
        )
        kind = options.text("nms_kind", "default")
        if kind not in NMS_KINDS:
            options.notes.append(
                f"{options.at('nms_kind')} nms_kind={kind} is unknown: default is used, as in darknet."
            )
        return cls(
            where=options.where,
            rules=rules,
            nms_rule=NmsRule(kind if kind in NMS_KINDS else "default", options.real("beta_nms", 0.6)),
            data_rule=DataRule(classes, jitter, resize, random, max_boxes),
            loss_word=loss_word,
        )

    def output_shape(self, inputs: Sequence[Shape]) -> Shape:
        masks, classes = len(self.rules.mask), self.rules.classes
        needed = masks * (5 + classes)
        if inputs[0].channels != needed:
            noun = "class" if classes == 1 else "classes"
            reason = f"{masks} mask{'s' if masks > 1 else ''} x ({classes} {noun} + 5)"
            raise WrongChannels(needed, reason, found=inputs[0].channels)
        return inputs[0]

    def build(self, inputs: Sequence[Shape]) -> nn.Module:
        return Yolo(self)

    def row(self, inputs: Sequence[Shape], output: Shape) -> str:
        rules = self.rules
        return (
            f"yolo\n[yolo] params: iou loss: {self.loss_word} ({LOSSES[rules.iou_loss]}), "
            f"iou_norm: {rules.iou_normalizer:2.2f}, obj_norm: {rules.obj_normalizer:2.2f}, "
            f"cls_norm: {rules.cls_normalizer:2.2f}, delta_norm: {rules.delta_normalizer:2.2f}, "
            f"scale_x_y: {rules.scale_x_y:2.2f}"
        )

    def announcements(self) -> tuple[str, ...]:
        """Return the lines that darknet prints on stdout while it reads the section."""
        lines = []
        if self.rules.class_multipliers is not None:
            lines.append(" classes_multipliers: " + ", ".join(f"{value:.1f}" for value in self.rules.class_multipliers))
        if self.nms_rule.kind != "default":
            lines.append(
                f"nms_kind: {self.nms_rule.kind} ({NMS_KINDS[self.nms_rule.kind]}), beta = {self.nms_rule.beta:f} "
            )
        return tuple(lines)


def _near(word: str) -> str:
    """Return which loss may be meant."""
    near = difflib.get_close_matches(word, LOSSES, n=1)
    return f" Did you mean {near[0]}?" if near else ""


def _anchors(options: Options, num: int) -> tuple[tuple[float, float], ...]:
    """Return ``num`` pairs; missing numbers are 0.5, as in darknet, and that is said."""
    values = list(options.reals("anchors") or ())
    if len(values) < 2 * num:
        options.notes.append(
            f"{options.at('anchors')} anchors has {len(values)} numbers, but num={num} needs {2 * num}: "
            "the missing ones count as 0.5."
        )
        values += [0.5] * (2 * num - len(values))
    if min(values[: 2 * num]) <= 0:
        options.fail("anchors", f"{min(values):g} is no size. Write widths and heights above 0, in pixels.")
    return tuple(zip(values[0 : 2 * num : 2], values[1 : 2 * num : 2], strict=True))


def _class_multipliers(options: Options, classes: int, max_delta: float) -> tuple[float, ...] | None:
    """Return how much more each class counts than the most frequent one, or None without ``counters_per_class``."""
    counters = options.integers("counters_per_class")
    if counters is None:
        return None
    if len(counters) != classes:
        options.fail(
            "counters_per_class",
            f"number of values in counters_per_class = {len(counters)} doesn't match with classes = {classes}. "
            "Give one counter for each class.",
        )
    raised = [max(counter, 1) for counter in counters]
    return tuple(min(max(raised) / counter, max_delta) for counter in raised)


def _class_map(options: Options, classes: int) -> tuple[int, ...] | None:
    """Return the class that each class of the labels counts as, or None without ``map``."""
    if not options.has("map"):
        return None
    path = Path(options.text("map", ""))
    entry = options.section.find("map")
    lines = read_lines(path, asked_by=f"{options.section.path}:{entry.line if entry else 0}: map")
    words = [line.strip() for line in lines if line.strip()]
    for word in words:
        if not word.isdecimal() or int(word) >= classes:
            raise CfgError(f"{path}: '{word}' is no class of 0 to {classes - 1}. Write one class number on each line.")
    if len(words) < classes:
        raise CfgError(f"{path}: {len(words)} lines for {classes} classes. Write one class number on each line.")
    return tuple(int(word) for word in words)
