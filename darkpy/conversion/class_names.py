"""Class names -> class numbers."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from darkpy.cfg.datafile import read_names
from darkpy.errors import DataError


def names_of(found: Iterable[str], names: Path | None) -> list[str]:
    """Return the classes in order: those of a .names file, else all that were found, sorted by their characters.

    Args:
        found: Names of objects.
        names: The .names file, or None.

    Raises:
        CfgError: If the file cannot be read.
        DataError: If it names a class twice or none, or there is nothing to name.
    """
    if names is None:
        return check_names(sorted(set(found)), "the annotations")
    return check_names(read_names(names), str(names))


def check_names(names: Sequence[str], source: str) -> list[str]:
    """Return the names.

    Raises:
        DataError: If there is none, or one stands twice.
    """
    if not names:
        raise DataError(f"{source}: 0 class names, but a data set needs 1. Name the classes with -names FILE.")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        count = names.count(twice)
        raise DataError(
            f"{source}: the class '{twice}' stands {count} times. Rename one, or give the classes with -names FILE."
        )
    return list(names)
