"""mAP of a network over batches of pictures.  Source: darknet src/detector.c, validate_detector_map."""

from collections.abc import Callable, Iterable
from typing import Protocol

import torch
from torch import Tensor

from darkpy.boxes import from_letterbox, suppress
from darkpy.data.image import letterbox_size
from darkpy.evaluation.average_precision import summarize
from darkpy.evaluation.matching import Matches, match
from darkpy.structures import Detections, EvaluationBatch, MapResult, NmsRule, Problem

DETECTION_THRESHOLD = 0.005  # weaker detections are not looked at
NMS_THRESHOLD = 0.45


class Detector(Protocol):
    """What an evaluation needs of a network."""

    @property
    def classes(self) -> int:
        """Number of classes of the last detection layer."""

    @property
    def nms_rule(self) -> NmsRule:
        """How duplicates are suppressed."""

    def detect(self, images: Tensor, threshold: float) -> list[Detections]:
        """Return the detections of each picture before suppression, boxes relative to the network's input.

        Args:
            images: (B, C, H, W) float32, 0..1.
            threshold: Objectness and probability must be above this.
        """


def without_duplicates(
    found: Detections,
    rule: NmsRule,
    *,
    network_size: tuple[int, int] | None = None,
    image_size: tuple[int, int] | None = None,
) -> Detections:
    """Return detections relative to their picture, after suppression, in darknet's array order, in the CPU's memory.

    Args:
        found: As the network gives them.
        rule: How duplicates are suppressed.
        network_size: (width, height) of the network's input in pixels if the picture was letterboxed, else None.
        image_size: (width, height) of the picture in pixels, needed with ``network_size``.
    """
    boxes = found.boxes
    if network_size and image_size:
        fitted = letterbox_size(*image_size, width=network_size[0], height=network_size[1])
        boxes = from_letterbox(boxes, fitted_size=fitted, network_size=network_size)
    order, probabilities = suppress(boxes, found.probabilities, threshold=NMS_THRESHOLD, kind=rule.kind, beta=rule.beta)
    return Detections(boxes[order], found.objectness[order], probabilities).cpu()


@torch.no_grad()
def measure_map(
    network: Detector,
    batches: Iterable[EvaluationBatch],
    *,
    device: torch.device,
    on_problem: Callable[[Problem], None],
    threshold: float = 0.25,
    iou_threshold: float = 0.5,
    points: int = 0,
    letter_box: bool = False,
) -> MapResult:
    """Return the network's mAP and what goes with it.

    The truths of an unreadable picture count as missed.

    Args:
        network: In evaluation mode, on ``device``.
        batches: The pictures of a list, in its order.
        device: Where the network is.
        on_problem: Called with each problem of a picture or label.
        threshold: Confidence above which a detection counts as true or false positive.
        iou_threshold: A match overlaps more than this.
        points: 0 for the area under the curve, else the number of recall points.
        letter_box: Whether the pictures were letterboxed.
    """
    matches: list[Matches] = []
    truth_classes = []
    for batch in batches:
        for problem in batch.problems:
            on_problem(problem)
        matches += _match_batch(network, batch, device=device, iou_threshold=iou_threshold, letter_box=letter_box)
        truth_classes += [truths[:, 4].numpy().astype("int64") for truths in batch.truths]
    return summarize(
        matches,
        truth_classes,
        classes=network.classes,
        threshold=threshold,
        iou_threshold=iou_threshold,
        points=points,
    )


def _match_batch(
    network: Detector, batch: EvaluationBatch, *, device: torch.device, iou_threshold: float, letter_box: bool
) -> list[Matches]:
    """Return the matches of each picture of a batch."""
    height, width = batch.images.shape[-2:]
    found = network.detect(batch.images.to(device, non_blocking=True), DETECTION_THRESHOLD)
    matches = []
    for index, detections in enumerate(found):
        kept = without_duplicates(
            detections if batch.readable[index] else _nothing(detections),
            network.nms_rule,
            network_size=(width, height) if letter_box else None,
            image_size=batch.sizes[index],
        )
        matches.append(match(kept, batch.truths[index], difficult=batch.difficult[index], iou_threshold=iou_threshold))
    return matches


def _nothing(detections: Detections) -> Detections:
    return Detections(detections.boxes[:0], detections.objectness[:0], detections.probabilities[:0])
