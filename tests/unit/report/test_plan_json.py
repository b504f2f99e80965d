"""The plan as conftest, Checkov and tools for pull requests read it."""

import json
from dataclasses import replace
from typing import Any

import pytest

from kplan.kinds.schema import secret_paths
from kplan.kinds.scram import ScramCredential, ScramKind
from kplan.model.plan import Action, BrokerTransfer, OutputChange, Plan
from kplan.policy.risk import add_risks
from kplan.report.documents.plan_data import terraform_attributes
from kplan.report.views import plan_json
from tests.values import acl, make_plan, owned, resource, snapshot, state, topic

ORDERS = "kafka_topic.orders"
ID = "topic-id-1"


Found = dict[str, Any]


def read(plan: Plan) -> Found:
    found: Found = json.loads(plan_json(plan))
    return found


def change_of(plan: Plan, address: str = ORDERS) -> Found:
    found: Found
    (found,) = [each for each in read(plan)["resource_changes"] if each["address"] == address]
    return found


def created() -> Plan:
    return make_plan([resource(ORDERS, topic(config={"retention.ms": "1"}))], state(), snapshot())


def test_the_head_is_terraforms() -> None:
    found = read(replace(created(), created_at="2026-11-21T14:00:00+00:00"))
    assert list(found) == [
        "format_version", "terraform_version", "variables", "planned_values", "resource_changes",
        "resource_drift", "output_changes", "prior_state", "configuration", "checks", "timestamp",
        "applyable", "complete", "errored", "kplan",
    ]  # fmt: skip
    assert found["format_version"] == "1.2"
    assert found["terraform_version"], "Checkov passes everything without this key"
    assert found["timestamp"] == "2026-11-21T14:00:00+00:00"
    assert (found["applyable"], found["complete"], found["errored"]) == (True, True, False)


def test_a_create_has_the_providers_attributes_and_an_unknown_id() -> None:
    assert change_of(created()) == {
        "address": ORDERS,
        "mode": "managed",
        "type": "kafka_topic",
        "name": "orders",
        "provider_name": "registry.terraform.io/mongey/kafka",
        "change": {
            "actions": ["create"],
            "before": None,
            "after": {
                "name": "orders",
                "partitions": 3,
                "replication_factor": 1,
                "replica_assignment": None,
                "config": {"retention.ms": "1"},
                "placement": None,
                "retention_step": None,
            },
            "after_unknown": {"id": True},
            "before_sensitive": False,
            "after_sensitive": {},
        },
        "kplan": {
            "identity": "orders",
            "uid": "",
            "reason": "",
            "risk": "safe",
            "notes": [],
            "protected": False,
            "file": "main.tf",
            "line": 1,
            "attributes": [],
        },
    }


def test_an_acl_has_the_providers_import_id_and_default_pattern() -> None:
    plan = make_plan(
        [resource("kafka_acl.a", acl())], state(owned("kafka_acl.a", acl())), snapshot(acls=[acl()])
    )
    after = change_of(plan, "kafka_acl.a")["change"]["after"]
    assert after["id"] == "User:app|*|Read|Allow|Topic|orders|Literal"
    assert after["resource_pattern_type_filter"] == "Literal"


def test_a_swap_deletes_then_creates_and_names_the_paths_that_force_it() -> None:
    at = "kafka_acl.a"
    plan = make_plan(
        [resource(at, acl(acl_operation="Write"))], state(owned(at, acl())), snapshot(acls=[acl()])
    )
    found = change_of(plan, at)
    assert found["change"]["actions"] == ["delete", "create"]
    assert found["change"]["replace_paths"] == [["acl_operation"]]
    assert found["change"]["before"]["id"].startswith("User:app|*|Read|")
    assert "id" not in found["change"]["after"]
    assert found["action_reason"] == "replace_because_cannot_update"


def test_an_update_carries_its_attributes_and_its_risk() -> None:
    held = topic(config={"retention.ms": "9"})
    plan = make_plan(
        [resource(ORDERS, topic(config={"retention.ms": "8"}))],
        state(owned(ORDERS, held, ID)),
        snapshot([(held, ID)]),
    )
    facts = change_of(add_risks(plan))["kplan"]
    assert (facts["risk"], facts["uid"]) == ("dangerous", ID)
    assert facts["attributes"] == [
        {
            "path": ["config", "retention.ms"],
            "before": "9",
            "after": "8",
            "forces_replacement": False,
            "sensitive": False,
        }
    ]


