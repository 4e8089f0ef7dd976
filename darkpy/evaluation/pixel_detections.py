"""Detections as `detector valid` writes them: in pixels, down to small probabilities.

Source: darknet src/detector.c, validate_detector.
"""

import torch
from torch import Tensor

from darkpy.boxes import from_letterbox, suppress
from darkpy.data.image import letterbox_size
from darkpy.structures import Detections, NmsRule, Problem

VALID_THRESHOLD = 0.001  # weaker detections are not written
VALID_NMS_THRESHOLD = 0.6


def in_pixels(
    found: Detections,
    rule: NmsRule,
    *,
    image_size: tuple[int, int],
    network_size: tuple[int, int] | None = None,
) -> Detections:
    """Return detections in pixels of their picture, after suppression, in darknet's array order, in the CPU's memory.

    Suppression compares boxes in pixels, not relative ones: the centre term of greedynms differs between the two.
    Boxes that are no finite numbers are left out.

    Args:
        found: As the network gives them.
        rule: How duplicates are suppressed.
        image_size: (width, height) of the picture, in pixels.
        network_size: (width, height) of the network's input in pixels if the picture was letterboxed, else None.
    """
    boxes = found.boxes
    if network_size:
        fitted = letterbox_size(*image_size, width=network_size[0], height=network_size[1])
        boxes = from_letterbox(boxes, fitted_size=fitted, network_size=network_size)
    boxes = boxes * boxes.new_tensor([*image_size, *image_size])
    order, probabilities = suppress(
        boxes, found.probabilities, threshold=VALID_NMS_THRESHOLD, kind=rule.kind, beta=rule.beta
    )
    boxes = boxes[order]
    finite = torch.isfinite(boxes).all(dim=1)
    return Detections(boxes[finite], found.objectness[order][finite], probabilities[finite]).cpu()


def infinite_boxes(found: Detections, path: str) -> Problem | None:
    """Return a note on the boxes of a picture that ``in_pixels`` leaves out, or None."""
    count = int((~torch.isfinite(found.boxes).all(dim=1)).sum())
    if not count:
        return None
    note = f"{path}: {count} boxes are no finite numbers and are left out. Do the weights fit the cfg?"
    return Problem("note", path, note)


def above(found: Detections, threshold: float) -> Detections:
    """Return what the network finds at a higher threshold than it was asked for.

    Args:
        found: Before suppression.
        threshold: Objectness, and each probability, must be above it.
    """
    keep = (found.objectness > threshold).nonzero(as_tuple=True)[0]
    probabilities: Tensor = found.probabilities[keep]
    probabilities = torch.where(probabilities > threshold, probabilities, torch.zeros_like(probabilities))
    return Detections(found.boxes[keep], found.objectness[keep], probabilities)
