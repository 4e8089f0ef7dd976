"""Blur of a training picture: of the whole of it, or of all but its objects.

Source: darknet src/data.c, load_data_detection (with OpenCV); src/image_opencv.cpp, image_data_augmentation.
"""

import numpy as np
import numpy.typing as npt

from darkpy.data.image import Bytes, import_cv2

NO_BLUR, BACKGROUND = 0, 1  # any larger strength blurs the whole picture
_CHOICES = 3  # none, the background, the whole picture: equal chances
_BACKGROUND_KERNEL = 17  # pixels, both ways
_SIDES_A_KERNEL = 8  # the smallest object is at least so many times as large as the kernel


def draw_blur(rng: np.random.Generator, blur: int) -> int:
    """Draw the strength of the blur of one picture: 0, 1 (the background) or ``blur``, with equal chances.

    Args:
        rng: Source of the draw; untouched without blur.
        blur: What [net] says. With 1, two of three pictures have their background blurred, as in darknet.
    """
    return (NO_BLUR, BACKGROUND, blur)[int(rng.integers(_CHOICES))] if blur else NO_BLUR


def spare_small_objects(strength: int, truths: npt.NDArray[np.float32], *, network_size: tuple[int, int]) -> int:
    """Return the strength, lowered to an eighth of the smallest side of an object, in whole pixels.

    A strength of 1 stays. A larger one may come down to 1, which blurs the background, and to 0, as it does without
    objects.

    Args:
        strength: As drawn.
        truths: (N, 5) centre x, y, width, height relative to the network's input, class.
        network_size: Width and height of the network's input, in pixels.
    """
    if strength <= BACKGROUND:
        return strength
    smallest = int((truths[:, 2:4] * np.array(network_size, np.float32)).min()) if len(truths) else 0
    return min(strength, smallest // _SIDES_A_KERNEL)


def blur_picture(image: Bytes, strength: int, truths: npt.NDArray[np.float32]) -> Bytes:
    """Return (H, W, C) bytes blurred by a Gaussian; with strength 1 the truths' rectangles stay sharp.

    Args:
        image: (H, W, C) bytes.
        strength: 0 none, 1 the background, else about the kernel's side in pixels.
        truths: (N, 5) centre x, y, width, height relative to the picture, class.
    """
    if strength == NO_BLUR:
        return image
    side = _BACKGROUND_KERNEL if strength == BACKGROUND else strength // 2 * 2 + 1
    blurred: Bytes = import_cv2().GaussianBlur(image, (side, side), 0).reshape(image.shape)  # OpenCV drops C = 1
    if strength == BACKGROUND:
        np.copyto(blurred, image, where=_covered(truths, image.shape[:2])[:, :, None])
    return blurred


def _covered(truths: npt.NDArray[np.float32], shape: tuple[int, int]) -> npt.NDArray[np.bool_]:
    """Return which pixels of a picture (H, W) a truth covers: corners count +1 and -1, and two sums fill the inside."""
    rows, columns = shape
    size = np.array((columns, rows), np.float32)
    centre, extent = truths[:, 0:2].astype(np.float64), truths[:, 2:4]  # darknet's edges are doubles, its sizes floats
    low = np.trunc((centre - extent / 2) * size).astype(int)
    high = low + np.trunc(extent * size).astype(int)
    left, top = low.clip(0, (columns, rows)).T
    right, bottom = high.clip(0, (columns, rows)).T
    corners = np.zeros((rows + 1, columns + 1), np.int32)
    for y, x, step in ((top, left, 1), (top, right, -1), (bottom, left, -1), (bottom, right, 1)):
        np.add.at(corners, (y, x), step)
    return corners.cumsum(axis=0).cumsum(axis=1)[:-1, :-1] > 0
