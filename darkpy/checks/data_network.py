"""What a network's file says about boxes. Apart from the other checks, as it needs torch, which takes seconds."""

from pathlib import Path

import numpy as np

from darkpy.blueprint import Blueprint, read_blueprint
from darkpy.cfg.shipped import locate
from darkpy.checks.data_advice import STRIDE, NetworkFacts
from darkpy.checks.data_boxes import Grid
from darkpy.checks.data_masks import HeadAnchors
from darkpy.diagnostics import Diagnostic, Severity, from_message
from darkpy.errors import CfgError
from darkpy.layers.yolo import YoloSpec


def read_network(net: Path) -> tuple[NetworkFacts | None, list[Diagnostic]]:
    """Return what a cfg says about boxes; None, and an error, where it cannot be used."""
    try:
        return network_facts(read_blueprint(locate(net)[0]), str(net)), []
    except CfgError as error:
        return None, [from_message(str(error), severity=Severity.ERROR, code="cfg", path=str(net))]


def network_facts(blueprint: Blueprint, path: str) -> NetworkFacts:
    """Return what a blueprint says about boxes."""
    heads = [plan for plan in blueprint.layers if isinstance(plan.spec, YoloSpec)]
    rules = [plan.spec.rules for plan in heads if isinstance(plan.spec, YoloSpec)]
    anchors = {anchor for rule in rules for anchor in rule.anchors}  # a truth looks at all of them, masked or not
    net = blueprint.net
    stride = min((net.width // max(plan.output.width, 1) for plan in heads), default=STRIDE)
    return NetworkFacts(
        path,
        Grid(net.width, net.height, max(stride, 1), net.letter_box),
        net.channels,
        np.array(sorted(anchors), np.float64).reshape(-1, 2),
        rules[-1].classes if rules else None,
        tuple(HeadAnchors(np.array(rule.anchors, np.float64), rule.mask, rule.iou_thresh) for rule in rules),
    )
