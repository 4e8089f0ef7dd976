"""Deltas that are set to 0 because they are far larger, or smaller, than usual: bad labels, and what is learnt already.

``num_sigmas_reject_badlabels`` and ``badlabels_rejection_percentage`` act in the last quarter of a run,
``equidistant_point`` after that iteration. All heads share the rolling figures; each mini-batch moves them.
Source: darknet src/yolo_layer.c, forward_yolo_layer.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from darkpy.cfg.net import NetSpec
from darkpy.engine._state import check_tensors, restore_tensors

_KEPT, _NEW = 0.99, 0.01  # of a rolling figure, at each mini-batch
_STEP = 0.01  # of the percentage's threshold
_EQUIDISTANT = 1.4  # times the rolling mean, at the end of the run


class OutlierFilter:
    """Takes outliers out of the heads' deltas.

    Args:
        net: The keys and max_batches.
        device: Where the deltas are.
    """

    def __init__(self, net: NetSpec, device: torch.device) -> None:
        self.net = net
        self.start = net.max_batches * 3 // 4
        self.completed = 0
        # Largest, mean and standard deviation of |delta|, rolling; threshold of the percentage. 0: not met yet.
        self._largest, self._mean, self._deviation, self._threshold = torch.zeros(4, device=device).unbind()
        self._lines: list[tuple[str, Tensor]] = []

    def begin(self, completed: int) -> None:
        """Name the completed iterations, on which everything depends."""
        self.completed = completed

    @property
    def _is_late(self) -> bool:
        return self.completed > self.start

    @property
    def _is_equidistant(self) -> bool:
        return bool(self.net.equidistant_point) and self.completed > self.net.equidistant_point

    @property
    def is_active(self) -> bool:
        """Whether anything may be taken out in this iteration."""
        net = self.net
        rejects = bool(net.badlabels_rejection_percentage or net.num_sigmas_reject_badlabels)
        return (rejects and self._is_late) or self._is_equidistant

    @torch.no_grad()
    def __call__(self, delta: Tensor) -> Tensor:
        """Return the deltas (B, A, 5 + C) of a head and mini-batch without outliers. Waits for no device."""
        if not self.is_active:
            return delta
        progress = self._progress()
        smallest = self._mean * progress * _EQUIDISTANT
        self._roll(delta)
        if self.net.num_sigmas_reject_badlabels and self._is_late:
            delta, usual = self._without_large(delta)
            smallest = torch.minimum(usual, self._mean) * progress
        if self.net.badlabels_rejection_percentage and self._is_late:
            delta = self._without_share(delta)
        if self._is_equidistant:
            point = self.net.equidistant_point
            self._say(
                f" equidistant_point loss_threshold = %f, start_it = {point}, progress = {progress * 100:3.1f} %% ",
                smallest,
            )
            delta = torch.where(delta.abs() < smallest, 0, delta)
        return delta

    def _progress(self) -> float:
        """Return how far the run is from the equidistant point (0) to its end (1); 0 before it."""
        point, end = self.net.equidistant_point, self.net.max_batches
        return (self.completed - point) / (end - point) if self._is_equidistant and end > point else 0.0

    def _roll(self, delta: Tensor) -> None:
        """Move the rolling maximum and mean."""
        size = delta.abs()
        largest = size.max()
        first = torch.where(self._largest == 0, largest, self._largest)
        self._set(self._largest, first * _KEPT + largest * _NEW)
        self._set(self._mean, self._mean * _KEPT + size.sum() / (delta != 0).sum() * _NEW)

    def _set(self, figure: Tensor, value: Tensor) -> None:
        """Move a rolling figure; it stays where no delta is left to move it, or one is no number."""
        figure.copy_(torch.where(value.isfinite(), value, figure))

    def _without_large(self, delta: Tensor) -> tuple[Tensor, Tensor]:
        """Return the deltas without those beyond so many standard deviations, and the limit at the run's end."""
        progress = (self.completed - self.start) / self.start
        usual = self._mean + self._deviation * self.net.num_sigmas_reject_badlabels
        limit = torch.maximum(usual, self._largest - progress * (self._largest - usual).abs())
        self._say(" rolling_std = %f, rolling_max = %f, rolling_avg = %f ", self._deviation, self._largest, self._mean)
        self._say(
            f" badlabels loss_threshold = %f, start_it = {self.start}, progress = {progress * 100:f} ",
            limit,
        )
        is_there = delta != 0
        squares = torch.where(is_there, (delta - self._mean).square(), 0).sum()  # of the signed delta, as in darknet
        self._set(self._deviation, self._deviation * _KEPT + (squares / is_there.sum()).sqrt() * _NEW)
        return torch.where(delta.abs() > limit, 0, delta), usual

    def _without_share(self, delta: Tensor) -> Tensor:
        """Return the deltas without those above a threshold that follows the wanted percentage."""
        wanted = self.net.badlabels_rejection_percentage
        threshold = torch.where(self._threshold == 0, self._largest, self._threshold)
        is_far = delta.abs() > threshold
        percent = 100 * is_far.sum() * delta.shape[-1] / (delta != 0).sum()
        lower = torch.where(threshold > _STEP, threshold - _STEP, threshold)
        moved = torch.where(percent > wanted, threshold + _STEP, lower)
        self._say(" badlabels_reject_threshold = %f ", threshold)
        self._say("%+f", moved - threshold)
        self._say(
            f" badlabels_reject_threshold = %f, cur_percent = %f, badlabels_rejection_percentage = {wanted:f}, "
            "delta_rolling_max = %f ",
            moved,
            percent,
            self._largest,
        )
        self._threshold.copy_(moved)
        return torch.where(is_far, 0, delta)

    def _say(self, pattern: str, *figures: Tensor) -> None:
        """Keep a line until its figures are asked for; they are still on their way on a GPU."""
        self._lines.append((pattern, torch.stack(figures)))

    def lines(self) -> list[str]:
        """Return the lines since the last call. Waits for the device once, if there are any."""
        if not self._lines:
            return []
        values = iter(torch.cat([figures for _, figures in self._lines]).cpu().tolist())
        lines = [pattern % tuple(next(values) for _ in figures) for pattern, figures in self._lines]
        self._lines.clear()
        return [_CHANGES.get(line[:1], line) for line in lines if line != "+0.000000"]

    def state(self) -> dict[str, Tensor]:
        """Return the rolling figures by name."""
        return {
            "outliers.largest": self._largest,
            "outliers.mean": self._mean,
            "outliers.deviation": self._deviation,
            "outliers.threshold": self._threshold,
        }

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Take over what ``state`` returned.

        Raises:
            ValueError: If a figure is missing.
        """
        restore_tensors(self.state(), state)

    def check(self, state: Mapping[str, Tensor]) -> None:
        """Refuse a state that ``restore`` would refuse."""
        check_tensors(self.state(), state)


_CHANGES = {"+": " increase!!! ", "-": " decrease!!! "}  # of the percentage's threshold
