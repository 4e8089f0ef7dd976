"""MS COCO's figures beside darknet's mAP, of one pass over the pictures."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator

from torch import Tensor

from darkpy.evaluation.coco import CocoEvaluation
from darkpy.evaluation.evaluator import Detector
from darkpy.evaluation.pixel_detections import VALID_THRESHOLD, above, in_pixels, infinite_boxes
from darkpy.structures import CocoResult, Detections, EvaluationBatch, NmsRule, Problem


class CocoTap:
    """A detector that shows each batch to a COCO evaluation before it hands the detections on.

    COCO's figures are of the detections that `detector valid` writes, so the network is asked for those, which are
    more than darknet's mAP looks at. The unreadable pictures' objects count as missed.

    Args:
        network: The detector.
        letter_box: Whether the pictures were letterboxed.
        on_problem: Called with each problem of a picture.
    """

    def __init__(self, network: Detector, *, letter_box: bool, on_problem: Callable[[Problem], None]) -> None:
        self._network = network
        self._letter_box = letter_box
        self._on_problem = on_problem
        self._evaluation = CocoEvaluation(network.classes)
        self._waiting: deque[EvaluationBatch] = deque()

    @property
    def classes(self) -> int:
        """Number of classes."""
        return self._network.classes

    @property
    def nms_rule(self) -> NmsRule:
        """How duplicates are suppressed."""
        return self._network.nms_rule

    def watch(self, batches: Iterable[EvaluationBatch]) -> Iterator[EvaluationBatch]:
        """Yield the batches, which must come to ``detect`` in this order."""
        for batch in batches:
            self._waiting.append(batch)
            yield batch

    def detect(self, images: Tensor, threshold: float) -> list[Detections]:
        """Return the detections of each picture of the next batch, as the detector would."""
        found = self._network.detect(images, min(threshold, VALID_THRESHOLD))
        batch = self._waiting.popleft()
        height, width = images.shape[-2:]
        for index, detections in enumerate(found):
            path, size = batch.paths[index], batch.sizes[index]
            seen = detections if batch.readable[index] else above(detections, float("inf"))
            problem = infinite_boxes(seen, path)
            if problem:
                self._on_problem(problem)
            kept = in_pixels(
                above(seen, VALID_THRESHOLD),
                self.nms_rule,
                image_size=size,
                network_size=(width, height) if self._letter_box else None,
            )
            self._evaluation.add(kept, batch.truths[index], image_size=size)
        return [above(one, threshold) for one in found]

    def result(self) -> CocoResult:
        """Return COCO's figures of the batches so far."""
        return self._evaluation.result()
