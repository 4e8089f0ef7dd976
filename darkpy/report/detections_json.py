"""The JSON file of `detector test -out`.  Source: darknet src/image.c, detection_to_json."""

import json
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from darkpy.errors import DataError
from darkpy.report.findings import HIDDEN
from darkpy.structures import Detections

_LEAST = np.float32(0.005)  # darknet never writes weaker ones


class JsonFile:
    """A JSON array with one object for each picture; whole also when the run ends early.

    Args:
        path: Where to; opened at once, so that a bad path is found before the network is loaded.

    Raises:
        DataError: If the file cannot be made.
    """

    def __init__(self, path: Path) -> None:
        try:  # names that are no UTF-8 become \udcXX, which JSON can read back
            self._file = path.open("w", encoding="utf-8", errors="backslashreplace", newline="\n")
        except OSError as error:
            raise DataError(
                f"-out {path}: fopen failed: {error.strerror}. Name a file in a folder that exists and can be written."
            ) from error
        self._frames = 0
        self._file.write("[\n")

    def __enter__(self) -> Self:
        """Return the file itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the array and the file."""
        self._file.write("\n]")
        self._file.close()

    def add(self, filename: str, detections: Detections, names: Sequence[str]) -> None:
        """Write one picture's object."""
        self._frames += 1
        separator = ", \n" if self._frames > 1 else ""
        self._file.write(separator + picture_json(self._frames, filename, detections, names=names))
        self._file.flush()


def picture_json(frame_id: int, filename: str, detections: Detections, *, names: Sequence[str]) -> str:
    """Return the JSON object of one picture, in darknet's bytes; names are escaped, which darknet leaves out.

    Args:
        frame_id: Number of the picture, from 1.
        filename: Its path as typed.
        detections: N detections in the CPU's memory, in array order, boxes relative to the picture.
        names: One name for each class.
    """
    probabilities, boxes = detections.probabilities.numpy(), detections.boxes.numpy()
    entries = [
        _entry(int(index), names[index], boxes[row], probabilities[row, index])
        for row, index in zip(*np.nonzero(probabilities > _LEAST), strict=True)
        if not names[index].startswith(HIDDEN)
    ]
    head = f'{{\n "frame_id":{frame_id}, \n "filename":{_quoted(filename)}, \n "objects": [ \n'
    return head + ", \n".join(entries) + "\n ] \n}"


def _entry(class_id: int, name: str, box: Sequence[float], confidence: float) -> str:
    x, y, w, h = box
    return (
        f'  {{"class_id":{class_id}, "name":{_quoted(name)}, "relative_coordinates":'
        f'{{"center_x":{x:f}, "center_y":{y:f}, "width":{w:f}, "height":{h:f}}}, "confidence":{confidence:f}}}'
    )


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
