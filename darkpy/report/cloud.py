"""cloud.png: the sizes of all boxes as a cloud of dots, coloured by anchor, and the anchors as rectangles.

Source: darknet src/image_opencv.cpp, show_acnhors. Its canvas is whatever was in memory, its darker colours cannot be
seen on black, and it has no scale: here the canvas is black, and the colours keep their hue at full brightness.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from darkpy.data.anchors import Clusters, Sizes, Values
from darkpy.data.image import import_cv2
from darkpy.errors import DataError
from darkpy.files import replaced

SIDE = 700  # pixels of the picture
_WHITE, _TEXT, _RULE = (255, 255, 255), (190, 190, 190), (70, 70, 70)
_DOT = np.array([(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)])  # a disc of radius 1
_STEPS = (1, 2, 5, 10)  # times a power of ten
_TICKS = 8  # about
_KEY_LEFT, _LINE, _MOST_ROWS = SIDE - 160, 16, 36  # of the key

Canvas = NDArray[np.uint8]


def draw_cloud(sizes: Sizes, clusters: Clusters, *, width: int, height: int) -> Canvas:
    """Return the picture, (700, 700, 3) RGB: its right and lower edges are the network's width and height.

    Args:
        sizes: (N, 2) width and height of each box, in pixels of the network.
        clusters: Their anchors.
        width: Of the network.
        height: Of the network.
    """
    canvas = np.zeros((SIDE, SIDE, 3), np.uint8)
    scale = SIDE / np.array([width, height])
    tints = colours(len(clusters.anchors))
    spots = (_pixels(sizes, scale)[:, None] + _DOT).clip(0, SIDE - 1)  # N, 5, 2
    canvas[spots[..., 1], spots[..., 0]] = tints[clusters.members][:, None]
    _draw_anchors(canvas, clusters, scale)
    _draw_axes(canvas, width, height)
    _draw_key(canvas, clusters, tints)
    return canvas


def write_cloud(path: Path, picture: Canvas) -> None:
    """Write the picture as PNG, whole or not at all.

    Raises:
        DataError: If it cannot be written.
    """
    _, encoded = import_cv2().imencode(".png", np.ascontiguousarray(picture[:, :, ::-1]))
    try:
        with replaced(path) as file:
            file.write(encoded.tobytes())
    except OSError as error:
        raise DataError(
            f"-show: {path}: cannot be written: {error.strerror}. Run in a folder that can be written."
        ) from error


def colours(clusters: int) -> NDArray[np.uint8]:
    """Return darknet's colour of each cluster at full brightness, (K, 3) RGB."""
    numbers = np.arange(clusters)[:, None]
    dark = (numbers * (123, 321, 11) + (55, 33, 99)) % 255
    bright: NDArray[np.uint8] = (dark * 255 // np.maximum(dark.max(axis=1, keepdims=True), 1)).astype(np.uint8)
    return bright


def ticks(pixels: int) -> list[int]:
    """Return about eight round sizes above 0 and below ``pixels``."""
    rough = max(pixels / _TICKS, 1)
    power = 10 ** int(np.log10(rough))
    step = next(factor * power for factor in _STEPS if factor * power >= rough)
    return list(range(step, pixels, step))


def _pixels(sizes: Sizes, scale: Values) -> NDArray[np.int64]:
    """Return sizes in pixels of the picture, cut off as in darknet; what is larger than the network is at the edge."""
    return (sizes * scale).clip(0, SIDE - 1).astype(np.int64)


def _draw_anchors(canvas: Canvas, clusters: Clusters, scale: Values) -> None:
    for corner in _pixels(clusters.anchors, scale).tolist():  # a dozen
        import_cv2().rectangle(canvas, (0, 0), corner, _WHITE, 1)


def _draw_axes(canvas: Canvas, width: int, height: int) -> None:
    for tick in ticks(width):
        x = round(tick * SIDE / width)
        canvas[:6, x] = _RULE
        _write(canvas, str(tick), (x - 10, 18))
    for tick in ticks(height):
        y = round(tick * SIDE / height)
        canvas[y, :6] = _RULE
        _write(canvas, str(tick), (9, y + 4))
    _write(canvas, "width", (SIDE - 42, 32))
    _write(canvas, "height", (9, SIDE - 6))


def _draw_key(canvas: Canvas, clusters: Clusters, tints: NDArray[np.uint8]) -> None:
    """List the anchors with their colours and numbers of boxes in the lower right corner, where boxes are rare."""
    boxes = np.bincount(clusters.members, minlength=len(tints))
    rows = [f"{w:.4g} x {h:.4g}: {count} boxes" for (w, h), count in zip(clusters.anchors, boxes, strict=True)]
    top = SIDE - _LINE * (min(len(rows), _MOST_ROWS) + 1)
    for row, (text, tint) in enumerate(zip(rows[:_MOST_ROWS], tints, strict=False)):
        y = top + _LINE * row
        canvas[y - 8 : y, _KEY_LEFT - 14 : _KEY_LEFT - 6] = tint
        _write(canvas, text, (_KEY_LEFT, y), _WHITE)
    _write(canvas, f"average IoU {100 * clusters.average_iou:.2f} %", (_KEY_LEFT, SIDE - 8), _WHITE)


def _write(canvas: Canvas, text: str, place: tuple[int, int], colour: tuple[int, int, int] = _TEXT) -> None:
    """Write small letters with a black edge, so that they can be read on dots."""
    cv2 = import_cv2()
    for tint, thickness in (((0, 0, 0), 3), (colour, 1)):
        cv2.putText(canvas, text, place, cv2.FONT_HERSHEY_SIMPLEX, 0.38, tint, thickness, cv2.LINE_AA)
