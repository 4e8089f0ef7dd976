"""Detections as the lines of result files, in the forms of `eval=`.  Source: darknet src/detector.c, print_*."""

import json
import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from darkpy.structures import PictureResult

# MS COCO counts its 80 classes from 1 to 90, with gaps
COCO_CATEGORIES = tuple(n for n in range(1, 91) if n not in (12, 26, 29, 30, 45, 66, 68, 69, 71, 83))
BDD_CATEGORIES = (
    *("bike", "bus", "car", "motor", "person"),
    *("rider", "traffic light", "traffic sign", "train", "truck"),
)
KITTI_TYPES = ("car", "pedestrian", "cyclist")
IMAGENET_CLASSES = 200

_CORNERS = "%f %f %f %f"
_FOLDER_ENDS = re.compile(r"[/\\]")


def base_name(path: str) -> str:
    """Return what VOC and KITTI files call a picture: its name without folders, up to the first dot."""
    return _FOLDER_ENDS.split(path)[-1].partition(".")[0]


def coco_image_id(path: str) -> int:
    """Return the number of a picture: the one that its name begins with, else the one behind the last ``_``; else 0.

    darknet knows only the first rule, which makes ``COCO_val2014_000000000042.jpg`` number 0.
    """
    name = base_name(path)
    found = re.match(r"[0-9]+", name) or re.match(r"[0-9]+", name.rpartition("_")[2])
    return int(found[0]) if found else 0


def voc_rows(result: PictureResult) -> dict[int, str]:
    """Return for each class that was found the lines of its file: picture, probability, corners counted from 1."""
    rows, classes, values = _records(result)
    line = f"{_literal(base_name(result.path))} %f {_CORNERS}\n"
    table = np.column_stack([values, _corners(result, first_pixel=1)[rows]])
    return {
        int(class_id): _filled([line] * int((classes == class_id).sum()), table[classes == class_id])
        for class_id in np.unique(classes)
    }


def coco_rows(result: PictureResult) -> str:
    """Return one JSON object a line, each followed by a comma: left, top, width, height, not rounded to pixels."""
    rows, classes, values = _records(result)
    corners = _corners(result)
    boxes = np.column_stack([corners[:, :2], corners[:, 2:] - corners[:, :2]])
    lines = [
        f'{{"image_id":{coco_image_id(result.path)}, "category_id":{category}, "bbox":[%f, %f, %f, %f], "score":%f}},\n'
        for category in COCO_CATEGORIES
    ]
    return _filled([lines[class_id] for class_id in classes], np.column_stack([boxes[rows], values]))


def imagenet_rows(result: PictureResult) -> str:
    """Return one line a detection: place in the list and class, both counted from 1, probability, corners."""
    rows, classes, values = _records(result)
    counted = classes < IMAGENET_CLASSES
    line = f"{result.position + 1} %d %f {_CORNERS}\n"
    table = np.column_stack([classes + 1, values, _corners(result)[rows]])[counted]
    return _filled([line] * len(table), table)


def bdd_rows(result: PictureResult) -> str:
    """Return one JSON object a detection, each followed by a comma: picture, category, corners."""
    rows, classes, values = _records(result)
    name = json.dumps(PurePosixPath(result.path).name.replace(".jpg", ""), ensure_ascii=False)
    lines = [
        f'\t{{\n\t\t"name":{_literal(name)},\n\t\t"category":"{category}",\n'
        '\t\t"bbox":[%f, %f, %f, %f],\n\t\t"score":%f\n\t},\n'
        for category in BDD_CATEGORIES
    ]
    table = np.column_stack([_corners(result)[rows], values])
    return _filled([lines[class_id] for class_id in classes], table)


def kitti_rows(result: PictureResult) -> str:
    """Return one line a detection: type, corners, probability; what a 2D detector cannot know is -1, -10 or -1000."""
    rows, classes, values = _records(result)
    lines = [f"{name} -1 -1 -10 {_CORNERS} -1 -1 -1 -1000 -1000 -1000 -10 %f\n" for name in KITTI_TYPES]
    table = np.column_stack([_corners(result)[rows], values])
    return _filled([lines[class_id] for class_id in classes], table)


def _records(result: PictureResult) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """Return row, class and probability of every (detection, class) with a probability, in array order."""
    probabilities = result.detections.probabilities.numpy()
    rows, classes = np.nonzero(probabilities > 0)
    return rows, classes, probabilities[rows, classes]


def _corners(result: PictureResult, *, first_pixel: int = 0) -> NDArray[np.float32]:
    from darkpy.boxes import corners_within  # brings torch, which takes seconds, and coco_image_id needs none

    corners = corners_within(result.detections.boxes, image_size=result.size, first_pixel=first_pixel)
    return corners.numpy()


def _filled(lines: Sequence[str], table: NDArray[Any]) -> str:
    """Return the lines with the numbers of the table's rows in their places: one formatting for all of them."""
    return "".join(lines) % tuple(table.ravel().tolist())


def _literal(text: str) -> str:
    return text.replace("%", "%%")
