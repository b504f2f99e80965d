"""Signals: the first asks, the second stops."""

import os
import signal

import pytest

from kplan.cli.signals import STOPPING, Signals, Stopped


def send(number: int) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", STOPPING)
def test_every_signal_stops_a_run_that_has_nothing_to_settle(number: int) -> None:
    with Signals().installed(), pytest.raises(Stopped) as stopped:
        send(number)
    assert stopped.value.number == number


def test_once_deferred_the_first_signal_asks_and_the_second_one_stops(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with Signals().installed() as signals:
        signals.defer()
        send(signal.SIGTERM)
        assert signals.stop.is_set()
        assert "a second signal stops at once" in capfd.readouterr().err
        with pytest.raises(Stopped):
            send(signal.SIGINT)
    assert signals.number == signal.SIGINT


def test_the_former_listeners_come_back() -> None:
    before = [signal.getsignal(number) for number in STOPPING]
    with Signals().installed():
        assert [signal.getsignal(number) for number in STOPPING] != before
    assert [signal.getsignal(number) for number in STOPPING] == before
