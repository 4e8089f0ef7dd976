"""The training loop.  Source: darknet src/detector.c, train_detector; src/network.c, train_network_waitkey.

One iteration is ``subdivisions`` mini-batches forward and backward, then one weight update. The trainer knows nothing
of files, pictures or memory: mini-batches, mAP and saving are handed to it, and every step runs in a given context.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor

from darkpy.engine.optimizer import DarknetUpdate
from darkpy.engine.schedule import CheckpointSchedule, MapSchedule, PlannedIteration, learning_rate
from darkpy.errors import TrainingError
from darkpy.events import (
    BatchLoaded,
    BoxesCounted,
    HeadTrained,
    IterationTrained,
    MapMeasured,
    NetworkResized,
    Note,
    Sink,
    TrainingEnded,
)
from darkpy.layers._base import StepKey
from darkpy.layers._head import HeadLoss
from darkpy.network import Network
from darkpy.structures import MiniBatch, Problem

_LARGEST_RATE = 1e30  # far beyond any use, and within float32
_PATIENCE = 3  # iterations in a row without a finite loss before a run is given up
_SMOOTHING = 0.1  # of the running loss
_ETA_SMOOTHING = 0.01


@dataclass(frozen=True, slots=True)
class Callbacks:
    """What a run does beside training."""

    emit: Sink
    save: Callable[[str], None]  # writes the weights file with this suffix
    measure_map: Callable[[], float]  # mAP of the network as it stands, 0..1
    should_stop: Callable[[], bool]  # asked after each iteration
    on_problem: Callable[[Problem], None]  # pictures and labels that are not as they should be


@dataclass(frozen=True, slots=True)
class _Step:
    """What one iteration's mini-batches gave."""

    loss: float  # per image
    waited_s: float  # for pictures
    paths: tuple[str, ...]


