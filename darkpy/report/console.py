"""Training events -> darknet's lines: the ones that scripts parse on stdout, heads, saves and notes on stderr.

Source: darknet src/detector.c, train_detector; src/yolo_layer.c. The escape codes that clear the screen before a status
line and the bell after it are left out, so that nothing printed is lost.
"""

import sys
from typing import TextIO

from darkpy.events import (
    BatchLoaded,
    BoxesCounted,
    Event,
    HeadTrained,
    IterationTrained,
    Line,
    MapMeasured,
    NetworkResized,
    Note,
    TrainingEnded,
    WeightsSaved,
)

_SLOW_LOAD_S = 0.1  # above it darknet calls the loader a bottleneck


class Console:
    """An event sink that prints.

    Args:
        out: For darknet's lines; stdout by default.
        err: For everything else; stderr by default.
    """

    def __init__(self, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self.out = out or sys.stdout
        self.err = err or sys.stderr

    def __call__(self, event: Event) -> None:
        """Print an event."""
        match event:
            case Note() | Line():
                show = self._note if isinstance(event, Note) else self._print
                show(event.text)
            case NetworkResized():
                self._print(resize_lines(event))
            case BatchLoaded():
                slow = event.seconds > _SLOW_LOAD_S and event.after_first
                tail = " - performance bottleneck on CPU or Disk HDD/SSD" if slow else ""
                self._print(f"Loaded: {event.seconds:f} seconds{tail}")
            case HeadTrained():
                self._note(head_line(event))
            case BoxesCounted():
                share = 100 * event.rewritten / event.total
                self._note(f" total_bbox = {event.total}, rewritten_bbox = {share:f} % ")
            case IterationTrained():
                self._print(iteration_lines(event))
            case MapMeasured():
                value = f"{event.mean_average_precision:f}"
                best = "\nNew best mAP!" if event.is_best else ""
                self._print(f"\n mean_average_precision (mAP@{event.iou_threshold:.2f}) = {value} {best}")
            case WeightsSaved():
                self._note(f"Saving weights to {event.path}")
            case TrainingEnded():
                self._end(event)

    def _end(self, event: TrainingEnded) -> None:
        if event.interrupted:
            self._note(
                f"Stopped after iteration {event.iteration}. The same command with the _last.weights goes on from here."
            )
        else:
            advice = "If you want to train from the beginning, then use flag in the end of training command: -clear "
            self._print(advice)

    def _print(self, text: str) -> None:
        print(text, file=self.out, flush=True)

    def _note(self, text: str) -> None:
        print(text, file=self.err, flush=True)


def resize_lines(event: NetworkResized) -> str:
    """Return the lines of a new network size."""
    size = f"{event.width} x {event.height} "
    if event.is_initial:
        return f"Resizing to initial size: {size}"
    return f"Resizing, random_coef = {event.coefficient:.2f} \n\n {size}"


def head_line(event: HeadTrained) -> str:
    """Return the line of one detection head for one mini-batch."""
    iou, objectness, kind = event.normalizers
    head = (
        f"v3 ({event.loss_name} loss, Normalizer: (iou: {iou:.2f}, obj: {objectness:.2f}, cls: {kind:.2f}) "
        f"Region {event.layer} Avg (IOU: {event.average_iou:f}), count: {event.count}, "
    )
    parts = f"class_loss = {event.class_loss:f}, iou_loss = {event.iou_loss:f}, " if event.detailed else ""
    return f"{head}{parts}total_loss = {event.total_loss:f} "


def iteration_lines(event: IterationTrained) -> str:
    """Return the status and the iteration line."""
    lines = ""
    if event.next_map is not None:
        lines += f"\n (next mAP calculation at {event.next_map} iterations) "
    status = f"{event.iteration}/{event.max_batches}: loss={event.loss:0.1f} "
    if event.last_map > 0:
        lines += (
            f"\n Last accuracy mAP@{event.iou_threshold:0.2f} = {event.last_map * 100:2.2f} %, "
            f"best = {event.best_map * 100:2.2f} % "
        )
        status += f"map={event.last_map:0.2f} best={event.best_map:0.2f} "
    return (
        f"{lines}{status}hours left={event.hours_left:0.1f}\n"
        f" {event.iteration}: {event.loss:f}, {event.average_loss:f} avg loss, {event.rate:f} rate, "
        f"{event.seconds:f} seconds, {event.images} images, {event.hours_left:f} hours left"
    )
