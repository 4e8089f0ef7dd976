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
    return check_names(read_names(names), str(names), mend="Write each name once, a line each.")


def check_names(
    names: Sequence[str], source: str, *, mend: str = "Give the classes with -names FILE, or mend the annotations."
) -> list[str]:
    """Return the names.

    Args:
        names: Of the classes.
        source: Where they are from.
        mend: What to do where they are not right.

    Raises:
        DataError: If there is none, or one stands twice.
    """
    if not names:
        raise DataError(f"{source}: 0 class names, but a data set needs 1. {mend}")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        count = names.count(twice)
        raise DataError(f"{source}: the class '{twice}' stands {count} times, but each has a name of its own. {mend}")
    return list(names)


def case_twins(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs of names that differ only in letter case: mostly one class, written in two ways."""
    first: dict[str, str] = {}
    pairs = [(first.setdefault(name.casefold(), name), name) for name in names]
    return [(one, other) for one, other in pairs if one != other]
