"""Ctrl-C, SIGTERM and a terminal that closes, during training.

The first signal asks the run to end after its iteration, the second ends it at once. Signals that are ignored, as
``nohup`` and shells do it for processes in the background, stay so.
"""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK") if hasattr(signal, name))
PIPE_CLOSED = 13  # SIGPIPE, also where the system has no such signal


class StopRequest:
    """Whether the user, or the system, asked to stop."""

    def __init__(self) -> None:
        self.signal: int | None = None

    def __call__(self) -> bool:
        """Return whether to stop."""
        return self.signal is not None

    @property
    def exit_status(self) -> int:
        """The exit status that tells of the signal: 130 after Ctrl-C, 143 after SIGTERM; 0 without one."""
        return 0 if self.signal is None else 128 + self.signal


@contextmanager
def stop_on_signals(request: StopRequest) -> Iterator[None]:
    """Let the signals set the request inside the block; the former handlers are back afterwards."""

    def handle(number: int, _: FrameType | None) -> None:
        if request.signal is not None:
            raise KeyboardInterrupt
        request.signal = number
        again = "press Ctrl-C again" if number == signal.SIGINT else "send the signal again"
        print(f"Stopping after this iteration; {again} to stop at once.", file=sys.stderr, flush=True)

    taken = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handle) for number in taken}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)  # None: it was not set from Python
