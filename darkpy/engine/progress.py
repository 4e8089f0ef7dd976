"""How far a run is, in figures that can be stored."""

import math
from dataclasses import dataclass

_SMOOTHING = 0.1  # of the running loss
_ETA_SMOOTHING = 0.01


@dataclass(slots=True)
class Progress:
    """What a run knows besides its weights, momentum and place in the plan."""

    iteration: int = 0  # completed, and trained into the weights
    average_loss: float = -1.0  # of an image; below 0 before the first iteration
    best_map: float = -1.0  # 0..1; -1 until measured
    last_map: float = -1.0
    boxes: int = 0  # truths assigned to anchors since the run began
    rewritten: int = 0
    failures: int = 0  # iterations in a row without a finite loss
    hours_left: float = -1.0

    def add_loss(self, loss: float) -> None:
        """Let the running loss follow."""
        if self.average_loss < 0 or not math.isfinite(self.average_loss):
            self.average_loss = loss
        if math.isfinite(loss):
            self.average_loss = (1 - _SMOOTHING) * self.average_loss + _SMOOTHING * loss

    def add_map(self, value: float) -> bool:
        """Take note of a mAP (0..1); return whether it is the best so far, ties included."""
        self.last_map = value
        is_best = value >= self.best_map
        self.best_map = max(self.best_map, value)
        return is_best

    def estimate(self, seconds: float, *, iterations_left: int) -> None:
        """Update the hours left from the time that one iteration took, mAP included."""
        remaining = iterations_left * seconds / 3600
        if self.hours_left < 0:
            self.hours_left = remaining
        else:
            self.hours_left += _ETA_SMOOTHING * (remaining - self.hours_left)