class Trainer:
    """Trains a network.

    Args:
        network: In training mode, on its device.
        batches: Mini-batches in order: ``subdivisions`` for each planned iteration.
        callbacks: See there.
        maps: When mAP is measured.
        checkpoints: When weights are saved.
        seed: Key of random draws in layers.
        iou_threshold: Of mAP, for the printed lines.
        coefficient: Of multi-scale training, for the printed lines.
        around_step: Entered around forward and backward of every mini-batch.
    """

    def __init__(
        self,
        network: Network,
        batches: Iterator[MiniBatch],
        callbacks: Callbacks,
        *,
        maps: MapSchedule,
        checkpoints: CheckpointSchedule,
        seed: int,
        iou_threshold: float = 0.5,
        coefficient: float = 0.0,
        around_step: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        self.network = network
        self.batches = batches
        self.callbacks = callbacks
        self.maps = maps
        self.checkpoints = checkpoints
        self.seed = seed
        self.iou_threshold = iou_threshold
        self.coefficient = coefficient
        self.around_step = around_step
        self.update = DarknetUpdate(network)
        self.device = next(network.parameters()).device
        self.iteration = 0  # completed
        self.average_loss = -1.0
        self.best_map = -1.0
        self.last_map = -1.0
        self._map_iteration = 0
        self._boxes = 0
        self._rewritten = 0
        self._failures = 0
        self._hours_left = -1.0
        self._statistics: list[Tensor] = []

    def run(self, plan: Iterator[PlannedIteration], *, start: int) -> bool:
        """Train to the plan's end.

        Args:
            plan: The iterations.
            start: Iterations that were completed before.

        Returns:
            Whether the run was stopped before its end.

        Raises:
            TrainingError: If the loss is no number several times in a row; the weights before that are saved.
        """
        self.iteration = self._map_iteration = start
        interrupted = False
        for planned in plan:
            began = time.monotonic()
            if planned.is_new_size:
                self.callbacks.emit(NetworkResized(planned.width, planned.height, self.coefficient))
            step = self._train(planned)
            self.iteration = planned.completed + 1
            self._update(step)
            self._report(step, began)
            self._measure_map()
            self._estimate(began)
            for suffix in self.checkpoints.due(self.iteration):
                self.callbacks.save(suffix)
            if self.callbacks.should_stop():
                interrupted = self.iteration < self.network.net.max_batches
                break
        if interrupted:
            self.callbacks.save("last")
        self.callbacks.emit(TrainingEnded(self.iteration, interrupted))
        return interrupted

    # --- one iteration ----------------------------------------------------------------------------------------------

    def _train(self, planned: PlannedIteration) -> _Step:
        """Run forward and backward for the iteration's mini-batches; gradients add up."""
        net = self.network.net
        self._statistics = [buffer.clone() for buffer in self.network.buffers()]
        figures: list[tuple[int, Tensor]] = []
        paths: list[str] = []
        waited = 0.0
        for subdivision in range(net.subdivisions):
            asked = time.monotonic()
            batch = next(self.batches)
            waited += time.monotonic() - asked
            for problem in batch.problems:
                self.callbacks.on_problem(problem)
            paths += batch.paths
            self.network.begin(StepKey(self.seed, planned.completed, subdivision * net.mini_batch))
            with self.around_step():
                losses = self.network.losses(
                    _to_device(batch.images, self.device),
                    _used_rows(batch.truths).to(self.device, non_blocking=True),
                    completed_iterations=planned.completed,
                )
            figures += [(index, _scalars(loss)) for index, loss in losses.items()]
        cost = self._announce(figures)
        heads = max(len(self.network.head_indices), 1)
        return _Step(cost / heads / net.images_per_iteration, waited, tuple(paths))

    def _announce(self, figures: list[tuple[int, Tensor]]) -> float:
        """Emit the figures of every head and mini-batch; return the sum of costs. Waits for the device once."""
        if not figures:
            return 0.0
        table = torch.stack([scalars for _, scalars in figures]).cpu().tolist()
        heads = len(self.network.head_indices)
        for position, ((index, _), row) in enumerate(zip(figures, table, strict=True), start=1):
            _, average_iou, count, class_loss, iou_loss, total_loss, rewritten, assigned = row
            head = self.network.head(index)
            self.callbacks.emit(
                HeadTrained(
                    layer=index,
                    loss_name=head.loss_name,
                    normalizers=head.normalizers,
                    average_iou=average_iou,
                    count=int(count),
                    class_loss=class_loss,
                    iou_loss=iou_loss,
                    total_loss=total_loss,
                    detailed=head.detailed,
                )
            )
            self._boxes += int(assigned)
            self._rewritten += int(rewritten)
            if position % heads == 0 and self._boxes:
                self.callbacks.emit(BoxesCounted(self._boxes, self._rewritten))
        return math.fsum(row[0] for row in table)

    def _update(self, step: _Step) -> None:
        """Update the weights, unless the loss or a gradient is no number."""
        net = self.network.net
        if math.isfinite(step.loss) and self.update.is_finite():
            self._failures = 0
            rate = learning_rate(net, self.iteration, seed=self.seed)
            if not abs(rate) <= _LARGEST_RATE:
                self._save_good_weights()
                raise TrainingError(
                    f"iteration {self.iteration}: the learning rate is {rate:g}. Mend policy={net.policy} in [net], or "
                    "its scale, scales, gamma or power."
                )
            self.update.step(rate=rate, images=net.images_per_iteration)
            return
        self.update.clear()
        for buffer, before in zip(self.network.buffers(), self._statistics, strict=True):
            buffer.copy_(before)
        self._failures += 1
        what = f"loss is {step.loss}" if not math.isfinite(step.loss) else "a gradient is no finite number"
        self.callbacks.emit(
            Note(f"iteration {self.iteration}: {what}; its update is left out. Pictures: {', '.join(step.paths)}")
        )
        if self._failures >= _PATIENCE:
            failed = self.iteration
            kept = self._save_good_weights()
            raise TrainingError(
                f"iteration {failed}: no finite loss in {_PATIENCE} iterations in a row; the weights of "
                f"iteration {failed - _PATIENCE} are {kept}. Lower learning_rate={net.learning_rate:g}, or set "
                f"burn_in (now {net.burn_in}) to 1000."
            )

    def _save_good_weights(self) -> str:
        """Write the _last file, unless the weights are no numbers: an older file is then the better one."""
        if not self.update.has_finite_weights():
            return "no finite numbers, and not saved"
        self.iteration -= self._failures  # the file tells how many iterations trained it
        self.callbacks.save("last")
        return "saved as _last"

    def _report(self, step: _Step, began: float) -> None:
        net = self.network.net
        emit = self.callbacks.emit
        emit(BatchLoaded(step.waited_s, self.average_loss > 0))
        if self.average_loss < 0 or not math.isfinite(self.average_loss):
            self.average_loss = step.loss
        if math.isfinite(step.loss):
            self.average_loss = (1 - _SMOOTHING) * self.average_loss + _SMOOTHING * step.loss
        emit(
            IterationTrained(
                iteration=self.iteration,
                max_batches=net.max_batches,
                loss=step.loss,
                average_loss=self.average_loss,
                rate=learning_rate(net, self.iteration, seed=self.seed),
                seconds=time.monotonic() - began - step.waited_s,
                images=self.iteration * net.images_per_iteration,
                hours_left=self._hours_left,
                next_map=self.maps.next_after(self._map_iteration) if self.maps.every else None,
                last_map=self.last_map,
                best_map=self.best_map,
                iou_threshold=self.iou_threshold,
            )
        )

    def _measure_map(self) -> None:
        if not self.maps.is_due(self.iteration, last=self._map_iteration):
            return
        self._map_iteration = self.iteration
        if self.coefficient:
            net = self.network.net
            self.callbacks.emit(NetworkResized(net.width, net.height, self.coefficient, is_initial=True))
        self.network.eval()
        self.last_map = self.callbacks.measure_map()
        self.network.train()
        is_best = self.last_map >= self.best_map
        self.best_map = max(self.best_map, self.last_map)
        self.callbacks.emit(MapMeasured(self.iteration, self.last_map, self.iou_threshold, is_best))
        if is_best:
            self.callbacks.save("best")

    def _estimate(self, began: float) -> None:
        """Update the hours left from the time of this iteration, mAP included."""
        remaining = (self.network.net.max_batches - self.iteration) * (time.monotonic() - began) / 3600
        if self._hours_left < 0:
            self._hours_left = remaining
        else:
            self._hours_left += _ETA_SMOOTHING * (remaining - self._hours_left)


def _used_rows(truths: Tensor) -> Tensor:
    """Return the truths (B, T, 5) without rows that no picture uses: the loss compares every anchor with every row."""
    return truths[:, : max(int((truths[..., 0] != 0).sum(1).max()), 1)]


def _to_device(images: Tensor, device: torch.device) -> Tensor:
    """Return (B, C, H, W) float32 in 0..1, in the memory order that suits the device, for bytes in the same shape."""
    images = images.to(device, non_blocking=True)
    order = torch.channels_last if device.type == "cpu" else torch.contiguous_format
    return images.to(torch.float32, memory_format=order).div_(255)


def _scalars(loss: HeadLoss) -> Tensor:
    """Return the figures as one (8,) tensor on the device; the delta, by far the largest part, is left behind."""
    figures = (
        loss.cost,
        loss.average_iou,
        loss.count,
        loss.class_loss,
        loss.iou_loss,
        loss.total_loss,
        loss.rewritten,
        loss.assigned,
    )
    return torch.stack([figure.float() for figure in figures])
