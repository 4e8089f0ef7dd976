"""Pictures: decoding, and the resize of darknet's inference.

Source: darknet src/image_opencv.cpp, load_image_mat; src/image.c, resize_image, letterbox_image.
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType

import numpy as np
import numpy.typing as npt

from darkpy.errors import DataError, SetupError
from darkpy.structures import Problem

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]

_JPEG_START = b"\xff\xd8"
_JPEG_SCAN = b"\xff\xda"
JPEG_END = b"\xff\xd9"
_LARGEST_SHORT = 32767  # OpenCV's coordinates of 16 bits
_UNIT = np.float32(1) / np.float32(255)  # darknet multiplies by the inverse; dividing gives a sum 1e-8 lower
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
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise cannot_load(path, error) from error
    if not raw:
        raise DataError(f"Cannot load image {path}: the file is empty, 0 bytes. Replace it, or leave it out.")
    cut_off = is_cut_off(raw)
    pixels = _decode(raw + JPEG_END if cut_off else raw, channels)  # the end mark makes OpenCV keep what there is
    if pixels is None:
        raise DataError(f"Cannot load image {path}: not a picture that OpenCV reads. Replace it, or leave it out.")
    note = f"{path}: the JPEG is cut off after {len(raw)} bytes; the rest of the picture is grey. Replace the file."
    return Picture(pixels, Problem("note", path, note) if cut_off else None)


def cannot_load(path: str | Path, error: OSError | ValueError) -> DataError:
    """Return the error of a picture that cannot be read."""
    if isinstance(error, FileNotFoundError):
        return DataError(f"Cannot load image {path}: not found. Check the path, which counts from here.")
    return DataError(f"Cannot load image {path}: {getattr(error, 'strerror', None) or error}. Name a file.")


def is_cut_off(raw: bytes) -> bool:
    """Return whether a JPEG has no end mark behind its last scan (a thumbnail in its head may have one)."""
    if not raw.startswith(_JPEG_START) or raw.endswith(JPEG_END):
        return False
    return raw.rfind(JPEG_END) < raw.rfind(_JPEG_SCAN)


def _decode(raw: bytes, channels: int) -> Bytes | None:
    cv2 = import_cv2()
    in_rgb = getattr(cv2, "IMREAD_COLOR_RGB", None)  # since OpenCV 4.11
    flag = cv2.IMREAD_GRAYSCALE if channels == 1 else in_rgb or cv2.IMREAD_COLOR
    try:
        pixels = cv2.imdecode(np.frombuffer(raw, np.uint8), flag)
    except cv2.error:  # a header that promises an impossible size
        return None
    if pixels is None:
        return None
    if channels == 1:
        return pixels[:, :, None]  # type: ignore[no-any-return]
    return pixels if in_rgb else cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB, dst=pixels)  # type: ignore[no-any-return]


def letterbox_size(image_width: int, image_height: int, *, width: int, height: int) -> tuple[int, int]:
    """Return width and height in pixels of a picture fitted into ``width`` x ``height``, aspect kept.

    Source: darknet src/image.c, letterbox_image (whole-number division).
    """
    if np.float32(width) / np.float32(image_width) < np.float32(height) / np.float32(image_height):
        return width, max(image_height * width // image_width, 1)
    return max(image_width * height // image_height, 1), height


def resize_for_network(image: Bytes, *, width: int, height: int, letter_box: bool = False) -> Floats:
    """Return the picture as a network's input in inference: (C, H, W), 0..1.

    Args:
        image: (H, W, C) bytes.
        width: Of the network, in pixels.
        height: Of the network, in pixels.
        letter_box: Keep the aspect, and fill with grey.
    """
    if not letter_box:
        return _corner_aligned(image, width, height)
    fitted_width, fitted_height = letterbox_size(image.shape[1], image.shape[0], width=width, height=height)
    left, top = (width - fitted_width) // 2, (height - fitted_height) // 2
    canvas = np.full((image.shape[2], height, width), _GREY, dtype=np.float32)
    fitted = _corner_aligned(image, fitted_width, fitted_height)
    canvas[:, top : top + fitted_height, left : left + fitted_width] = fitted
    return canvas


def _corner_aligned(image: Bytes, width: int, height: int) -> Floats:
    """Return (C, height, width) float32, 0..1, by darknet's bilinear rule: the corner pixels keep their places.

    Of the picture only the four neighbours of each new pixel are converted. Source: darknet src/image.c, resize_image.
    """
    if image.shape[:2] == (height, width):
        return _planar(image)
    import torch  # takes seconds, and who only decodes pictures needs none of it

    sampling = _sampling(image.shape[1], image.shape[0], width, height)
    # (C, 2 * height, 2 * width): upper above lower, left beside right; blended in place, as fresh memory costs most
    corners = torch.from_numpy(_planar(_gathered(image, sampling)))
    across = corners[:, :, :width].lerp_(corners[:, :, width:], torch.from_numpy(sampling.right_share))
    lower_share = torch.from_numpy(sampling.lower_share)[:, None]
    down = across[:, :height]
    down[:, :-1].lerp_(across[:, height:-1], lower_share[:-1])
    down[:, -1] *= 1 - lower_share[-1]  # darknet leaves the lower neighbour out in the last row: it may go black
    return down.numpy()


@dataclass(frozen=True, slots=True)
class _Sampling:
    """Which pixels a resized picture is made of. Letters: W, H of the new picture."""

    columns: Integers  # (2W,): left neighbours, then right ones
    rows: Integers  # (2H,): upper neighbours, then lower ones
    right_share: Floats  # (W,)
    lower_share: Floats  # (H,)
    grid: npt.NDArray[np.int16] | None  # (2H, 2W, 2) column and row of each; None where 16 bits do not hold them


@lru_cache(maxsize=64)
def _sampling(columns: int, rows: int, width: int, height: int) -> _Sampling:
    """Return what becomes a new width x height picture of columns x rows pixels."""
    left, right, right_share = _neighbours(columns, width)
    upper, lower, lower_share = _neighbours(rows, height)
    left[-1], right_share[-1] = columns - 1, 0  # darknet's last column is the picture's last one
    across, down = np.concatenate([left, right]), np.concatenate([upper, lower])
    grid = None
    if max(columns, rows, len(across), len(down)) <= _LARGEST_SHORT:
        grid = np.stack(np.meshgrid(across.astype(np.int16), down.astype(np.int16)), axis=-1)
    return _Sampling(across, down, right_share, lower_share, grid)


def _neighbours(source: int, target: int) -> tuple[Integers, Integers, Floats]:
    """Return for each new pixel the pixel before it, the one behind, and the share of that, in float32 as darknet."""
    if source == 1 or target == 1:
        before, share = np.zeros(target, np.int64), np.zeros(target, np.float32)
    else:
        step = np.float32(source - 1) / np.float32(target - 1)
        position = np.arange(target, dtype=np.float32) * step
        before = position.astype(np.int64)
        share = position - before.astype(np.float32)
    return before.clip(max=source - 1), (before + 1).clip(max=source - 1), share


def _gathered(image: Bytes, sampling: _Sampling) -> Bytes:
    """Return (2H, 2W, C) bytes: the four neighbours of each new pixel."""
    if sampling.grid is None:
        return image[sampling.rows][:, sampling.columns]
    picked = import_cv2().remap(image, sampling.grid, None, import_cv2().INTER_NEAREST)  # twice as fast
    return picked.reshape(*picked.shape[:2], image.shape[2])  # type: ignore[no-any-return]  # OpenCV drops C = 1


def _planar(pixels: Bytes) -> Floats:
    """Return (C, H, W) float32 in 0..1 of (H, W, C) bytes."""
    planes = np.empty((pixels.shape[2], *pixels.shape[:2]), np.float32)
    for plane, channel in zip(planes, import_cv2().split(pixels), strict=True):
        np.multiply(channel, _UNIT, out=plane)
    return planes
