"""Labels -> COCO's annotation file.  Source: cocodataset.org, data format, object detection."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np

from darkpy.cfg.text import decode
from darkpy.conversion.sample import Floats, Integers
from darkpy.data.labels import parse_labels, read_labels
from darkpy.structures import Problem

_DECIMALS = 9  # of a pixel: enough to come back to the same label, and short


@dataclass(frozen=True, slots=True, eq=False)
class LabelRows:
    """The good lines of a label file, in double precision. Letter: N boxes."""

    classes: Integers  # (N,)
    xywh_rel: Floats  # (N, 4) centre x, centre y, width, height
    problems: tuple[Problem, ...]


def read_rows(path: str, *, classes: int) -> LabelRows:
    """Read a label file; what darkpy would not use is left out, and stands in ``problems``.

    Args:
        path: The label file; if it is missing, there are no objects.
        classes: Number of classes.
    """
    try:
        text = decode(Path(path).read_bytes())
    except (OSError, ValueError):
        missing = read_labels(path, classes=classes)
        return LabelRows(np.zeros(0, np.int64), np.zeros((0, 4)), missing.problems)
    labels = parse_labels(text, path=path, classes=classes)
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    table = np.array([lines[number - 1].split()[:5] for number in labels.lines], dtype=np.float64).reshape(-1, 5)
    return LabelRows(table[:, 0].astype(np.int64), table[:, 1:], labels.problems)


@dataclass(frozen=True, slots=True, eq=False)
class MarkedPicture:
    """A picture with its objects."""

    path: str  # as in the list
    width: int
    height: int
    rows: LabelRows
    crowd: LabelRows | None = None  # the difficult objects


def coco_document(
    pictures: Sequence[MarkedPicture], names: Sequence[str], *, image_id: Callable[[str], int]
) -> dict[str, Any]:
    """Return the document of an annotation file.

    Category ids are class numbers plus 1. An image id is the number in the picture's name, as in the results of
    ``detector valid``, where all of these differ; else the place in the list, from 1. Annotation ids count from 1.
    A file name counts from the folder that all pictures share. Difficult objects become crowds (iscrowd 1), which
    COCO's tools score as darknet's map scores difficult ones: finding them is neither right nor wrong.

    Args:
        pictures: In the order of the list.
        names: Of the classes.
        image_id: Returns the number in a picture's name.
    """
    ids = image_ids([picture.path for picture in pictures], image_id)
    file_names = names_below([picture.path for picture in pictures])
    images = [
        {"id": number, "file_name": name, "width": picture.width, "height": picture.height}
        for number, name, picture in zip(ids, file_names, pictures, strict=True)
    ]
    annotations: list[dict[str, Any]] = []
    for number, picture in zip(ids, pictures, strict=True):
        for rows, crowd in ((picture.rows, 0), (picture.crowd, 1)):
            if rows is not None:
                annotations += _annotations(rows, picture, number, crowd, first=len(annotations) + 1)
    categories = [{"id": number, "name": name, "supercategory": ""} for number, name in enumerate(names, start=1)]
    return {"images": images, "annotations": annotations, "categories": categories}


def _annotations(
    rows: LabelRows, picture: MarkedPicture, image_id: int, crowd: int, *, first: int
) -> list[dict[str, Any]]:
    scale = np.array([picture.width, picture.height] * 2, np.float64)
    centre, extent = rows.xywh_rel[:, :2], rows.xywh_rel[:, 2:]
    boxes = (np.concatenate([centre - extent / 2, extent], axis=1) * scale).round(_DECIMALS)
    areas = (boxes[:, 2] * boxes[:, 3]).round(_DECIMALS)
    return [
        {
            "id": number,
            "image_id": image_id,
            "category_id": class_id + 1,
            "bbox": box,
            "area": area,
            "iscrowd": crowd,
            "segmentation": [],
        }
        for number, (class_id, box, area) in enumerate(
            zip(rows.classes.tolist(), boxes.tolist(), areas.tolist(), strict=True), start=first
        )
    ]


def image_ids(paths: Sequence[str], number_of: Callable[[str], int]) -> list[int]:
    """Return the number in each picture's name if all differ and none is 0, else 1, 2, 3, ..."""
    numbers = [number_of(path) for path in paths]
    usable = len(set(numbers)) == len(numbers) and 0 not in numbers and max(numbers, default=0) < 2**53
    return numbers if usable else list(range(1, len(paths) + 1))


def shared_folder(paths: Sequence[str]) -> str:
    """Return the deepest folder that all paths share, as it is written in them; empty for the current one."""
    folders = [path.replace("\\", "/").split("/")[:-1] for path in paths] or [[]]
    pairs = zip(min(folders), max(folders), strict=False)  # what these two share, all do
    return "/".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def names_below(paths: Sequence[str]) -> list[str]:
    """Return the paths without the folder that they share."""
    folder = shared_folder(paths)
    return [path.replace("\\", "/")[len(folder) :].lstrip("/") if folder else path for path in paths]


def document_text(document: dict[str, Any]) -> str:
    """Return the JSON text, one image or annotation a line."""
    parts = []
    for key, records in document.items():
        lines = ",\n".join(json.dumps(record, ensure_ascii=True) for record in records)
        parts.append(f'"{key}": [\n{lines}\n]')
    return "{\n" + ",\n".join(parts) + "\n}\n"
