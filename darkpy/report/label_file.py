"""Label files written from detections: `detector test -save_labels`.  Source: darknet src/detector.c, test_detector."""

import os
from pathlib import Path

import numpy as np

from darkpy.data.index import label_path
from darkpy.errors import DataError
from darkpy.structures import Detections


def save_labels(image_path: str, detections: Detections, *, threshold: float) -> str | None:
    """Write the detections of a picture as its label file, empty if there are none.

    An existing file is replaced, as in darknet, but only once the new one is complete.

    Args:
        image_path: The picture.
        detections: N detections in the CPU's memory, in array order, finite boxes relative to the picture.
        threshold: A detection is written if its best class, hidden ones included, is above this.

    Returns:
        A note if an existing file was replaced.

    Raises:
        DataError: If the file cannot be written.
    """
    target = Path(label_path(image_path))
    note = _replaced(target)
    unfinished = target.with_name(target.name + ".part")
    try:
        unfinished.write_text(label_text(detections, threshold=threshold), encoding="utf-8", newline="\n")
        os.replace(unfinished, target)
    except OSError as error:
        raise DataError(
            f"-save_labels: {target}: cannot be written: {error.strerror}. Make the folder, or make it writable."
        ) from error
    return note


def label_text(detections: Detections, *, threshold: float) -> str:
    """Return the lines of a label file: best class, centre x, centre y, width, height, with 4 decimals.

    Args:
        detections: N detections in the CPU's memory, in array order, boxes relative to the picture.
        threshold: The best class of a line is above this.
    """
    probabilities, boxes = detections.probabilities.numpy(), detections.boxes.numpy()
    rows = np.nonzero((probabilities > max(threshold, 0.0)).any(axis=1) & np.isfinite(boxes).all(axis=1))[0]
    lines = []
    for row in rows:
        x, y, w, h = boxes[row]
        lines.append(f"{probabilities[row].argmax()} {x:2.4f} {y:2.4f} {w:2.4f} {h:2.4f}\n")
    return "".join(lines)


def _replaced(target: Path) -> str | None:
    try:
        lines = target.read_bytes().splitlines()
    except OSError:
        return None
    return f"-save_labels: {target}: replaced; it held {len(lines)} lines before."
