"""Draws one chart with OpenCV: twice as large as shown, then halved, which makes lines and letters smooth."""

import math
from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt

WIDTH, HEIGHT = 1200, 800  # pixels of the file
LEFT, RIGHT, TOP, BOTTOM = 90, 1110, 80, 700  # of the plotted area
_SCALE = 2
_FONT = cv2.FONT_HERSHEY_SIMPLEX
_LABEL_GAP = 46  # pixels between two value labels
_LARGEST_DECADES = 5  # between bottom and top of the loss axis

# BGR
_WHITE, _INK, _GREY, _RULE, _FAINT_RULE = (
    (255, 255, 255),
    (60, 52, 46),
    (130, 122, 115),
    (222, 218, 214),
    (240, 238, 236),
)
_DOT, _LOSS, _MAP = (244, 214, 184), (184, 94, 20), (44, 60, 208)

Colour = tuple[int, int, int]
Values = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Values over iterations, each (N,) float64."""

    iterations: Values
    values: Values


@dataclass(frozen=True, slots=True, eq=False)
class Plot:
    """All that a chart shows."""

    title: str
    status: str
    max_iteration: int
    max_loss: float
    losses: Curve
    averages: Curve
    maps: Curve  # values 0..1
    map_name: str


@dataclass(frozen=True, slots=True)
class _Axes:
    """Iterations, losses and mAPs -> pixels of the file."""

    max_iteration: int
    low: float  # loss at the bottom
    high: float  # loss at the top

    def x(self, iterations: Values) -> Values:
        return LEFT + (RIGHT - LEFT) * iterations / self.max_iteration

    def loss_y(self, losses: Values) -> Values:
        span = math.log10(self.high / self.low)
        bounded = np.nan_to_num(losses, nan=self.high, posinf=self.high).clip(self.low, self.high)
        return BOTTOM - (BOTTOM - TOP) * np.log10(bounded / self.low) / span

    def map_y(self, maps: Values) -> Values:
        return BOTTOM - (BOTTOM - TOP) * maps.clip(0, 1)


class Canvas:
    """The pixels that a chart is drawn on: a run draws on the same ones every time, or its heap would grow."""

    def __init__(self) -> None:
        self.large = np.empty((HEIGHT * _SCALE, WIDTH * _SCALE, 3), np.uint8)
        self.small = np.empty((HEIGHT, WIDTH, 3), np.uint8)


def draw_plot(plot: Plot, canvas: Canvas | None = None) -> bytes:
    """Return the chart as a PNG file of WIDTH x HEIGHT pixels.

    Args:
        plot: What it shows.
        canvas: Where to draw; None makes one for this chart alone.
    """
    pixels = canvas or Canvas()
    _draw(plot, pixels.large)
    cv2.resize(pixels.large, (WIDTH, HEIGHT), dst=pixels.small, interpolation=cv2.INTER_AREA)
    _, encoded = cv2.imencode(".png", pixels.small)
    return encoded.tobytes()


def _draw(plot: Plot, canvas: np.ndarray) -> None:
    canvas.fill(255)
    axes = _Axes(plot.max_iteration, *loss_range(plot.averages.values, max_loss=plot.max_loss))
    _draw_loss_axis(canvas, axes)
    _draw_iteration_axis(canvas, axes)
    _rectangle(canvas, (LEFT, TOP), (RIGHT, BOTTOM), _GREY)
    _draw_losses(canvas, axes, plot)
    if len(plot.maps.values):
        _draw_map_axis(canvas, plot.map_name)
        _draw_maps(canvas, axes, plot.maps)
    _draw_texts(canvas, plot)


def loss_range(averages: Values, *, max_loss: float) -> tuple[float, float]:
    """Return bottom and top of the loss axis: a round number below the lowest average loss, and ``max_loss``."""
    positive = averages[averages > 0]
    lowest = min(float(positive.min(initial=max_loss)), max_loss / 2)
    bottom = max(lowest * 0.8, max_loss / 10**_LARGEST_DECADES)
    decade = 10 ** math.floor(math.log10(bottom))
    return max(step * decade for step in (1, 2, 5) if step * decade <= bottom * (1 + 1e-9)), max_loss


def loss_ticks(low: float, high: float) -> list[float]:
    """Return the labelled losses: 1, 2 and 5 times the powers of ten in the range, and its top."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (1, 2, 5) if last - first <= 4 else (1,)
    ticks = [step * 10.0**power for power in range(first, last + 1) for step in steps]
    inner = [tick for tick in ticks if low * 0.999 <= tick <= high / 1.25]
    return [*inner, high]


