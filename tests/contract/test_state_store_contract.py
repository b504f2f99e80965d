"""What every place for a state promises: one suite on a file, memory, Kafka and buckets."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import replace
from pathlib import Path

import pytest

from kplan.cluster.memory.store import MemoryRecords
from kplan.cluster.topology import StateTopic
from kplan.kafka.state_topic import KafkaRecords
from kplan.model.address import Address
from kplan.model.errors import StateError, StateLockedError
from kplan.model.outcome import OutcomeStatus
from kplan.model.state import StateDiff
from kplan.model.version import VERSION
from kplan.state.codec import encode_state
from kplan.state.file_store import FileStore
from kplan.state.lock import LockStatus
from kplan.state.lock_holder import LockHolder, current_holder
from kplan.state.object_store import ObjectRecords
from kplan.state.record_store import RecordStore
from kplan.state.store import StateStore
from tests.contract.clusters import cleaned, connected, settings_of
from tests.e2e.places import until
from tests.object_buckets import SERVICES
from tests.unit.state.state_builders import applied, creation, many, owned, plan, state

Open = Callable[[], StateStore]
"""Opens the same place again, as another run does."""


@pytest.fixture(
    params=["file", "memory", *SERVICES, pytest.param("kafka", marks=pytest.mark.broker)]
)
def again(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Open]:
    monkeypatch.chdir(tmp_path)  # a state that cannot be written is left here
    name = f"__kplan_ct_{uuid.uuid4().hex[:8]}"
    with ExitStack() as stack:
        if request.param == "file":
            yield lambda: FileStore(tmp_path / "state" / "kplan.json")
        elif request.param == "memory":
            records = MemoryRecords()
            yield lambda: RecordStore(records.connect())
        elif request.param == "kafka":
            settings = settings_of(request.getfixturevalue("broker"), "anonymous")
            stack.enter_context(cleaned(connected("wire", settings), name))
            yield lambda: RecordStore(
                stack.enter_context(closing(KafkaRecords(settings, StateTopic(name))))
            )
        else:
            place = request.getfixturevalue("bucket_of_service")(request.param, name)
            yield lambda: RecordStore(ObjectRecords(place))


@pytest.fixture
def store(again: Open) -> StateStore:
    return again()


def at_once(store: StateStore, holder: LockHolder | None) -> AbstractContextManager[None]:
    return store.hold_lock(holder, 0, lambda _: None)


def test_a_place_where_nothing_was_written_has_no_state(store: StateStore) -> None:
    assert store.read() is None
    assert store.read_modules() is None
    assert store.read_document() is None
    assert store.read_journal() is None
    assert not store.has_journal()
    assert store.list_versions() == ()
    assert store.newest_serial() == 0
    assert store.lock_status() == LockStatus(is_held=False)


def test_what_is_written_is_read_by_the_next_run(store: StateStore, again: Open) -> None:
    inner = Address("kafka_topic", "inner", "eu", ("pay[0]", "in"))
    held = state(owned("orders"), owned("payments"), replace(owned("inner"), address=inner))
    with at_once(store, current_holder("apply")):
        store.write(held)
    assert again().read() == held
    assert again().read_modules() == held.modules
    assert again().read_document() == encode_state(held, VERSION)


def test_earlier_states_are_kept_and_told(store: StateStore, again: Open) -> None:
    with at_once(store, current_holder("apply")):
        for serial, names in ((1, ["a"]), (2, ["a", "b"]), (3, ["b"])):
            assert (store.read() is None) == (serial == 1)
            store.write(state(*map(owned, names), serial=serial))
    found = again().list_versions()
    assert [(each.serial, each.object_count, each.is_current) for each in found] == [
        (1, 1, False), (2, 2, False), (3, 1, True),
    ]  # fmt: skip
    assert [each.diff for each in found] == [
        None,
        StateDiff(added=(Address("kafka_topic", "b"),)),
        StateDiff(removed=(Address("kafka_topic", "a"),)),
    ]
    assert again().read_version(2) == state(owned("a"), owned("b"), serial=2)
    assert again().newest_serial() == 3
    with pytest.raises(StateError, match="available: 1, 2"):
        again().read_version(7)


def test_twenty_states_are_kept_before_the_current_one(store: StateStore) -> None:
    for serial in range(1, 31):
        store.write(state(owned(), serial=serial))
    assert [each.serial for each in store.list_versions()] == [*range(10, 31)]


def test_writing_the_same_again_does_nothing(store: StateStore, again: Open) -> None:
    store.write(state(owned()))
    again().write(state(owned()))
    assert len(store.list_versions()) == 1


@pytest.mark.parametrize(
    ("later", "why"),
    [
        (state(owned("other"), serial=41), "written by another run"),
        (state(owned("other"), serial=40), "written by another run"),
        (replace(state(serial=42), lineage="other"), "another state"),
    ],
)
def test_only_a_later_state_of_the_same_lineage_takes_its_place(
    store: StateStore,
    later: object,
    why: str,
    tmp_path: Path,
) -> None:
    """The state that could not be written is not lost either."""
    store.write(state(owned()))
    with pytest.raises(StateError, match=why) as told:
        store.write(later)  # type: ignore[arg-type] # a parameter
    assert (tmp_path / "errored.state").read_bytes() == encode_state(later, VERSION)  # type: ignore[arg-type]
    assert str(tmp_path / "errored.state") in told.value.hint
    assert store.read() == state(owned())


def test_one_run_holds_the_lock_and_the_next_is_told_who(store: StateStore, again: Open) -> None:
    holder = current_holder("apply", ci="https://ci/run/7")
    store.write(state())
    with at_once(store, holder):
        # A topic shows what is committed: a little later than a commit is answered.
        until(lambda: again().lock_status().is_held)
        status = again().lock_status()
        assert status.holder is not None
        assert status.holder.id == holder.id
        with pytest.raises(StateLockedError, match="https://ci/run/7") as told:
            at_once(again(), current_holder("plan")).__enter__()
        assert f"kplan force-unlock {holder.id}" in told.value.hint
    until(lambda: again().lock_status() == LockStatus(is_held=False))
    with at_once(again(), current_holder("plan")):
        pass


def test_a_run_waits_for_the_lock_and_is_told_once_for_whom(store: StateStore, again: Open) -> None:
    store.write(state())
    first = at_once(store, current_holder("apply"))
    first.__enter__()
    told: list[LockHolder] = []

    def waiting(by: LockHolder) -> None:
        told.append(by)
        first.__exit__(None, None, None)

    with again().hold_lock(current_holder("plan"), 60, waiting):
        pass
    assert [each.op for each in told] == ["apply"]


def test_the_lock_is_free_after_a_run_that_failed(store: StateStore, again: Open) -> None:
    store.write(state())
    with pytest.raises(KeyboardInterrupt), at_once(store, current_holder("apply")):
        raise KeyboardInterrupt
    until(lambda: again().lock_status() == LockStatus(is_held=False))


def test_force_unlock_takes_the_lock_that_is_named(store: StateStore, again: Open) -> None:
    with pytest.raises(StateError, match="not locked"):
        again().force_unlock("x")
    store.write(state())
    holder = current_holder("apply")
    with at_once(store, holder):
        with pytest.raises(StateError, match=holder.id):
            again().force_unlock("another")
        assert again().force_unlock(holder.id).id == holder.id
        with at_once(again(), current_holder("plan")):
            pass
    with pytest.raises(StateError, match="not locked"):
        again().force_unlock(holder.id)


def test_a_run_whose_lock_was_taken_away_sends_nothing_more(store: StateStore, again: Open) -> None:
    a, b = creation("a"), creation("b")
    made = plan(a, b)
    store.write(state())
    holder = current_holder("apply")
    with at_once(store, holder):
        with store.open_journal(made, holder=holder) as journal:
            journal.on_send(made.batches[0], [a])
            again().force_unlock(holder.id)
            with pytest.raises(StateLockedError, match="This run lost its lock; it is not locked"):
                journal.on_send(made.batches[0], [b])
        with (
            pytest.raises(StateLockedError, match="This run lost its lock"),
            store.open_journal(made, holder=holder),
        ):
            pass


def test_a_journal_tells_the_next_run_what_was_sent_and_what_became_of_it(
    store: StateStore, again: Open
) -> None:
    a, b, c = (creation(name) for name in "abc")
    made = plan(a, b, c)
    store.write(state())
    with store.open_journal(made) as journal:
        journal.on_send(made.batches[0], [a, b])
        journal.on_outcomes([applied(a)])
        journal.on_send(made.batches[0], [c])
        journal.on_state_write(42)
    found = again().read_journal()
    assert found is not None
    assert found.changes == (a, b, c)
    assert [(each.change, each.status) for each in found.outcomes] == [(a, OutcomeStatus.APPLIED)]
    assert {identity for _, identity, _ in found.unsettled_keys} == {"b", "c"}
    assert found.outcome_counts == {42: 1}
    assert not found.is_ended
    assert again().has_journal()
    with pytest.raises(StateError, match="interrupted"), again().open_journal(made):
        pass
    again().discard_journal()
    assert again().read_journal() is None
    assert again().read() == state()


def test_a_journal_is_replaced_at_once(store: StateStore, again: Open) -> None:
    a, b = creation("a"), creation("b")
    many_more = tuple(creation(f"topic-{number:04}") for number in range(3000))
    made = plan(a, b, *many_more)
    store.write(state())
    with store.open_journal(made) as journal:
        journal.on_send(made.batches[0], [a, b])
        journal.on_outcomes([applied(a)])
        journal.on_state_write(42)
    found = again().read_journal()
    assert found is not None
    rest = found.without({b.key, *(each.key for each in many_more)}).before_write(43)
    writer = again()
    writer.replace_journal(rest)
    assert again().read_journal() == rest
    assert (rest.changes, rest.sent_keys) == ((a,), frozenset({a.key}))
    assert rest.outcome_counts == {42: 1, 43: 1}
    assert again().read() == state()


def test_a_state_is_taken_over_byte_by_byte(store: StateStore, again: Open) -> None:
    document = encode_state(many(300, 7), "0.9")
    store.write_document(document)
    store.write_document(document)
    assert again().read_document() == document
    later = encode_state(many(301, 8), "0.9")
    again().write_document(later)
    assert again().read_document() == later
    with pytest.raises(StateError, match="written by another run"):
        again().write_document(document)


def test_where_a_state_was_moved_from_its_absence_is_told(store: StateStore, again: Open) -> None:
    """Nobody takes it for no state, and begins a second one."""
    store.write(state(owned()))
    store.write_move_note("somewhere else")
    for use in (store.read, again().read, again().read_document, again().read_modules):
        with pytest.raises(StateError, match="moved to somewhere else"):
            use()
    with pytest.raises(StateError, match="moved to somewhere else"):
        again().write(state(serial=42))
    assert again().read_version(41) == state(owned())
    document = encode_state(state(owned(), serial=43), "1")
    again().write_document(document)
    assert again().read_document() == document


def test_a_run_without_a_lock_works_as_well(store: StateStore, again: Open) -> None:
    with at_once(store, None):
        store.write(state())
        assert again().lock_status() == LockStatus(is_held=False)
    assert again().read() == state()


def test_the_place_is_named_in_what_goes_wrong(store: StateStore, again: Open) -> None:
    store.write(state())
    store.write_move_note("x")
    with pytest.raises(StateError) as told:
        again().read()
    assert told.value.detail.startswith(store.location)
