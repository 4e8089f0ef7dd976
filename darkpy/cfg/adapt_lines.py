"""The lines of a cfg under change: one value, one new line or one comment at a time, all else as it was."""

import re
from collections.abc import Sequence

from darkpy.cfg.options import Options
from darkpy.cfg.text import Entry, Section, parse_sections
from darkpy.errors import CfgError

_LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n)|([^\r\n]+)")
_MARK = "\ufeff"  # a byte-order mark, decoded
_COMMENT = re.compile(r"[#;]")
_COMMA = re.compile(r"[ \t]*,[ \t]*")
_SET_ASIDE = re.compile(r"[ \t]*# of (\d{1,10}) classes: (.*)")
_LARGEST = 2**31 - 1  # of C's int


class Sheet:
    """A cfg's lines and their sections, as they were, and the changes to them.

    Args:
        text: The whole cfg; LF, CRLF or CR line ends, also mixed, and a byte-order mark stay as they are.
        path: Name of the file, for messages.

    Raises:
        CfgError: If the text is no cfg.
    """

    def __init__(self, text: str, path: str) -> None:
        if "\0" in text:
            raise CfgError(f"{path}: not a cfg: it is no text. Name a .cfg file.")
        self._mark = _MARK if text.startswith(_MARK) else ""
        found = [match.groups(default="") for match in _LINE.finditer(text, len(self._mark))]
        self._lines = [line or last for line, _, last in found]
        self._ends = [end for _, end, _ in found]
        self._behind: dict[int, list[str]] = {}  # line number -> new lines after it
        self.path = path
        self.sections = parse_sections(self._lines, path)
        self.notes: list[str] = []

    def text(self) -> str:
        """Return the changed text."""
        newline = next((end for end in self._ends if end), "\n")
        parts = [self._mark]
        for number, (line, end) in enumerate(zip(self._lines, self._ends, strict=True), start=1):
            lines = [line, *self._behind.get(number, ())]
            parts += [(end or newline).join(lines), end]
        return "".join(parts)

    def note(self, line: int, text: str) -> None:
        """Remember a sentence about a line."""
        self.notes.append(f"{self.path}:{line}: {text}")

    def put_whole(
        self, section: Section, key: str, number: int, *, default: int | None = None, beside: str = ""
    ) -> bool:
        """Write a whole number and return whether that changed the text.

        Args:
            section: Where to.
            key: Its first line is changed, since the first counts.
            number: The value.
            default: What a missing key means; None where a missing key is always added.
            beside: A key of the section, after whose line a missing key is added; else the last line.

        Raises:
            CfgError: If the number is larger than darknet can read.
        """
        if number > _LARGEST:
            raise CfgError(
                f"{self.path}:{section.line}: [{section.kind}] {key}={number} would be larger than {_LARGEST}, "
                "the most that darknet reads. Ask for less."
            )
        entry = section.find(key)
        present = default if entry is None or entry.value is None else whole(section, key)
        if present == number:
            return False
        self._put(section, key, str(number), beside)
        return True

    def put_list(
        self, section: Section, key: str, values: Sequence[float], *, beside: str = "", more_may_follow: bool = False
    ) -> bool:
        """Write a list of numbers and return whether that changed the text; the blanks around commas stay.

        Args:
            section: Where to.
            key: Its first line is changed.
            values: The numbers.
            beside: As in ``put_whole``.
            more_may_follow: Whether present numbers beyond the last value do no harm.
        """
        words = [plain(value) for value in values]
        present = reals(section, key)
        if present is not None:
            head = present[: len(values)] if more_may_follow else present
            if len(head) == len(values) and all(
                old in (new, float(word)) for old, new, word in zip(head, values, words, strict=True)
            ):
                return False
        entry = section.find(key)
        old = self._value_span(entry)[1] if entry is not None and entry.value is not None else ""
        self._put(section, key, _in_style_of(old, words, in_pairs=key == "anchors"), beside)
        return True

    def set_aside(self, section: Section, key: str, classes: int) -> bool:
        """Make comments of all lines of a key that fits ``classes`` classes only; return whether there are any."""
        entries = [entry for entry in section.entries if entry.key == key]
        for entry in entries:
            self._lines[entry.line - 1] = f"# of {classes} classes: {self._lines[entry.line - 1]}"
        return bool(entries)

    def take_back(self, section: Section, classes: int) -> list[int]:
        """Make options again of the comments that ``set_aside`` made for this number of classes.

        Returns:
            The numbers of their lines.
        """
        taken = []
        for number in range(section.line + 1, self._end(section)):
            match = _SET_ASIDE.fullmatch(self._lines[number - 1])
            if match and int(match[1]) == classes:
                self._lines[number - 1] = match[2]
                taken.append(number)
        return taken

    def _end(self, section: Section) -> int:
        """Return the number of the line after a section's last one."""
        later = [other.line for other in self.sections if other.line > section.line]
        return min(later, default=len(self._lines) + 1)

    def _put(self, section: Section, key: str, value: str, beside: str) -> None:
        entry = section.find(key)
        if entry is None:
            self._insert(section, key, value, beside)
            return
        line = self._lines[entry.line - 1]
        if entry.value is None:  # "key" alone: darknet takes it for absent, and a later line would not count
            self._lines[entry.line - 1] = f"{line.rstrip()}={value}"
            return
        start, old = self._value_span(entry)
        self._lines[entry.line - 1] = line[:start] + value + line[start + len(old) :]
        self._note_duplicates(section, entry)

    def _note_duplicates(self, section: Section, first: Entry) -> None:
        for entry in section.entries:
            if entry.key == first.key and entry.line != first.line:
                self.note(entry.line, f"a second '{entry.key}' in [{section.kind}] stays without effect, as before.")

    def _value_span(self, entry: Entry) -> tuple[int, str]:
        """Return where an option's value begins in its line, and the value: what stands before a comment."""
        line = self._lines[entry.line - 1]
        behind = line.index("=") + 1
        rest = line[behind:]
        comment = _COMMENT.search(rest)
        value = rest[: comment.start()] if comment else rest
        return behind + len(value) - len(value.lstrip()), value.strip()

    def _insert(self, section: Section, key: str, value: str, beside: str) -> None:
        neighbour = section.find(beside) or (section.entries[-1] if section.entries else None)
        number = neighbour.line if neighbour else section.line
        style = re.match(r"([ \t]*)[^=]*?([ \t]*=[ \t]*)", self._lines[number - 1]) if neighbour else None
        indent, equals = style.groups() if style else ("", "=")
        self._behind.setdefault(number, []).append(f"{indent}{key}{equals}{value}")


def whole(section: Section, key: str) -> int | None:
    """Return the whole number that a key has, or None where it has none."""
    try:
        return Options(section).integer(key, -1) if section.find(key) else None
    except CfgError:
        return None


def reals(section: Section, key: str) -> tuple[float, ...] | None:
    """Return the numbers that a key has, or None where it has none."""
    try:
        return Options(section).reals(key)
    except CfgError:
        return None


def plain(number: float) -> str:
    """Return a number as a person writes it: whole ones without a point, others with 6 digits."""
    return str(int(number)) if number == int(number) else f"{number:.6g}"


def _in_style_of(old: str, words: Sequence[str], *, in_pairs: bool) -> str:
    """Join words with the commas and blanks that stand in the old value, gone on with where there are more words."""
    commas = _COMMA.findall(old)
    while len(commas) < len(words) - 1:
        if in_pairs and len(commas) < 2:
            commas.append(", " if commas else ",")
        else:
            commas.append(commas[-2] if in_pairs else commas[-1] if commas else ",")
    return "".join(word + comma for word, comma in zip(words, [*commas[: len(words) - 1], ""], strict=True))
