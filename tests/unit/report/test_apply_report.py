"""What an apply tells people, and what it tells machines."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from kplan.cluster.errors import ERRORS, client_refusal, refusal
from kplan.model.diagnostic import Diagnostic, Severity
from kplan.model.outcome import AS_DECLARED, Outcome, OutcomeStatus
from kplan.model.plan import Change, Plan
from kplan.model.resource import ImportBlock
from kplan.model.state import OutputValue
from kplan.model.table import RunStatus
from kplan.report import views
from kplan.report.data import Counts
from kplan.report.document import Mark
from kplan.report.documents.outcome import applied_blocks, outcome_hint, outcomes_document
from kplan.report.format import PLAIN_STYLE, TextStyle
from kplan.report.subject import apply_report
from tests.document_schemas import faults
from tests.values import acl, make_plan, owned, resource, snapshot, state, topic

AT = "2026-11-21T14:44:18.283282Z"

# What Terratest looks for after an apply, and tfcmt for a success.
TERRATEST = re.compile(r"Apply complete! Resources: (\d+) added, (\d+) changed, (\d+) destroyed\.")
TERRATEST_DESTROY = re.compile(r"Destroy complete! Resources: (\d+) destroyed\.")


def planned() -> Plan:
    held = state(
        owned("kafka_topic.old", topic("old"), "1"),
        owned("kafka_topic.kept", topic("kept"), "2"),
        owned("kafka_acl.swap", acl()),
    )
    live = snapshot([(topic("old"), "1"), (topic("kept"), "2")], [acl()])
    wanted = [
        resource("kafka_topic.new", topic("new"), line=7),
        resource("kafka_topic.kept", topic("kept", partitions=6)),
        resource("kafka_acl.swap", acl(acl_operation="Write")),
    ]
    return make_plan(wanted, held, live)


def change(name: str) -> Change:
    (found,) = [each for each in planned().changes if each.address.name == name]
    return found


def applied(
    name: str, *, attempts: int = 1, ms: int = 31, note: str = "", is_verified: bool = True
) -> Outcome:
    return Outcome(
        change(name),
        OutcomeStatus.APPLIED,
        attempts=attempts,
        elapsed_ms=ms,
        note=note,
        is_verified=is_verified,
        uid="u",
    )


def failed(name: str, code: int = 29, status: OutcomeStatus = OutcomeStatus.FAILED) -> Outcome:
    return Outcome(change(name), status, refusal(code), attempts=3, elapsed_ms=1234)


ALL = ("old", "swap", "kept", "new")


def test_what_existed_already_is_adopted_and_not_added() -> None:
    """K4-28."""
    outcome = applied("new", note=AS_DECLARED)
    assert views.outcome_line(outcome).startswith("kafka_topic.new: adopted (already as declared)")
    text = views.apply_text([applied("old"), outcome], PLAIN_STYLE)
    found = TERRATEST.search(text)
    assert found is not None
    assert found.groups() == ("0", "0", "1")
    assert "destroyed. Adopted: 1 that existed already.\n" in text
    summary = json.loads(views.summary_line([outcome], AT))
    assert (summary["changes"]["add"], summary["outcomes"]["applied"]) == (0, 1)


def test_a_report_counts_what_is_adopted_as_the_summary_does() -> None:
    outcomes = [applied("old"), applied("new", note=AS_DECLARED)]
    found = apply_report(planned(), outcomes, {}, AT, "kplan apply")
    assert found.counts == Counts(0, 0, 1)
    assert [each.bars for each in found.document().tallies] == [
        (("kafka_topic", (1,)),),
        (("safe", (1,)),),
    ]
    assert views.apply_text(outcomes, PLAIN_STYLE).startswith(
        "outcome          delete     adopt       all\nok                    1         1         2\n"
    )


def test_what_could_not_be_read_is_a_case_that_fails() -> None:
    plan = replace(planned(), unread={"kafka_quota": "not authorized"})
    cases = apply_report(plan, [applied("old")], {}, AT, "kplan apply").cases()
    assert [(each.name, each.status, each.message) for each in cases[1:]] == [
        ("kafka_quota", RunStatus.ERROR, "could not be read: not authorized")
    ]


def test_success_is_terraforms_sentence_with_a_swap_counted_twice() -> None:
    text = views.apply_text([applied(name) for name in ALL], PLAIN_STYLE)
    assert text.endswith("Apply complete! Resources: 2 added, 1 changed, 2 destroyed.\n")
    found = TERRATEST.search(text)
    assert found
    assert found.groups() == ("2", "1", "2")
    assert "What was not done" not in text


def test_the_table_counts_each_outcome_by_action() -> None:
    outcomes = [
        applied("old"),
        failed("new"),
        failed("kept", 7, OutcomeStatus.UNKNOWN),
        Outcome(change("swap"), OutcomeStatus.SKIPPED),
    ]
    assert views.apply_text(outcomes, PLAIN_STYLE).startswith(
        "outcome          create    update   replace    delete       all\n"
        "ok                    0         0         0         1         1\n"
        "failed                1         0         0         0         1\n"
        "unknown               0         1         0         0         1\n"
        "not attempted         0         0         1         0         1\n"
    )


def test_a_failure_names_place_error_and_way_out() -> None:
    """K4-05."""
    text = views.apply_text([applied("old"), failed("new")], PLAIN_STYLE)
    assert (
        "What was not done:\n"
        "  ! kafka_topic.new create failed  main.tf:7:1\n"
        "      TOPIC_AUTHORIZATION_FAILED: We lack the right on the topic, or it is hidden from us."
        "  (not retriable, 3 attempts, 1,234 ms)\n"
        "      hint: Grant the operation on the topic (or a prefix) to the principal"
        " kplan runs as.\n"
    ) in text


def test_an_incomplete_apply_never_says_complete_and_tells_how_to_go_on() -> None:
    text = views.apply_text(
        [applied("old"), failed("new")], PLAIN_STYLE, again="kplan apply -target=x"
    )
    assert "complete!" not in text
    assert "Apply incomplete: 1 ok, 1 failed, 0 unknown, 0 not attempted.\n" in text
    assert "To go on: kplan apply -target=x  (completed changes are not repeated)\n" in text


def test_an_unknown_outcome_is_not_a_failure_and_says_how_to_find_out() -> None:
    """K4-24."""
    no_answer = Outcome(
        change("new"), OutcomeStatus.UNKNOWN, client_refusal("CLIENT_TIMED_OUT"), 1, 9
    )
    text = views.apply_text([no_answer], PLAIN_STYLE)
    assert "kafka_topic.new create unknown" in text
    assert "(retriable, 1 attempt, 9 ms)" in text
    assert "hint: Plan again: kplan reads whether it was done." in text
    noted = views.apply_text(
        [Outcome(change("new"), OutcomeStatus.FAILED, note="half done")], PLAIN_STYLE
    )
    assert "  ! kafka_topic.new create failed  main.tf:7:1\n      half done\n" in noted
    silent = views.apply_text([Outcome(change("new"), OutcomeStatus.UNKNOWN)], PLAIN_STYLE)
    assert "No answer came, and the cluster could not be asked." in silent


def test_only_the_first_twenty_failures_are_shown() -> None:
    text = views.apply_text([failed("new")] * 25, PLAIN_STYLE)
    assert text.count("  ! kafka_topic.new") == 20
    assert "and 5 more; -json lists all of them" in text


def test_what_was_done_is_named_and_what_is_gone_comes_first() -> None:
    found = [applied(name) for name in ("new", "kept", "old")]
    (rows,) = applied_blocks([*found, failed("kept")])
    assert [(row.mark, row.text[0].text) for row in rows.rows] == [
        (Mark.REMOVE, "kafka_topic.old: "),
        (Mark.ADD, "kafka_topic.new: "),
        (Mark.CHANGE, "kafka_topic.kept: "),
    ]
    (long,) = applied_blocks([applied("kept") for _ in range(103)])
    assert len(long.rows) == 101
    assert "and 3 more" in long.rows[-1].text[0].text
    assert list(applied_blocks([failed("kept")])) == []


def test_what_brokers_do_not_serve_yet_is_said() -> None:
    """K4-49."""
    text = views.apply_text([applied("old"), applied("new", is_verified=False)], PLAIN_STYLE)
    assert "Note: 1 change accepted by the controller but not seen on every broker yet" in text
    assert TERRATEST.search(text)


def test_a_destroy_has_its_own_sentence() -> None:
    held = state(owned("kafka_topic.old", topic("old"), "1"))
    plan = make_plan([], held, snapshot([(topic("old"), "1")]), is_destroy=True)
    done = [Outcome(each, OutcomeStatus.APPLIED, is_verified=True) for each in plan.changes]
    found = TERRATEST_DESTROY.search(views.apply_text(done, PLAIN_STYLE))
    assert found
    assert found.groups() == ("1",)
    assert outcomes_document(done, "").title == "kplan destroy"
    assert outcomes_document([applied("old")], "").title == "kplan apply"


def test_an_apply_without_requests_is_complete() -> None:
    text = views.apply_text([], PLAIN_STYLE)
    assert text == "Apply complete! Resources: 0 added, 0 changed, 0 destroyed.\n"


@pytest.mark.parametrize(
    ("outcome", "line"),
    [
        (applied("new"), "kafka_topic.new: created [31 ms]"),
        (applied("kept", attempts=2), "kafka_topic.kept: updated [31 ms, 2 attempts]"),
        (applied("swap", ms=1234), "kafka_acl.swap: replaced [1,234 ms]"),
        (
            applied("old", note="already absent"),
            "kafka_topic.old: destroyed (already absent) [31 ms]",
        ),
        (
            failed("new", 36),
            f"kafka_topic.new: failed: {refusal(36)} [1,234 ms, 3 attempts]",
        ),
        (Outcome(change("new"), OutcomeStatus.SKIPPED), "kafka_topic.new: not attempted"),
    ],
)
def test_one_line_tells_what_became_of_one_change(outcome: Outcome, line: str) -> None:
    assert views.outcome_line(outcome) == line


def test_a_line_is_coloured_only_where_asked() -> None:
    assert views.outcome_line(applied("new"), TextStyle(colour=True)) == (
        "kafka_topic.new: \x1b[32mcreated\x1b[0m\x1b[90m [31 ms]\x1b[0m"
    )


def test_a_broker_message_of_many_lines_stays_on_one() -> None:
    refused = Outcome(change("new"), OutcomeStatus.FAILED, refusal(44, "one\n\ttwo"))
    assert "POLICY_VIOLATION: one\\n\\ttwo" in views.outcome_line(refused)


def test_every_error_kplan_knows_has_a_way_out() -> None:
    assert all(outcome_hint(refusal(row.code)).endswith(".") for row in ERRORS.values())
    assert outcome_hint(refusal(9999, "?", name="NEW")).startswith("Change the configuration")


def messages(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_each_item_has_terraforms_message_and_kafkas_answer() -> None:
    """K4-47."""
    outcomes = [applied("new"), failed("kept")]
    lines = [*(views.outcome_stream(each, AT) for each in outcomes)]
    found = messages("".join([*lines, views.summary_line(outcomes, AT)]))
    assert [each["type"] for each in found] == [
        "apply_complete", "apply_item", "apply_errored", "apply_item", "change_summary",
    ]  # fmt: skip
    assert all(each["@timestamp"] == AT and each["@module"] == "kplan.ui" for each in found)
    assert found[0]["hook"] == {
        "resource": {
            "addr": "kafka_topic.new",
            "module": "",
            "resource": "kafka_topic.new",
            "implied_provider": "kafka",
            "resource_type": "kafka_topic",
            "resource_name": "new",
            "resource_key": None,
        },
        "action": "create",
        "elapsed_seconds": 0,
    }
    assert found[1]["item"] == {
        "addr": "kafka_topic.new",
        "op": "create_topic",
        "identity": "new",
        "status": "ok",
        "error": None,
        "attempts": 1,
        "ms": 31,
        "verified": True,
        "pending_brokers": [],
        "note": "",
        "uid": "u",
        "file": "main.tf",
        "line": 7,
    }
    assert found[3]["item"]["error"] == {
        "code": 29,
        "name": "TOPIC_AUTHORIZATION_FAILED",
        "message": "We lack the right on the topic, or it is hidden from us.",
        "origin": "broker",
        "retriable": False,
    }
    assert found[2]["@level"] == "error"


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (failed("new", 89), "throttled"),
        (failed("new", 7), "timed_out"),
        (failed("new"), "failed"),
        (Outcome(change("new"), OutcomeStatus.FAILED), "failed"),
        (failed("new", 7, OutcomeStatus.UNKNOWN), "unknown"),
        (Outcome(change("new"), OutcomeStatus.SKIPPED), "skipped"),
    ],
)
def test_items_have_one_of_six_statuses(outcome: Outcome, status: str) -> None:
    found = messages(views.outcome_stream(outcome, AT))
    assert found[-1]["item"]["status"] == status
    assert len(found) == (1 if status == "skipped" else 2)


def test_the_summary_counts_what_was_done_and_what_was_not() -> None:
    (found,) = messages(views.summary_line([applied("swap"), failed("new")], AT))
    assert found["changes"] == {
        "add": 1,
        "change": 0,
        "import": 0,
        "remove": 1,
        "operation": "apply",
    }
    assert found["outcomes"] == {
        "applied": 1,
        "failed": 1,
        "skipped": 0,
        "unknown": 0,
        "in_progress": 0,
    }
    assert found["@message"] == "Apply incomplete: Resources: 1 added, 0 changed, 1 destroyed."


def test_a_stream_begins_with_the_version_and_tells_the_plan() -> None:
    (version,) = messages(views.version_line(AT))
    assert (version["type"], version["ui"], version["@level"]) == ("version", "1.2", "info")
    plan = make_plan(
        [resource('module.a.kafka_topic.new["x"]', topic("new"))],
        state(
            owned("kafka_topic.lost", topic("lost"), "1"),
            owned("kafka_topic.old", topic("old"), "2"),
        ),
        snapshot([(topic("old"), "2")]),
        outputs={"o": OutputValue(1, "number")},
    )
    found = messages(views.plan_stream(plan, AT))
    assert [(each["type"], each["@message"]) for each in found] == [
        ("resource_drift", "kafka_topic.lost: Drift detected (delete)"),
        ("planned_change", "kafka_topic.old: Plan to delete"),
        ("planned_change", 'module.a.kafka_topic.new["x"]: Plan to create'),
        ("planned_change", "kafka_topic.lost: Plan to forget"),
        ("change_summary", "Plan: 1 to add, 0 to change, 1 to destroy."),
        ("outputs", "Outputs: 1"),
    ]
    assert found[1]["change"]["reason"] == "no_resource_config"
    made = found[2]["change"]["resource"]
    assert (made["module"], made["resource"]) == ("module.a", 'kafka_topic.new["x"]')
    assert made["resource_key"] == "x"
    assert found[5]["outputs"] == {"o": {"sensitive": False, "action": "create"}}


def test_a_stream_tells_what_is_moved_and_imported() -> None:
    """The names of actions are Terraform's, and so is the number of imports (measured on 1.11)."""
    block = resource("kafka_topic.asked", topic("imported"))
    asked = ImportBlock(block.address, block.identity, block.declared_at)
    plan = make_plan(
        [
            resource("kafka_topic.new", topic("moved")),
            resource("kafka_topic.also", topic("changed", partitions=6)),
            block,
        ],
        state(
            owned("kafka_topic.old", topic("moved"), "1"),
            owned("kafka_topic.was", topic("changed"), "2"),
        ),
        snapshot([(topic("moved"), "1"), (topic("changed"), "2"), (topic("imported"), "3")]),
        moved=(("kafka_topic.old", "kafka_topic.new"), ("kafka_topic.was", "kafka_topic.also")),
        imports=(asked,),
    )
    found = messages(views.plan_stream(plan, AT))
    told = {
        each["change"]["resource"]["addr"]: (
            each["@message"].partition(": ")[2],
            each["change"]["action"],
            each["change"].get("previous_resource", {}).get("addr"),
            each["change"].get("importing", {}).get("id"),
        )
        for each in found
        if each["type"] == "planned_change"
    }
    assert told == {
        "kafka_topic.new": ("Plan to move", "move", "kafka_topic.old", None),
        "kafka_topic.also": ("Plan to update", "update", "kafka_topic.was", None),
        "kafka_topic.asked": ("Plan to import", "import", None, "imported"),
    }
    (counts,) = (each for each in found if each["type"] == "change_summary")
    assert counts["@message"] == "Plan: 1 to import, 0 to add, 1 to change, 0 to destroy."
    assert [fault for each in found for fault in faults("stream", each)] == []


