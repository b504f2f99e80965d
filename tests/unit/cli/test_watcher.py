"""What is told while an apply or the start of a sandbox goes on."""

import io
import json
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from kplan.cli.signals import Signals
from kplan.cli.terminal import Terminal
from kplan.cli.watcher import MAX_CHANGE_LINES, ApplyWatcher, SandboxWatcher, StreamWatcher
from kplan.cluster.errors import in_progress_refusal
from kplan.kinds.throttle import awaited_broker_text, kept_rate_text
from kplan.kinds.topic import REASSIGN
from kplan.model.address import Address
from kplan.model.errors import Refusal
from kplan.model.outcome import BrokerBacklog, Outcome, OutcomeStatus, Visibility
from kplan.model.plan import Action, Batch, Change, Step
from kplan.model.resource import Identity
from kplan.report.format import PLAIN_STYLE
from kplan.sandbox import sandbox


class Told:
    """A progress that remembers what it was told."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.stages: list[tuple[str, int | None]] = []
        self.done = 0
        self.details: list[str] = []

    def detail(self, text: str) -> None:
        self.details.append(text)

    def stage(self, name: str, total: int | None = None) -> None:
        self.stages.append((name, total))
        self.done = 0

    def advance(self, done: int = 1) -> None:
        self.done += done

    def tasks(self, done: int, total: int) -> None:
        self.stages[-1] = (self.stages[-1][0], total)
        self.done = done

    def note(self, text: str) -> None:
        self.lines.append(text)

    def pause(self) -> AbstractContextManager[None]:
        return nullcontext()


def change(name: str, action: Action = Action.CREATE, provider: str = "") -> Change:
    address = Address("kafka_topic", "events", name)
    return Change(address, "kafka_topic", Identity(name), action, None, object(), provider=provider)


def batch(size: int, provider: str = "") -> Batch:
    changes = tuple(change(f"t{number}", provider=provider) for number in range(size))
    return Batch("kafka_topic", Step(40, "create_topics"), changes, provider)


def test_outcomes_that_come_while_brokers_are_waited_for_are_no_progress_of_that() -> None:
    told = Told()
    stream = StreamWatcher(told, Signals(), Terminal({}, stdout=io.StringIO()))
    for watcher in (ApplyWatcher(told, Signals(), PLAIN_STYLE), stream):
        watcher.on_visibility(Visibility(0, 2))
        watcher.on_outcomes([Outcome(change("t"), OutcomeStatus.APPLIED)])
        assert told.done == 2


def test_the_changes_of_a_second_cluster_are_progress_too() -> None:
    told = Told()
    stream = StreamWatcher(told, Signals(), Terminal({}, stdout=io.StringIO()))
    for watcher in (ApplyWatcher(told, Signals(), PLAIN_STYLE), stream):
        for provider, count in (("east", 1), ("west", 2)):
            sent = batch(count, provider)
            told.stage("Applying", count)
            watcher.on_send(sent, sent.changes)
            watcher.on_outcomes([Outcome(each, OutcomeStatus.APPLIED) for each in sent.changes])
            assert told.done == count
            for waiting in (count, 0):
                watcher.on_visibility(Visibility(waiting, count))
            assert told.stages[-1] == ("Waiting until every broker serves the changes", count)
            assert told.done == count


def test_an_outcome_that_was_held_back_is_no_progress_of_the_next_cluster() -> None:
    """As with -no-wait: who owns an object is found out after the last request."""
    told = Told()
    stream = StreamWatcher(told, Signals(), Terminal({}, stdout=io.StringIO()))
    for watcher in (ApplyWatcher(told, Signals(), PLAIN_STYLE), stream):
        east, west = batch(1, "east"), batch(2, "west")
        watcher.on_send(east, east.changes)
        told.stage("Applying", 2)
        watcher.on_send(west, west.changes)
        for each in (*west.changes, *east.changes):
            watcher.on_outcomes([Outcome(each, OutcomeStatus.APPLIED)])
        assert told.done == 2


def test_the_throttle_that_a_move_leaves_is_told_however_many_topics_move() -> None:
    told = Told()
    watcher = ApplyWatcher(told, Signals(), PLAIN_STYLE)
    sent = replace(batch(MAX_CHANGE_LINES + 1), step=REASSIGN)
    watcher.on_send(sent, sent.changes)
    done = [Outcome(each, OutcomeStatus.APPLIED) for each in sent.changes]
    watcher.on_outcomes([replace(done[0], note="Broker 1 keeps rates."), *done[1:]])
    assert [each for each in told.lines if "Broker 1 keeps rates." in each] == told.lines[1:]


def test_brokers_of_a_second_cluster_are_waited_for_in_a_stage_of_its_own() -> None:
    """As when an apply is resumed: nothing is sent before."""
    told = Told()
    watcher = ApplyWatcher(told, Signals(), PLAIN_STYLE)
    for total in (3, 2):
        for waiting in (total, 0):
            watcher.on_visibility(Visibility(waiting, total))
        assert (told.stages[-1][1], told.done) == (total, total)


def test_every_change_of_a_small_batch_has_a_line() -> None:
    told = Told()
    watcher, sent = ApplyWatcher(told, Signals(), PLAIN_STYLE), batch(2)
    watcher.on_send(sent, sent.changes)
    for each in sent.changes:
        watcher.on_outcomes([Outcome(each, OutcomeStatus.APPLIED)])
    assert [line.partition(":")[0] for line in told.lines] == [
        'kafka_topic.events["t0"]',
        'kafka_topic.events["t1"]',
    ]
    assert told.done == 2


def test_a_large_batch_has_one_line_and_one_for_each_failure() -> None:
    told = Told()
    watcher, sent = ApplyWatcher(told, Signals(), PLAIN_STYLE), batch(MAX_CHANGE_LINES + 1)
    watcher.on_send(sent, sent.changes)
    for each in sent.changes[1:]:
        watcher.on_outcomes([Outcome(each, OutcomeStatus.APPLIED)])
    watcher.on_outcomes(
        [Outcome(sent.changes[0], OutcomeStatus.FAILED, Refusal("INVALID_CONFIG", 40))]
    )
    assert told.lines == [
        "Sending 201 changes: kafka_topic create_topics",
        told.lines[-1],
    ]
    assert told.lines[-1].startswith('kafka_topic.events["t0"]: ')
    assert "INVALID_CONFIG" in told.lines[-1]
    assert told.done == MAX_CHANGE_LINES + 1


def test_the_last_and_smaller_request_of_many_is_told_as_the_others_are() -> None:
    told = Told()
    watcher = ApplyWatcher(told, Signals(), PLAIN_STYLE)
    for sent in (batch(MAX_CHANGE_LINES + 1), batch(3)):
        watcher.on_send(sent, sent.changes)
        for each in sent.changes:
            watcher.on_outcomes([Outcome(each, OutcomeStatus.APPLIED)])
    assert told.lines == [
        "Sending 201 changes: kafka_topic create_topics",
        "Sending 3 changes: kafka_topic create_topics",
    ]


def test_what_was_not_attempted_is_left_to_the_final_table() -> None:
    told = Told()
    ApplyWatcher(told, Signals(), PLAIN_STYLE).on_outcomes(
        [Outcome(change("a"), OutcomeStatus.SKIPPED)]
    )
    assert (told.lines, told.done) == ([], 0)


def test_the_first_request_defers_signals_and_nothing_before_it() -> None:
    signals, sent = Signals(), batch(1)
    watcher = ApplyWatcher(Told(), signals, PLAIN_STYLE)
    assert not signals.is_deferred
    watcher.on_send(sent, sent.changes)
    assert signals.is_deferred


def test_a_stream_holds_the_start_and_the_end_of_every_change() -> None:
    out = io.StringIO()
    told, sent = Told(), batch(1)
    watcher = StreamWatcher(told, Signals(), Terminal({}, stdout=out))
    watcher.on_send(sent, sent.changes)
    watcher.on_outcomes([Outcome(sent.changes[0], OutcomeStatus.APPLIED)])
    types = [json.loads(line)["type"] for line in out.getvalue().splitlines()]
    assert types == ["apply_start", "apply_complete", "apply_item"]
    assert (told.lines, told.done) == ([], 1)


def test_a_stream_tells_in_a_later_line_what_every_broker_serves() -> None:
    out = io.StringIO()
    watcher, sent = StreamWatcher(Told(), Signals(), Terminal({}, stdout=out)), batch(1)
    watcher.on_verified([Outcome(sent.changes[0], OutcomeStatus.APPLIED, is_verified=True)])
    (told,) = map(json.loads, out.getvalue().splitlines())
    assert (told["type"], told["item"]["verified"]) == ("apply_verified", True)


def test_waiting_for_brokers_is_a_stage_of_its_own() -> None:
    """One that begins once: its time is that of the whole wait."""
    told = Told()
    watcher = ApplyWatcher(told, Signals(), PLAIN_STYLE)
    for waiting in (10, 2, 2, 1):
        watcher.on_visibility(Visibility(waiting, 10))
    assert told.stages == [("Waiting until every broker serves the changes", 10)]
    assert told.done == 9


def test_what_is_waited_for_is_told_with_the_broker_and_why() -> None:
    told = Told()
    watcher = ApplyWatcher(told, Signals(), PLAIN_STYLE)
    late = BrokerBacklog(2, batch(3).changes)
    silent = BrokerBacklog(3, batch(3).changes, "no answer in 30 s.")
    watcher.on_visibility(Visibility(3, 3, (late, silent), fenced=(4,)))
    watcher.on_visibility(Visibility(0, 3, (), fenced=(4,)))
    waits = (
        'broker 2 does not serve kafka_topic.events["t0"] and 2 more yet; '
        "broker 3 cannot be asked: no answer in 30 s"
    )
    assert told.details == [waits, ""]
    assert told.lines == ["Broker 4 is down: kplan does not wait for it."]  # once
    moving = in_progress_refusal("", (1, 1), ((6,), (5,)), protocol="SSL")
    for _ in range(2):
        watcher.on_reassignment(moving)
    assert told.lines[2:3] == [kept_rate_text(5, "SSL")], "at once, and once"
    assert "HOST:PORT --command-config FILE --alter" in told.lines.pop(2)
    assert told.lines[1:] == [
        f"{awaited_broker_text(6)} To take the replicas back: kplan reassign cancel -all"
    ]
    watcher.on_visibility(Visibility(0, 3, (), fenced=(5, 7)))
    assert told.lines.pop() == "Broker 7 is down: kplan does not wait for it."
    assert "--entity-name 5 --delete-config follower.replication" in told.lines[-1]


def test_the_start_of_a_sandbox_counts_jars_and_nodes() -> None:
    told = Told()
    watcher = SandboxWatcher(told)
    for number in (0, 3, 12):
        watcher(sandbox.ProgressStep(sandbox.Stage.FETCH, "a.jar", number, 12))
    assert told.done == 12
    watcher(sandbox.ProgressStep(sandbox.Stage.START, "node 1", 1, 3))
    assert [total for _, total in told.stages] == [12, 3]
    assert told.done == 1


def test_every_stage_of_a_sandbox_has_words() -> None:
    told = Told()
    watcher = SandboxWatcher(told)
    for stage in sandbox.Stage:
        watcher(sandbox.ProgressStep(stage, "", 0, 0))
    assert len(told.stages) == len(sandbox.Stage)


def test_a_bar_shows_how_many_partitions_stand_where_they_should() -> None:
    """K4o-09."""
    told = Told()
    watcher = ApplyWatcher(told, Signals(), PLAIN_STYLE)
    for left in (5, 5, 3, 4, 0):
        watcher.on_reassignment(in_progress_refusal("", (left, 5)))
    assert told.details == [], "sizes are not always readable"
    watcher.on_reassignment(in_progress_refusal("", (0, 5), bytes_left=3 << 20))
    assert told.details == ["3 MiB left to copy"]
    watcher.on_reassignment(in_progress_refusal("", (0, 5)))
    watcher.on_reassignment(in_progress_refusal("", (0, 5)))
    assert told.details[1:] == [""], "an old figure does not stay when no one knows it any more"
    assert told.stages == [("Moving replicas", 5)]
    assert told.done == 5
