"""A state in records: parts, damage, other writers, and a lock that cannot be got round."""

import random
import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kplan.cluster.memory.store import MemoryRecords, RecordLog
from kplan.cluster.topology import StateTopic
from kplan.model.errors import (
    ClusterError,
    StateCorruptError,
    StateError,
    StateLockedError,
    UnreachableError,
)
from kplan.model.state import State
from kplan.state import record_lock
from kplan.state.codec import encode_state
from kplan.state.lock import LockStatus
from kplan.state.lock_holder import LockHolder, current_holder, encode_holder, seen_s_ago
from kplan.state.record_document import PART_BYTES
from kplan.state.record_store import RecordStore
from tests.unit.state.state_builders import applied, creation, owned, plan, state

PLACE = 'the topic __kplan_state (key "default")'


def at_once(store: RecordStore, holder: LockHolder) -> AbstractContextManager[None]:
    return store.hold_lock(holder, 0, lambda _: None)


def large(serial: int = 1, count: int = 1000, seed: int = 1) -> State:
    """Make a state that compression does not make small."""
    draw = random.Random(seed)
    names = [f"t{number}-{draw.randbytes(700).hex()}" for number in range(count)]
    return state(*(owned(name) for name in names), serial=serial)


def kept(records: MemoryRecords) -> dict[str, bytes]:
    assert records.log.records is not None
    return records.log.records


def gone(holder: LockHolder, silent_s: float) -> LockHolder:
    """Make the holder one whose process is gone, and that showed life so long ago."""
    seen = datetime.now(UTC) - timedelta(seconds=silent_s)
    return replace(holder, pid=2**22 - 1, heartbeat=seen.strftime("%Y-%m-%dT%H:%M:%SZ"))


def locked_by(holder: LockHolder) -> MemoryRecords:
    return MemoryRecords(RecordLog({"lock": encode_holder(holder)}))


# ---- documents


def test_a_large_state_is_cut_into_parts_and_written_at_once() -> None:
    records = MemoryRecords()
    held = large(count=2000)
    RecordStore(records).write(held)
    (write,) = records.log.writes
    parts = [name for name in write if name.startswith("states/0000000001/")]
    assert len(parts) > 2
    assert all(len(each) <= PART_BYTES for each in write.values() if each is not None)
    assert list(write)[-2:] == ["states/0000000001", "state"]
    assert RecordStore(records.connect()).read() == held


def test_parts_of_states_that_are_not_kept_any_more_are_removed() -> None:
    records = MemoryRecords()
    store = RecordStore(records)
    for serial in range(1, 24):
        store.write(large(serial, count=100, seed=serial))
    names = {name.split("/")[1] for name in kept(records) if name.startswith("states/")}
    assert names == {f"{serial:010}" for serial in range(3, 24)}
    assert [each.read_error for each in store.list_versions()] == [""] * 21


def damaged() -> Mapping[str, bytes]:
    records = MemoryRecords()
    store = RecordStore(records)
    store.write(state(owned("old"), serial=1))
    store.write(large(serial=2))
    return kept(records)


WHOLE = damaged()


@pytest.mark.parametrize("name", sorted(each for each in WHOLE if each != "states/0000000001"))
@pytest.mark.parametrize("how", ["missing", "other", "cut"])
def test_damage_is_told_and_never_means_no_state(name: str, how: str) -> None:
    """The current state either is as it was written or an error with the way back."""
    left = dict(WHOLE)
    if how == "missing":
        del left[name]
    else:
        left[name] = b"other" if how == "other" else left[name][:-7]
    store = RecordStore(MemoryRecords(RecordLog(left)))
    is_needed = name == "state" or name.startswith("states/0000000002/")
    if not is_needed:
        assert store.read() == large(serial=2)
        return
    with pytest.raises(StateCorruptError) as told:
        store.read()
    assert PLACE in told.value.detail
    whole = 1 if name.startswith("states/0000000002/") else 2
    assert told.value.hint == f"Restore serial {whole}: kplan state restore {whole}"
    assert store.read_version(1) == state(owned("old"), serial=1)
    assert store.newest_serial() == 2


def test_parts_of_another_document_are_found_out() -> None:
    other = MemoryRecords()
    RecordStore(other).write(state(owned("other"), serial=1))
    mixed = {**WHOLE, "states/0000000001/0000": kept(other)["states/0000000001/0000"]}
    with pytest.raises(StateCorruptError, match="checksum of serial 1"):
        RecordStore(MemoryRecords(RecordLog(mixed))).read_version(1)


