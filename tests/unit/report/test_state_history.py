"""States beside each other and beside the cluster, told."""

import json

from kplan.model.address import Address
from kplan.model.state import ObjectStatus, StateDiff, StateVersion
from kplan.report import views
from kplan.report.format import PLAIN_STYLE
from tests.values import LINEAGE, owned, state, topic

A, B = Address("kafka_topic", "a"), Address("kafka_topic", "b")
VERSIONS = (
    StateVersion("b/1.json", "2026-11-20T10:00:00+00:00", 1, LINEAGE, 1),
    StateVersion("b/2.json", "2026-11-20T11:00:00+00:00", read_error="It is empty."),
    StateVersion(
        "s.json", "2026-11-21T12:00:00+00:00", 3, LINEAGE, 1_200, StateDiff((A,), (B,)),
        is_current=True,
    ),
)  # fmt: skip


def test_states_are_listed_newest_first_with_what_each_changed() -> None:
    assert views.history_text(VERSIONS, PLAIN_STYLE) == (
        "serial  written                    objects  change\n"
        "     3  2026-11-21T12:00:00+00:00    1,200  +1 ~1 current\n"
        "?       2026-11-20T11:00:00+00:00  ?        It is empty.\n"
        "     1  2026-11-20T10:00:00+00:00        1\n"
    )
    assert views.history_text((), PLAIN_STYLE) == ""


def test_of_a_damaged_state_no_fact_is_made_up() -> None:
    damaged = json.loads(views.history_json(VERSIONS))[1]
    assert damaged["fault"] == "It is empty."
    assert {damaged[name] for name in ("serial", "lineage", "objects", "differences")} == {None}


def test_a_journal_is_mentioned_beside_the_standings() -> None:
    held = state(owned("kafka_topic.a", topic("a")))
    told = views.verification_text(
        held, {A: ObjectStatus.AS_APPLIED}, PLAIN_STYLE, has_journal=True
    )
    assert "Finish it with: kplan apply -resume" in told
    assert "1 of 1 object as last applied." in told


def test_what_was_not_found_is_named_up_to_a_number() -> None:
    absent = [Address("kafka_topic", f"t{number:02}") for number in range(25)]
    told = " ".join(views.adoption_text([], absent, ["A note."], PLAIN_STYLE).split())
    assert "kafka_topic.t19 and 5 more." in told
    assert "kafka_topic.t20" not in told
    assert told.endswith("A note. Nothing to own was found.")
