"""The training loop.  Source: darknet src/detector.c, train_detector; src/network.c, train_network_waitkey.

One iteration is ``subdivisions`` mini-batches forward and backward, then one weight update. The trainer knows nothing
of files, pictures or memory: mini-batches, mAP and saving are handed to it, and every step runs in a given context.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass

import torch
from torch import Tensor

from darkpy.engine.optimizer import DarknetUpdate
from darkpy.engine.progress import Progress
from darkpy.engine.schedule import CheckpointSchedule, MapSchedule, PlannedIteration, Position, learning_rate
from darkpy.engine.step import Step, train_step
from darkpy.engine.training_keys import TrainingKeys
from darkpy.errors import TrainingError, WeightsError
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
from darkpy.memory.resting import Rest
from darkpy.network import Network
from darkpy.state import RunState
from darkpy.structures import MiniBatch, Problem

_LARGEST_RATE = 1e30  # far beyond any use, and within float32
_PATIENCE = 3  # iterations in a row without a finite loss before a run is given up


@dataclass(frozen=True, slots=True)
class Callbacks:
    """What a run does beside training."""

    emit: Sink
    save: Callable[[str], None]  # writes the weights file with this suffix; a WeightsError is told, and not the end
    measure_map: Callable[[], float]  # mAP of the network as it stands, 0..1
    should_stop: Callable[[], bool]  # asked after each iteration
    on_problem: Callable[[Problem], None]  # pictures and labels that are not as they should be


class Trainer:
    """Trains a network.

    Args:
        network: In training mode, on its device.
        callbacks: See there.
        position: Where the run begins; ``restore`` overrides it.
        maps: For the printed lines: when mAP is measured.
        checkpoints: When weights are saved.
        seed: Key of random draws in layers.
        iou_threshold: Of mAP, for the printed lines.
        coefficient: Of multi-scale training, for the printed lines.
        around_step: Entered around forward and backward of every mini-batch.
        rest: As of ``DarknetUpdate``.
    """

    def __init__(
        self,
        network: Network,
        callbacks: Callbacks,
        *,
        position: Position,
        maps: MapSchedule,
        checkpoints: CheckpointSchedule,
        seed: int,
        iou_threshold: float = 0.5,
        coefficient: float = 0.0,
        around_step: Callable[[], AbstractContextManager[object]] = nullcontext,
        rest: Callable[[Tensor], Rest] | None = None,
    ) -> None:
        self.network = network
        self.callbacks = callbacks
        self.position = position
        self.maps = maps
        self.checkpoints = checkpoints
        self.seed = seed
        self.iou_threshold = iou_threshold
        self.coefficient = coefficient
        self.around_step = around_step
        self.update = DarknetUpdate(network, rest=rest)
        self.keys = TrainingKeys(network, callbacks.emit, seed=seed)
        self.progress = Progress(iteration=position.completed)
        self._is_exact = True  # whether state() tells all
        self._statistics: list[Tensor] = []

    @property
    def iteration(self) -> int:
        """Iterations that trained the weights."""
        return self.progress.iteration

    def run(self, plan: Iterator[PlannedIteration], batches: Iterator[MiniBatch]) -> bool:
        """Train to the plan's end.

        Args:
            plan: The iterations, from ``position`` on.
            batches: Mini-batches in order: ``subdivisions`` for each planned iteration.

        Returns:
            Whether the run was stopped before its end; the weights are then still to be saved.

        Raises:
            TrainingError: If the loss is no number several times in a row; the weights before that are saved.
        """
        interrupted = False
        for note in self.keys.notes():
            self.callbacks.emit(Note(note))
        for planned in plan:
            began = time.monotonic()
            if planned.is_new_size:
                self.callbacks.emit(NetworkResized(planned.width, planned.height, self.coefficient))
            self._is_exact = False
            self._iterate(planned, batches, began)
            if planned.measures_map:
                self._measure_map()
            self.position = planned.after
            left = self.network.net.max_batches - self.iteration
            self.progress.estimate(time.monotonic() - began, iterations_left=left)
            self._is_exact = True
            for suffix in self.checkpoints.due(self.iteration):
                self._save(suffix)
            if self.callbacks.should_stop():
                interrupted = self.iteration < self.network.net.max_batches
                break
        self.callbacks.emit(TrainingEnded(self.iteration, interrupted))
        return interrupted

    def save_average(self) -> None:
        """Save the average of weights that ``ema_alpha`` asks for, if it has begun.

        Raises:
            WeightsError: If it cannot be written.
        """
        if self.keys.average.has_begun:
            with self.keys.average.in_network():
                self.callbacks.save("ema")

    # --- what a later process needs ---------------------------------------------------------------------------------

    def state(self) -> RunState | None:
        """Return all that the iterations to come depend on beside weights and seed; None in the midst of one.

        The arrays are no copies: the next iteration changes them.
        """
        if not self._is_exact:
            return None
        figures = {
            "progress": asdict(self.progress),
            "position": asdict(self.position),
        }
        tensors = {**self.update.state(), **self.keys.state()}
        return RunState(figures, {name: value.detach().cpu().numpy() for name, value in tensors.items()})

    def restore(self, state: RunState) -> None:
        """Go on where ``state`` was taken. The weights of that moment must be in the network.

        Raises:
            ValueError: If the state belongs to another network or another version; nothing is changed then.
        """
        try:
            progress = Progress(**state.figures["progress"])
            position = Position(**state.figures["position"])
        except (KeyError, TypeError) as error:
            raise ValueError(f"figures are missing or unknown: {error}") from error
        tensors = {name: torch.from_numpy(array) for name, array in state.arrays.items()}
        self.keys.check(tensors)
        self.update.restore(tensors)
        self.keys.restore(tensors)
        self.progress, self.position = progress, position

    # --- one iteration ----------------------------------------------------------------------------------------------

    def _iterate(self, planned: PlannedIteration, batches: Iterator[MiniBatch], began: float) -> None:
        """Train one iteration and tell of it."""
        self._statistics = [buffer.clone() for buffer in self.network.buffers()]
        step = train_step(
            self.network,
            batches,
            planned,
            keys=self.keys,
            seed=self.seed,
            around_step=self.around_step,
            on_problem=self.callbacks.on_problem,
        )
        self._tell_heads(step)
        heads = max(len(self.network.head_indices), 1)
        cost = math.fsum(figures.cost for figures in step.figures)
        loss = cost / heads / self.network.net.images_per_iteration
        self.progress.iteration = planned.completed + 1
        self._update(step, loss)
        self.keys.after_update(self.iteration)
        self._report(step, loss, began)

    def _tell_heads(self, step: Step) -> None:
        """Emit the figures of every head and mini-batch."""
        heads, progress = len(self.network.loss_indices), self.progress
        for number, found in enumerate(step.figures, start=1):
            head = self.network.head(found.layer)
            self.callbacks.emit(
                HeadTrained(
                    layer=found.layer,
                    loss_name=head.loss_name,
                    normalizers=head.normalizers,
                    average_iou=found.average_iou,
                    count=found.count,
                    class_loss=found.class_loss,
                    iou_loss=found.iou_loss,
                    total_loss=found.total_loss,
                    detailed=head.detailed,
                )
            )
            progress.boxes += found.assigned
            progress.rewritten += found.rewritten
            if number % heads == 0 and progress.boxes:
                self.callbacks.emit(BoxesCounted(progress.boxes, progress.rewritten))

    def _update(self, step: Step, loss: float) -> None:
        """Update the weights, unless the loss or a gradient is no number."""
        net = self.network.net
        if math.isfinite(loss) and self.update.is_finite():
            self.progress.failures = 0
            rate = learning_rate(net, self.iteration, seed=self.seed)
            if not abs(rate) <= _LARGEST_RATE:
                failed = self.iteration
                self.progress.failures = 1  # its update is not in the weights
                self._save_good_weights()
                raise TrainingError(
                    f"iteration {failed}: the learning rate is {rate:g}. Mend policy={net.policy} in [net], or "
                    "its scale, scales, gamma or power."
                )
            self.update.step(rate=rate, images=net.images_per_iteration, iteration=self.iteration)
            return
        self.update.clear()
        for buffer, before in zip(self.network.buffers(), self._statistics, strict=True):
            buffer.copy_(before)
        self.progress.failures += 1
        what = f"loss is {loss}" if not math.isfinite(loss) else "a gradient is no finite number"
        self.callbacks.emit(
            Note(
                f"iteration {self.iteration}: {what}; its update is left out, and momentum begins anew. "
                f"Pictures: {', '.join(step.paths)}"
            )
        )
        if self.progress.failures >= _PATIENCE:
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
        self.progress.iteration -= self.progress.failures  # the file tells how many iterations trained it
        return "saved as _last" if self._save("last") else "not saved"

    def _save(self, suffix: str) -> bool:
        """Save; a failure is told, and the run goes on: the next save may succeed."""
        if not self.update.has_finite_weights():
            text = f"Warning: iteration {self.iteration}: the weights are no finite numbers; _{suffix} is not written."
            self.callbacks.emit(Note(text))
            return False
        try:
            self.callbacks.save(suffix)
            if suffix == "last":
                self.save_average()
        except WeightsError as error:
            self.callbacks.emit(Note(f"Warning: {error} Training goes on; the next save tries again."))
            return False
        return True

    def _report(self, step: Step, loss: float, began: float) -> None:
        net, progress = self.network.net, self.progress
        emit = self.callbacks.emit
        emit(BatchLoaded(step.waited_s, progress.average_loss > 0))
        progress.add_loss(loss)
        emit(
            IterationTrained(
                iteration=self.iteration,
                max_batches=net.max_batches,
                loss=loss,
                average_loss=progress.average_loss,
                rate=learning_rate(net, self.iteration, seed=self.seed),
                seconds=time.monotonic() - began - step.waited_s,
                images=self.iteration * net.images_per_iteration,
                hours_left=progress.hours_left,
                next_map=self.maps.next_after(self.position.last_map) if self.maps.every else None,
                last_map=progress.last_map,
                best_map=progress.best_map,
                iou_threshold=self.iou_threshold,
            )
        )

    def _measure_map(self) -> None:
        if self.coefficient:
            net = self.network.net
            self.callbacks.emit(NetworkResized(net.width, net.height, self.coefficient, is_initial=True))
        self.network.eval()
        measured = self.callbacks.measure_map()
        self.network.train()
        is_best = self.progress.add_map(measured)
        self.callbacks.emit(MapMeasured(self.iteration, measured, self.iou_threshold, is_best))
        if is_best:
            self._save("best")
