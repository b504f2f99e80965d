"""The journal: what an apply did is known, however it ended."""

import contextlib
import os
import random
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kplan.kinds.acl import Acl, AclKind
from kplan.kinds.topic_rules import Topic
from kplan.model.address import Address
from kplan.model.errors import Refusal, StateCorruptError, StateError
from kplan.model.outcome import Outcome, OutcomeStatus, Visibility
from kplan.model.plan import Action, Change
from kplan.model.resource import Identity
from kplan.model.state import OwnedObject, State
from kplan.state.file import new_state, read_state, write_state
from kplan.state.journal import (
    ChecksumChain,
    Journal,
    change_line,
    decode_journal,
    discard_journal,
    encode_journal,
    journal_path,
    read_journal,
    replay_journal,
)
from kplan.state.journal_writer import JournalWriter, open_journal, replace_journal
from tests.unit.state.state_builders import LINEAGE, applied, creation, owned, plan, state
from tests.unit.state.state_faults import files_limited_to, small_disk
from tests.unit.state.state_processes import PROCESSES, apply_for_ever
from tests.unit.state.state_strategies import UNHURRIED

A, B, C = creation("a"), creation("b"), creation("c")
REFUSAL = Refusal("POLICY_VIOLATION", 44, "Topic b needs a team", 0)
FAILED = Outcome(B, OutcomeStatus.FAILED, REFUSAL, 2, 12, note="gave up")
UNKNOWN = Outcome(C, OutcomeStatus.UNKNOWN, Refusal("CLIENT_TIMED_OUT", -2), 1, 30_000)


def read(path: Path) -> Journal:
    found = read_journal(path)
    assert found is not None
    return found


def write_example(path: Path) -> None:
    with open_journal(path, plan(A, B, C, creation("d"))) as journal:
        batch = plan(A, B, C).batches[0]
        journal.on_send(batch, [A, B, C])
        for outcome in (applied(A), FAILED, UNKNOWN):
            journal.on_outcomes([outcome])
        journal.on_visibility(Visibility(1, 3))
        journal.on_state_write(42)
        journal.end()


def test_the_outcomes_of_one_answer_are_written_at_once_and_read_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes: list[bytes] = []
    write = os.write

    def noted(descriptor: int, data: bytes) -> int:
        writes.append(data)
        return write(descriptor, data)

    path = tmp_path / "state.json"
    with open_journal(path, plan(A, B, C)) as journal:
        journal.on_send(plan(A, B, C).batches[0], [A, B, C])
        with monkeypatch.context() as patched:
            patched.setattr(os, "write", noted)
            journal.on_outcomes([applied(A), FAILED, UNKNOWN])
    assert len(writes) == 1
    assert read(path).outcomes == (applied(A), FAILED, UNKNOWN)


