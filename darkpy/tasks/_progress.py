"""What a command says on stderr while it goes through a list of pictures."""

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TextIO, TypeVar

from tqdm import tqdm

from darkpy.structures import EvaluationBatch, Problem

T = TypeVar("T")

_LINE_EVERY_S = 10.0
_SHOWN = 10  # labels that are named one by one


def with_progress(
    batches: Iterable[EvaluationBatch],
    total: int,
    *,
    stream: TextIO | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[EvaluationBatch]:
    """Yield the batches with a bar on a terminal, and a line every 10 s elsewhere.

    Args:
        batches: To pass on.
        total: Number of pictures.
        stream: Where to, stderr by default.
        clock: Seconds from any start.
    """
    yield from _counted(batches, total, lambda batch: len(batch.paths), stream=stream or sys.stderr, clock=clock)


def items_with_progress(
    items: Iterable[T], total: int, *, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
) -> Iterator[T]:
    """Yield the items, one for each picture, as ``with_progress`` does with batches."""
    yield from _counted(items, total, lambda _: 1, stream=stream or sys.stderr, clock=clock)


def _counted(
    items: Iterable[T], total: int, count: Callable[[T], int], *, stream: TextIO, clock: Callable[[], float]
) -> Iterator[T]:
    done, told = 0, clock()
    with tqdm(total=total, unit="img", disable=not stream.isatty(), file=stream, leave=False) as bar:
        for item in items:
            yield item
            done += count(item)
            bar.update(count(item))
            if bar.disable and clock() - told >= _LINE_EVERY_S:
                told = clock()
                print(f"{done} of {total} images", file=stream, flush=True)


class ProblemLog:
    """Names problems on stderr as they come: every unreadable picture, the first few labels, and counts the rest."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def __call__(self, problem: Problem) -> None:
        """Take note of a problem."""
        self._counts[problem.kind] += 1
        if problem.kind == "image" or self._counts[problem.kind] <= _SHOWN:
            tqdm.write(problem.message, file=sys.stderr)

    @property
    def unreadable(self) -> int:
        """Number of unreadable pictures."""
        return self._counts["image"]

    def summary(self) -> list[str]:
        """Return one line for each kind that was not named in full, and one for unreadable pictures."""
        lines = [
            f"{count - _SHOWN} more problems of this kind: {_MEANINGS.get(kind, kind)}."
            for kind, count in self._counts.items()
            if kind != "image" and count > _SHOWN
        ]
        if self.unreadable:
            lines.append(f"{self.unreadable} pictures could not be read; their objects count as missed.")
        return lines


_MEANINGS = {"label": "pictures without a label file", "truth": "labels that were left out"}
