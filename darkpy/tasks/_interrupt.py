"""Ctrl-C during training: the first asks the run to end after its iteration, the second ends the process at once."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class StopRequest:
    """Whether the user asked to stop."""

    def __init__(self) -> None:
        self.is_set = False

    def __call__(self) -> bool:
        """Return whether to stop."""
        return self.is_set


@contextmanager
def stop_on_interrupt() -> Iterator[StopRequest]:
    """Catch Ctrl-C inside the block; the former handler is back afterwards."""
    request = StopRequest()

    def handle(_: int, __: FrameType | None) -> None:
        if request.is_set:
            raise KeyboardInterrupt
        request.is_set = True
        print("Stopping after this iteration; press Ctrl-C again to stop at once.", file=sys.stderr, flush=True)

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield request
    finally:
        signal.signal(signal.SIGINT, before)
