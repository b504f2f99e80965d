"""Several requests under way at a time: their order, their ends, and being stopped among them."""

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType

import pytest

from kplan.apply.apply import (
    SerializedWatcher,
    apply_plan,
    concurrent_chains,
    run_concurrently,
    serialize_watcher,
)
from kplan.apply.limits import ApplyContext, Limits
from kplan.cluster.errors import refusal
from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import AclBinding, ItemResult, NewTopic
from kplan.kinds import KINDS
from kplan.model.errors import StateError
from kplan.model.outcome import OutcomeStatus
from kplan.model.plan import Batch, Change
from kplan.model.resource import Resource
from kplan.state.journal import read_journal
from kplan.state.journal_writer import open_journal
from tests.apply_harness import ApplyHarness, FakeClock, RecordingWatcher
from tests.values import acl, resource, state, topic


def bench(in_flight: int, **given: object) -> ApplyHarness:
    return ApplyHarness(MemoryCluster(), state(), pace=Limits(in_flight=in_flight), **given)  # type: ignore[arg-type] # checked by the class


def topics(count: int, **given: object) -> list[Resource]:
    names = [f"t{number:02}" for number in range(count)]
    return [resource(f"kafka_topic.{name}", topic(name, **given)) for name in names]


def acls(count: int, **given: str) -> list[Resource]:
    return [
        resource(f"kafka_acl.a{number:02}", acl(f"User:{number:02}", **given))
        for number in range(count)
    ]


class HastyClock(FakeClock):
    """Time that ends."""

    def sleep(self, seconds: float) -> None:
        """Let time pass, for some hours."""
        FakeClock.sleep(self, seconds)
        if self.time > 10_000:
            raise TimeoutError


Creation = Callable[[Sequence[NewTopic]], dict[str, ItemResult]]


class Crowd:
    """Counts who is inside of a call at a time."""

    def __init__(self, together: int) -> None:
        self.most = 0
        self._inside = 0
        self._lock = threading.Lock()
        self._met = threading.Barrier(together)

    def __call__(self, create: Creation) -> Creation:
        def crowded(specs: Sequence[NewTopic]) -> dict[str, ItemResult]:
            with self._lock:
                self._inside += 1
                self.most = max(self.most, self._inside)
            self._met.wait(20)
            answer = create(specs)
            with self._lock:
                self._inside -= 1
            return answer

        return crowded


@pytest.mark.parametrize("in_flight", [1, 2, 4])
def test_requests_of_one_step_are_under_way_as_many_at_a_time_as_asked(in_flight: int) -> None:
    on, crowd = bench(in_flight), Crowd(in_flight)
    plan = on.plan(topics(8), max_records=4)
    on.cluster.create_topics = crowd(on.cluster.create_topics)  # type: ignore[method-assign, arg-type, assignment]
    outcomes = on.apply(plan)
    assert (len(plan.batches), crowd.most) == (8, in_flight)
    assert {each.status for each in outcomes.values()} == {OutcomeStatus.APPLIED}
    assert len(on.state.owned) == 8


def test_a_step_begins_when_the_one_before_it_is_settled() -> None:
    """K4-45: no add overtakes a delete, and no topic an ACL."""
    on = bench(4)
    on.apply(on.plan(acls(6)))
    on.watcher.sent.clear()
    declared = [*acls(6, acl_operation="Write")[:2], *topics(6)]
    on.apply(on.plan(declared, max_records=18))
    order = [step for step, _ in on.watcher.sent]
    pure = order[:4]
    assert pure == ["delete_acls"] * 4
    assert sorted(order[4:8]) == ["create_acls"] * 2 + ["delete_acls"] * 2
    assert order[8:] == ["create_topics"] * 2


def test_each_replaced_acl_is_deleted_just_before_the_add_of_its_own_chunk() -> None:
    """K4-45: chunk by chunk, however many chunks are under way."""
    on = bench(4)
    on.apply(on.plan(acls(12)))
    on.cluster.calls.clear()
    on.apply(on.plan(acls(12, acl_operation="Write"), max_records=36))
    seen: set[str] = set()
    for call in on.cluster.calls:
        names = {each.principal for each in call.items if isinstance(each, AclBinding)}
        if call.method == "delete_acls":
            seen |= names
        elif call.method == "create_acls":
            assert names <= seen
    assert {each.operation for each in on.cluster.acls()} == {"WRITE"}
    lanes = [tuple(each.step.name for each in lane) for wave in waves_of(on) for lane in wave]
    assert lanes == [("delete_acls", "create_acls")] * 6


def waves_of(on: ApplyHarness) -> Iterator[tuple[tuple[Batch, ...], ...]]:
    return concurrent_chains(on.plan(acls(12), max_records=36).batches)


