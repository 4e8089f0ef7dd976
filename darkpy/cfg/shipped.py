"""The cfg/ and data/ files that come with darkpy: found by name when a file is not found as given."""

import os
from pathlib import Path

_INSTALLED = Path(__file__).resolve().parents[1] / "shipped"
_CHECKOUT = Path(__file__).resolve().parents[2]


def shipped_folder(name: str) -> Path:
    """Return the folder ``cfg`` or ``data`` that came with darkpy (inside the wheel, or in a checkout)."""
    installed = _INSTALLED / name
    return installed if installed.is_dir() else _CHECKOUT / name


def locate(path: Path) -> tuple[Path, str | None]:
    """Return the file to open for ``path``, and a note if it is the one that comes with darkpy.

    Args:
        path: A cfg, .data or .names path as the user wrote it.
    """
    if not os.path.exists(path):
        for folder in ("cfg", "data"):
            candidate = shipped_folder(folder) / path.name
            if os.path.isfile(candidate):
                return candidate, f"{path}: not found as given; using the one that comes with darkpy: {candidate}"
    return path, None
