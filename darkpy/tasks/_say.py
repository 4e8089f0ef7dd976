"""What every command does first: it finds its files, and says notes on stderr."""

import sys
from pathlib import Path

from darkpy.cfg.shipped import locate


def say(text: str) -> None:
    """Print a note on stderr."""
    print(text, file=sys.stderr, flush=True)


def find(path: Path) -> Path:
    """Return the file to open for a cfg or .data path; say so if it is the one that comes with darkpy."""
    found, note = locate(path)
    if note:
        say(note)
    return found
