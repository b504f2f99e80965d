"""What the state asks of records: one suite, in memory, in a topic and in buckets."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest

from kplan.cluster.memory.store import MemoryRecords
from kplan.cluster.topology import Records, StateTopic, UncertainWriteError
from kplan.kafka.state_topic import KafkaRecords
from kplan.state.object_store import ObjectRecords
from tests.contract.clusters import cleaned, connected, settings_of
from tests.object_buckets import SERVICES

Another = Callable[[], Records]
"""Gives another writer access to the same records."""


@pytest.fixture(params=["memory", *SERVICES, pytest.param("kafka", marks=pytest.mark.broker)])
def another(request: pytest.FixtureRequest) -> Iterator[Another]:
    topic = f"__kplan_ct_{uuid.uuid4().hex[:8]}"
    with ExitStack() as stack:
        if request.param == "memory":
            yield MemoryRecords(state_topic=StateTopic(topic)).connect
            return
        if request.param != "kafka":
            place = request.getfixturevalue("bucket_of_service")(request.param, topic)
            yield lambda: ObjectRecords(place)
            return
        settings = settings_of(request.getfixturevalue("broker"), "anonymous")
        stack.enter_context(cleaned(connected("wire", settings), topic))

        def another() -> Records:
            return stack.enter_context(closing(KafkaRecords(settings, StateTopic(topic))))

        yield another


def test_a_place_that_was_never_claimed_is_none(another: Another) -> None:
    assert another().peek() is None
    assert another().read() is None
    assert another().claim() == {}
    assert another().peek() == {}


def test_a_write_puts_and_removes_all_of_its_records(another: Another) -> None:
    writer, reader = another(), another()
    writer.claim()
    writer.write({"a": b"1", "b": b"", "dir/c": b"\x00\xff" * 1000})
    assert reader.read() == {"a": b"1", "b": b"", "dir/c": b"\x00\xff" * 1000}
    writer.write({"a": None, "absent": None, "b": b"2"})
    assert reader.read() == {"b": b"2", "dir/c": b"\x00\xff" * 1000}
    assert another().read() == reader.peek() == writer.read()


def test_who_claims_shuts_out_who_claimed_before(another: Another) -> None:
    first, second = another(), another()
    first.claim()
    first.write({"a": b"1"})
    assert second.claim() == {"a": b"1"}
    with pytest.raises(UncertainWriteError):
        first.write({"a": b"2"})
    with pytest.raises(UncertainWriteError):
        first.write({"a": b"3"})
    second.write({"b": b"1"})
    assert first.claim() == {"a": b"1", "b": b"1"}
    first.write({"a": b"4"})
    assert second.read() == {"a": b"4", "b": b"1"}


def test_a_writer_that_closed_has_to_claim_again(another: Another) -> None:
    writer = another()
    writer.claim()
    writer.close()
    with pytest.raises(UncertainWriteError):
        writer.write({"a": b"1"})
    assert writer.claim() == {}


def test_what_was_acknowledged_is_read_at_once_by_everybody(another: Another) -> None:
    """A commit is acknowledged before its markers are written; a read waits for them."""
    writer, old = another(), another()
    writer.claim()
    for number in range(20):
        writer.write({"n": b"%d" % number})
        assert another().read() == {"n": b"%d" % number}
        assert old.read() == {"n": b"%d" % number}