def iteration_ticks(max_iteration: int) -> list[int]:
    """Return about a dozen round iterations from 0 to the last."""
    rough = max(max_iteration / 12, 1)
    power = 10 ** math.floor(math.log10(rough))
    step = int(
        next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough and factor * power % 1 == 0)
    )
    return list(range(0, max_iteration + 1, step))


def labelled(maps: Curve, xs: Values) -> list[int]:
    """Return which mAP points get their value written: the last, the best, and others as there is room."""
    crowded = len(xs) > 1 and float(np.median(np.diff(xs))) < _LABEL_GAP
    gap = _LABEL_GAP * (2 if crowded else 1)
    chosen = [len(xs) - 1]
    for index in (int(np.argmax(maps.values)), *range(len(xs) - 2, -1, -1)):
        if all(abs(xs[index] - xs[other]) >= gap for other in chosen):
            chosen.append(index)
    return sorted(chosen)


def _draw_loss_axis(canvas: np.ndarray, axes: _Axes) -> None:
    for tick in loss_ticks(axes.low, axes.high):
        y = float(axes.loss_y(np.array([tick]))[0])
        _line(canvas, (LEFT, y), (RIGHT, y), _RULE)
        _text(canvas, f"{tick:g}", (LEFT - 10, y + 5), _LOSS, align="right")
    _text(canvas, "loss", (LEFT - 10, TOP - 16), _LOSS, align="right", bold=True)


def _draw_iteration_axis(canvas: np.ndarray, axes: _Axes) -> None:
    for tick in iteration_ticks(axes.max_iteration):
        x = float(axes.x(np.array([tick], dtype=float))[0])
        _line(canvas, (x, TOP), (x, BOTTOM), _FAINT_RULE)
        _line(canvas, (x, BOTTOM), (x, BOTTOM + 6), _GREY)
        _text(canvas, str(tick), (x, BOTTOM + 26), _INK, align="centre")
    _text(canvas, "iteration", ((LEFT + RIGHT) / 2, BOTTOM + 54), _INK, align="centre")


def _draw_map_axis(canvas: np.ndarray, name: str) -> None:
    for percent in range(0, 101, 10):
        y = BOTTOM - (BOTTOM - TOP) * percent / 100
        _line(canvas, (RIGHT, y), (RIGHT + 6, y), _GREY)
        _text(canvas, f"{percent}%", (RIGHT + 12, y + 5), _MAP)
    _text(canvas, name, (RIGHT + 12, TOP - 16), _MAP, bold=True, align="centre")


