"""anchors.txt and counters_per_class.txt, and their printed form.  Source: darknet src/detector.c, calc_anchors."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from darkpy.data.anchors import Sizes
from darkpy.errors import DataError
from darkpy.files import replaced

ANCHORS = Path("anchors.txt")  # in the working directory, and overwritten, as by darknet
COUNTERS = Path("counters_per_class.txt")
_PLACES_UP_TO = 32  # network width; darknet takes anchors of so small a network for grid cells


def rounded(anchors: Sizes, *, width: int) -> tuple[tuple[str, str], ...]:
    """Return the anchors in darknet's digits: whole pixels, or four places where ``width`` is at most 32.

    What would become 0, which no network can train with, keeps two digits.
    """
    return tuple((_digits(w, width), _digits(h, width)) for w, h in anchors.tolist())  # a dozen


def _digits(value: float, width: int) -> str:
    text = f"{value:3.0f}" if width > _PLACES_UP_TO else f"{value:2.4f}"
    return text if float(text) > 0 else f"{value:.2g}"


def anchor_text(anchors: Sequence[tuple[str, str]]) -> str:
    """Return ``" 13, 24,  52, 80"``, with darknet's blanks."""
    return ", ".join(",".join(pair) for pair in anchors)


def plain_text(anchors: Sizes, *, width: int) -> str:
    """Return ``"13,24, 52,80"``, the same digits as a cfg has them."""
    return ", ".join(",".join(side.strip() for side in pair) for pair in rounded(anchors, width=width))


def counters_text(counts: NDArray[np.int64]) -> str:
    """Return ``"counters_per_class = 2, 1, 0"`` for (C,) numbers of boxes."""
    return f"counters_per_class = {', '.join(map(str, counts.tolist()))}"


def write_result(path: Path, text: str) -> None:
    """Write a result without a line end, as darknet does; whole or not at all.

    Raises:
        DataError: If it cannot be written.
    """
    try:
        with replaced(path) as file:
            file.write(text.encode())
    except OSError as error:
        raise DataError(
            f"file {path} can't be open: {error.strerror}. Run in a folder that can be written; the result is above."
        ) from error
