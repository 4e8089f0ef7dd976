"""File systems that fail, and processes that are killed, at a chosen operation."""

import io
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock


class Killed(BaseException):
    """The process is gone: nothing that follows reaches the disk."""


class _Raw(io.FileIO):
    """A file whose writes count as operations."""

    def __init__(self, descriptor: int, operate: Callable[[], None]) -> None:
        super().__init__(descriptor, "w")
        self._operate = operate

    def write(self, data: Any) -> int:
        self._operate()
        return super().write(data) or 0


_OPERATIONS = ((os, "replace"), (os, "fsync"), (os, "unlink"), (os, "chmod"), (tempfile, "mkstemp"))


@contextmanager
def failing(at: int, failure: Callable[[], BaseException], *, for_good: bool) -> Iterator[list[str]]:
    """Let the ``at``-th operation on the disk (from 0) inside the block fail; yield the list of operations so far.

    Args:
        at: Which operation.
        failure: What it raises.
        for_good: Whether all later ones fail too, as after a kill.
    """
    done: list[str] = []

    def counted(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def operate(*args: Any, **options: Any) -> Any:
            number = len(done)
            done.append(name)
            if number == at or (for_good and number > at):
                raise failure()
            return real(*args, **options)

        return operate

    def opened(descriptor: int, _: str) -> io.BufferedWriter:
        return io.BufferedWriter(_Raw(descriptor, counted("write", lambda: None)))

    patches = [mock.patch.object(os, "fdopen", opened)]
    patches += [mock.patch.object(module, name, counted(name, getattr(module, name))) for module, name in _OPERATIONS]
    for patch in patches:
        patch.start()
    try:
        yield done
    finally:
        for patch in patches:
            patch.stop()