def _draw_losses(canvas: np.ndarray, axes: _Axes, plot: Plot) -> None:
    dots = _points(axes.x(plot.losses.iterations), axes.loss_y(plot.losses.values))
    _stamp(canvas, dots, _DOT)
    line = _points(axes.x(plot.averages.iterations), axes.loss_y(plot.averages.values))
    cv2.polylines(canvas, [line], False, _LOSS, 3 * _SCALE // 2, cv2.LINE_AA)


def _draw_maps(canvas: np.ndarray, axes: _Axes, maps: Curve) -> None:
    xs, ys = axes.x(maps.iterations), axes.map_y(maps.values)
    points = _points(xs, ys)
    cv2.polylines(canvas, [points], False, _MAP, 2 * _SCALE, cv2.LINE_AA)
    radius = 4 if len(xs) < 2 or np.median(np.diff(xs)) > 4 * 4 else 2
    for x, y in points.tolist():  # a few dozen a run
        cv2.circle(canvas, (x, y), (radius + 1) * _SCALE, _WHITE, -1, cv2.LINE_AA)
        cv2.circle(canvas, (x, y), radius * _SCALE, _MAP, -1, cv2.LINE_AA)
    for index in labelled(maps, xs):
        highest = float(ys[np.abs(xs - xs[index]) < _LABEL_GAP / 2].min())  # the label stands above its neighbours too
        base = highest - 14 if highest > TOP + 34 else float(ys[index]) + 28
        x = min(max(float(xs[index]), LEFT + 30), RIGHT - 30)
        _text(canvas, f"{100 * maps.values[index]:.1f}", (x, base), _MAP, align="centre", bold=True, backed=True)


def _draw_texts(canvas: np.ndarray, plot: Plot) -> None:
    _text(canvas, plot.title, (LEFT, 38), _INK, size=0.8, bold=True)
    _text(canvas, plot.status, (LEFT, HEIGHT - 16), _INK)
    if len(plot.maps.values):
        last, best = 100 * plot.maps.values[-1], 100 * float(plot.maps.values.max())
        _text(
            canvas,
            f"{plot.map_name} {last:.1f}%   best {best:.1f}%",
            (RIGHT, HEIGHT - 16),
            _MAP,
            align="right",
            bold=True,
        )
    _draw_key(canvas, RIGHT - 60.0 if len(plot.maps.values) else float(RIGHT))


def _draw_key(canvas: np.ndarray, x: float) -> None:
    """Explain line and dots, to the left of ``x``."""
    x = _text(canvas, "average", (x, 38), _INK, align="right") - 8
    _line(canvas, (x - 26, 33), (x, 33), _LOSS, thickness=3)
    x = _text(canvas, "each iteration", (x - 46, 38), _INK, align="right") - 10
    cv2.circle(canvas, (round(x * _SCALE), 33 * _SCALE), 3 * _SCALE, _DOT, -1, cv2.LINE_AA)


def _points(xs: np.ndarray, ys: np.ndarray) -> np.ndarray:
    return np.round(np.stack((xs, ys), axis=-1) * _SCALE).astype(np.int32)


def _stamp(canvas: np.ndarray, points: np.ndarray, colour: Colour) -> None:
    """Set a round dot of 5 pixels at every point, all at once: a run has up to a million."""
    reach = np.arange(-2, 3)
    offsets = np.array([(dx, dy) for dx in reach for dy in reach if dx * dx + dy * dy <= 5])
    spots = (points[:, None] + offsets).reshape(-1, 2)
    canvas[spots[:, 1], spots[:, 0]] = colour


def _line(
    canvas: np.ndarray, start: tuple[float, float], end: tuple[float, float], colour: Colour, *, thickness: int = 1
) -> None:
    a, b = (tuple(round(value * _SCALE) for value in point) for point in (start, end))
    cv2.line(canvas, a, b, colour, thickness * _SCALE, cv2.LINE_AA)


def _rectangle(canvas: np.ndarray, low: tuple[int, int], high: tuple[int, int], colour: Colour) -> None:
    a, b = (tuple(value * _SCALE for value in point) for point in (low, high))
    cv2.rectangle(canvas, a, b, colour, _SCALE)


def _lighten(canvas: np.ndarray, left: int, top: int, right: int, bottom: int) -> None:
    """Fade what lies under a label, so that the label can be read."""
    under = canvas[top:bottom, left:right]
    under += ((255 - under) * 0.75).astype(np.uint8)


def _text(
    canvas: np.ndarray,
    text: str,
    place: tuple[float, float],
    colour: Colour,
    *,
    align: str = "left",
    size: float = 0.52,
    bold: bool = False,
    backed: bool = False,
) -> float:
    """Write a line of text with its base line at ``place``.

    Returns:
        Its left end, in pixels of the file.
    """
    scale, thickness = size * _SCALE, _SCALE + bold
    (width, height), _ = cv2.getTextSize(text, _FONT, scale, thickness)
    left = round(place[0] * _SCALE - width * {"left": 0, "centre": 0.5, "right": 1}[align])
    origin = (left, round(place[1] * _SCALE))
    if backed:
        _lighten(canvas, left - 6, origin[1] - height - 6, left + width + 6, origin[1] + 6)
    cv2.putText(canvas, text, origin, _FONT, scale, colour, thickness, cv2.LINE_AA)
    return left / _SCALE