@given(st.binary(max_size=200))
def test_no_record_of_the_state_ends_in_a_traceback(data: bytes) -> None:
    store = RecordStore(MemoryRecords(RecordLog({"state": data})))
    with pytest.raises(StateError):
        store.read()


def test_a_newer_format_names_the_version_that_reads_it() -> None:
    told = b'{"format": 2, "kplan_version": "7.1"}'
    store = RecordStore(MemoryRecords(RecordLog({"state": told})))
    with pytest.raises(StateCorruptError, match="format is 2") as fault:
        store.read()
    assert "kplan 7.1 or later" in fault.value.hint


def test_damaged_states_stand_in_the_history_with_what_is_wrong() -> None:
    left = {name: each for name, each in WHOLE.items() if name != "states/0000000002/0001"}
    store = RecordStore(MemoryRecords(RecordLog({**left, "states/0000000003/0000": b""})))
    found = store.list_versions()
    assert [(each.serial, each.is_current) for each in found] == [(1, False), (2, True), (3, False)]
    assert [bool(each.read_error) for each in found] == [False, True, True]
    with pytest.raises(StateCorruptError, match="1 of the"):
        store.read_version(2)


def test_a_damaged_state_can_be_replaced() -> None:
    left = {name: each for name, each in WHOLE.items() if name != "state"}
    store = RecordStore(MemoryRecords(RecordLog(left)))
    with pytest.raises(StateCorruptError):
        store.read()
    store.write(state(owned("old"), serial=3))
    assert store.read() == state(owned("old"), serial=3)


# ---- other writers


def test_a_write_whose_answer_is_lost_is_looked_up() -> None:
    for is_written in (True, False):
        records = MemoryRecords()
        store = RecordStore(records)
        records.lose_next_response(is_written=is_written)
        store.write(state(owned()))
        assert store.read() == state(owned())
        assert len([each for each in records.log.writes if "state" in each]) == 1


def test_two_runs_without_lock_that_read_the_same_state_do_not_both_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    records = MemoryRecords()
    first, second = RecordStore(records), RecordStore(records.connect())
    first.write(state(owned(), serial=1))
    assert first.read() == second.read()
    second.write(state(owned("second"), serial=2))
    with pytest.raises(StateError, match="written by another run"):
        first.write(state(owned("first"), serial=3))
    assert first.read() == state(owned("second"), serial=2)
    first.write(state(owned("first"), serial=3))


def test_a_writer_that_comes_between_the_look_and_the_write_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    records = MemoryRecords()
    store, other = RecordStore(records), RecordStore(records.connect())
    assert store.read() is None
    records.run_before_write(lambda: other.write(state(owned("other"), serial=1)))
    with pytest.raises(StateError, match="written by another run"):
        store.write(state(owned(), serial=1))
    assert store.read() == state(owned("other"), serial=1)


def test_writers_that_come_between_for_ever_are_told() -> None:
    records = MemoryRecords()
    store = RecordStore(records)
    for _ in range(5):
        records.lose_next_response(is_written=False)
    with pytest.raises(StateLockedError, match="is writing"):
        store.write_move_note("x")


# ---- the lock


