"""Typed reads of a section's options: each names file and line when it refuses.  Source: darknet src/option_list.c."""

import difflib
import math
import re
from collections.abc import Sequence
from typing import NoReturn

from darkpy.cfg.text import Entry, Section
from darkpy.errors import CfgError

_INTEGER = re.compile(r"[+-]?\d+")
_LARGEST_WHOLE = 2**31  # C's int ends there
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


class Options:
    """The options of one section, read by key; remembers which were asked for.

    Args:
        section: The section.
        index: The layer's index in the network, or None for [net].
    """

    def __init__(self, section: Section, *, index: int | None = None) -> None:
        self.section = section
        self.index = index
        self.notes: list[str] = list(section.notes)  # "stride: Using default '1'" and the like, in order of reading
        self._asked: set[str] = set()

    @property
    def where(self) -> str:
        """File, line and kind of the section, for messages."""
        return f"{self.section.path}:{self.section.line}: [{self.section.kind}]"

    def at(self, key: str) -> str:
        """Return file, line and kind for a message about an option; the section's line where it is not there."""
        entry = self.section.find(key)
        return f"{self.section.path}:{entry.line if entry else self.section.line}: [{self.section.kind}]"

    def fail(self, key: str, complaint: str) -> NoReturn:
        """Raise the error that belongs to an option: file, line, key, and the complaint with its mend."""
        entry = self.section.find(key)
        value = f"={entry.value}" if entry and entry.value is not None else ""
        raise CfgError(f"{self.at(key)} {key}{value}: {complaint}")

    def has(self, key: str) -> bool:
        """Return whether the section gives ``key`` a value."""
        return self._value(key) is not None

    def text(self, key: str, default: str, *, loud: bool = False) -> str:
        """Return a word. ``loud`` notes that the default is used, as darknet prints it."""
        value = self._value(key)
        if value is None:
            self._default(key, default, loud=loud)
            return default
        return value.partition("#")[0] or value

    def choice(self, key: str, default: str, choices: Sequence[str], *, loud: bool = False) -> str:
        """Return one of ``choices``.

        Raises:
            CfgError: If the value is none of them.
        """
        value = self.text(key, default, loud=loud)
        if value not in choices:
            near = difflib.get_close_matches(value, choices, n=1)
            mend = f"Did you mean {near[0]}?" if near else ""
            self.fail(key, f"unknown value. Use one of: {', '.join(choices)}. {mend}".rstrip())
        return value

    def integer(
        self, key: str, default: int, *, at_least: int | None = None, at_most: int | None = None, loud: bool = False
    ) -> int:
        """Return a whole number; a fraction is cut off, as darknet does.

        Raises:
            CfgError: If the value is no number or out of its bounds.
        """
        value = self._value(key)
        if value is None:
            self._default(key, str(default), loud=loud)
            return default
        number = self._whole(key, value)
        self._hold(key, number, at_least=at_least, at_most=at_most)
        return number

    def real(
        self,
        key: str,
        default: float,
        *,
        at_least: float | None = None,
        at_most: float | None = None,
        above: float | None = None,
        below: float | None = None,
        loud: bool = False,
    ) -> float:
        """Return a real number.

        Raises:
            CfgError: If the value is no number or out of its bounds.
        """
        value = self._value(key)
        if value is None:
            self._default(key, f"{default:f}", loud=loud)
            return default
        number = self._real(key, value)
        self._hold(key, number, at_least=at_least, at_most=at_most)
        if above is not None and number <= above:
            self.fail(key, f"must be above {above:g}.")
        if below is not None and number >= below:
            self.fail(key, f"must be below {below:g}.")
        return number

    def _hold(self, key: str, number: float, *, at_least: float | None, at_most: float | None) -> None:
        """Refuse a number out of its bounds."""
        if at_least is not None and number < at_least:
            self.fail(key, f"must be at least {_plain(at_least)}.")
        if at_most is not None and number > at_most:
            self.fail(key, f"must be at most {_plain(at_most)}.")

    def flag(self, key: str) -> bool:
        """Return whether ``key`` is there and not 0."""
        return self.integer(key, 0) != 0

    def integers(self, key: str) -> tuple[int, ...] | None:
        """Return a list of whole numbers, or None where the key is absent.

        Raises:
            CfgError: If an element is no number.
        """
        elements = self._elements(key)
        return None if elements is None else tuple(self._whole(key, element) for element in elements)

    def reals(self, key: str) -> tuple[float, ...] | None:
        """Return a list of real numbers, or None where the key is absent.

        Raises:
            CfgError: If an element is no number.
        """
        elements = self._elements(key)
        return None if elements is None else tuple(self._real(key, element) for element in elements)

    def layers(self, key: str) -> tuple[int, ...]:
        """Return indices of earlier layers; negative ones count back from this layer.

        Raises:
            CfgError: If the key is absent, or names a layer that does not come before this one.
        """
        numbers = self.integers(key)
        if not numbers:
            raise CfgError(f"{self.where} must name its source layers. Add {key}=-1 or the like.")
        index = self.index or 0
        absolute = tuple(number if number >= 0 else index + number for number in numbers)
        for number, target in zip(numbers, absolute, strict=True):
            if not 0 <= target < index:
                self.fail(
                    key,
                    f"{number} means layer {target}, but only layers 0 to {index - 1} come before layer {index}. "
                    "Name one of them.",
                )
        return absolute

    def unused(self) -> list[Entry]:
        """Return the entries that nobody asked for, in file order, later duplicates left out."""
        return [entry for entry in self._first_entries() if entry.key not in self._asked]

    def leftovers(self) -> list[str]:
        """Return one warning for each duplicate key and each key that nobody asked for."""
        return [*self.repeated(), *self.unknown()]

    def repeated(self) -> list[str]:
        """Return one warning for each line whose key stands in the section before."""
        warnings = []
        for entry in self.section.entries:
            first = self.section.find(entry.key)
            if first is not None and first.line != entry.line:
                warnings.append(
                    f"{self.section.path}:{entry.line}: '{entry.key}' stands in line {first.line} already; "
                    f"the first counts ({first.value}), this one ({entry.value}) is ignored."
                )
        return warnings

    def unknown(self) -> list[str]:
        """Return one warning for each key that nobody asked for, with the likely word."""
        warnings = []
        for entry in self.unused():
            near = difflib.get_close_matches(entry.key, sorted(self._asked), n=1, cutoff=0.75)
            hint = f" Did you mean '{near[0]}'?" if near else ""
            key, colon, rest = entry.key.partition(":")
            if entry.value is None and colon and rest:
                hint = f" Write {key}={rest}."
            value = "(null)" if entry.value is None else entry.value
            warnings.append(f"{self.section.path}:{entry.line}: Unused field: '{entry.key} = {value}'.{hint}")
        return warnings

    def _first_entries(self) -> list[Entry]:
        return list({entry.key: entry for entry in reversed(self.section.entries)}.values())[::-1]

    def _value(self, key: str) -> str | None:
        self._asked.add(key)
        entry = self.section.find(key)
        return None if entry is None else entry.value

    def _default(self, key: str, shown: str, *, loud: bool) -> None:
        if loud:
            self.notes.append(f"{key}: Using default '{shown}'")

    def _elements(self, key: str) -> list[str] | None:
        value = self._value(key)
        if value is None:
            return None
        elements = [element.strip() for element in value.partition("#")[0].split(",")]
        while elements and not elements[-1]:  # a comma at the end: darknet would read one more 0
            elements.pop()
        return elements

    def _whole(self, key: str, value: str) -> int:
        number = self._real(key, value)
        whole = _INTEGER.match(value)
        if abs(number) >= _LARGEST_WHOLE:
            self.fail(key, f"'{value}' is too large. Write a smaller number.")
        if whole is None or int(number) != int(whole.group()):  # 1e3: darknet reads 1
            self.fail(key, f"'{value}' is no whole number. Write {int(number)}.")
        return int(number)

    def _real(self, key: str, value: str) -> float:
        """Read the number that ``value`` begins with; a ``#`` behind it starts a comment."""
        match = _NUMBER.match(value)
        rest = value[match.end() :] if match else value
        if match is None or (rest and rest[0] not in "#;"):
            self.fail(key, f"'{value}' is no number. Write a number there.")
        number = float(match.group())
        if not math.isfinite(number):
            self.fail(key, f"'{value}' is too large. Write a smaller number.")
        return number


def _plain(bound: float) -> str:
    return str(bound) if isinstance(bound, int) else f"{bound:g}"
