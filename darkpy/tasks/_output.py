"""Printed lines that cannot be written must not end a training: a log on a full disk, a pipe whose reader has gone."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import TextIO

from darkpy.tasks._interrupt import PIPE_CLOSED, StopRequest


class PatientOutput:
    """A text stream that passes everything on, and swallows what cannot be written.

    A closed pipe asks the run to stop: it saves, and ends as other programs do when nobody reads them any more.

    Args:
        stream: Where to.
        stop: Is set when the reader has gone.
    """

    def __init__(self, stream: TextIO, stop: StopRequest) -> None:
        self._stream = stream
        self._stop = stop

    def write(self, text: str) -> int:
        """Write what can be written."""
        try:
            return self._stream.write(text)
        except OSError as error:
            self._give_up(error)
            return len(text)

    def flush(self) -> None:
        """Flush what can be flushed."""
        try:
            self._stream.flush()
        except OSError as error:
            self._give_up(error)

    def isatty(self) -> bool:
        """Return whether this is a terminal."""
        return self._stream.isatty()

    def fileno(self) -> int:
        """Return the stream's descriptor."""
        return self._stream.fileno()

    @property
    def encoding(self) -> str:
        """The stream's encoding."""
        return self._stream.encoding

    def _give_up(self, error: OSError) -> None:
        if not isinstance(error, BrokenPipeError):
            return
        self._stop.signal = self._stop.signal or PIPE_CLOSED
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())  # or Python complains again at its end
        os.close(nowhere)


@contextmanager
def patient_output(stop: StopRequest) -> Iterator[None]:
    """Let nothing printed inside the block fail."""
    out, err = PatientOutput(sys.stdout, stop), PatientOutput(sys.stderr, stop)
    with redirect_stdout(out), redirect_stderr(err):  # all that print and tqdm ask for
        yield
