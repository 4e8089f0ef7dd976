"""COCO's annotation files (instances_train2017.json and its like) -> samples.

Source: cocodataset.org, data format, object detection. Boxes are left, top, width, height in pixels from 0.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from darkpy.conversion.sample import Tally
from darkpy.errors import DataError

_LARGEST = 1e12  # pixels
Box = tuple[float, float, float, float]
_PARTS = ("images", "annotations", "categories")
_NO_NAME = re.compile(r"^$|[\x00-\x1f\x7f\ud800-\udfff]")  # no line of a .names file can hold these
_NO_LIST_NAME = re.compile(r"[\x00-\x1f\x7f#]")  # nor a .data file these
_NAME_NOISE = re.compile(r"^_?(instances|annotations)(\.coco)?(_|$)|\.coco$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CocoImage:
    """A picture of an annotation file, with its objects."""

    file_name: str
    size: tuple[int, int]  # width, height; (0, 0) if one is missing
    objects: list[tuple[int, Box, bool]]  # category id; left, top, right, bottom in pixels; crowd


@dataclass(frozen=True, slots=True)
class CocoFile:
    """What one annotation file says."""

    path: Path
    categories: dict[int, str]  # id -> name
    images: list[CocoImage]  # each file_name once, in order


def read_coco(path: Path, tally: Tally) -> CocoFile:
    """Read an annotation file.

    A picture that stands twice counts once, with the objects of both. The box of an object counts; where there is none,
    the bounds of its polygons; an object with neither (a mask alone) is left out and counted, as is one without size.

    Args:
        path: The JSON file.
        tally: Takes note of what is left out.

    Raises:
        DataError: If it cannot be read, or is no such file.
    """
    document = _load(path)
    categories = _categories(document["categories"], path)
    images: dict[str, CocoImage] = {}
    by_id: dict[Any, CocoImage] = {}
    for record in _records(document["images"], "images", path, ("id", "file_name")):
        image = CocoImage(str(record["file_name"]), _size(record), [])
        if image.file_name in images:
            tally.add("pictures that stand twice, taken once", f"{path}, image id {record['id']}")
        image = images.setdefault(image.file_name, image)
        if by_id.setdefault(record["id"], image) is not image:
            raise DataError(
                f"{path}: image id {record['id']} is both {by_id[record['id']].file_name} and {image.file_name}. "
                "Give each picture an id of its own."
            )
    _add_objects(document["annotations"], by_id, categories, path, tally)
    return CocoFile(path, categories, list(images.values()))


def _load(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise DataError(f"Couldn't open file: {path}: {error.strerror}. Name a JSON file of annotations.") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: no JSON: {error}. Name a JSON file of annotations.") from error
    if isinstance(document, list):
        raise DataError(f"{path}: a list, as of results (detections). Name the annotations: a JSON object with images.")
    for part in _PARTS:
        if not isinstance(document, dict) or not isinstance(document.get(part), list):
            raise DataError(
                f"{path}: no list '{part}', but COCO annotations have {', '.join(_PARTS)}. Name such a file."
            )
    return document  # type: ignore[no-any-return]


def _records(part: Sequence[Any], name: str, path: Path, keys: Iterable[str]) -> Iterable[Mapping[str, Any]]:
    """Yield the objects of a list, each with its keys, ids among them as numbers or text."""
    for number, record in enumerate(part):
        missing = next((key for key in keys if not isinstance(record, dict) or not _is_plain(record.get(key))), None)
        if missing is not None:
            raise DataError(f"{path}: {name}[{number}] has no '{missing}' that is a number or text. Mend the file.")
        yield record


def _is_plain(value: object) -> bool:
    return isinstance(value, int | float | str)


def _categories(part: Sequence[Any], path: Path) -> dict[int, str]:
    categories: dict[int, str] = {}
    for record in _records(part, "categories", path, ("id", "name")):
        number, name = record["id"], " ".join(str(record["name"]).split())
        if not isinstance(number, int) or _NO_NAME.search(name):
            raise DataError(
                f"{path}: category id {number!r}, name {name!a}: an id is a whole number, a name not empty and "
                "without odd characters. Mend the file."
            )
        if categories.setdefault(number, name) != name:
            raise DataError(f"{path}: category id {number} is both '{categories[number]}' and '{name}'. Rename one.")
    return categories


def merged_categories(files: Sequence[CocoFile]) -> dict[int, str]:
    """Return the categories of all files by ascending id.

    Raises:
        DataError: If two files give one id different names.
    """
    merged: dict[int, str] = {}
    for file in files:
        for number, name in file.categories.items():
            if merged.setdefault(number, name) != name:
                raise DataError(
                    f"{file.path}: category id {number} is '{name}', but '{merged[number]}' in {files[0].path}. "
                    "Convert files of one numbering together."
                )
    return dict(sorted(merged.items()))


def _size(record: Mapping[str, Any]) -> tuple[int, int]:
    width, height = (_pixels(record.get(key)) for key in ("width", "height"))
    return (width, height) if width and height else (0, 0)


def _pixels(value: object) -> int:
    return int(value) if isinstance(value, int | float) and 0 < value < 2**31 else 0


def _add_objects(
    part: Sequence[Any], images: Mapping[Any, CocoImage], categories: Mapping[int, str], path: Path, tally: Tally
) -> None:
    for record in _records(part, "annotations", path, ("image_id", "category_id")):
        where = f"{path}, annotation id {record.get('id')}"
        image, category = images.get(record["image_id"]), record["category_id"]
        if image is None:
            tally.add("annotations of an image id that no picture has, left out", where)
        elif category not in categories:
            tally.add("annotations of a category id that is not declared, left out", where)
        elif (box := _box(record)) is None:
            tally.add("annotations without a box or polygon, left out", where)
        else:
            image.objects.append((category, box, record.get("iscrowd") == 1))


def _box(record: Mapping[str, Any]) -> Box | None:
    """Return left, top, right, bottom in pixels."""
    bbox = _numbers(record.get("bbox"))
    if bbox is not None and len(bbox) == 4:
        left, top, width, height = bbox
        return left, top, left + width, top + height
    polygons = record.get("segmentation")
    points = [_numbers(polygon) for polygon in polygons] if isinstance(polygons, list) else []
    across = [value for polygon in points for value in (polygon or [])[0::2]]
    down = [value for polygon in points for value in (polygon or [])[1::2]]
    return (min(across), min(down), max(across), max(down)) if len(across) > 2 and len(down) > 2 else None


def _numbers(values: object) -> list[float] | None:
    """Return a list of finite numbers, or None."""
    if not isinstance(values, list) or not all(isinstance(one, int | float) for one in values):
        return None
    return [float(one) for one in values] if all(-_LARGEST < one < _LARGEST for one in values) else None


def list_name(path: Path) -> str:
    """Return what the list of an annotation file is called: ``train2017`` for ``instances_train2017.json``.

    Where only ``_annotations.coco`` and the like is left, it is the folder's name.
    """
    name = _NAME_NOISE.sub("", _NAME_NOISE.sub("", path.stem)) or path.absolute().parent.name or "train"
    return _NO_LIST_NAME.sub("_", name)


def roles_of(names: Sequence[str]) -> dict[str, str]:
    """Return which lists .data calls ``train`` and ``valid``.

    A name with "train" is train; one with "val", else one with "test", is valid. Else the first is train.
    """
    train = next((name for name in names if "train" in name.lower()), None)
    rest = [name for name in names if name != train]
    valid = next((name for word in ("val", "test") for name in rest if word in name.lower()), None)
    if train is None:
        train = next((name for name in names if name != valid), None)
    return {key: name for key, name in (("train", train), ("valid", valid)) if name is not None}
