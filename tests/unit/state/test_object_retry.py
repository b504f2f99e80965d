"""An outage of an object store: signals are heard, a minute is a minute, and no write is lost."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from kplan.cluster.topology import StateBucket
from kplan.model.errors import ObjectStoreUnreachableError
from kplan.state import record_lock
from kplan.state.lock_holder import current_holder
from kplan.state.object_store import ObjectRecords
from kplan.state.record_lock import RecordTransaction
from kplan.state.record_store import RecordStore
from tests.unit.state.object_server import ObjectServer, object_server
from tests.unit.state.state_builders import state


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectServer]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    with object_server() as started:
        yield started


def records_of(server: ObjectServer) -> ObjectRecords:
    return ObjectRecords(StateBucket("states", "a", "us-east-1", server.address, allow_http=True))


class StopError(Exception):
    """What the handler of a signal raises."""


@contextmanager
def signal_after(seconds: float, handler: Callable[[], None]) -> Iterator[None]:
    former = signal.signal(signal.SIGUSR1, lambda *_: handler())
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGUSR1))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        signal.signal(signal.SIGUSR1, former)


def stop() -> None:
    raise StopError


@pytest.mark.parametrize("is_hanging", [False, True])
def test_a_signal_is_heard_while_an_outage_is_waited_out(
    server: ObjectServer, monkeypatch: pytest.MonkeyPatch, *, is_hanging: bool
) -> None:
    """A cancelled job gets SIGTERM, and SIGKILL soon after it."""
    monkeypatch.setattr("kplan.state.object_store._RETRY_LIMIT_S", 20.0)
    mine = RecordTransaction(records_of(server))
    mine.update(lambda _: {"begun": b"1"})
    if is_hanging:
        server.hang.clear()
    else:
        server.is_away = True
    began = time.monotonic()
    with signal_after(0.5, stop), pytest.raises(StopError):
        mine.update(lambda _: {"a": b"1"})
    assert time.monotonic() - began < 2


def test_a_handler_that_returns_runs_at_once_and_the_write_goes_on(server: ObjectServer) -> None:
    """The first signal of an apply only asks it to stop."""
    heard: list[float] = []
    mine = RecordTransaction(records_of(server))
    mine.update(lambda _: {"begun": b"1"})
    server.is_away = True
    back = threading.Timer(3, lambda: setattr(server, "is_away", False))
    back.start()
    began = time.monotonic()
    with signal_after(0.5, lambda: heard.append(time.monotonic() - began)):
        mine.update(lambda _: {"a": b"1"})
    assert heard
    assert heard[0] < 2
    assert records_of(server).read() == {"begun": b"1", "a": b"1"}


def test_what_a_signal_interrupted_is_written_by_the_next_step(server: ObjectServer) -> None:
    mine = RecordTransaction(records_of(server))
    mine.update(lambda _: {"begun": b"1"})
    server.hang.clear()
    with signal_after(0.3, stop), pytest.raises(StopError):
        mine.update(lambda _: {"a": b"1"})
    server.hang.set()
    mine.update(lambda view: {"b": view.get("a", b"none")})
    found = records_of(server).read()
    assert found in (
        {"begun": b"1", "a": b"1", "b": b"1"},  # it arrived before the next step
        {"begun": b"1", "b": b"none"},
    )


@pytest.mark.parametrize("unanswered", [1, 4])
def test_a_write_that_is_sent_again_after_it_was_executed_is_looked_up(
    server: ObjectServer, unanswered: int
) -> None:
    steps: list[int] = []

    def step(view: object) -> dict[str, bytes | None]:
        del view
        steps.append(1)
        return {"a": b"%d" % len(steps)}

    mine = RecordTransaction(records_of(server))
    mine.update(lambda _: {"begun": b"1"})
    server.puts.clear()
    server.unanswered = unanswered
    mine.update(step)
    assert server.puts[0] == 200
    assert len(steps) == 1
    assert records_of(server).read() == {"begun": b"1", "a": b"1"}


def test_one_outage_is_waited_for_once_by_reads_and_writes(
    server: ObjectServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write without an answer is looked up, which waited as long again."""
    monkeypatch.setattr("kplan.state.object_store._RETRY_LIMIT_S", 3.0)
    mine = RecordTransaction(records_of(server))
    mine.update(lambda _: {"begun": b"1"})
    server.is_away = True
    began = time.monotonic()
    with pytest.raises(ObjectStoreUnreachableError, match=r"\(after \d+ retries in [34] s\)"):
        mine.update(lambda _: {"a": b"1"})
    assert 2.5 < time.monotonic() - began < 5


def test_an_answer_to_a_write_ends_an_outage_and_one_to_a_read_does_not(
    server: ObjectServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kplan.state.object_store._RETRY_LIMIT_S", 2.0)
    records = records_of(server)
    records.claim()
    server.is_away = True
    with pytest.raises(ObjectStoreUnreachableError):
        RecordTransaction(records).update(lambda _: {"a": b"1"})
    server.is_away = False
    for _ in range(2):
        records.claim()
        server.unanswered = 4  # the write is found to be executed: 412
        RecordTransaction(records).update(lambda _: {"a": b"2"})
        assert server.unanswered <= 0
    server.is_away = True
    began = time.monotonic()
    with pytest.raises(ObjectStoreUnreachableError):
        records.read()
    assert 1.5 < time.monotonic() - began < 4, "a new outage is waited out"


def test_a_store_that_answers_reads_and_no_writes_is_given_up_after_one_limit(
    server: ObjectServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kplan.state.object_store._RETRY_LIMIT_S", 2.0)
    mine = RecordTransaction(records_of(server))
    mine.update(lambda _: {"begun": b"1"})
    server.drops_puts = True
    began = time.monotonic()
    with pytest.raises(ObjectStoreUnreachableError):
        mine.update(lambda _: {"a": b"1"})
    assert time.monotonic() - began < 6


def test_a_heartbeat_does_not_wait_and_leaves_the_limit_to_others(
    server: ObjectServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has the mutex, and the end of a run waits for it."""
    monkeypatch.setattr("kplan.state.object_store._RETRY_LIMIT_S", 6.0)
    monkeypatch.setattr(record_lock, "HEARTBEAT_S", 0.1)
    store = RecordStore(records_of(server))
    lock = store.hold_lock(current_holder("apply"), 0, lambda _: None)
    lock.__enter__()
    store.write(state(serial=1))
    server.is_away = True
    before = server.requests
    while server.requests < before + 12:  # more than one beat
        time.sleep(0.05)
    monkeypatch.setattr("kplan.state.object_store._RETRY_LIMIT_S", 0.0)
    began = time.monotonic()
    lock.__exit__(None, None, None)
    assert time.monotonic() - began < 3


def test_failed_heartbeats_use_up_none_of_the_limit(server: ObjectServer) -> None:
    records = records_of(server)
    mine = RecordTransaction(records)
    mine.update(lambda _: {"begun": b"1"})
    server.is_away = True
    with pytest.raises(ObjectStoreUnreachableError):
        mine.update_now(lambda _: {"a": b"1"})
    assert records._retrier.outage == (0, 0.0)
    assert not records._retrier.is_brief
