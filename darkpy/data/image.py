"""Pictures: decoding, and the resize of darknet's inference.

Source: darknet src/image_opencv.cpp, load_image_mat; src/image.c, resize_image, letterbox_image.
"""

from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from darkpy.errors import DataError, SetupError
from darkpy.structures import Problem

Bytes = npt.NDArray[np.uint8]

_JPEG_START = b"\xff\xd8"
_JPEG_SCAN = b"\xff\xda"
_JPEG_END = b"\xff\xd9"
_UNIT = float(np.float32(1) / np.float32(255))  # darknet multiplies by the inverse; dividing gives a sum 1e-8 lower
_GREY = 0.5  # what letterboxing fills with


def import_cv2() -> ModuleType:
    """Return OpenCV.

    Raises:
        SetupError: If it cannot be imported, mostly because a bare server has no libGL.
    """
    try:
        import cv2
    except ImportError as error:
        raise SetupError(
            f"OpenCV cannot be imported: {error}. Install the system's libraries (Debian: apt-get install libgl1 "
            "libglib2.0-0), or use the package opencv-python-headless, which needs none."
        ) from error
    return cv2


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """A decoded picture."""

    pixels: Bytes  # (H, W, C), RGB or grey
    problem: Problem | None  # a note, if the file is cut off


def load_image(path: str, *, channels: int) -> Bytes:
    """Return the picture as (H, W, C) bytes, RGB or grey, turned upright as its EXIF tag says; alpha is dropped.

    Args:
        path: The file; its content, not its name, decides how it is decoded.
        channels: 3 for RGB, 1 for grey.

    Raises:
        DataError: If the file cannot be read or decoded.
    """
    return read_picture(path, channels=channels).pixels


def read_picture(path: str, *, channels: int) -> Picture:
    """Return the picture as ``load_image`` does, and a note if it is a JPEG that is cut off.

    Raises:
        DataError: If the file cannot be read or decoded.
    """
    try:
        raw = Path(path).read_bytes()
    except FileNotFoundError as error:
        raise DataError(f"Cannot load image {path}: not found. Check the path, which counts from here.") from error
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise DataError(
            f"Cannot load image {path}: {getattr(error, 'strerror', None) or error}. Name a file."
        ) from error
    if not raw:
        raise DataError(f"Cannot load image {path}: the file is empty, 0 bytes. Replace it, or take it off the list.")
    cut_off = _is_cut_off(raw)
    pixels = _decode(raw + _JPEG_END if cut_off else raw, channels)  # the end mark makes OpenCV keep what there is
    if pixels is None:
        raise DataError(
            f"Cannot load image {path}: not a picture that OpenCV reads. Replace it, or take it off the list."
        )
    note = f"{path}: the JPEG is cut off after {len(raw)} bytes; the rest of the picture is grey. Replace the file."
    return Picture(pixels, Problem("note", path, note) if cut_off else None)


def _is_cut_off(raw: bytes) -> bool:
    """Return whether a JPEG has no end mark behind its last scan (a thumbnail in its head may have one)."""
    if not raw.startswith(_JPEG_START) or raw.endswith(_JPEG_END):
        return False
    return raw.rfind(_JPEG_END) < raw.rfind(_JPEG_SCAN)


def _decode(raw: bytes, channels: int) -> Bytes | None:
    cv2 = import_cv2()
    flag = cv2.IMREAD_GRAYSCALE if channels == 1 else cv2.IMREAD_COLOR
    try:
        pixels = cv2.imdecode(np.frombuffer(raw, np.uint8), flag)
    except cv2.error:  # a header that promises an impossible size
        return None
    if pixels is None:
        return None
    return pixels[:, :, None] if channels == 1 else cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB, dst=pixels)  # type: ignore[no-any-return]


def letterbox_size(image_width: int, image_height: int, *, width: int, height: int) -> tuple[int, int]:
    """Return width and height in pixels of a picture fitted into ``width`` x ``height``, aspect kept.

    Source: darknet src/image.c, letterbox_image (whole-number division).
    """
    if np.float32(width) / np.float32(image_width) < np.float32(height) / np.float32(image_height):
        return width, max(image_height * width // image_width, 1)
    return max(image_width * height // image_height, 1), height


def resize_for_network(image: Bytes, *, width: int, height: int, letter_box: bool = False) -> npt.NDArray[np.float32]:
    """Return the picture as a network's input in inference: (C, H, W), 0..1.

    Args:
        image: (H, W, C) bytes.
        width: Of the network, in pixels.
        height: Of the network, in pixels.
        letter_box: Keep the aspect, and fill with grey.
    """
    if not letter_box:
        return _corner_aligned(image, width, height).numpy()
    fitted_width, fitted_height = letterbox_size(image.shape[1], image.shape[0], width=width, height=height)
    left, top = (width - fitted_width) // 2, (height - fitted_height) // 2
    canvas = np.full((image.shape[2], height, width), _GREY, dtype=np.float32)
    fitted = _corner_aligned(image, fitted_width, fitted_height).numpy()
    canvas[:, top : top + fitted_height, left : left + fitted_width] = fitted
    return canvas


def _corner_aligned(image: Bytes, width: int, height: int) -> Tensor:
    """Return (C, height, width) float32, 0..1, by darknet's bilinear rule: the corner pixels keep their places."""
    rows, columns = image.shape[:2]
    pixels = torch.from_numpy(image)
    if (rows, columns) == (height, width):
        return _scaled(pixels.permute(2, 0, 1).contiguous())
    if width == 1:
        pixels = pixels[:, -1:]  # darknet's last column is the picture's last one, even if it is also the first
    source = _blend_rows(pixels, height) if rows > 2 * height > 2 else _scaled(pixels)
    result = _interpolate(source, width, height)
    position, share = _last_row(rows, height)
    if position < rows - 1:
        # darknet leaves the lower neighbour out in the last row, so it goes black where rounding stops short of the end
        result[:, -1:] = _interpolate(_scaled(pixels[position : position + 1]), width, 1) * (1 - share)
    return result


def _scaled(pixels: Tensor) -> Tensor:
    return pixels.float().mul_(_UNIT)


def _interpolate(pixels: Tensor, width: int, height: int) -> Tensor:
    planar = pixels.permute(2, 0, 1)[None]  # (1, C, H, W), a view that torch handles as channels_last
    return functional.interpolate(planar, size=(height, width), mode="bilinear", align_corners=True)[0].contiguous()


def _blend_rows(pixels: Tensor, height: int) -> Tensor:
    """Return (height, W, C) float32: of a tall picture, only the rows that matter are converted."""
    rows = pixels.shape[0]
    position = torch.arange(height, dtype=torch.float32) * _step(rows, height)
    upper = position.long().clamp_max(rows - 1)
    lower = (upper + 1).clamp_max(rows - 1)
    # index_select copies whole rows: 20 times as fast as pixels[which]
    above, below = (_scaled(pixels.index_select(0, which)) for which in (upper, lower))
    return above.lerp_(below, (position - upper)[:, None, None])


def _last_row(rows: int, height: int) -> tuple[int, float]:
    """Return which source row the last row begins with, and the share of the next one, in float32 as darknet."""
    if rows == 1 or height == 1:
        return rows - 1, 0.0
    position = float(np.float32(height - 1) * np.float32(_step(rows, height)))
    return int(position), position - int(position)


def _step(source: int, target: int) -> float:
    return float(np.float32(source - 1) / np.float32(target - 1))
