"""Counts what a set holds."""

from collections import Counter
from itertools import pairwise

import numpy as np

from darkpy.checks.data_boxes import Grid, thin_boxes, tiny_boxes
from darkpy.checks.data_labels import ClassNames
from darkpy.checks.data_reading import LabelFile
from darkpy.checks.data_set import Boxes, DataSet, Integers
from darkpy.report.data_report import Advice, ClassCounts, DataSummary, ListCounts, PictureSizes

_EDGES = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64)  # of box sides, parts of the picture


def summarise(
    data: DataSet,
    names: ClassNames,
    counts: tuple[Integers, Integers],
    *,
    path: str,
    cfg: str | None,
    grid: Grid | None,
    advice: Advice | None,
) -> DataSummary:
    """Return what a set holds.

    Args:
        data: The set.
        names: Of the classes.
        counts: Boxes and pictures, (lists, classes) each.
        path: The .data file.
        cfg: The network's file, if there is one.
        grid: Of the network.
        advice: What would fit.
    """
    boxes, pictures = counts
    return DataSummary(
        data=path,
        cfg=cfg,
        lists=tuple(_list_counts(data, row) for row in range(len(data.lists))),
        classes=tuple(
            ClassCounts(name, tuple(boxes[:, index].tolist()), tuple(pictures[:, index].tolist()))
            for index, name in enumerate(names.names)
        ),
        sizes=_sizes(data),
        extensions=tuple(
            Counter(_extension(sample.path) for sample in data.samples if not sample.picture.failure).most_common()
        ),
        box_sides=_box_sides(data.boxes),
        thin_boxes=int(thin_boxes(data.boxes).sum()),
        tiny_boxes=None if grid is None else int(tiny_boxes(data.boxes, grid).sum()),
        advice=advice,
    )


def _extension(path: str) -> str:
    name = path.replace("\\", "/").rpartition("/")[2]
    _, dot, extension = name.rpartition(".")
    return dot + extension if dot else ""


def _list_counts(data: DataSet, row: int) -> ListCounts:
    member = data.members[row]
    samples = [data.samples[index] for index in np.flatnonzero(member)]
    listed = data.lists[row]
    return ListCounts(
        key=listed.key,
        path=listed.path,
        pictures=len(samples),
        boxes=int(member[data.boxes.owners].sum()),
        negatives=sum(_is_negative(one.label) for one in samples),
        without_label=sum(one.label.failure == "missing" for one in samples),
        unreadable=sum(bool(one.picture.failure) for one in samples),
    )


def _is_negative(label: LabelFile) -> bool:
    """Return whether a label file says that its picture shows no object."""
    return not (label.failure or len(label.labels.ids) or label.labels.problems or "binary" in label.odd)


def _sizes(data: DataSet) -> PictureSizes | None:
    counts = Counter((one.picture.width, one.picture.height) for one in data.samples if not one.picture.failure)
    if not counts:
        return None
    by_area = sorted(counts, key=lambda size: (size[0] * size[1], size))
    return PictureSizes(
        counts=tuple((*size, count) for size, count in counts.most_common()),
        smallest=by_area[0],
        largest=by_area[-1],
        upright=sum(count for (width, height), count in counts.items() if width < height),
        wide=sum(count for (width, height), count in counts.items() if width > height),
        square=sum(count for (width, height), count in counts.items() if width == height),
    )


def _box_sides(boxes: Boxes) -> tuple[tuple[str, int], ...]:
    sides = np.sqrt(boxes.truths[:, 2:4].astype(np.float64).prod(axis=1))
    counts = np.bincount(np.digitize(sides, _EDGES), minlength=len(_EDGES) + 1).tolist()
    percent = [f"{edge * 100:.0f}" for edge in _EDGES]
    labels = [f"< {percent[0]} %", *(f"{low}-{high} %" for low, high in pairwise(percent))]
    return tuple(zip([*labels, f">= {percent[-1]} %"], counts, strict=True))