def test_deletes_carry_terraforms_reason_code() -> None:
    addresses = ["kafka_topic.gone", 'kafka_topic.each["b"]', "kafka_topic.count[1]"]
    plan = make_plan(
        [
            resource('kafka_topic.each["a"]', topic("a")),
            resource("kafka_topic.count[0]", topic("c")),
        ],
        state(*(owned(at, topic(at[-4:-1]), at) for at in addresses)),
        snapshot([(topic(at[-4:-1]), at) for at in addresses]),
    )
    assert [change_of(plan, at)["action_reason"] for at in addresses] == [
        "delete_because_no_resource_config",
        "delete_because_each_key",
        "delete_because_count_index",
    ]
    assert change_of(plan, addresses[1])["index"] == "b"
    assert change_of(plan, addresses[2])["index"] == 1
    assert change_of(plan, addresses[0])["change"]["after"] is None


def test_a_destroy_has_no_reason_code() -> None:
    plan = make_plan(
        [], state(owned(ORDERS, topic(), ID)), snapshot([(topic(), ID)]), is_destroy=True
    )
    assert "action_reason" not in change_of(plan)


def test_modules_nest_in_values_and_stand_in_addresses() -> None:
    at = 'module.pay["eu"].module.in.kafka_topic.orders'
    found = read(make_plan([resource(at, topic())], state(), snapshot()))
    assert found["resource_changes"][0]["module_address"] == 'module.pay["eu"].module.in'
    (outer,) = found["planned_values"]["root_module"]["child_modules"]
    (inner,) = outer["child_modules"]
    assert outer["address"] == 'module.pay["eu"]'
    assert "resources" not in outer
    assert [each["address"] for each in inner["resources"]] == [at]
    assert found["configuration"]["root_module"]["resources"] == []


def test_planned_values_and_prior_state_hold_both_sides() -> None:
    plan = make_plan(
        [resource("kafka_topic.new", topic("new"))],
        state(owned(ORDERS, topic(), ID)),
        snapshot([(topic(), ID)]),
    )
    found = read(plan)

    def addresses(values: Found) -> list[str]:
        return [each["address"] for each in values["root_module"]["resources"]]

    assert addresses(found["planned_values"]) == ["kafka_topic.new"]
    assert addresses(found["prior_state"]["values"]) == [ORDERS]
    assert found["configuration"]["root_module"]["resources"][0]["address"] == "kafka_topic.new"


def test_drift_has_the_shape_of_a_change() -> None:
    plan = make_plan([resource(ORDERS, topic())], state(owned(ORDERS, topic(), ID)), snapshot())
    (drifted,) = read(plan)["resource_drift"]
    assert drifted["change"]["actions"] == ["delete"]
    assert drifted["kplan"]["reason"] == "it was deleted outside of kplan"


def test_adoption_is_an_import_and_a_move_keeps_the_old_address() -> None:
    adopted = make_plan([resource(ORDERS, topic())], state(), snapshot([(topic(), ID)]))
    assert change_of(adopted)["change"]["importing"] == {"id": "orders"}
    moved = make_plan(
        [resource(ORDERS, topic())],
        state(owned("kafka_topic.was", topic(), ID)),
        snapshot([(topic(), ID)]),
        moved=(("kafka_topic.was", ORDERS),),
    )
    assert change_of(moved)["previous_address"] == "kafka_topic.was"
    assert change_of(moved)["change"]["actions"] == ["no-op"]


def test_outputs_are_changes_and_planned_values() -> None:
    outputs = (
        OutputChange("gone", Action.DELETE, 1, None),
        OutputChange("kept", Action.NO_OP, (1, {"b": 1, "a": None}), (1, {"b": 1, "a": None})),
        OutputChange("pw", Action.CREATE, None, None, is_sensitive=True),
    )
    found = read(replace(created(), outputs=outputs))
    assert found["output_changes"]["gone"]["after"] is None
    assert found["output_changes"]["kept"]["actions"] == ["no-op"]
    assert found["output_changes"]["pw"] == {
        "actions": ["create"],
        "before": None,
        "after": "(sensitive value)",
        "after_unknown": False,
        "before_sensitive": True,
        "after_sensitive": True,
    }
    assert found["planned_values"]["outputs"] == {
        "kept": {"sensitive": False, "value": [1, {"a": None, "b": 1}]},
        "pw": {"sensitive": True},
    }


