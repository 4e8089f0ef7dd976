"""Boxes and names drawn into a picture.  Source: darknet src/image.c, draw_detections_v3."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from darkpy.data.image import import_cv2
from darkpy.report.findings import Finding

_COLOURS = np.array([(1, 0, 1), (0, 0, 1), (0, 1, 1), (0, 1, 0), (1, 1, 0), (1, 0, 0)], dtype=np.float32)
_GREY_BRIGHTNESS = 0.8  # of lines on grey pictures; 1 minus this where the line is an even number of pixels wide
_LABEL_WEIGHT = 0.7
_JPEG_QUALITY = 80
_FONT_HEIGHT_PX = 22  # of OpenCV's plain font at scale 1


def draw(image: NDArray[np.uint8], findings: Sequence[Finding], names: Sequence[str]) -> NDArray[np.uint8]:
    """Return a copy of the picture with boxes and labels, the most certain on top.

    Args:
        image: (H, W, 3) RGB or (H, W, 1) grey.
        findings: What was found, in array order.
        names: One name for each class.
    """
    canvas = image.copy()
    height = canvas.shape[0]
    width_px = max(int(height * 0.002), 1)
    for finding in sorted(findings, key=lambda one: float(one.confidence)):
        left, top, right, bottom = _corners(finding, canvas.shape)
        colour = _line_colour(finding.best, len(names), channels=canvas.shape[2], width_px=width_px)
        _draw_frame(canvas, (left, top, right, bottom), colour=colour, width_px=width_px)
        label = _label(_label_text(finding, names), height)
        _blend(canvas, label, top=top + width_px, left=left, colour=class_colour(finding.best, len(names)))
    return canvas


def class_colour(class_id: int, classes: int) -> tuple[int, int, int]:
    """Return the (red, green, blue) of a class, 0..255.

    Source: darknet src/image.c, get_color.
    """
    position = np.float32(class_id * 123457 % classes) / np.float32(classes) * np.float32(5)
    low, high = int(np.floor(position)), int(np.ceil(position))
    share = position - np.float32(low)
    blue, green, red = (255 * ((1 - share) * _COLOURS[low] + share * _COLOURS[high])).astype(int).tolist()
    return red, green, blue


def save_picture(path: Path, image: NDArray[np.uint8]) -> bool:
    """Write a JPEG, and return whether that worked.

    Args:
        path: Where to.
        image: (H, W, 3) RGB or (H, W, 1) grey.
    """
    cv2 = import_cv2()
    bgr = image[:, :, ::-1] if image.shape[2] == 3 else image
    encoded, data = cv2.imencode(".jpg", np.ascontiguousarray(bgr), [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY])
    try:
        path.write_bytes(data.tobytes())
    except OSError:
        return False
    return bool(encoded)


def _corners(finding: Finding, shape: tuple[int, ...]) -> tuple[int, int, int, int]:
    """Return left, top, right, bottom in pixels: cut off, not rounded, and inside the picture."""
    height, width = shape[:2]
    x, y, w, h = (float(value) for value in finding.box)
    left, right = int((x - w / 2) * width), int((x + w / 2) * width)
    top, bottom = int((y - h / 2) * height), int((y + h / 2) * height)
    return max(left, 0), max(top, 0), min(right, width - 1), min(bottom, height - 1)


def _line_colour(class_id: int, classes: int, *, channels: int, width_px: int) -> tuple[int, ...]:
    if channels == 3:
        return class_colour(class_id, classes)
    return (int(255 * (_GREY_BRIGHTNESS if width_px % 2 else 1 - _GREY_BRIGHTNESS)),)


def _draw_frame(
    canvas: NDArray[np.uint8], corners: tuple[int, int, int, int], *, colour: tuple[int, ...], width_px: int
) -> None:
    """Draw one-pixel rectangles going inward."""
    height, width = canvas.shape[:2]
    for inset in range(width_px):
        left, right = (min(max(x, 0), width - 1) for x in (corners[0] + inset, corners[2] - inset))
        top, bottom = (min(max(y, 0), height - 1) for y in (corners[1] + inset, corners[3] - inset))
        canvas[[top, bottom], left : right + 1] = colour
        canvas[top : bottom + 1, [left, right]] = colour


def _label_text(finding: Finding, names: Sequence[str]) -> str:
    others = "".join(f", {names[index]}" for index, _ in finding.others)
    return f"{names[finding.best]}: {finding.confidence:.2f}{others}"


def _label(text: str, image_height: int) -> NDArray[np.uint8]:
    """Return (h, w) black text on white; taller pictures get larger letters, in darknet's eight steps."""
    cv2 = import_cv2()
    font = cv2.FONT_HERSHEY_SIMPLEX
    step = min(int(image_height * 0.02) // 10, 7)
    scale = (step + 1) * 9 / _FONT_HEIGHT_PX
    thickness = 1 + step // 3
    (width, height), baseline = cv2.getTextSize(text, font, scale, thickness)
    margin = 2 + step
    label = np.full((height + baseline + 2 * margin, width + 2 * margin), 255, dtype=np.uint8)
    cv2.putText(label, text, (margin, margin + height), font, scale, 0, thickness, cv2.LINE_AA)
    return label


def _blend(
    canvas: NDArray[np.uint8], label: NDArray[np.uint8], *, top: int, left: int, colour: tuple[int, int, int]
) -> None:
    """Lay a tinted label over the picture: above row ``top`` where there is room, else below it."""
    row = top - label.shape[0] if top >= label.shape[0] else top
    target = canvas[max(row, 0) :, max(left, 0) :][: label.shape[0], : label.shape[1]]
    tint = np.array(colour if canvas.shape[2] == 3 else (255,), dtype=np.float32)
    tinted = label[: target.shape[0], : target.shape[1], None] / np.float32(255) * tint
    target[:] = (_LABEL_WEIGHT * tinted + (1 - _LABEL_WEIGHT) * target).astype(np.uint8)
