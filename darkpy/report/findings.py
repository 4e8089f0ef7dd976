"""Which detections are shown, and under which names.  Source: darknet src/image.c, get_actual_detections."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from darkpy.structures import Detections

HIDDEN = "dont_show"  # a name that begins so is never a best class


@dataclass(frozen=True, slots=True)
class Finding:
    """A detection to show."""

    box: NDArray[np.float32]  # (4,) centre x, centre y, width, height relative to the picture
    best: int  # class
    confidence: np.float32  # of the best class
    others: tuple[tuple[int, np.float32], ...]  # further classes above the threshold, in class order, and confidence


def select(detections: Detections, names: Sequence[str], *, threshold: float) -> list[Finding]:
    """Return the detections with a shown class above the threshold, in array order.

    Args:
        detections: N detections in the CPU's memory, boxes relative to the picture.
        names: One name for each class, or more.
        threshold: The best class is above this.
    """
    probabilities = detections.probabilities.numpy()
    if not len(probabilities):
        return []
    shown = np.array([not name.startswith(HIDDEN) for name in names[: probabilities.shape[1]]])
    best = np.where(shown, probabilities, np.float32(0)).argmax(axis=1)
    above = (probabilities > np.float32(threshold)) & (probabilities > 0)
    chosen = np.nonzero(above[np.arange(len(best)), best] & shown[best])[0]
    boxes = detections.boxes.numpy()
    return [
        Finding(
            box=boxes[row],
            best=int(best[row]),
            confidence=probabilities[row, best[row]],
            others=tuple(
                (int(index), probabilities[row, index]) for index in np.nonzero(above[row])[0] if index != best[row]
            ),
        )
        for row in chosen
    ]
