"""Signals: the first asks, the second stops."""

import os
import signal

import pytest

from kplan.cli.signals import STOP_SIGNALS, SignalInterrupt, Signals, find_interrupt


def send(number: int) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_every_signal_stops_a_run_that_has_nothing_to_settle(number: int) -> None:
    with Signals().install(), pytest.raises(SignalInterrupt) as stopped:
        send(number)
    assert stopped.value.number == number


def test_once_deferred_the_first_signal_asks_and_the_second_one_stops(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with Signals().install() as signals:
        signals.defer()
        send(signal.SIGTERM)
        assert signals.stop_event.is_set()
        assert "send the signal again to stop at once" in capfd.readouterr().err
        with pytest.raises(SignalInterrupt):
            send(signal.SIGINT)
    assert signals.number == signal.SIGINT


def test_the_former_listeners_come_back() -> None:
    before = [signal.getsignal(number) for number in STOP_SIGNALS]
    with Signals().install():
        assert [signal.getsignal(number) for number in STOP_SIGNALS] != before
    assert [signal.getsignal(number) for number in STOP_SIGNALS] == before


@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_what_the_parent_ignores_stays_ignored(number: int) -> None:
    """As with nohup, or in the background of a script: the signal is for another process."""
    before = signal.signal(number, signal.SIG_IGN)
    try:
        with Signals().install() as signals:
            send(number)
            assert signals.number == 0
        assert signal.getsignal(number) is signal.SIG_IGN
    finally:
        signal.signal(number, before)


def test_an_interrupt_that_c_code_turned_into_an_error_is_found() -> None:
    stopped = SignalInterrupt(signal.SIGTERM)
    failure = SystemError("returned a result with an exception set")
    failure.__cause__ = stopped
    assert find_interrupt(failure) is stopped
    assert find_interrupt(SystemError()) is None
