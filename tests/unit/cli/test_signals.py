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


def test_the_first_signal_asks_and_the_second_one_stops() -> None:
    with Signals().installed() as signals, signals.graceful() as stop:
        send(signal.SIGTERM)
        assert stop.is_set()
        with pytest.raises(Stopped):
            send(signal.SIGINT)
    assert signals.number == signal.SIGINT


def test_a_signal_after_the_graceful_part_stops_at_once() -> None:
    signals = Signals()
    with signals.installed():
        with signals.graceful():
            pass
        with pytest.raises(Stopped):
            send(signal.SIGINT)


def test_the_former_listeners_come_back() -> None:
    before = [signal.getsignal(number) for number in STOPPING]
    with Signals().installed():
        assert [signal.getsignal(number) for number in STOPPING] != before
    assert [signal.getsignal(number) for number in STOPPING] == before