def test_no_request_that_allows_is_under_way_beside_one_that_denies() -> None:
    """Denies come first: whoever they are for is not let in, in whatever order answers come."""
    on = bench(4)
    denies = [
        resource(f"kafka_acl.d{number}", acl("User:eve", f"t{number}", acl_permission_type="Deny"))
        for number in range(5)
    ]
    plan = on.plan([*acls(5), *denies], max_records=18)
    waves = [
        [[str(each.identity).split("|")[3] for each in batch.changes] for (batch,) in wave]
        for wave in concurrent_chains(plan.batches)
    ]
    assert waves == [[["Deny"] * 2] * 2, [["Deny", "Allow"]], [["Allow"] * 2] * 2]


def test_a_stop_between_delete_and_add_does_not_leave_an_acl_missing() -> None:
    on = bench(1)
    on.apply(on.plan(acls(4)))
    on.watcher.sent.clear()
    on.stop_after = 1
    outcomes = on.apply(on.plan(acls(4, acl_operation="Write"), max_records=36))
    assert on.watcher.sent == [("delete_acls", 2), ("create_acls", 2)]
    statuses = [each.status for each in outcomes.values()]
    assert statuses == [OutcomeStatus.APPLIED] * 2 + [OutcomeStatus.SKIPPED] * 2
    assert sorted(each.operation for each in on.cluster.acls()) == ["READ"] * 2 + ["WRITE"] * 2


def test_what_was_stopped_half_way_is_said_to_be_and_is_not_failed() -> None:
    on = bench(1)
    on.apply(on.plan(topics(2)))
    on.watcher.sent.clear()
    on.stop_after = 1
    grown = topics(1, partitions=6, config={"retention.ms": "5"})
    outcomes = on.apply(on.plan([*grown, *topics(2, config={"retention.ms": "5"})[1:]]))
    assert on.watcher.sent == [("alter_topic_configs", 2)]
    assert (outcomes["t00"].status, outcomes["t00"].note) == (OutcomeStatus.SKIPPED, "done in part")
    assert outcomes["t01"].status is OutcomeStatus.APPLIED


def test_what_was_put_off_when_the_apply_was_stopped_says_why() -> None:
    on = bench(1, stop_after=1)
    on.cluster.throttle(60_000, allowed=1)
    outcomes = on.apply(on.plan(topics(3)))
    assert [each.status for each in outcomes.values()] == [OutcomeStatus.APPLIED] + [
        OutcomeStatus.SKIPPED
    ] * 2
    assert {str(each.refusal)[:25] for each in outcomes.values() if each.refusal} == {
        "THROTTLING_QUOTA_EXCEEDED"
    }
    assert on.clock.time < 1  # nobody who asked to stop waits for a minute


def test_an_intent_that_cannot_be_written_ends_the_apply_and_nothing_more_is_sent() -> None:
    on = bench(2)
    plan = on.plan(topics(8), max_records=4)

    class Full(RecordingWatcher):
        def on_send(self, batch: Batch, changes: Sequence[Change]) -> None:
            if len(self.sent) == 3:
                raise StateError("No space left.")
            super().on_send(batch, changes)

    means = ApplyContext(on.cluster, KINDS, FakeClock(), Full(), on.pace)
    with pytest.raises(StateError, match="No space left"):
        apply_plan(plan, means)
    assert on.cluster.count("create_topics") == 3


def test_the_journal_of_an_apply_with_many_requests_under_way_is_whole(tmp_path: Path) -> None:
    on = bench(4)
    plan = on.plan([*acls(30), *topics(30)], max_records=18)
    path = tmp_path / "state.json"
    with open_journal(path, plan) as journal:
        means = ApplyContext(on.cluster, KINDS, FakeClock(), journal, on.pace)
        outcomes = apply_plan(plan, means)
    found = read_journal(path)
    assert found is not None
    assert not found.unsettled_keys
    assert not found.unsent_changes
    assert len(outcomes) == 60
    assert sorted(each.change.identity for each in found.outcomes) == sorted(
        each.change.identity for each in outcomes
    )


def test_items_of_several_requests_meet_their_own_fates() -> None:
    on = bench(4)
    plan = on.plan(topics(12), max_records=4)
    on.cluster.refuse("INVALID_CONFIG", on="t03", call="create_topics")
    on.cluster.time_out(on="t05", call="create_topics", carried_out=False)
    on.cluster.refuse("NOT_CONTROLLER", on="t07", call="create_topics", times=2)
    outcomes = on.apply(plan)
    failed = [name for name, each in outcomes.items() if each.status is not OutcomeStatus.APPLIED]
    assert failed == ["t03"]
    assert outcomes["t07"].attempts == 3
    assert outcomes["t07"].refusal is None


