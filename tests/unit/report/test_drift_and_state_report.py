"""Drift, owned objects and outputs, told."""

import json
from dataclasses import replace

import pytest

from kplan.model.errors import UsageError
from kplan.model.plan import Change
from kplan.model.state import OutputValue
from kplan.report import views
from kplan.report.documents.drift import DriftCoverage, drift_document
from kplan.report.format import PLAIN_STYLE
from tests.values import acl, make_plan, owned, snapshot, state, topic

COVERAGE = DriftCoverage(
    {"kafka_acl": 2, "kafka_topic": 10}, {"kafka_acl": (), "kafka_topic": tuple("abcde")}
)


def drifted() -> tuple[Change, ...]:
    held = state(
        owned("kafka_topic.audit", topic("audit", config={"retention.ms": "604800000"}), "1"),
        owned("kafka_topic.lost", topic("lost"), "2"),
        owned("kafka_topic.again", topic("again"), "3"),
    )
    live = topic("audit", config={"retention.ms": "86400000"})
    return make_plan([], held, snapshot([(live, "1"), (topic("again"), "other")])).drift


def test_drift_shows_what_was_applied_and_what_is_live() -> None:
    assert views.drift_text(drifted(), COVERAGE, PLAIN_STYLE) == (
        "Objects have changed outside of kplan:\n"
        "  ~ kafka_topic.again  (it was deleted and created again outside of kplan)\n"
        "        # its id was 3, and is other\n"
        "  ~ kafka_topic.audit\n"
        '      ~ config["retention.ms"] = "604800000" -> "86400000"  (7d -> 1d)\n'
        "  - kafka_topic.lost  (it was deleted outside of kplan)\n"
        "\n"
        "Managed by kplan: kafka_acl 2 of 2, kafka_topic 10 of 15 (71% of all).\n"
        "\n"
        "Drift: 2 changed, 1 deleted.\n"
    )


def test_the_chart_of_a_drift_tells_what_is_gone_and_no_risk() -> None:
    (tally,) = drift_document(drifted(), COVERAGE).tallies
    assert tally.title == "Drift by kind"
    assert [each.text for each in tally.columns] == ["changed", "gone"]
    of = {name: [one for one in drifted() if one.kind == name] for name, _ in tally.bars}
    for name, (changed, gone) in tally.bars:
        assert changed + gone == len(of[name])
        assert gone == sum(1 for each in of[name] if each.after is None)
    assert drift_document((), COVERAGE).tallies == ()


def test_no_drift_is_said_only_of_what_was_seen() -> None:
    """Design law 2."""
    assert views.drift_text((), DriftCoverage(), PLAIN_STYLE) == (
        "No drift. What kplan owns is as it was last applied.\n"
    )
    dark = DriftCoverage(unread={"kafka_acl": "no right"}, hidden={"kafka_topic": ("orders",)})
    assert views.drift_text((), dark, PLAIN_STYLE) == (
        "Note: kafka_acl objects could not be read (no right).\n"
        "\n"
        "Note: kplan cannot see 1 object: kafka_topic/orders.\n"
        "\n"
        "No drift in what could be read.\n"
    )


@pytest.mark.parametrize(
    "held",
    [
        DriftCoverage({"kafka_topic": 10}, unread={"kafka_acl": "no right"}),
        DriftCoverage({"kafka_topic": 10}, hidden={"kafka_topic": ("orders",)}),
    ],
    ids=["unread", "hidden"],
)
def test_how_much_is_managed_is_unknown_where_something_was_not_read(
    held: DriftCoverage,
) -> None:
    """Design law 13: all that was read may be managed, and what was not read may not."""
    text = views.drift_text((), held, PLAIN_STYLE)
    assert "Managed by kplan: kafka_topic 10 of 10 (of what could be read)." in text
    found = json.loads(views.drift_json((), held))
    assert (found["coverage"], found["managed"]) == (None, {"kafka_topic": 10})
    assert json.loads(views.drift_json((), replace(held, unread={}, hidden={})))["coverage"] == 1


def test_many_hidden_objects_are_cut() -> None:
    dark = DriftCoverage(hidden={"kafka_topic": tuple(f"t{number:02}" for number in range(30))})
    text = views.drift_text((), dark, PLAIN_STYLE)
    assert "cannot see 30 objects" in text
    assert "t19 ..." in text.replace("\n", " ")
    assert "t20" not in text
    assert "No drift in what could be read." in text


def test_hidden_objects_are_named_with_their_kind() -> None:
    """A broker config is only a number without it."""
    dark = DriftCoverage(hidden={"kafka_topic": ("a",), "kafka_broker_config": ("1", "2")})
    text = views.drift_text((), dark, PLAIN_STYLE)
    named = "3 objects: kafka_broker_config/1, kafka_broker_config/2, kafka_topic/a."
    assert named in text.replace("\n", " ")
    assert json.loads(views.drift_json((), dark))["hidden"] == ["1", "2", "a"]


