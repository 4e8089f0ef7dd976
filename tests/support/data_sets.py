"""Small data sets of other forms, and what a folder holds."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np

Snapshot = dict[str, tuple[bytes, int, int]]


def snapshot(*folders: Path) -> Snapshot:
    """Return bytes, time of change and mode of every file below the folders."""
    files = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_mode) for path in files}


def picture(path: Path, width: int = 40, height: int = 30, *, shade: int = 60) -> Path:
    """Write a grey picture; another shade makes another content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    assert cv2.imwrite(str(path), np.full((height, width, 3), shade, np.uint8))
    return path


def thing(name: str, *box: object, difficult: int = 0) -> str:
    """Return the XML of one object."""
    corners = "".join(f"<{key}>{value}</{key}>" for key, value in zip("xmin ymin xmax ymax".split(), box, strict=True))
    return f"<object><name>{name}</name><difficult>{difficult}</difficult><bndbox>{corners}</bndbox></object>"


def annotation(path: Path, *things: str, size: tuple[int, int] = (40, 30), filename: str = "") -> Path:
    """Write an XML annotation."""
    path.parent.mkdir(parents=True, exist_ok=True)
    width, height = size
    head = f"<filename>{filename}</filename><size><width>{width}</width><height>{height}</height></size>"
    path.write_text(f"<annotation>{head}{''.join(things)}</annotation>", encoding="utf-8")
    return path


def voc(root: Path, members: Mapping[str, Sequence[str]], sets: Mapping[str, Iterable[str]]) -> Path:
    """Write a VOC folder: pictures of 40x30 with their objects, and the sets."""
    for number, (name, things) in enumerate(members.items()):
        picture(root / "JPEGImages" / f"{name}.jpg", shade=20 + number)
        annotation(root / "Annotations" / f"{name}.xml", *things)
    for name, ids in sets.items():
        path = root / "ImageSets" / "Main" / f"{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{one}\n" for one in ids))
    return root


def coco(
    path: Path,
    images: Sequence[dict[str, Any]],
    annotations: Sequence[dict[str, Any]],
    categories: Sequence[tuple[int, str]] = ((1, "cat"), (18, "dog"), (90, "hair drier")),
) -> Path:
    """Write an annotation file of COCO's form."""
    path.parent.mkdir(parents=True, exist_ok=True)
    kinds = [{"id": number, "name": name} for number, name in categories]
    path.write_text(json.dumps({"images": images, "annotations": annotations, "categories": kinds}))
    return path


def rows(path: Path) -> list[list[float]]:
    """Return the numbers of a label file."""
    return [[float(word) for word in line.split()] for line in path.read_text().splitlines()]
