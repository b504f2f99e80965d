"""Records in memory behave as the real ones do: tests/contract/test_state_in_kafka.py."""

import pytest

from kplan.cluster.memory.store import MemoryRecords
from kplan.cluster.topology import UncertainWriteError


def test_records_that_were_never_claimed_are_not_the_same_as_no_records() -> None:
    records = MemoryRecords()
    assert records.peek() is None
    assert records.claim() == {}
    assert records.read() == {}


def test_a_write_puts_and_removes_all_of_its_records() -> None:
    records = MemoryRecords()
    records.claim()
    records.write({"a": b"1", "b": b"2"})
    records.write({"a": None, "c": b"3"})
    assert records.read() == {"b": b"2", "c": b"3"}
    assert records.connect().peek() == {"b": b"2", "c": b"3"}


def test_who_claims_shuts_out_who_claimed_before() -> None:
    first = MemoryRecords()
    first.claim()
    second = first.connect()
    second.claim()
    with pytest.raises(UncertainWriteError, match="another writer"):
        first.write({"a": b"1"})
    second.write({"a": b"2"})
    assert first.claim() == {"a": b"2"}


@pytest.mark.parametrize("is_written", [True, False])
def test_a_lost_answer_leaves_open_whether_it_was_written(*, is_written: bool) -> None:
    records = MemoryRecords()
    records.claim()
    records.lose_next_response(is_written=is_written)
    with pytest.raises(UncertainWriteError, match="no answer"):
        records.write({"a": b"1"})
    with pytest.raises(UncertainWriteError, match="another writer"):
        records.write({"b": b"1"})
    assert records.claim() == ({"a": b"1"} if is_written else {})


def test_something_may_happen_right_before_a_write() -> None:
    records = MemoryRecords()
    records.claim()
    records.run_before_write(records.connect().claim)
    with pytest.raises(UncertainWriteError):
        records.write({"a": b"1"})


def test_a_writer_that_closed_has_to_claim_again() -> None:
    records = MemoryRecords()
    records.claim()
    records.close()
    with pytest.raises(UncertainWriteError):
        records.write({"a": b"1"})
