"""A data set that darkpy draws itself: coloured circles, squares and triangles. ``python -m darkpy.data.drawn FOLDER``.

It is small and needs no download. Each shape has tones of one colour, so that a few hundred iterations tell them apart.
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

NAMES = ("circle", "square", "triangle")
HUES = (0, 60, 115)  # of the classes, 0..179 as OpenCV counts: red, green, blue
HUE_RANGE = 14  # tones on either side
SIDE = 256  # pixels of a picture, both ways
MAX_SHAPES = 5
MAX_TILT = 0.35  # radians from upright, 20 degrees
MAX_IOU = 0.05  # shapes of one picture hardly overlap


@dataclass(frozen=True, slots=True)
class Drawing:
    """One picture with its truths."""

    image: np.ndarray  # (SIDE, SIDE, 3) uint8, BGR as cv2 writes it
    truths: np.ndarray  # (N, 5) float64: centre x, y, width, height relative to the picture, class


def draw_picture(random: np.random.Generator) -> Drawing:
    """Return one picture with 1 to MAX_SHAPES shapes on a textured background.

    Args:
        random: Where all chance comes from; equal states draw equal pictures.
    """
    image = _background(random)
    truths: list[tuple[float, ...]] = []
    for _ in range(int(random.integers(1, MAX_SHAPES + 1))):
        kind = int(random.integers(len(NAMES)))
        radius = random.uniform(14, 52)
        centre = random.uniform(radius + 2, SIDE - radius - 2, size=2)
        outline = _outline(kind, centre, radius, random.uniform(-MAX_TILT, MAX_TILT))
        box = _box(outline)
        if all(_iou(box, np.array(truth[:4])) <= MAX_IOU for truth in truths):
            _paint(image, outline, kind, random)
            truths.append((*box, kind))
    noisy = image.astype(np.float32) + random.normal(0, 6, image.shape)
    return Drawing(noisy.clip(0, 255).astype(np.uint8), np.array(truths))


def write_data_set(folder: Path, *, train: int = 300, valid: int = 60, seed: int = 7) -> Path:
    """Draw a data set and write it as darknet reads it.

    Args:
        folder: Gets obj/*.jpg with their labels, train.txt, valid.txt, shapes.names, shapes.data and backup/.
        train: Number of training pictures.
        valid: Number of pictures to evaluate on.
        seed: Equal seeds draw equal data sets.

    Returns:
        The .data file. All paths in it are absolute, so that it works from any folder.
    """
    folder = folder.resolve()
    for name in ("obj", "backup"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(seed)
    for name, count in (("train", train), ("valid", valid)):
        paths = [folder / "obj" / f"{name}_{number:04d}.jpg" for number in range(count)]
        for path in paths:
            _write_drawing(path, draw_picture(random))
        _write_text(folder / f"{name}.txt", [path.as_posix() for path in paths])
    _write_text(folder / "shapes.names", list(NAMES))
    lines = [f"classes = {len(NAMES)}"]
    lines += [f"{key} = {(folder / f'{key}.txt').as_posix()}" for key in ("train", "valid")]
    lines += [f"names = {(folder / 'shapes.names').as_posix()}", f"backup = {(folder / 'backup').as_posix()}"]
    return _write_text(folder / "shapes.data", lines)


def _background(random: np.random.Generator) -> np.ndarray:
    """Return a slope between two dull colours under coarse blotches, (SIDE, SIDE, 3) uint8."""
    corners = random.uniform(60, 190, size=(2, 2, 3)).astype(np.float32)
    blotches = (random.normal(0, 20, size=(9, 9, 1)) + random.normal(0, 8, size=(9, 9, 3))).astype(np.float32)
    slope = cv2.resize(corners, (SIDE, SIDE), interpolation=cv2.INTER_LINEAR)
    texture = cv2.resize(blotches, (SIDE, SIDE), interpolation=cv2.INTER_CUBIC)
    return (slope + texture).clip(0, 255).astype(np.uint8)


def _outline(kind: int, centre: np.ndarray, radius: float, tilt: float) -> np.ndarray:
    """Return the corners of a shape, (N, 2) pixels, all at ``radius``; a circle is a polygon of 48 corners."""
    count, upright = ((48, 0.0), (4, np.pi / 4), (3, -np.pi / 2))[kind]
    angles = upright + tilt + np.arange(count) * (2 * np.pi / count)
    return centre + radius * np.stack((np.cos(angles), np.sin(angles)), axis=1)


def _paint(image: np.ndarray, outline: np.ndarray, kind: int, random: np.random.Generator) -> None:
    """Fill a shape with a bright tone of its class's colour and draw its edge darker."""
    tone = (HUES[kind] + random.integers(-HUE_RANGE, HUE_RANGE + 1)) % 180
    hue = np.array([tone, *random.integers(150, 256, size=2)]).astype(np.uint8)
    colour = cv2.cvtColor(hue[None, None], cv2.COLOR_HSV2BGR)[0, 0].astype(float)
    corners = np.round(outline * 16).astype(np.int32)  # 4 binary digits behind the point
    cv2.fillPoly(image, [corners], colour.tolist(), cv2.LINE_AA, 4)
    cv2.polylines(image, [corners], True, (colour * 0.55).tolist(), 2, cv2.LINE_AA, 4)


def _box(outline: np.ndarray) -> np.ndarray:
    """Return centre x, centre y, width and height around an outline, relative to the picture."""
    low, high = outline.min(axis=0) / SIDE, outline.max(axis=0) / SIDE
    return np.concatenate(((low + high) / 2, high - low))


def _iou(a: np.ndarray, b: np.ndarray) -> float:
    low = np.maximum(a[:2] - a[2:] / 2, b[:2] - b[2:] / 2)
    high = np.minimum(a[:2] + a[2:] / 2, b[:2] + b[2:] / 2)
    shared = float(np.prod((high - low).clip(0)))
    return shared / (float(np.prod(a[2:]) + np.prod(b[2:])) - shared)


def _write_drawing(path: Path, drawing: Drawing) -> None:
    _, encoded = cv2.imencode(".jpg", drawing.image, [cv2.IMWRITE_JPEG_QUALITY, 92])
    path.write_bytes(encoded.tobytes())  # cv2.imwrite cannot write to every path on Windows
    _write_text(
        path.with_suffix(".txt"),
        [f"{int(row[4])} " + " ".join(f"{value:.6f}" for value in row[:4]) for row in drawing.truths],
    )


def _write_text(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    return path


def main(words: list[str] | None = None) -> None:
    """Draw a data set into the folder that the command line names, and print its .data file."""
    parser = argparse.ArgumentParser(prog="python -m darkpy.data.drawn", description="Draw a small data set.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--train", type=int, default=300, help="training pictures (%(default)s)")
    parser.add_argument("--valid", type=int, default=60, help="pictures to evaluate on (%(default)s)")
    parser.add_argument("--seed", type=int, default=7, help="equal seeds draw equal pictures (%(default)s)")
    given = parser.parse_args(words)
    print(write_data_set(given.folder, train=given.train, valid=given.valid, seed=given.seed))


if __name__ == "__main__":
    main(sys.argv[1:])
