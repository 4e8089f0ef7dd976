"""mAP of a network over batches of pictures.  Source: darknet src/detector.c, validate_detector_map."""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import torch
from torch import Tensor

from darkpy.boxes import from_letterbox, suppress_each
from darkpy.data.image import letterbox_size
from darkpy.evaluation.average_precision import summarize
from darkpy.evaluation.matching import Matches, match_each
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
    sizes = [image_size] if image_size else None
    return without_duplicates_each([found], rule, network_size=network_size, image_sizes=sizes)


def without_duplicates_each(
    found: Sequence[Detections],
    rule: NmsRule,
    *,
    network_size: tuple[int, int] | None = None,
    image_sizes: Sequence[tuple[int, int]] | None = None,
) -> Detections:
    """Do what ``without_duplicates`` does for several pictures, and return all detections, picture after picture.

    They leave the device in one piece, for it to be waited for only once.

    Args:
        found: Those of each picture, at least one.
        rule: As for ``without_duplicates``.
        network_size: As for ``without_duplicates``.
        image_sizes: (width, height) of each picture in pixels, needed with ``network_size``.
    """
    boxes = [one.boxes for one in found]
    if network_size and image_sizes:
        boxes = [
            from_letterbox(one, fitted_size=_fitted(size, network_size), network_size=network_size)
            for one, size in zip(boxes, image_sizes, strict=True)
        ]
    parts = [
        torch.cat([box, one.objectness.unsqueeze(1), one.probabilities], dim=1)
        for box, one in zip(boxes, found, strict=True)
    ]
    table = torch.cat(parts).cpu()
    order, kept = suppress_each(
        table[:, :4],
        table[:, 5:],
        [len(one) for one in found],
        threshold=NMS_THRESHOLD,
        kind=rule.kind,
        beta=rule.beta,
    )
    table = table.index_select(0, order)
    return Detections(table[:, :4], table[:, 4], kept)


def _fitted(image_size: tuple[int, int], network_size: tuple[int, int]) -> tuple[int, int]:
    return letterbox_size(*image_size, width=network_size[0], height=network_size[1])


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
        matches.append(_match_batch(network, batch, device=device, iou_threshold=iou_threshold, letter_box=letter_box))
        truth_classes.append(torch.cat(batch.truths)[:, 4].numpy().astype("int64"))
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
) -> Matches:
    """Return the matches of a batch, as if it were one picture."""
    height, width = batch.images.shape[-2:]
    found = network.detect(batch.images.to(device, non_blocking=True), DETECTION_THRESHOLD)
    found = [one if is_readable else _nothing(one) for one, is_readable in zip(found, batch.readable, strict=True)]
    kept = without_duplicates_each(
        found, network.nms_rule, network_size=(width, height) if letter_box else None, image_sizes=batch.sizes
    )
    counts = [len(one) for one in found]
    return match_each(kept, counts, batch.truths, difficult=batch.difficult, iou_threshold=iou_threshold)


def _nothing(detections: Detections) -> Detections:
    return Detections(detections.boxes[:0], detections.objectness[:0], detections.probabilities[:0])
