"""Brokers quote the values they refuse; a secret must not come back that way."""

from dataclasses import replace

from kplan.cluster.errors import refusal
from kplan.kinds.base import redact_refusal
from kplan.model.plan import Change
from tests.values import make_plan, resource, snapshot, state, topic

QUOTING = refusal(40, "Invalid value hunter2-long for a, hunter2 for b, 3 for partitions")


def change(*sensitive: tuple[str, ...]) -> Change:
    declared = resource(
        "kafka_topic.a", topic("a", config={"a": "hunter2-long", "b": "hunter2", "c": ""})
    )
    hidden = replace(declared, sensitive=frozenset(sensitive))
    return make_plan([hidden], state(), snapshot()).changes[0]


def test_a_quoted_secret_is_taken_out_of_the_message() -> None:
    """Design law 11."""
    told = redact_refusal(QUOTING, change(("config", "b"), ("config", "c"), ("config", "gone")))
    assert "hunter2" not in told.message
    assert told.error == "INVALID_CONFIG"


def test_a_whole_map_and_counts_can_be_secret_and_the_longest_goes_first() -> None:
    told = redact_refusal(QUOTING, change(("config",), ("partitions",)))
    assert told.message == (
        "Invalid value (sensitive value) for a, (sensitive value) for b, "
        "(sensitive value) for partitions"
    )
    placed = topic("a", replica_assignment=((7, 8),))
    hidden = replace(
        resource("kafka_topic.a", placed), sensitive=frozenset({("replica_assignment",)})
    )
    made = make_plan([hidden], state(), snapshot()).changes[0]
    assert redact_refusal(refusal(39, "no broker 7"), made).message == "no broker (sensitive value)"


def test_without_secrets_a_message_stays_as_it_is() -> None:
    assert redact_refusal(QUOTING, change()) is QUOTING