def test_without_an_interrupted_apply_there_is_no_journal(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    assert read_journal(path) is None
    with open_journal(path, plan(A)):
        pass
    discard_journal(path)
    assert read_journal(path) is None
    discard_journal(path)


def test_a_journal_tells_what_was_sent_and_what_became_of_it(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    write_example(path)
    found = read(path)
    assert found.changes == (A, B, C, creation("d"))
    assert found.outcomes == (applied(A), FAILED, UNKNOWN)
    assert found.unsettled_keys == {C.key}
    assert found.unsent_changes == (creation("d"),)
    assert found.outcome_counts == {42: 3}
    assert found.is_ended
    head = found.header
    assert (head.plan, head.lineage, head.from_serial, head.cluster_id) == (
        "5c2e-91ab", LINEAGE, 41, "cluster-1",
    )  # fmt: skip
    assert journal_path(path).stat().st_mode & 0o777 == 0o600


def test_a_journal_that_is_written_anew_tells_the_same(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    write_example(path)
    found = read(path)
    assert decode_journal(encode_journal(found), "it", "") == found
    checkpoints = replace(found, outcome_counts={40: 0, 41: 2, 42: 3}, is_ended=False)
    assert decode_journal(encode_journal(checkpoints), "it", "") == checkpoints


def test_a_journal_is_left_without_some_changes(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    write_example(path)
    found = replace(read(path), outcome_counts={40: 1, 41: 2, 42: 3})
    rest = found.without({B.key, creation("d").key})
    assert rest.changes == (A, C)
    assert rest.sent_keys == {A.key, C.key}
    assert rest.outcomes == (applied(A), UNKNOWN)
    assert rest.outcome_counts == {40: 1, 41: 1, 42: 2}
    assert rest.unsettled_keys == {C.key}
    replace_journal(path, rest)
    assert read(path) == rest


def test_a_second_apply_does_not_write_over_the_journal_of_an_interrupted_one(
    tmp_path: Path,
) -> None:
    path = tmp_path / "state.json"
    write_example(path)
    with pytest.raises(StateError, match="interrupted"), open_journal(path, plan(A)):
        pass
    assert len(read(path).changes) == 4


def test_live_values_are_kept_only_of_kinds_that_create_before_they_delete() -> None:
    """Those of a connector may hold what nobody declared, under a name that is no secret's."""
    change = replace(creation("a"), action=Action.REPLACE, before=Topic("b", 6, 3))
    assert change_line(change)["change"]["before"] is None  # type: ignore[index]


def test_intent_is_on_the_disk_before_anything_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "state.json"
    synced: list[bytes] = []
    honest = os.fdatasync

    def note(descriptor: int) -> None:
        honest(descriptor)
        synced.append(journal_path(path).read_bytes())

    monkeypatch.setattr(os, "fdatasync", note)
    with open_journal(path, plan(A, B)) as journal:
        journal.on_send(plan(A).batches[0], [A])
        journal.on_outcomes([applied(A)])
        journal.on_send(plan(B).batches[0], [B])
    assert [data.count(b'"sent"') for data in synced] == [1, 2]
    assert [data.count(b'"item"') for data in synced] == [0, 1]


def test_folding_takes_over_what_was_applied_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    write_example(path)
    before = state(owned("kept"), cluster_id="")
    after, unsettled = replay_journal(before, read(path))
    assert set(after.owned) == {Address("kafka_topic", "a"), Address("kafka_topic", "kept")}
    assert after.owned[A.address] == OwnedObject(
        A.address, A.identity, A.after, uid="id-of-a", is_pending=True, declared_at="topics.tf:12"
    )
    assert unsettled == {C.key}
    assert (after.serial, after.cluster_id) == (41, "cluster-1")


def acl(operation: str) -> Acl:
    return Acl("orders", "Topic", "User:billing", "*", operation, "Allow")


def test_folding_knows_deletes_replacements_and_moves(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    kind = AclKind()
    at = Address("kafka_acl", "billing")
    old, new = acl("Write"), acl("Read")
    held = OwnedObject(at, kind.identify(old), old)
    gone, moved = owned("gone"), owned("moved")
    target = Address("kafka_topic", "target")
    changes = (
        Change(at, "kafka_acl", kind.identify(new), Action.REPLACE, old, new),
        replace(
            creation("gone"), action=Action.DELETE, before=gone.value, after=None, uid=gone.uid
        ),
        replace(
            creation("moved"),
            address=target,
            action=Action.UPDATE,
            before=moved.value,
            after=Topic("moved", 6, 3),
            previous=moved.address,
            uid=moved.uid,
            is_protected=True,
        ),
    )
    with open_journal(path, plan(*changes)) as journal:
        journal.on_send(plan(*changes).batches[0], changes)
        for change in changes:
            journal.on_outcomes([Outcome(change, OutcomeStatus.APPLIED, attempts=1)])
    kept_values = {each.identity: each.before for each in read(path).changes}
    assert kept_values == {kind.identify(new): old, "gone": None, "moved": None}
    after, _ = replay_journal(state(held, gone, moved), read(path))
    assert {str(place): each.identity for place, each in after.owned.items()} == {
        "kafka_acl.billing": kind.identify(new),
        "kafka_topic.target": "moved",
    }
    kept = after.owned[target]
    assert (kept.value, kept.uid, kept.is_protected) == (Topic("moved", 6, 3), moved.uid, True)


def test_what_was_declared_as_sensitive_is_still_hidden_after_folding(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    hidden = replace(A, sensitive=frozenset({("config", "retention.ms")}))
    with open_journal(path, plan(hidden)) as journal:
        journal.on_send(plan(hidden).batches[0], [hidden])
        journal.on_outcomes([applied(hidden)])
    after, _ = replay_journal(state(), read(path))
    assert after.owned[A.address].sensitive == hidden.sensitive


def test_folding_again_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    write_example(path)
    once, _ = replay_journal(state(owned("kept")), read(path))
    assert replay_journal(once, read(path))[0] == once


def test_what_the_written_state_holds_already_is_not_folded_in_again(tmp_path: Path) -> None:
    """Killed between the write of the state and the end of the journal."""
    path = tmp_path / "state.json"
    write_example(path)
    verified = replace(replay_journal(state(), read(path))[0].owned[A.address], is_pending=False)
    written = state(verified, serial=42)
    assert replay_journal(written, read(path))[0] == written


def test_the_first_apply_ever_can_be_folded_into_a_state_that_was_never_written(
    tmp_path: Path,
) -> None:
    path = tmp_path / "state.json"
    with open_journal(path, plan(A, serial=0)) as journal:
        journal.on_send(plan(A).batches[0], [A])
        journal.on_outcomes([applied(A)])
    after, _ = replay_journal(new_state("made up a moment ago"), read(path))
    assert after.lineage == LINEAGE
    assert list(after.owned) == [A.address]
    write_state(path, replace(after, serial=1))
    assert read_state(path) == replace(after, serial=1)


@pytest.mark.parametrize(
    ("before", "words"),
    [(State("another", 41), "belongs to"), (state(serial=43), "went on to serial 43")],
)
def test_a_journal_of_another_state_or_time_is_not_folded_in(
    tmp_path: Path, before: State, words: str
) -> None:
    path = tmp_path / "state.json"
    write_example(path)
    with pytest.raises(StateError, match=words):
        replay_journal(before, read(path))


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes, Journal]:
    path = tmp_path_factory.mktemp("journal") / "state.json"
    write_example(path)
    return path, journal_path(path).read_bytes(), read(path)


def test_a_journal_cut_anywhere_tells_the_beginning_of_the_truth(
    example: tuple[Path, bytes, Journal],
) -> None:
    path, data, whole = example
    begins = sum(len(line) + 1 for line in data.split(b"\n")[:5])  # the head and four changes
    for length in range(0, len(data), 3):
        journal_path(path).write_bytes(data[:length])
        if length < begins:
            with pytest.raises(StateCorruptError):
                read_journal(path)
            continue
        found = read(path)
        assert found.outcomes == whole.outcomes[: len(found.outcomes)]
        assert found.sent_keys <= whole.sent_keys


@UNHURRIED
@given(st.randoms(use_true_random=False))
def test_a_flipped_bit_never_tells_another_story(
    example: tuple[Path, bytes, Journal], dice: random.Random
) -> None:
    path, good, whole = example
    data = bytearray(good)
    data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    journal_path(path).write_bytes(data)
    try:
        found = read(path)
    except StateCorruptError:
        return
    # The very last line break is gone, which is what a cut looks like.
    assert found == replace(whole, is_ended=False)


@settings(UNHURRIED, max_examples=30)
@given(st.randoms(use_true_random=False))
def test_a_lost_or_moved_line_is_damage(
    example: tuple[Path, bytes, Journal], dice: random.Random
) -> None:
    path, good, _ = example
    lines = good.split(b"\n")[:-1]
    one = dice.randrange(len(lines) - 1)
    lost = lines[:one] + lines[one + 1 :]
    moved = [*lost[: one + 1], lines[one], *lost[one + 1 :]]
    for broken in (lost, moved):
        journal_path(path).write_bytes(b"\n".join([*broken, b""]))
        with pytest.raises(StateCorruptError):
            read_journal(path)


def written(*documents: dict[str, object]) -> bytes:
    chain = ChecksumChain()
    return b"".join(chain.encode_line(each) for each in documents)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "no first line"),
        (written({"format": 3, "kplan_version": "3.4.0"}), "format is 3"),
        (written({"format": 1}), "damaged"),
        (written({"format": 1, "changes": 1}), "0 of 1 changes"),
        (written({"format": 1, "changes": 1}, {"change": {}}), "damaged"),
    ],
)
def test_what_is_no_journal_is_named_for_what_it_is(
    tmp_path: Path, data: bytes, words: str
) -> None:
    path = tmp_path / "state.json"
    journal_path(path).write_bytes(data)
    with pytest.raises(StateCorruptError) as caught:
        read_journal(path)
    assert words in caught.value.detail


def test_a_line_of_an_unknown_sort_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    with open_journal(path, plan(A)) as journal:
        journal._write_through({"later": 1})
    with pytest.raises(StateCorruptError, match="unknown sort"):
        read_journal(path)


def test_a_journal_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    journal_path(path).mkdir()
    with pytest.raises(StateError, match="cannot be read"):
        read_journal(path)
    with pytest.raises(StateError, match="cannot be removed"):
        discard_journal(path)
    (tmp_path / "file").touch()
    with (
        pytest.raises(StateError, match="Nothing was sent"),
        open_journal(tmp_path / "file" / "state.json", plan(A)),
    ):
        pass


def apply_all(journal: JournalWriter, changes: tuple[Change, ...], per_batch: int) -> None:
    for start in range(0, len(changes), per_batch):
        chunk = changes[start : start + per_batch]
        journal.on_send(plan(*chunk).batches[0], chunk)
        for change in chunk:
            journal.on_outcomes([applied(change)])
    journal.end()


def test_the_journal_grows_with_the_number_of_items(tmp_path: Path) -> None:
    """At most 2 MB for 800 items, state included; Terraform writes 528 MB."""
    sizes = []
    for count in (200, 800):
        path = tmp_path / str(count) / "state.json"
        changes = tuple(creation(f"topic-{number}") for number in range(count))
        with open_journal(path, plan(*changes)) as journal:
            apply_all(journal, changes, 100)
        after, _ = replay_journal(state(), read(path))
        write_state(path, replace(after, serial=42))
        sizes.append(journal_path(path).stat().st_size + path.stat().st_size)
    assert sizes[1] < 4.1 * sizes[0]
    assert sizes[1] < 2_000_000


def test_a_full_disk_stops_the_apply_before_it_sends_and_keeps_the_journal_whole(
    tmp_path: Path,
) -> None:
    path = tmp_path / "state.json"
    with open_journal(path, plan(A, B)) as journal:
        journal.on_send(plan(A).batches[0], [A])
        with files_limited_to(journal_path(path).stat().st_size + 10):
            journal.on_outcomes([applied(A)])  # what is known is not lost: it is written later
            with pytest.raises(StateError, match="Nothing more was sent"):
                journal.on_send(plan(B).batches[0], [B])
        assert read(path).unsettled_keys == {A.key}
        journal.end()
    assert read(path).outcomes == (applied(A),)
    assert read(path).is_ended


def test_a_journal_for_which_there_is_no_room_is_not_begun(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 16 * 1024):
        path = tmp_path / "disk" / "state.json"
        changes = [creation(f"topic-{number}") for number in range(100)]
        with pytest.raises(StateError, match="No space left"), open_journal(path, plan(*changes)):
            pass
        assert read_journal(path) is None


def test_twenty_kills_lose_no_outcome_and_no_intent(tmp_path: Path) -> None:
    """What was told to have happened is in the journal; nothing unannounced ever went out."""
    for number in range(20):
        path = tmp_path / str(number) / "state.json"
        told, tell = PROCESSES.Pipe(duplex=False)
        run = PROCESSES.Process(target=apply_for_ever, args=(path, tell, 300), daemon=True)
        run.start()
        tell.close()
        heard = [told.recv()]
        time.sleep(random.random() / 30)
        run.kill()
        run.join()
        run.close()
        with told, contextlib.suppress(EOFError):
            while True:
                heard.append(told.recv())
        found = read(path)
        sent = {identity for _, identity, _ in found.sent_keys}
        done = {each.change.identity for each in found.outcomes}
        assert {Identity(name) for word, name in heard if word == "sent"} <= sent
        assert {Identity(name) for word, name in heard if word == "done"} <= done
        after, unsettled = replay_journal(state(), found)
        assert {each.identity for each in after.owned.values()} == done
        assert {identity for _, identity, _ in unsettled} == sent - done
        assert len(unsettled) <= 1
