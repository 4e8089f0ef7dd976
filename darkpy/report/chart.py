"""The chart of a training run: loss and mAP over iterations, as chart.png and chart_NAME.png.

Content after darknet src/image.cpp, draw_train_loss; the looks are darkpy's own. The loss axis is logarithmic, since a
loss falls by powers of ten: its top is ``max_chart_loss`` of [net], its bottom follows the lowest loss.
"""

import os
import sys
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

import numpy as np

from darkpy.events import Event, IterationTrained, MapMeasured, TrainingEnded
from darkpy.report._plot import Canvas, Curve, Plot, draw_plot

SAVE_EVERY = 100  # iterations
_MOST_DOTS = 6000
_MOST_VERTICES = 1000  # of the average line: about one a pixel


@dataclass(slots=True)
class _History:
    """What the run announced so far."""

    iterations: "array[float]" = field(default_factory=lambda: array("d"))  # 8 bytes a value: runs are long
    losses: "array[float]" = field(default_factory=lambda: array("d"))
    averages: "array[float]" = field(default_factory=lambda: array("d"))
    map_iterations: "array[float]" = field(default_factory=lambda: array("d"))
    maps: "array[float]" = field(default_factory=lambda: array("d"))  # 0..1


_CURVES = tuple(curve.name for curve in fields(_History))


class Chart:
    """Draws a run while it goes on: a sink of events.

    The files are written at every 100th iteration, after each mAP and at the end; each replaces the former one in
    one step, so that a viewer never sees half a picture.

    Args:
        name: The cfg's base name: the second file is chart_NAME.png.
        max_loss: Top of the loss axis (``max_chart_loss``).
        folder: Where the files go.
    """

    def __init__(self, name: str, *, max_loss: float, folder: Path = Path()) -> None:
        self.paths = (folder / f"chart_{name}.png", folder / "chart.png")
        self._name = name
        self._max_loss = max_loss
        self._history = _History()
        self._latest: IterationTrained | None = None
        self._iou_threshold = 0.5
        self._failed = False
        self._canvas: Canvas | None = None

    def __call__(self, event: Event) -> None:
        """Take note of an event, and write the files when it is time."""
        match event:
            case IterationTrained():
                self._latest = event
                self._history.iterations.append(event.iteration)
                self._history.losses.append(event.loss)
                self._history.averages.append(event.average_loss)
                if event.iteration % SAVE_EVERY == 0:
                    self._save()
            case MapMeasured():
                self._iou_threshold = event.iou_threshold
                self._history.map_iterations.append(event.iteration)
                self._history.maps.append(event.mean_average_precision)
                self._save()
            case TrainingEnded():
                self._save()

    def state(self) -> dict[str, np.ndarray]:
        """Return what was drawn so far, for a later process, by names such as ``chart.losses``."""
        return {f"chart.{name}": np.array(getattr(self._history, name), dtype=np.float64) for name in _CURVES}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on with what ``state`` returned; curves that are missing begin anew."""
        if all(f"chart.{name}" in state for name in _CURVES):
            self._history = _History(*(array("d", state[f"chart.{name}"].tolist()) for name in _CURVES))

    def plot(self) -> Plot | None:
        """Return what there is to draw, or None before the first iteration."""
        latest, history = self._latest, self._history
        if latest is None:
            return None
        return Plot(
            title=self._name,
            status=_status(latest),
            max_iteration=max(latest.max_batches, latest.iteration),
            max_loss=self._max_loss,
            losses=some_of(history.iterations, history.losses, most=_MOST_DOTS),
            averages=means_of(history.iterations, history.averages, most=_MOST_VERTICES),
            maps=Curve(np.array(history.map_iterations), np.array(history.maps)),
            map_name=f"mAP@{self._iou_threshold:.2f}",
        )

    def _save(self) -> None:
        plot = self.plot()
        if plot is None:
            return
        try:
            self._canvas = self._canvas or Canvas()
            png = draw_plot(plot, self._canvas)
            for path in self.paths:
                partial = path.with_name(f"{path.name}.part")
                partial.write_bytes(png)
                os.replace(partial, path)
        except OSError as error:  # a full disk or a read-only folder must not end the training
            if not self._failed:
                print(f"Note: {self.paths[1]} cannot be written: {error.strerror}. Training goes on.", file=sys.stderr)
            self._failed = True


def some_of(iterations: "array[float]", values: "array[float]", *, most: int) -> Curve:
    """Return every n-th value, so that at most ``most`` remain."""
    step = -(-len(values) // most) or 1
    return Curve(np.array(iterations[::step]), np.array(values[::step]))


def means_of(iterations: "array[float]", values: "array[float]", *, most: int) -> Curve:
    """Return the means of equal stretches, at most about ``most``; values that are no numbers are left out."""
    xs, ys = np.array(iterations), np.array(values)
    xs, ys = xs[np.isfinite(ys)], ys[np.isfinite(ys)]
    if len(ys) <= most:
        return Curve(xs, ys)
    starts = np.arange(0, len(ys), -(-len(ys) // most))
    sizes = np.diff(np.append(starts, len(ys)))
    return Curve(np.add.reduceat(xs, starts) / sizes, np.add.reduceat(ys, starts) / sizes)


def _status(latest: IterationTrained) -> str:
    left = f"  about {duration(latest.hours_left)} left" if latest.hours_left >= 0 else ""
    if latest.iteration >= latest.max_batches:
        left = "  done"
    return (
        f"iteration {latest.iteration} of {latest.max_batches}   average loss {latest.average_loss:.4f}   "
        f"rate {latest.rate:.3g} {left}"
    )


def duration(hours: float) -> str:
    """Return a span of time as a person says it: ``50 s``, ``12 min``, ``3 h 20 min``, ``2 d 5 h``."""
    minutes = round(hours * 60)
    if minutes < 2:
        return f"{round(hours * 3600)} s"
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60:02d} min" if hours < 48 else f"{int(hours // 24)} d {int(hours % 24)} h"
