"""What is told while an apply or the start of a sandbox goes on."""

from contextlib import AbstractContextManager, nullcontext

import pytest

from kplan.cli.signals import Signals
from kplan.cli.watching import MOST_LINES, ApplyWatcher, SandboxWatcher, outcome_line
from kplan.model.address import Address
from kplan.model.outcome import Outcome, Status
from kplan.model.plan import Action, Batch, Change, Step
from kplan.model.refusal import Refusal
from kplan.model.resource import Identity
from kplan.sandbox import step as sandbox


class Told:
    """A progress that remembers what it was told."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.stages: list[tuple[str, int | None]] = []
        self.done = 0

    def stage(self, name: str, total: int | None = None) -> None:
        self.stages.append((name, total))
        self.done = 0

    def advance(self, done: int = 1) -> None:
        self.done += done

    def note(self, text: str) -> None:
        self.lines.append(text)

    def hidden(self) -> AbstractContextManager[None]:
        return nullcontext()


def change(name: str, action: Action = Action.CREATE) -> Change:
    address = Address("kafka_topic", "events", name)
    return Change(address, "kafka_topic", Identity(name), action, None, object())


def batch(size: int) -> Batch:
    changes = tuple(change(f"t{number}") for number in range(size))
    return Batch("kafka_topic", Step(40, "create_topics"), changes)


@pytest.mark.parametrize(
    ("outcome", "line"),
    [
        (
            Outcome(change("a"), Status.APPLIED, elapsed_ms=1500),
            'kafka_topic.events["a"]: Creation complete after 00m01s',
        ),
        (
            Outcome(change("a", Action.DELETE), Status.APPLIED, note="already absent"),
            'kafka_topic.events["a"]: Destruction complete after 00m00s (already absent)',
        ),
        (
            Outcome(change("a"), Status.FAILED, Refusal("INVALID_CONFIG", 40, "bad value")),
            'kafka_topic.events["a"]: Failed: INVALID_CONFIG: bad value',
        ),
        (
            Outcome(change("a"), Status.UNKNOWN, Refusal("CLIENT_TIMED_OUT", -185)),
            'kafka_topic.events["a"]: Outcome unknown: CLIENT_TIMED_OUT',
        ),
        (Outcome(change("a"), Status.SKIPPED), 'kafka_topic.events["a"]: Not attempted'),
    ],
)
def test_every_status_has_its_words(outcome: Outcome, line: str) -> None:
    assert outcome_line(outcome) == line


def test_every_change_of_a_small_batch_has_a_line() -> None:
    told = Told()
    watcher, sent = ApplyWatcher(told, Signals()), batch(2)
    watcher.sending(sent, sent.changes)
    for each in sent.changes:
        watcher.finished(Outcome(each, Status.APPLIED))
    assert [line.partition(":")[0] for line in told.lines] == [
        'kafka_topic.events["t0"]',
        'kafka_topic.events["t1"]',
    ]
    assert told.done == 2


def test_a_large_batch_has_one_line_and_one_for_each_failure() -> None:
    told = Told()
    watcher, sent = ApplyWatcher(told, Signals()), batch(MOST_LINES + 1)
    watcher.sending(sent, sent.changes)
    for each in sent.changes[1:]:
        watcher.finished(Outcome(each, Status.APPLIED))
    watcher.finished(Outcome(sent.changes[0], Status.FAILED, Refusal("INVALID_CONFIG", 40)))
    assert told.lines == [
        "Sending 201 changes: kafka_topic create_topics",
        'kafka_topic.events["t0"]: Failed: INVALID_CONFIG',
    ]
    assert told.done == MOST_LINES + 1


def test_what_was_not_attempted_is_left_to_the_final_table() -> None:
    told = Told()
    ApplyWatcher(told, Signals()).finished(Outcome(change("a"), Status.SKIPPED))
    assert (told.lines, told.done) == ([], 0)


def test_the_first_request_defers_signals_and_nothing_before_it() -> None:
    signals, sent = Signals(), batch(1)
    watcher = ApplyWatcher(Told(), signals)
    assert not signals.is_deferred
    watcher.sending(sent, sent.changes)
    assert signals.is_deferred


def test_waiting_for_brokers_is_a_stage_of_its_own() -> None:
    told = Told()
    ApplyWatcher(told, Signals()).settling(2, 10)
    assert told.stages == [("Waiting until every broker serves the changes", 10)]
    assert told.done == 8


def test_the_start_of_a_sandbox_counts_jars_and_nodes() -> None:
    told = Told()
    watcher = SandboxWatcher(told)
    for number in (0, 3, 12):
        watcher(sandbox.Step(sandbox.Stage.FETCH, "a.jar", number, 12))
    assert told.done == 12
    watcher(sandbox.Step(sandbox.Stage.START, "node 1", 1, 3))
    assert [total for _, total in told.stages] == [12, 3]
    assert told.done == 1


def test_every_stage_of_a_sandbox_has_words() -> None:
    told = Told()
    watcher = SandboxWatcher(told)
    for stage in sandbox.Stage:
        watcher(sandbox.Step(stage, "", 0, 0))
    assert len(told.stages) == len(sandbox.Stage)
