"""Anchors as a user gives them: ``'10,13, 16,30'`` or a file such as the anchors.txt of calc_anchors."""

import re
from pathlib import Path

from darkpy.cfg.text import read_lines
from darkpy.errors import CfgError

_NUMBERS = re.compile(r"[\d.,eE+\-\s]+")
_PREFIX = re.compile(r"\s*anchors\s*=")
_LARGEST_PX = 1_000_000


def read_anchors(word: str) -> tuple[tuple[float, float], ...]:
    """Return the width and height of each anchor, in pixels.

    Args:
        word: Numbers parted by commas, or else the path of a file with such numbers; a comma at a line's end may be
            missing there, and lines that begin with ``#`` are comments.

    Raises:
        CfgError: If the file cannot be read, a word is no number above 0, or the last height is missing.
    """
    if _NUMBERS.fullmatch(word):
        return _pairs(word.split(","), where="-anchors")
    lines = [line for line in read_lines(Path(word), asked_by="-anchors") if not line.strip().startswith("#")]
    words = [part for line in lines for part in _PREFIX.sub("", line).strip().rstrip(",").split(",") if line.strip()]
    return _pairs(words, where=word)


def _pairs(words: list[str], *, where: str) -> tuple[tuple[float, float], ...]:
    while words and not words[-1].strip():
        words = words[:-1]
    numbers = [_number(word.strip(), where) for word in words]
    if not numbers or len(numbers) % 2:
        raise CfgError(
            f"{where}: {len(numbers)} numbers make no pairs of width and height. "
            "Write 'w,h, w,h, ...', such as '10,13, 16,30'."
        )
    return tuple(zip(numbers[::2], numbers[1::2], strict=True))


def _number(word: str, where: str) -> float:
    try:
        number = float(word)
    except ValueError:
        raise CfgError(f"{where}: '{word[:40]}' is no number. Write 'w,h, w,h, ...' with a comma after each.") from None
    if not 0 < number <= _LARGEST_PX:
        raise CfgError(
            f"{where}: {word[:40]} is no size of an anchor: it must be above 0 and at most {_LARGEST_PX} pixels."
        )
    return number