def test_a_run_that_lost_its_lock_cannot_write_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stolen lock is harmless: fencing and the check in each step see to that."""
    monkeypatch.chdir(tmp_path)
    records = MemoryRecords()
    first, second = RecordStore(records), RecordStore(records.connect())
    first.write(state(owned(), serial=1))
    holder = current_holder("apply")
    a = creation("a")
    with at_once(first, holder), first.open_journal(plan(a)) as journal:
        second.force_unlock(holder.id)
        with pytest.raises(StateLockedError, match="This run lost its lock; it is not locked"):
            journal.on_send(plan(a).batches[0], [a])
        with at_once(second, current_holder("plan")):
            with pytest.raises(StateLockedError, match="it is held by plan"):
                first.write(state(owned("first"), serial=2))
            assert second.lock_status().is_held
        assert second.read() == state(owned(), serial=1)


def test_a_contender_that_comes_too_late_does_the_holder_no_harm() -> None:
    """It claims, sees the lock, and leaves; the holder claims again and goes on."""
    records = MemoryRecords()
    first, late = RecordStore(records), RecordStore(records.connect())
    first.write(state(serial=1))
    with at_once(first, current_holder("apply")):
        records.connect().claim()
        first.write(state(owned(), serial=2))
        with pytest.raises(StateLockedError):
            at_once(late, current_holder("plan")).__enter__()
        first.write(state(serial=3))


@pytest.mark.parametrize("is_open", [False, True])
def test_a_lock_whose_release_is_not_in_the_topic_yet_is_waited_for(is_open: bool) -> None:
    earlier = locked_by(current_holder("apply"))
    seen = dict(kept(earlier))

    class Late(MemoryRecords):
        """Shows what was committed a moment ago, as up to the last stable offset of a topic."""

        def peek(self) -> Mapping[str, bytes]:
            return seen

        def read(self) -> Mapping[str, bytes] | None:
            if is_open:
                raise ClusterError("a transaction of another writer is open")
            return super().peek()

    del kept(earlier)["lock"]
    store = RecordStore(Late(earlier.log))
    assert store.lock_status().is_held == is_open
    if is_open:
        with (
            pytest.raises(StateLockedError, match="Held by"),
            at_once(store, current_holder("plan")),
        ):
            pass
    else:
        with at_once(store, current_holder("plan")):
            assert "lock" in kept(earlier)


def test_of_two_runs_that_see_a_free_lock_one_gets_it() -> None:
    records = MemoryRecords()
    store, other = RecordStore(records), RecordStore(records.connect())
    store.write(state(serial=1))
    store.read()
    faster = at_once(other, current_holder("apply", ci="https://ci/faster"))
    records.run_before_write(faster.__enter__)
    with pytest.raises(StateLockedError, match="faster"):
        at_once(store, current_holder("apply")).__enter__()
    faster.__exit__(None, None, None)
    with at_once(store, current_holder("apply")):
        pass


def test_a_plan_leaves_nothing_where_nothing_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_lock, "HEARTBEAT_S", 0.01)
    records = MemoryRecords()
    store = RecordStore(records)
    with at_once(store, current_holder("plan")):
        assert store.read() is None
        threading.Event().wait(0.05)
    assert records.peek() is None
    assert records.is_closed


def test_the_first_apply_takes_the_lock_with_its_first_change() -> None:
    records = MemoryRecords()
    first, second = RecordStore(records), RecordStore(records.connect())
    with (
        at_once(first, current_holder("apply")),
        at_once(second, current_holder("apply", ci="https://ci/2")),
    ):
        with first.open_journal(plan(creation("a"))):
            assert second.lock_status().is_held
        with (
            pytest.raises(StateLockedError, match=r"changed nothing\. It is held by apply") as told,
            second.open_journal(plan(creation("b"))),
        ):
            pass
        assert "-lock-timeout" in told.value.hint
        assert "force-unlock" not in told.value.hint
        first.write(state(serial=1))
    assert second.lock_status() == LockStatus(is_held=False)


def test_an_apply_does_not_begin_when_another_one_has_ended_since_it_found_nothing() -> None:
    records = MemoryRecords()
    first, second = RecordStore(records), RecordStore(records.connect())
    with at_once(second, current_holder("apply")):
        with at_once(first, current_holder("apply")):
            first.write(state(serial=1))
        with (
            pytest.raises(StateLockedError, match=r"This one changed nothing\.$"),
            second.open_journal(plan(creation("b"))),
        ):
            pass
    assert first.read_journal() is None


@pytest.mark.parametrize(
    ("silent_s", "is_taken_over"),
    [(0, False), (20, False), (40, True), (4000, True), (-20, False), (-4000, True)],
)
def test_the_lock_of_a_dead_run_is_taken_over_once_it_has_been_silent(
    silent_s: float, *, is_taken_over: bool
) -> None:
    """Two containers may share host name and process numbers: a number alone proves nothing."""
    records = locked_by(gone(current_holder("apply"), silent_s))
    store = RecordStore(records)
    assert store.lock_status().is_dead is is_taken_over
    if is_taken_over:
        with at_once(store, current_holder("plan")):
            assert store.lock_status().is_held
        return
    with pytest.raises(StateLockedError, match=r"process has ended: the lock is free in \d+ s"):
        at_once(store, current_holder("plan")).__enter__()


def test_a_run_elsewhere_is_never_taken_for_dead() -> None:
    afar = replace(gone(current_holder("apply"), 10**6), host="elsewhere")
    store = RecordStore(locked_by(afar))
    with pytest.raises(StateLockedError, match="elsewhere"):
        at_once(store, current_holder("plan")).__enter__()
    assert store.force_unlock(afar.id) == afar
    with at_once(store, current_holder("plan")):
        pass


@pytest.mark.parametrize(
    ("op", "silent_s", "said", "hint"),
    [
        ("apply", 5, r"seen \d s ago", "Wait for it with -lock-timeout=60s"),
        ("apply", 100, r"seen 10\d s ago", "Wait for it with -lock-timeout=60s"),
        ("plan", 400, "not seen for 6 minutes", "force-unlock ID"),
        ("apply", 200, "not seen for 3 minutes:", "force-unlock ID, then kplan apply -resume"),
        ("destroy", 8000, "not seen for 2 hours", "force-unlock ID, then kplan apply -resume"),
    ],
)
def test_waiting_is_no_hint_for_a_run_elsewhere_that_has_been_silent(
    op: str, silent_s: float, said: str, hint: str
) -> None:
    """A killed job never releases its lock, and the next one runs on another machine."""
    afar = replace(gone(current_holder(op), silent_s), host="elsewhere")
    store = RecordStore(locked_by(afar))
    with pytest.raises(StateLockedError, match=said) as told:
        at_once(store, current_holder("plan")).__enter__()
    assert hint.replace("ID", afar.id) in told.value.hint
    assert ("-lock-timeout" in told.value.hint) is (silent_s < 180)


@pytest.mark.parametrize("heartbeat", ["?", "2025-13-01", "2200-01-01T00:00:00Z"])
def test_nothing_is_said_about_a_run_elsewhere_whose_heartbeat_says_nothing(heartbeat: str) -> None:
    """It was said to have been seen 0 s ago, or, by a clock that is ahead, not for years."""
    afar = replace(current_holder("apply"), host="elsewhere", heartbeat=heartbeat)
    with pytest.raises(StateLockedError, match=rf"Lock id: {afar.id}\.$") as told:
        at_once(RecordStore(locked_by(afar)), current_holder("plan")).__enter__()
    assert "-lock-timeout" in told.value.hint
    assert seen_s_ago(afar) is None


def test_a_clock_that_is_a_little_ahead_is_one_of_now() -> None:
    afar = replace(gone(current_holder("apply"), -5), host="elsewhere")
    with pytest.raises(StateLockedError, match="It was seen 0 s ago"):
        at_once(RecordStore(locked_by(afar)), current_holder("plan")).__enter__()


def test_a_dead_run_without_a_heartbeat_is_not_promised_to_free_its_lock() -> None:
    dead = replace(gone(current_holder("apply"), 0), heartbeat="?")
    with pytest.raises(StateLockedError, match=r"Its process has ended\.$"):
        at_once(RecordStore(locked_by(dead)), current_holder("plan")).__enter__()


def test_a_note_that_cannot_be_read_is_somebodys() -> None:
    store = RecordStore(MemoryRecords(RecordLog({"lock": b"?"})))
    assert store.lock_status() == LockStatus(is_held=True)
    with pytest.raises(StateLockedError, match="no readable note"):
        at_once(store, current_holder("plan")).__enter__()
    with pytest.raises(StateError, match="not locked by any run that can be named"):
        store.force_unlock("x")


def test_the_heartbeat_goes_on_and_ends_with_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_lock, "HEARTBEAT_S", 0.01)
    records = MemoryRecords()
    store = RecordStore(records)
    store.write(state(serial=1))
    seen = threading.Event()
    with at_once(store, current_holder("apply")):
        before = len(records.log.writes)
        while len(records.log.writes) < before + 5:
            assert not seen.wait(0.01)
        store.write(state(owned(), serial=2))
    after = len(records.log.writes)
    assert not seen.wait(0.1)
    assert len(records.log.writes) == after
    assert store.read() == state(owned(), serial=2)


def test_a_heartbeat_survives_that_the_cluster_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_lock, "HEARTBEAT_S", 0.01)
    records = Flaky()
    store = RecordStore(records)
    store.write(state(serial=1))
    with at_once(store, current_holder("apply")):
        records.is_away = True
        while records.refused < 3:
            threading.Event().wait(0.01)
        records.is_away = False
        store.write(state(owned(), serial=2))


# ---- a cluster that is away


class Flaky(MemoryRecords):
    """Records on a cluster that can be away."""

    is_away = False
    refused = 0

    def claim(self) -> Mapping[str, bytes]:
        self._check()
        return super().claim()

    def write(self, changes: Mapping[str, bytes | None]) -> None:
        self._check()
        super().write(changes)

    def _check(self) -> None:
        if self.is_away:
            self.refused += 1
            raise UnreachableError("kafka-1:9092 refused the connection.")


def test_a_state_that_cannot_be_written_is_kept_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    records = Flaky()
    store = RecordStore(records)
    store.write(state(serial=1))
    records.is_away = True
    with pytest.raises(StateError, match="refused the connection") as told:
        store.write(state(owned(), serial=2))
    spare = tmp_path / "errored.state"
    assert (
        encode_state(state(owned(), serial=2), "").splitlines()[6:-2]
        == (spare.read_bytes().splitlines()[6:-2])
    )
    assert f"kplan state push {spare}" in told.value.hint
    assert "kplan apply -resume" in told.value.hint


def test_nothing_is_sent_while_the_journal_cannot_be_written_and_nothing_of_it_is_lost() -> None:
    records = Flaky()
    store = RecordStore(records)
    a, b = creation("a"), creation("b")
    with store.open_journal(plan(a, b)) as journal:
        journal.on_send(plan(a, b).batches[0], [a])
        records.is_away = True
        journal.on_outcomes([applied(a)])
        with pytest.raises(StateError, match="Nothing more was sent") as told:
            journal.on_send(plan(a, b).batches[0], [b])
        assert "kplan apply -resume" in told.value.hint
        records.is_away = False
        journal.end()
    found = store.read_journal()
    assert found is not None
    assert [each.change for each in found.outcomes] == [a]
    assert found.is_ended


# ---- the journal


def test_a_long_journal_is_cut_into_pieces_and_put_together_again() -> None:
    records = MemoryRecords()
    store = RecordStore(records)
    changes = tuple(creation(f"topic-{number}-{'x' * 200}") for number in range(3000))
    made = plan(*changes)
    with store.open_journal(made) as journal:
        for start in range(0, 3000, 500):
            journal.on_send(made.batches[0], changes[start : start + 500])
            for each in changes[start : start + 500]:
                journal.on_outcomes([applied(each)])
    names = [name for name in kept(records) if name.startswith("journal/")]
    assert len(names) > 7
    assert max(len(each) for each in kept(records).values()) <= PART_BYTES
    found = store.read_journal()
    assert found is not None
    assert len(found.changes) == 3000
    assert len(found.outcomes) == 2500
    store.discard_journal()
    assert not [name for name in kept(records) if name.startswith("journal/")]


def test_outcomes_are_written_with_the_next_intent() -> None:
    """One write a batch, not one an item."""
    records = MemoryRecords()
    store = RecordStore(records)
    a, b = creation("a"), creation("b")
    with store.open_journal(plan(a, b)) as journal:
        before = len(records.log.writes)
        journal.on_send(plan(a, b).batches[0], [a])
        journal.on_outcomes([applied(a)])
        journal.on_send(plan(a, b).batches[0], [b])
        assert len(records.log.writes) == before + 2


@pytest.mark.parametrize("missing", ["journal/000000", "journal/000001"])
def test_a_journal_with_a_gap_is_damaged(missing: str) -> None:
    records = MemoryRecords()
    store = RecordStore(records)
    a = creation("a")
    with store.open_journal(plan(a)) as journal:
        journal.on_send(plan(a).batches[0], [a])
        journal.end()
    del kept(records)[missing]
    with pytest.raises(StateCorruptError):
        store.read_journal()


def test_the_place_names_topic_and_key() -> None:
    assert RecordStore(MemoryRecords()).location == PLACE
    other = RecordStore(MemoryRecords(state_topic=StateTopic("__kplan_eu", "shop")))
    assert other.location == 'the topic __kplan_eu (key "shop")'


def test_the_states_of_other_workspaces_are_read_without_a_claim() -> None:
    records = MemoryRecords()
    RecordStore(records.beside(f"{records.key}@prod")).write(state(owned(), serial=1))
    store = RecordStore(records)
    assert store.list_workspaces() == ("prod",)
    claims = records.others[f"{records.key}@prod"].last_writer
    assert store.for_workspace("prod").read() == state(owned(), serial=1)
    assert store.for_workspace("qa").read() is None
    assert store.for_workspace("default").location == store.location
    assert records.others[f"{records.key}@prod"].last_writer == claims


def test_a_workspace_of_which_there_is_only_a_journal_is_listed() -> None:
    """Its first apply was killed."""
    records = MemoryRecords()
    records.claim()
    own = RecordStore(records)
    with own.for_workspace("eu").open_journal(plan(creation("a"))):
        assert own.list_workspaces() == ("eu",)
