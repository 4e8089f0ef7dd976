"""Output that cannot be written."""

import io
import os
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from darkpy.tasks._interrupt import StopRequest
from darkpy.tasks._output import patient_output


def test_a_reader_that_has_gone_asks_the_run_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in ``darkpy detector train ... | head``: the status is that of a program which SIGPIPE ended."""
    reader, writer = os.pipe()
    os.close(reader)
    stop = StopRequest()
    with os.fdopen(writer, "w") as pipe, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", pipe)
        with patient_output(stop):
            print("a line", flush=True)
            assert stop()
            print("goes nowhere", flush=True)
    assert stop.exit_status == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_no_reason_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    stop = StopRequest()
    full = io.TextIOWrapper(io.FileIO("/dev/full", "w"), write_through=True)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", full)
        with patient_output(stop):
            print("a line", file=sys.stderr, flush=True)
    assert not stop()
    with suppress(OSError):
        full.close()


def test_all_else_is_passed_on(capsys: pytest.CaptureFixture[str]) -> None:
    with patient_output(StopRequest()):
        print("out")
        print("err", file=sys.stderr)
        assert not sys.stdout.isatty()
        assert sys.stdout.encoding
    assert capsys.readouterr() == ("out\n", "err\n")