def test_the_stream_of_a_plan_can_hold_the_whole_plan() -> None:
    plan = make_plan([resource("kafka_acl.a", acl())], state(), snapshot())
    (told,) = messages(views.plan_message_line(plan, AT))
    assert (told["type"], told["@timestamp"]) == ("plan", AT)
    (found,) = told["resource_changes"]
    assert found["change"]["after"]["resource_pattern_type_filter"] == "Literal"
    assert told["format_version"] == json.loads(views.plan_json(plan))["format_version"]


def test_starts_and_problems_are_messages_too() -> None:
    (begun,) = messages(views.start_line(change("old"), AT))
    assert (begun["type"], begun["@message"]) == ("apply_start", "kafka_topic.old: Destroying...")
    problem = Diagnostic("KP911", Severity.ERROR, "Cannot reach the cluster")
    (told,) = messages(views.diagnostic_line(problem, {}, AT))
    assert (told["type"], told["@level"], told["diagnostic"]["code"]) == (
        "diagnostic",
        "error",
        "KP911",
    )


def test_a_plan_without_outputs_has_no_outputs_message() -> None:
    plan = make_plan(
        [resource("kafka_topic.a", topic("a"))], state(), snapshot([(topic("a"), "1")])
    )
    assert [each["type"] for each in messages(views.plan_stream(plan, AT))] == ["change_summary"]