def test_the_work_that_fails_is_raised_when_the_others_have_ended() -> None:
    ended: list[int] = []
    failing = threading.Event()

    def fails() -> None:
        failing.set()
        raise StateError("full")

    def slow() -> None:
        failing.wait(20)
        ended.append(1)

    with pytest.raises(StateError, match="full"):
        run_concurrently([slow, fails, *[lambda: ended.append(2)] * 5], 2)
    assert ended == [1]


class Struck(KeyboardInterrupt):
    """A second signal."""


@contextmanager
def listening() -> Iterator[None]:
    def strike(_: int, __: FrameType | None) -> None:
        raise Struck

    former = signal.signal(signal.SIGUSR1, strike)
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR1, former)


def test_a_second_signal_waits_for_nobody_and_nothing_is_sent_after_it() -> None:
    memory, goes_on, is_over = RecordingWatcher(), threading.Event(), threading.Event()
    batch = Batch("kafka_topic", bench(1).plan(topics(1)).batches[0].step, ())

    def work(turns: SerializedWatcher) -> None:
        turns.on_send(batch, ())
        os.kill(os.getpid(), signal.SIGUSR1)
        goes_on.wait(20)
        try:
            turns.on_send(batch, ())
        finally:
            is_over.set()

    def apply() -> None:
        with serialize_watcher(memory) as turns:
            run_concurrently([partial(work, turns)] * 2, 2)

    with listening(), pytest.raises(Struck):
        apply()
    goes_on.set()
    assert is_over.wait(20)
    assert {name for name, _ in memory.sent} == {"create_topics"}
    assert len(memory.sent) <= 2


def test_a_request_refused_whole_is_halved_while_others_are_under_way() -> None:
    on = bench(2)
    plan = on.plan(acls(12), max_records=54)
    send = on.cluster.create_acls

    def create_acls(bindings):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN202
        if any(each.principal == "User:05" for each in bindings):
            return {each: refusal(-1) for each in bindings}
        return send(bindings)

    on.cluster.create_acls = create_acls  # type: ignore[method-assign]
    outcomes = on.apply(plan)
    assert [name.partition("|")[0] for name, each in outcomes.items() if each.refusal] == [
        "User:05"
    ]


@pytest.mark.parametrize("error", ["REASSIGNMENT_IN_PROGRESS", "THROTTLING_QUOTA_EXCEEDED"])
def test_growth_that_is_refused_for_good_ends_with_the_time_also_after_a_config(error: str) -> None:
    on = bench(1)
    on.pace = Limits(in_flight=1, total_s=60)
    on.apply(on.plan(topics(1)))
    on.cluster.refuse(error, call="create_partitions", times=None)
    on.clock = HastyClock()
    (found,) = on.apply(on.plan(topics(1, partitions=6, config={"retention.ms": "5"}))).values()
    assert found.status is OutcomeStatus.FAILED
    assert found.refusal is not None
    assert found.refusal.error == error
    assert on.clock.time < 70


def test_a_move_that_was_begun_after_a_config_is_left_to_the_cluster_when_asked_to_stop() -> None:
    on = ApplyHarness(MemoryCluster(brokers=3), state(), pace=Limits(in_flight=1))
    on.apply(on.plan(topics(1)))
    on.watcher.sent.clear()
    on.stop_after = 2
    on.cluster.slow_reassignments(200)
    grown = topics(1, replication_factor=3, config={"retention.ms": "5"})
    (found,) = on.apply(on.plan(grown)).values()
    assert [name for name, _ in on.watcher.sent] == ["alter_topic_configs", "reassign"]
    assert found.status is OutcomeStatus.IN_PROGRESS
    assert on.cluster.reassignments()


def test_a_replacement_that_is_postponed_for_good_ends_as_well() -> None:
    """The topic is deleted: more time is given to it, but not for ever."""
    on = bench(1, clock=HastyClock())
    on.pace = Limits(in_flight=1, total_s=60)
    on.apply(on.plan(topics(1)))
    at = "kafka_topic.t00"
    plan = on.plan(topics(1, partitions=1), replaced={at: ""}, acknowledged=frozenset({at}))
    assert [each.step.name for each in plan.batches] == ["delete_topics", "create_topics"]
    on.cluster.refuse("THROTTLING_QUOTA_EXCEEDED", call="create_topics", times=None)
    (found,) = on.apply(plan).values()
    assert (found.status, found.note[:8]) == (OutcomeStatus.FAILED, "deleted,")
    assert on.clock.time < 130
