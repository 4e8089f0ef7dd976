"""Ctrl-C and SIGTERM."""

import signal

import pytest

from darkpy.tasks._interrupt import StopRequest, stop_on_signals


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_first_signal_asks_and_the_second_stops(
    number: signal.Signals, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    request = StopRequest()
    before = signal.getsignal(number)
    with stop_on_signals(request):
        assert not request()
        assert request.exit_status == 0
        signal.raise_signal(number)
        assert request()
        assert request.exit_status == status
        assert capsys.readouterr().err.startswith("Stopping after this iteration; ")
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
    assert signal.getsignal(number) is before


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="Windows has no SIGHUP")
def test_what_nohup_ignores_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        request = StopRequest()
        with stop_on_signals(request):
            signal.raise_signal(signal.SIGHUP)
            assert not request()
    finally:
        signal.signal(signal.SIGHUP, before)
