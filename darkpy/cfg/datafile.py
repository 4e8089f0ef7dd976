""".data files: where lists, names and backups are.  Source: darknet src/option_list.c, read_data_cfg."""

import difflib
import os
from dataclasses import dataclass
from pathlib import Path

from darkpy.cfg.text import read_lines
from darkpy.errors import CfgError

_DIGITS = 18  # of a whole number; Python refuses to read thousands of them
KEYS = [
    "classes",
    "train",
    "valid",
    "difficult",
    "names",
    "labels",
    "backup",
    "results",
    "eval",
    "map",
    "leaves",
    "test",
    "top",
    "saveweights",
    "savelast",
    "inputs",
    "outputs",
]


@dataclass(frozen=True, slots=True)
class DataFile:
    """A .data file: ``key = value`` lines. Paths count from the current folder, as in darknet."""

    path: Path
    values: dict[str, tuple[str, int]]  # key -> value, line
    unknown: tuple[str, ...] = ()  # keys that nothing reads, one sentence each
    repeated: tuple[str, ...] = ()  # keys that stand there twice
    valueless: tuple[str, ...] = ()  # lines that were dropped

    @property
    def notes(self) -> tuple[str, ...]:
        """Return all that is odd, kind by kind."""
        return (*self.valueless, *self.repeated, *self.unknown)

    def text(self, key: str) -> str | None:
        """Return the value of ``key``, or None."""
        found = self.values.get(key)
        return found[0] if found else None

    def asked_by(self, key: str) -> str:
        """Return ``obj.data:3: valid``: who names a file, for messages."""
        found = self.values.get(key)
        return f"{self.path}:{found[1]}: {key}" if found else f"{self.path}: {key}"

    def file(self, key: str) -> Path | None:
        """Return the path that ``key`` names: as given, else beside the .data file if it exists only there."""
        value = self.text(key)
        if value is None:
            return None
        given = Path(os.path.expanduser(value))  # Path.expanduser raises for a name like ~a.txt
        beside = self.path.parent / given
        return beside if not os.path.exists(given) and os.path.exists(beside) else given

    def required(self, key: str, *, purpose: str) -> Path:
        """Return the path that ``key`` names.

        Raises:
            CfgError: If the key is missing.
        """
        path = self.file(key)
        if path is None:
            raise CfgError(f"{self.path}: no '{key} = ...' line, which {purpose} needs. Add one.")
        return path

    def integer(self, key: str) -> int | None:
        """Return a whole number of at least 1, or None.

        Raises:
            CfgError: If the value is none.
        """
        value = self.text(key)
        if value is None:
            return None
        if not value.isdecimal() or len(value) > _DIGITS or int(value) < 1:
            raise CfgError(f"{self.asked_by(key)}={value}: must be a whole number of at least 1.")
        return int(value)


def read_datafile(path: Path) -> DataFile:
    """Read a .data file; the first of equal keys counts; blanks inside a value are kept.

    Raises:
        CfgError: If the file is missing, or is a cfg.
    """
    values: dict[str, tuple[str, int]] = {}
    unknown: list[str] = []
    repeated: list[str] = []
    valueless: list[str] = []
    for number, raw in enumerate(read_lines(path), start=1):
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        if line.startswith("["):
            raise CfgError(f"{path}:{number}: '{line}' is a section, so this is a cfg, not a .data file.")
        key, equals, value = (part.strip() for part in line.partition("="))
        value = f" {value}".partition(" #")[0].strip()
        if not equals or not value:
            valueless.append(f"{path}:{number}: '{line}' has no value, so the line is dropped.")
        elif key in values:
            repeated.append(f"{path}:{number}: '{key}' stands in line {values[key][1]} already; the first counts.")
        else:
            values[key] = (value, number)
            if key not in KEYS:
                near = difflib.get_close_matches(key, KEYS, n=1, cutoff=0.75)
                hint = f" Did you mean '{near[0]}'?" if near else ""
                unknown.append(f"{path}:{number}: Unused field: '{key} = {value}'.{hint}")
    return DataFile(path, values, tuple(unknown), tuple(repeated), tuple(valueless))


def read_names(path: Path, *, asked_by: str = "") -> list[str]:
    """Return the class names, one for each line that is not blank; blanks inside a name are kept.

    Raises:
        CfgError: If the file cannot be read.
    """
    return [line.strip() for line in read_lines(path, asked_by=asked_by) if line.strip()]
