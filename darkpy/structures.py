"""What flows between the parts: mini-batches, detections and what an evaluation found.

Letters: B images, C channels or classes, H rows, W columns, T truths, N detections.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # torch takes seconds, and checks of pictures need none of it
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with a picture or a label that did not stop the run."""

    kind: str  # "image" (unreadable), "label" (missing), "truth" (a bad record), "note"
    path: str  # the picture or label file
    message: str  # one whole line
    code: str = ""  # names the rule that a bad record breaks: "class-id"


@dataclass(frozen=True, slots=True)
class MiniBatch:
    """The images of one forward pass, with their truths."""

    images: "Tensor"  # (B, C, H, W) RGB: uint8, of which a network sees images / 255; by mixup float32 0..1, as is
    truths: "Tensor"  # (B, T, 5) float32: centre x, y, width, height relative to the picture, class; unused rows are 0
    paths: tuple[str, ...]  # B picture paths
    problems: tuple[Problem, ...] = ()

    def pin_memory(self) -> "MiniBatch":
        """Return the same batch in pinned memory; torch's DataLoader calls this."""
        return MiniBatch(self.images.pin_memory(), self.truths.pin_memory(), self.paths, self.problems)


@dataclass(frozen=True, slots=True)
class Detections:
    """What a network found in one picture, in darknet's array order."""

    boxes: "Tensor"  # (N, 4) float32: centre x, y, width, height, relative to the picture
    objectness: "Tensor"  # (N,) float32
    probabilities: "Tensor"  # (N, C) float32: objectness x class score, 0 where not above the threshold

    def __len__(self) -> int:
        return int(self.boxes.shape[0])

    def cpu(self) -> "Detections":
        """Return the same detections in the CPU's memory."""
        return Detections(self.boxes.cpu(), self.objectness.cpu(), self.probabilities.cpu())


@dataclass(frozen=True, slots=True)
class NmsRule:
    """How duplicates are suppressed: the kind and beta of the last detection layer."""

    kind: str = "default"  # default, greedynms or diounms
    beta: float = 0.6


@dataclass(frozen=True, slots=True)
class EvaluationBatch:
    """Pictures of the valid list, resized as darknet's inference does, with their truths."""

    images: "Tensor"  # (B, C, H, W) float32, 0..1, RGB; zeros where the picture is unreadable
    sizes: tuple[tuple[int, int], ...]  # B times (width, height) of the picture, in pixels
    truths: "tuple[Tensor, ...]"  # B times (T, 5) float32: centre x, y, width, height relative to the picture, class
    difficult: "tuple[Tensor, ...]"  # B times (T, 5), as truths; empty without a `difficult` list
    paths: tuple[str, ...]
    readable: tuple[bool, ...]  # False: no detections, its truths count as missed
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class ClassResult:
    """What an evaluation found for one class."""

    average_precision: float  # 0..1
    true_positives: int  # above the confidence threshold
    false_positives: int  # above the confidence threshold
    truths: int


@dataclass(frozen=True, slots=True)
class MapResult:
    """What an evaluation found, with the settings it was measured at. Ratios are 0..1, and 0 where nothing counts."""

    classes: tuple[ClassResult, ...]
    detections: int  # (detection, class) pairs that were ranked
    truths: int
    precision: float
    recall: float
    f1: float
    average_iou: float
    mean_average_precision: float  # over all classes, also those without truths
    threshold: float
    iou_threshold: float
    points: int  # 0: area under the curve

    @property
    def true_positives(self) -> int:
        """Matched detections above the confidence threshold."""
        return sum(result.true_positives for result in self.classes)

    @property
    def false_positives(self) -> int:
        """Other detections above the confidence threshold."""
        return sum(result.false_positives for result in self.classes)

    @property
    def false_negatives(self) -> int:
        """Truths that no detection above the confidence threshold matched."""
        return self.truths - self.true_positives


@dataclass(frozen=True, slots=True)
class PictureResult:
    """What was found in one picture of a list, ready to be written."""

    path: str
    position: int  # in the list, from 0
    size: tuple[int, int]  # width, height in pixels
    detections: Detections  # boxes in pixels, in the CPU's memory


@dataclass(frozen=True, slots=True)
class CocoResult:
    """MS COCO's twelve figures, 0..1, means over the classes with objects of that area; -1 where there is none."""

    average_precision: float  # mean over the IoU thresholds 0.50, 0.55, ... 0.95
    average_precision_50: float  # at IoU 0.50
    average_precision_75: float  # at IoU 0.75
    average_precision_by_area: tuple[float, float, float]  # small, medium, large objects
    average_recall: tuple[float, float, float]  # with the best 1, 10, 100 detections of a picture and class
    average_recall_by_area: tuple[float, float, float]  # small, medium, large objects


@dataclass(frozen=True, slots=True)
class RecallResult:
    """What a class-agnostic evaluation has found so far."""

    pictures: int
    correct: int  # truths that a box overlaps enough
    truths: int
    proposals: int  # boxes after suppression
    iou_sum: float  # of the best IoU of each truth
