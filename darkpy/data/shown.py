"""The pictures that a network is trained on, saved with their boxes for the user to look at.

Source: darknet src/data.c, load_data_detection, option -show_imgs.
"""

from pathlib import Path

import numpy as np

from darkpy.data.augment import Floats
from darkpy.data.image import Bytes, import_cv2
from darkpy.errors import DataError

_COLOUR = (106, 156, 206)  # of boxes, RGB: what darknet's comes to in its files
_GREY = 150
_UNIT = 255


def shown_name(*, iteration: int, row: int, seed: int) -> str:
    """Return the file name of one row: no two rows of a run, or of runs with other seeds, share one.

    Args:
        iteration: Counted from 1.
        row: In the iteration, counted from 0.
        seed: Of the run.
    """
    return f"aug_{iteration}_{row}_{seed}.jpg"


def save_row(folder: Path, pixels: Bytes | Floats, truths: Floats, *, key: tuple[int, int, int]) -> None:
    """Write one row of a mini-batch with its boxes.

    Args:
        folder: Where to.
        pixels: (H, W, C) RGB or grey: bytes, or floats in 0..1.
        truths: (N, 5) centre x, y, width, height relative to the picture, class.
        key: Iteration from 1, row from 0 and seed, which name the file.

    Raises:
        DataError: If the file cannot be written.
    """
    cv2 = import_cv2()
    is_grey = pixels.shape[2] == 1
    levels = pixels if pixels.dtype == np.uint8 else np.rint(pixels * _UNIT).astype(np.uint8)
    canvas = levels[:, :, ::-1].copy()  # OpenCV writes BGR
    size = np.array(canvas.shape[1::-1], np.float32)
    low, high = (truths[:, :2] - truths[:, 2:4] / 2) * size, (truths[:, :2] + truths[:, 2:4] / 2) * size
    corners = np.stack([low, np.stack([high[:, 0], low[:, 1]], 1), high, np.stack([low[:, 0], high[:, 1]], 1)], 1)
    cv2.polylines(canvas, corners.astype(np.int32), True, _GREY if is_grey else _COLOUR[::-1])
    path = folder / shown_name(iteration=key[0], row=key[1], seed=key[2])
    encoded = cv2.imencode(".jpg", canvas)[1]
    try:
        path.write_bytes(encoded.tobytes())  # cv2.imwrite says nothing of a full disk
    except OSError as error:
        raise DataError(
            f"-show_imgs: {path} cannot be written: {error.strerror}. Start in a folder with room that you may write."
        ) from error
