"""A picture of where memory goes: what each layer leaves behind for backward, and what is live during a step."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from darkpy.errors import DataError
from darkpy.files import replaced
from darkpy.memory.costs import Trace
from darkpy.memory.plan import Costs, Tier

WIDTH, HEIGHT = 1200, 800  # pixels of the file
_SCALE = 2  # drawn so much larger, then made smaller: smooth lines and letters
_LEFT, _RIGHT = 90, 1170
_BARS, _TIMELINE = (90, 370), (470, 740)  # top and bottom of the two parts
_FONT = cv2.FONT_HERSHEY_SIMPLEX
_MB = 1e6
_STEPS = (1, 2, 5, 10)

# BGR
_INK, _GREY, _RULE = (60, 52, 46), (130, 122, 115), (232, 228, 224)
_KEPT, _AWAY, _STATES, _LIVE = (184, 94, 20), (120, 170, 60), (200, 190, 180), (44, 60, 208)

Canvas = NDArray[np.uint8]
Colour = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class LayerBytes:
    """What one layer leaves behind for backward, in bytes of an image."""

    layer: int
    kept: int  # on the device
    offloaded: int


def layer_bytes(trace: Trace) -> list[LayerBytes]:
    """Return what each layer leaves behind, for all layers up to the last that leaves anything."""
    kept: dict[int, int] = {}
    away: dict[int, int] = {}
    for one in trace.lifetimes:
        if one.is_saved:
            kept[_layer(one.module)] = kept.get(_layer(one.module), 0) + one.size.image
    for trip in trace.trips:
        number = _layer(trip.lifetime.module)
        away[number] = away.get(number, 0) + trip.lifetime.size.image
    last = max([*kept, *away], default=-2)
    return [LayerBytes(number, kept.get(number, 0), away.get(number, 0)) for number in range(-1, last + 1)]


def draw_memory(costs: Costs, tier: Tier, mini_batch: int, *, title: str) -> Canvas:
    """Return the picture, (800, 1200, 3) BGR.

    Args:
        costs: For the states.
        tier: What is drawn.
        mini_batch: Images of the timeline.
        title: Its first words.
    """
    canvas = np.full((HEIGHT * _SCALE, WIDTH * _SCALE, 3), 255, np.uint8)
    _text(canvas, f"{title}, optimized_memory={tier.number}", (_LEFT, 38), _INK, size=0.8)
    _draw_bars(canvas, layer_bytes(tier.trace))
    _draw_timeline(canvas, tier.trace, mini_batch, states=costs.states.total)
    small = cv2.resize(canvas, (WIDTH, HEIGHT), interpolation=cv2.INTER_AREA)
    return np.asarray(small, np.uint8)


def write_plot(path: Path, picture: Canvas) -> None:
    """Write the picture as PNG, whole or not at all.

    Raises:
        DataError: If it cannot be written.
    """
    _, encoded = cv2.imencode(".png", picture)
    try:
        with replaced(path) as file:
            file.write(encoded.tobytes())
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        why = getattr(error, "strerror", None) or error
        raise DataError(
            f"-plot {path}: cannot be written: {why}. Name a file in a folder that can be written."
        ) from error


def ticks(high: float, about: int = 6) -> list[float]:
    """Return round numbers from 0 to ``high``."""
    rough = max(high, 1e-9) / about
    power = 10 ** np.floor(np.log10(rough))
    step = next(factor * power for factor in _STEPS if factor * power >= rough * (1 - 1e-9))
    return [float(value) for value in np.arange(0, high * (1 + 1e-9), step)]


def _draw_bars(canvas: Canvas, layers: Sequence[LayerBytes]) -> None:
    top, bottom = _BARS
    high = max((one.kept + one.offloaded for one in layers), default=0) / _MB or 1.0
    _draw_scale(canvas, _BARS, high, "MB an image, kept for backward by each layer")
    step = (_RIGHT - _LEFT) / max(len(layers), 1)
    for place, one in enumerate(layers):
        left, right = _LEFT + place * step, _LEFT + (place + max(0.8, 1 - 1 / step)) * step
        base = float(bottom)
        for value, colour in ((one.kept, _KEPT), (one.offloaded, _AWAY)):
            height = (bottom - top) * value / _MB / high
            _rectangle(canvas, (left, base - height), (right, base), colour)
            base -= height
    every = max(len(layers) // 20, 1)
    for place, one in enumerate(layers):
        if one.layer % every == 0 and one.layer >= 0:
            _text(canvas, str(one.layer), (_LEFT + (place + 0.4) * step, bottom + 22), _INK, align="centre")
    _text(canvas, "layer", ((_LEFT + _RIGHT) / 2, bottom + 44), _INK, align="centre")
    _key(canvas, 72, (("on the device", _KEPT), ("in host memory", _AWAY)))


def _draw_timeline(canvas: Canvas, trace: Trace, mini_batch: int, *, states: int) -> None:
    top, bottom = _TIMELINE
    live = np.array(trace.live(mini_batch) or [0], float) + states
    high = float(live.max()) / _MB or 1.0
    _draw_scale(canvas, _TIMELINE, high, f"MB on the device during a step, mini-batch {mini_batch}")
    xs = np.linspace(_LEFT, _RIGHT, len(live))
    ys = bottom - (bottom - top) * live / _MB / high
    area = np.stack([[*xs, _RIGHT, _LEFT], [*ys, bottom, bottom]], axis=1)
    cv2.fillPoly(canvas, [_pixels(area)], (225, 205, 245), cv2.LINE_AA)
    _rectangle(canvas, (_LEFT, bottom - (bottom - top) * states / _MB / high), (_RIGHT, bottom), _STATES)
    cv2.polylines(canvas, [_pixels(np.stack([xs, ys], axis=1))], False, _LIVE, _SCALE * 3 // 2, cv2.LINE_AA)
    turn = float(xs[min(trace.forward, len(xs) - 1)])
    cv2.line(canvas, _at(turn, top), _at(turn, bottom), _GREY, _SCALE, cv2.LINE_AA)
    _text(canvas, "forward", (_LEFT + 8, top - 8), _GREY)
    _text(canvas, "backward", (turn + 8, top - 8), _GREY)
    _text(canvas, "operations, one after the other", ((_LEFT + _RIGHT) / 2, bottom + 24), _INK, align="centre")
    _key(canvas, top - 32, (("weights, momentum", _STATES), ("all that is live", _LIVE)))


def _draw_scale(canvas: Canvas, span: tuple[int, int], high: float, title: str) -> None:
    top, bottom = span
    for tick in ticks(high):
        y = bottom - (bottom - top) * tick / high
        cv2.line(canvas, _at(_LEFT, y), _at(_RIGHT, y), _RULE, _SCALE)
        _text(canvas, f"{tick:g}", (_LEFT - 10, y + 5), _INK, align="right")
    _text(canvas, title, (_LEFT, top - 32 if top > 200 else 72), _INK)


def _key(canvas: Canvas, y: float, entries: Sequence[tuple[str, Colour]]) -> None:
    x = float(_RIGHT)
    for text, colour in reversed(entries):
        x = _text(canvas, text, (x, y), _INK, align="right") - 8
        _rectangle(canvas, (x - 14, y - 11), (x, y + 1), colour)
        x -= 36


def _text(
    canvas: Canvas,
    text: str,
    place: tuple[float, float],
    colour: Colour,
    *,
    align: str = "left",
    size: float = 0.52,
) -> float:
    """Write a line with its base line at ``place``; return its left end."""
    (width, _), _ = cv2.getTextSize(text, _FONT, size * _SCALE, _SCALE)
    left = place[0] * _SCALE - width * {"left": 0.0, "centre": 0.5, "right": 1.0}[align]
    cv2.putText(
        canvas, text, (round(left), round(place[1] * _SCALE)), _FONT, size * _SCALE, colour, _SCALE, cv2.LINE_AA
    )
    return left / _SCALE


def _rectangle(canvas: Canvas, low: tuple[float, float], high: tuple[float, float], colour: Colour) -> None:
    cv2.rectangle(canvas, _at(*low), _at(*high), colour, -1)


def _at(x: float, y: float) -> tuple[int, int]:
    return round(x * _SCALE), round(y * _SCALE)


def _pixels(points: NDArray[np.float64]) -> NDArray[np.int32]:
    return np.round(points * _SCALE).astype(np.int32)


def _layer(module: str) -> int:
    """Return 3 for 'layers.3'; -1 for what no layer made, such as the picture."""
    last = module.removeprefix("layers.").split(".")[0]
    return int(last) if last.isdecimal() else -1
