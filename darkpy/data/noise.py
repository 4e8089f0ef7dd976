"""Noise on a training picture: darknet's, which only brightens.

Source: darknet src/data.c, load_data_detection; src/image_opencv.cpp, image_data_augmentation.
"""

import numpy as np

from darkpy.data.image import Bytes, import_cv2

_STRONGEST = 127


def draw_noise(rng: np.random.Generator, gaussian_noise: int) -> int:
    """Draw the standard deviation of one picture's noise in grey levels: ``gaussian_noise``, at most 127, or 0.

    Args:
        rng: Source of the draw, with equal chances; untouched without noise.
        gaussian_noise: What [net] says.
    """
    return min(gaussian_noise, _STRONGEST) if gaussian_noise and rng.integers(2) else 0


def add_noise(rng: np.random.Generator, image: Bytes, deviation: int) -> Bytes:
    """Return (H, W, C) bytes with noise of its own on every value, kept in 0..255.

    The noise is normal, rounded to bytes: its negative half becomes 0, as in darknet, so it only brightens.

    Args:
        rng: Source of the noise; untouched with a deviation of 0.
        image: (H, W, C) bytes.
        deviation: Standard deviation, in grey levels.
    """
    if not deviation:
        return image
    noise = rng.standard_normal(image.shape, dtype=np.float32)
    noise *= deviation
    rounded = np.rint(noise, out=noise).clip(0, 255, out=noise).astype(np.uint8)
    return import_cv2().add(image, rounded).reshape(image.shape)  # type: ignore[no-any-return]  # OpenCV drops C = 1
