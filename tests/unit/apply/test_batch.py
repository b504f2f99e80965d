"""What an apply makes of every row of the table of Kafka's errors (requirements, section 6).

That real brokers answer with them is shown in `tests/contract/test_error_table.py`.
"""

from typing import Any

import pytest

from kplan.apply.limits import Limits
from kplan.cluster.errors import CLIENT_NOT_SENT, ERRORS, Handling, KafkaError
from kplan.cluster.memory.cluster import MemoryCluster
from kplan.cluster.request import TopicRef
from kplan.model.outcome import Outcome, OutcomeStatus
from kplan.report import views
from kplan.report.documents.message import item_data
from kplan.report.format import PLAIN_STYLE
from tests.apply_harness import ApplyHarness
from tests.values import resource, state, topic

FOR_EVER = {
    Handling.RETRY: (OutcomeStatus.FAILED, 3),
    Handling.THROTTLED: (OutcomeStatus.FAILED, None),  # as many as the time allows
    Handling.SPLIT: (OutcomeStatus.FAILED, 2),
    Handling.IN_DOUBT: (OutcomeStatus.UNKNOWN, 2),
    Handling.CONVERGED: (OutcomeStatus.APPLIED, 1),
    Handling.COMPARE: (OutcomeStatus.FAILED, 2),
    Handling.DENIED: (OutcomeStatus.FAILED, 1),
    Handling.REJECTED: (OutcomeStatus.FAILED, 1),
    Handling.STALE: (OutcomeStatus.FAILED, 1),
}
"""What becomes of an item that is always refused so, and after how many sends."""

ENDS_WELL = FOR_EVER.keys() - {Handling.DENIED, Handling.REJECTED, Handling.STALE}
TRUE_OF_A_NEW_TOPIC = "UNKNOWN_TOPIC_OR_PARTITION"
"""An answer that the look at the cluster confirms: nothing is sent again."""

EVERY = pytest.mark.parametrize("row", ERRORS.values(), ids=ERRORS)


def applied(row: KafkaError, times: int | None) -> tuple[Outcome, Outcome]:
    """Create two topics, the first of which is refused; give both outcomes."""
    on = ApplyHarness(MemoryCluster(), state(), pace=Limits(max_attempts=3))
    on.cluster.refuse(row.name, on="a", call="create_topics", times=times)
    declared = [resource(f"kafka_topic.{name}", topic(name), line=7) for name in "ab"]
    outcomes = on.apply(on.plan(declared))
    return outcomes["a"], outcomes["b"]


@EVERY
def test_an_item_that_is_always_refused_gets_the_outcome_of_its_row_and_stops_nobody(
    row: KafkaError,
) -> None:
    """K919-11."""
    found, neighbour = applied(row, None)
    status, attempts = FOR_EVER[row.handling]
    if row.name == CLIENT_NOT_SENT:
        status = OutcomeStatus.FAILED  # it is known that nothing came about
    wanted = 1 if row.name == TRUE_OF_A_NEW_TOPIC else attempts or found.attempts
    assert (found.status, found.attempts) == (status, wanted)
    assert neighbour.status is OutcomeStatus.APPLIED
    if status is not OutcomeStatus.APPLIED:
        assert found.refusal is not None
        assert (found.refusal.error, found.refusal.code) == (row.name, row.code)


@EVERY
def test_an_item_that_is_refused_once_is_sent_again_where_that_helps(row: KafkaError) -> None:
    found, _ = applied(row, 1)
    helps = row.handling in ENDS_WELL and row.name != TRUE_OF_A_NEW_TOPIC
    assert (found.status is OutcomeStatus.APPLIED) is helps


def test_what_an_unanswered_request_of_ours_created_is_not_called_adopted() -> None:
    """The topic is seen only after the second request, which is told that it exists."""
    on = ApplyHarness(MemoryCluster(), state(), pace=Limits(max_attempts=3))
    plan = on.plan([resource("kafka_topic.a", topic("a"), line=7)])
    on.cluster.time_out(call="create_topics", times=1)

    def hide_topics_until_the_next_request() -> None:
        on.cluster.time_out(call="topics", times=None)
        on.cluster.run_before("create_topics", on.cluster.clear_faults)

    on.cluster.run_before("topics", hide_topics_until_the_next_request)
    found = on.apply(plan)["a"]
    assert (found.status, found.attempts) == (OutcomeStatus.APPLIED, 2)
    assert (found.note, found.is_adopted) == ("found on the cluster", False)


@EVERY
def test_text_and_json_carry_name_message_place_whether_it_passes_attempts_and_time(
    row: KafkaError,
) -> None:
    """K4-05, K4-25; issue 4, item 3."""
    found, _ = applied(row, None)
    if found.status is OutcomeStatus.APPLIED:
        return
    text = views.apply_text([found], PLAIN_STYLE)
    data: Any = item_data(found)
    error = data["error"]
    message = found.refusal.message if found.refusal else ""
    assert message
    assert (error["name"], error["code"], error["message"]) == (row.name, row.code, message)
    assert (data["file"], data["line"]) == ("main.tf", 7)
    assert (data["attempts"], data["ms"]) == (found.attempts, found.elapsed_ms)
    assert f"{row.name}: {message}" in text
    assert "main.tf:7" in text
    passes = "retriable" if error["retriable"] else "not retriable"
    assert f"({passes}, {found.attempts} attempt" in text
    assert f"{found.elapsed_ms:,} ms" in text
    assert "hint: " in text


def test_a_topic_that_another_client_deleted_is_not_called_created_again() -> None:
    """KIP-516: the controller no longer knows the id, the broker that is read still shows it."""
    on = ApplyHarness(MemoryCluster(), state())
    on.apply(on.plan([resource("kafka_topic.a", topic("a"), line=7)]))
    on.cluster.refuse("UNKNOWN_TOPIC_ID", on="a", call="delete_topics", times=1)
    plan = on.plan([], is_destroy=True)

    def delete() -> None:
        assert on.cluster.delete_topics([TopicRef("a")]) == {"a": None}

    on.cluster.run_before("topics", lambda: on.cluster.run_before("topics", delete))
    found = on.apply(plan)["a"]
    assert (found.status, found.note) == (OutcomeStatus.APPLIED, "already absent")


def test_a_read_that_is_refused_during_an_apply_keeps_its_error() -> None:
    """Moves read what moves first: a controller that is being elected is no wrong configuration."""
    on = ApplyHarness(MemoryCluster(), state(), pace=Limits(max_attempts=3))
    on.apply(on.plan([resource("kafka_topic.a", topic("a", replica_assignment=((1,),)))]))
    moved = on.plan([resource("kafka_topic.a", topic("a", replica_assignment=((2,),)))])
    on.cluster.refuse("NOT_CONTROLLER", call="reassignments", times=3)
    refused = on.apply(moved)["a"]
    assert (refused.status, refused.attempts) == (OutcomeStatus.FAILED, 3)
    assert refused.refusal is not None
    assert refused.refusal.error == "NOT_CONTROLLER"
    text = views.apply_text([refused], PLAIN_STYLE, again="kplan apply")
    assert "(retriable, 3 attempts" in text
    assert "hint: Apply again; the condition is temporary." in text
    assert on.apply(moved)["a"].status is OutcomeStatus.APPLIED
