"""Mixup: two pictures, one seen through the other, with the objects of both.

Source: Zhang et al. 2018, arXiv:1710.09412, with a fixed share of one half; darknet src/data.c, blend_truth;
src/image_opencv.cpp, blend_images_cv.
"""

from collections.abc import Callable

import numpy as np

from darkpy.data.augment import AugmentSpec, Crop, Floats, augment
from darkpy.data.image import Bytes

Draw = Callable[[], tuple[Bytes, Floats]]


def mixup(
    rng: np.random.Generator, draw: Draw, *, spec: AugmentSpec, network_size: tuple[int, int]
) -> tuple[Floats, Floats, tuple[Crop, ...]]:
    """Return the network's input made of two pictures, each augmented by itself.

    Args:
        rng: Source of all draws.
        draw: Returns a picture, (H, W, C) bytes, and its (N, 5) truths; called twice.
        spec: Ranges.
        network_size: Width and height of the network's input, in pixels.

    Returns:
        (height, width, C) in 0..1, see ``blend``; (M, 5) truths, first those of the first picture, M <= max_boxes;
        the two windows.
    """
    pixels, truths, crop = augment(rng, *draw(), spec=spec, network_size=network_size)
    others, other_truths, other_crop = augment(rng, *draw(), spec=spec, network_size=network_size)
    kept = np.concatenate([truths, other_truths])[: spec.max_boxes]
    return blend(pixels, others), kept, (crop, other_crop)


def blend(first: Bytes, second: Bytes) -> Floats:
    """Return the mean of two pictures, (H, W, C) bytes each, as float32 in 0..1.

    Bytes cannot hold it: the mean of two bytes may end in a half, and darknet averages after dividing by 255.
    """
    half = np.float32(0.5)
    return unit_levels(first) * half + unit_levels(second) * half


def unit_levels(pixels: Bytes | Floats) -> Floats:
    """Return bytes as the network sees them, float32 in 0..1; floats are so already."""
    if pixels.dtype == np.float32:
        return pixels  # type: ignore[return-value]  # mypy cannot tell arrays apart by dtype
    return np.divide(pixels, np.float32(255), dtype=np.float32)
