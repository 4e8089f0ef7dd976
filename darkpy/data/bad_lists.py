"""bad.list and bad_label.list: what is wrong with the data.  Source: darknet src/image_opencv.cpp, src/data.c."""

from collections.abc import Iterable
from pathlib import Path

from darkpy.structures import Problem

BAD_LIST = "bad.list"  # paths of unreadable pictures and of missing label files
BAD_LABEL_LIST = "bad_label.list"  # label file, and what is wrong in it


class BadLists:
    """Appends problems to darknet's two lists, each problem once a run.

    Args:
        folder: Where the lists are; darknet writes to the working directory.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._seen: set[Problem] = set()

    def add(self, problems: Iterable[Problem]) -> tuple[Problem, ...]:
        """Write down the problems that are new.

        Returns:
            The new ones, for printing, and one more if a list cannot be written.
        """
        fresh = tuple(problem for problem in dict.fromkeys(problems) if problem not in self._seen)
        self._seen.update(fresh)
        paths = [problem.path for problem in fresh if problem.kind in ("image", "label")]
        records = [_record(problem) for problem in fresh if problem.kind == "truth"]
        failures = [*self._append(BAD_LIST, paths), *self._append(BAD_LABEL_LIST, records)]
        new_failures = tuple(failure for failure in failures if failure not in self._seen)
        self._seen.update(new_failures)
        return fresh + new_failures

    def _append(self, name: str, lines: list[str]) -> list[Problem]:
        if not lines:
            return []
        path = self.folder / name
        try:
            with path.open("a", encoding="utf-8", errors="surrogateescape", newline="\n") as file:
                file.writelines(f"{line}\n" for line in lines)
        except OSError as error:
            return [Problem("note", str(path), f"{path}: cannot be written: {error.strerror}. The run goes on.")]
        return []


def _record(problem: Problem) -> str:
    """Return ``LABELFILE what (line N)``: the path comes first, as in darknet, so that scripts find it."""
    line, _, complaint = problem.message.removeprefix(f"{problem.path}:").partition(": ")
    return f"{problem.path} {complaint} (line {line})"