def test_drift_as_json_has_the_changes_in_the_plans_shape() -> None:
    found = json.loads(views.drift_json(drifted(), COVERAGE))
    assert found["drifted"] is True
    assert found["complete"] is True
    assert found["unmanaged"] == {"kafka_acl": 0, "kafka_topic": 5}
    assert [each["change"]["actions"] for each in found["resource_drift"]] == [
        ["update"], ["update"], ["delete"],
    ]  # fmt: skip
    dark = json.loads(views.drift_json((), DriftCoverage(unread={"kafka_acl": "x"})))
    assert (dark["drifted"], dark["complete"]) == (False, False)


def test_owned_addresses_are_listed_one_a_line() -> None:
    held = [owned("kafka_topic.a", topic("a")), owned('module.m.kafka_acl.b["x"]', acl())]
    assert views.state_list_text(held) == 'kafka_topic.a\nmodule.m.kafka_acl.b["x"]\n'
    assert views.state_list_text([]) == ""


def test_an_owned_object_is_shown_in_hcl_with_what_else_is_known() -> None:
    entry = owned(
        "kafka_topic.a",
        topic("a", config={"k": "${v}"}, replica_assignment=((1, 2),)),
        "uid-1",
        is_protected=True,
        is_pending=True,
    )
    assert views.state_show_text([entry], PLAIN_STYLE) == (
        "# kafka_topic.a:\n"
        "# uid uid-1\n"
        "# protected by prevent_destroy\n"
        "# applied, and not yet seen on every broker\n"
        'resource "kafka_topic" "a" {\n'
        '    name               = "a"\n'
        "    replica_assignment = [\n"
        "        [\n"
        "            1,\n"
        "            2,\n"
        "        ],\n"
        "    ]\n"
        "    config             = {\n"
        '        "k" = "$${v}"\n'
        "    }\n"
        '    id                 = "a"\n'
        "}\n"
    )


def test_owned_objects_as_json_carry_the_providers_attributes() -> None:
    (found,) = json.loads(views.owned_json([owned("kafka_acl.a", acl())]))
    assert found["address"] == "kafka_acl.a"
    assert found["values"]["id"] == "User:app|*|Read|Allow|Topic|orders|Literal"
    assert found["kplan"]["protected"] is False


OUTPUTS = {
    "tree": OutputValue({"b": [1, {"c.d": None}], "a": {}}, ["object", {"a": "string"}]),
    "name": OutputValue("x", "string"),
    "long": OutputValue("one\ntwo\n", "string"),
    "pw": OutputValue(None, "string", is_sensitive=True),
}


def test_a_state_as_json_has_the_shape_that_terraforms_tools_read() -> None:
    """Resources in the tree of their modules, beside the outputs."""
    held = state(owned("module.pay.kafka_acl.a", acl()), owned("kafka_topic.t", topic()))
    found = json.loads(views.state_json(replace(held, outputs=OUTPUTS)))
    assert found["format_version"] == "1.0"
    assert found["terraform_version"]
    assert found["values"]["outputs"]["name"] == {
        "sensitive": False,
        "type": "string",
        "value": "x",
    }
    root = found["values"]["root_module"]
    assert [each["address"] for each in root["resources"]] == ["kafka_topic.t"]
    (module,) = root["child_modules"]
    assert module["resources"][0]["values"]["acl_principal"] == "User:app"


def test_outputs_as_json_carry_their_type_and_no_secret() -> None:
    found = json.loads(views.outputs_json(OUTPUTS))
    assert list(found) == ["long", "name", "pw", "tree"]
    assert found["name"] == {"sensitive": False, "type": "string", "value": "x"}
    assert found["pw"] == {"sensitive": True, "type": "string", "value": None}
    assert found["tree"]["type"] == ["object", {"a": "string"}]


def test_one_output_as_json_is_its_value() -> None:
    assert json.loads(views.output_json(OUTPUTS["tree"])) == {"a": {}, "b": [1, {"c.d": None}]}


@pytest.mark.parametrize(
    ("value", "bare"), [("a b", "a b"), (1.5, "1.5"), (True, "true"), (7, "7")]
)
def test_raw_is_the_bare_value(value: object, bare: str) -> None:
    assert views.output_raw(OutputValue(value)) == bare


@pytest.mark.parametrize("output", [OUTPUTS["tree"], OUTPUTS["pw"], OutputValue(None)])
def test_what_has_no_bare_form_is_an_error(output: OutputValue) -> None:
    with pytest.raises(UsageError):
        views.output_raw(output)
