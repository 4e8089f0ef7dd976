"""A sheet of sample pictures with their labelled boxes, for a look before training."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from darkpy.data.image import import_cv2, load_image
from darkpy.errors import DarkpyError, DataError
from darkpy.files import replaced
from darkpy.report.predictions import class_colour

_CELL_PX = 320  # side of a sample
_TITLE_PX = 22  # below it
_GAP_PX = 8
_BACKGROUND, _FRAME, _INK = (24, 24, 28), (44, 44, 50), (225, 225, 225)
_FONT_SCALE = 0.42
_TITLE = 44  # characters
_QUALITY = 92
EXTENSIONS = (".jpg", ".jpeg", ".png")

Pixels = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class SheetSample:
    """One picture of a sheet."""

    path: str
    boxes: NDArray[np.float32]  # (N, 5) centre x, y, width, height relative to the picture, class


def draw_sheet(samples: Sequence[SheetSample], names: Sequence[str]) -> Pixels:
    """Return (H, W, 3) RGB: the samples side by side, each with its boxes in the colours of their classes.

    Args:
        samples: At least one; a picture that cannot be read leaves its place dark.
        names: One name for each class.
    """
    columns = math.ceil(math.sqrt(len(samples)))
    rows = math.ceil(len(samples) / columns)
    across, down = _CELL_PX + _GAP_PX, _CELL_PX + _TITLE_PX + _GAP_PX
    sheet = np.full((rows * down + _GAP_PX, columns * across + _GAP_PX, 3), _BACKGROUND, np.uint8)
    for index, sample in enumerate(samples):
        top, left = index // columns * down + _GAP_PX, index % columns * across + _GAP_PX
        sheet[top : top + _CELL_PX + _TITLE_PX, left : left + _CELL_PX] = _drawn(sample, names)
    return sheet


def save_sheet(path: Path, sheet: Pixels) -> None:
    """Write the sheet as a JPEG or PNG, whole or not at all.

    Args:
        path: Its extension decides.
        sheet: (H, W, 3) RGB.

    Raises:
        DataError: If the file cannot be written.
    """
    cv2 = import_cv2()
    extension = path.suffix.lower()
    quality = [] if extension == ".png" else [cv2.IMWRITE_JPEG_QUALITY, _QUALITY]
    _, encoded = cv2.imencode(extension, np.ascontiguousarray(sheet[:, :, ::-1]), quality)
    try:
        with replaced(path) as file:
            file.write(encoded.tobytes())
    except OSError as error:
        raise DataError(
            f"-sheet {path}: cannot be written: {error.strerror}. Name a file in another folder."
        ) from error


def _drawn(sample: SheetSample, names: Sequence[str]) -> Pixels:
    cell = np.full((_CELL_PX + _TITLE_PX, _CELL_PX, 3), _BACKGROUND, np.uint8)
    cell[:_CELL_PX] = _FRAME
    try:
        picture = load_image(sample.path, channels=3)
    except DarkpyError:
        _write(cell, f"unreadable: {_tail(sample.path)}", (4, _CELL_PX + 15), _INK)
        return cell
    small, (left, top) = _fitted(picture)
    cell[top : top + small.shape[0], left : left + small.shape[1]] = small
    corners = _corners(sample.boxes, small.shape[1], small.shape[0]) + np.array([left, top, left, top])
    ids = sample.boxes[:, 4].astype(int).tolist()
    colours = [class_colour(class_id, len(names)) for class_id in ids]
    for box, class_id, colour in zip(corners.tolist(), ids, colours, strict=True):
        _draw_name(cell, box, names[class_id], colour)
    for (*start, right, bottom), colour in zip(corners.tolist(), colours, strict=True):  # no name hides a frame
        import_cv2().rectangle(cell, start, (right, bottom), colour, 1)
    count = len(sample.boxes)
    _write(cell, f"{_tail(sample.path)}  {count} box{'' if count == 1 else 'es'}", (4, _CELL_PX + 15), _INK)
    return cell


def _fitted(picture: Pixels) -> tuple[Pixels, tuple[int, int]]:
    """Return the picture shrunk or grown to the cell, and its left top corner in it."""
    height, width = picture.shape[:2]
    scale = _CELL_PX / max(height, width)
    size = max(round(width * scale), 1), max(round(height * scale), 1)
    cv2 = import_cv2()
    small = cv2.resize(picture, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR)
    return small, ((_CELL_PX - size[0]) // 2, (_CELL_PX - size[1]) // 2)


def _corners(boxes: NDArray[np.float32], width: int, height: int) -> NDArray[np.int64]:
    """Return (N, 4) left, top, right, bottom in pixels, inside the picture."""
    centre, half = boxes[:, :2], boxes[:, 2:4] / 2
    size = np.array([width, height, width, height])
    corners = np.concatenate([centre - half, centre + half], axis=1) * size
    return np.asarray(corners.round().clip(0, size - 1), np.int64)


def _draw_name(cell: Pixels, box: Sequence[int], name: str, colour: tuple[int, int, int]) -> None:
    cv2 = import_cv2()
    left, top = box[:2]
    text = _printable(name)
    (width, height), _ = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, _FONT_SCALE * 0.9, 1)
    left = max(min(left, _CELL_PX - width - 4), 0)
    row = top - 1 if top > height + 5 else min(top + height + 5, _CELL_PX - 1)
    cv2.rectangle(cell, (left, row - height - 4), (left + width + 3, row), colour, cv2.FILLED)
    ink = (0, 0, 0) if np.dot(colour, (0.299, 0.587, 0.114)) > 110 else (255, 255, 255)
    _write(cell, text, (left + 2, row - 3), ink, scale=_FONT_SCALE * 0.9)


def _write(
    cell: Pixels, text: str, place: tuple[int, int], colour: tuple[int, int, int], *, scale: float = _FONT_SCALE
) -> None:
    cv2 = import_cv2()
    cv2.putText(cell, _printable(text), place, cv2.FONT_HERSHEY_SIMPLEX, scale, colour, 1, cv2.LINE_AA)


def _printable(text: str) -> str:
    """Return the text in the letters that OpenCV's fonts have."""
    return text.encode("ascii", "replace").decode("ascii")


def _tail(path: str) -> str:
    return path if len(path) <= _TITLE else f"...{path[-_TITLE + 12 :]}"
