"""Boxes -> the lines of a label file."""

from collections.abc import Iterable

from darkpy.conversion.sample import Floats, Integers

_DECIMALS = 10  # of a picture of 100,000 pixels one in ten is 1e-5 pixels: a box comes back as it was


def label_text(classes: Integers, xywh_rel: Floats) -> str:
    """Return one line ``class x y width height`` for each box, up to ten decimals, no zeros at their end.

    Args:
        classes: (N,).
        xywh_rel: (N, 4) centre x, centre y, width, height as parts of the picture.
    """
    rows = zip(classes.tolist(), xywh_rel.tolist(), strict=True)
    return "".join(f"{class_id} {_numbers(box)}\n" for class_id, box in rows)


def _numbers(values: Iterable[float]) -> str:
    return " ".join(f"{value:.{_DECIMALS}f}".rstrip("0").rstrip(".") for value in values)