def test_sensitive_leaves_are_redacted_everywhere() -> None:
    """Design law 11."""
    held, after = topic(config={"s": "hunter2", "k": "1"}), topic(config={"s": "hunter3", "k": "1"})
    declared = replace(resource(ORDERS, after), sensitive=frozenset({("config", "s")}))
    plan = make_plan([declared], state(owned(ORDERS, held, ID)), snapshot([(held, ID)]))
    text = plan_json(replace(plan, drift=()))
    change = json.loads(text)["resource_changes"][0]["change"]
    assert change["after"]["config"] == {"k": "1", "s": "(sensitive value)"}
    assert change["after_sensitive"] == {"config": {"s": True}}
    assert "hunter" not in text


def test_kplans_own_facts_stand_under_one_key() -> None:
    plan = make_plan(
        [resource(ORDERS, topic()), resource("kafka_acl.a", acl())],
        state(),
        snapshot(unread={"kafka_acl": "no right"}),
        config_digest="abc",
        cluster={"principal": "User:kplan", "alias": "prod"},
    )
    ours = read(plan)["kplan"]
    assert ours["cluster"] == {
        "alias": "prod",
        "principal": "User:kplan",
        "id": "bWVtb3J5LWNsdXN0ZXItMQ",
    }
    assert ours["based_on"]["config_digest"] == "abc"
    assert ours["checksum"] == plan.checksum
    assert ours["batches"] == [
        {"kind": "kafka_topic", "step": "create_topics", "rank": 40, "resources": [ORDERS]}
    ]
    assert ours["unread"] == {"kafka_acl": "no right"}
    assert [each["code"] for each in ours["diagnostics"]] == ["KP234"]
    assert read(plan)["complete"] is False


def test_a_plan_with_errors_is_errored_and_not_applyable() -> None:
    shrunk = make_plan(
        [resource(ORDERS, topic(partitions=1))],
        state(owned(ORDERS, topic(), ID)),
        snapshot([(topic(), ID)]),
    )
    found = read(shrunk)
    assert (found["applyable"], found["complete"], found["errored"]) == (False, False, True)
    assert found["kplan"]["diagnostics"][0]["code"] == "KP211"


def test_equal_plans_give_equal_bytes_on_one_line() -> None:
    assert plan_json(created()) == plan_json(created())
    assert plan_json(created()).count("\n") == 1


def test_moves_are_summed_up_for_each_broker() -> None:
    """K4o-09; null is what could not be read."""
    moves = (BrokerTransfer(1, 100, 40), BrokerTransfer(2, 0, 60, "eu"))
    assert read(replace(created(), moves=moves))["kplan"]["moves"] == {
        "bytes": 100,
        "brokers": [
            {"broker": 1, "gains_bytes": 100, "loses_bytes": 40},
            {"provider": "kafka.eu", "broker": 2, "gains_bytes": 0, "loses_bytes": 60},
        ],
    }
    unread = (BrokerTransfer(1, None, None),)
    assert read(replace(created(), moves=unread))["kplan"]["moves"]["bytes"] is None
    assert "moves" not in read(created())["kplan"]


@pytest.mark.parametrize(
    ("declared", "unset"),
    [
        (ScramCredential("a", "SCRAM-SHA-256", password="x"), "password_wo"),
        (
            ScramCredential("a", "SCRAM-SHA-256", password_wo="x", password_wo_version="1"),
            "password",
        ),
    ],
    ids=["password", "password_wo"],
)
def test_the_password_that_is_not_set_is_null(declared: ScramCredential, unset: str) -> None:
    kind = ScramKind()
    planned = kind.normalize(declared)
    saved = replace(planned, password=None, password_wo=None)
    for value in (planned, saved):
        found = terraform_attributes(kind.name, value, secret_paths(ScramCredential))
        assert found is not None
        shown = {name: found[name] for name in ("password", "password_wo")}
        assert shown.pop(unset) is None
        assert set(shown.values()) == {"(sensitive value)"}
