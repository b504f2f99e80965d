"""What a configuration may hold, in the three ways in which it is said."""

import json
import re
from typing import Any

import pytest

from kplan.config.declarations.body_schema import BLOCK_SCHEMAS, STATE_SCHEMA
from kplan.kafka.settings.key import ARGUMENT_SETTINGS, PROVIDER_SCHEMA, Setting
from kplan.kinds import KINDS
from kplan.kinds.schema import schema_fields
from kplan.workflow.project.schema import json_schema, provider_schema, reference_page

TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
ACL = {
    "resource_name": "orders",
    "resource_type": "topic",
    "acl_principal": "User:app",
    "acl_host": "*",
    "acl_operation": "Read",
    "acl_permission_type": "Allow",
}
FITTING: list[Any] = [
    {},
    {"//": "only a comment", "locals": {"a": 1}, "variable": {"v": {"default": [1]}}},
    {"resource": {"kafka_topic": {"t": {"name": "t", "partitions": 3, "config": {"k": 1}}}}},
    {"resource": [{"kafka_topic": [{"t": [{"name": "${each.key}", "for_each": "${var.t}"}]}]}]},
    {"resource": {"kafka_topic": {"t": {"name": "t", "partitions": "3", "config": None}}}},
    {"resource": {"kafka_topic": {"t": {"name": "t", "replica_assignment": "${local.r}"}}}},
    {"resource": {"kafka_acl": {"a": ACL}}},
    {"provider": {"kafka": [{"bootstrap_servers": ["a:1"]}, {"alias": "b", "timeout": 3}]}},
    {"module": {"m": {"source": "./m", "anything": {"goes": 1}}}, "terraform": {}},
]
UNFITTING: list[Any] = [
    {"resuorce": {}},
    {"resource": {"kafka_tpic": {}}},
    {"resource": {"kafka_topic": {"t": {}}}},
    {"resource": {"kafka_topic": {"t": {"name": "t", "partitons": 3}}}},
    {"resource": {"kafka_topic": {"t": {"name": "t", "partitions": "three"}}}},
    {"resource": {"kafka_topic": {"t": {"name": "t", "replica_assignment": [["x"]]}}}},
    {"provider": {"kafka": {"tls_enabled": "sometimes"}}},
    {"output": {"o": {"vlaue": 1}}},
]


def fits(value: Any, schema: Any, whole: Any) -> bool:  # noqa: ANN401 - any JSON
    """Hold a value against a JSON Schema; the keywords that kplan writes, and no others."""
    known = {"$ref", "additionalProperties", "anyOf", "enum", "items", "pattern", "properties"}
    notes = {"$defs", "$schema", "default", "description", "required", "title", "type"}
    assert schema.keys() <= known | notes
    if "$ref" in schema and not fits(value, whole["$defs"][schema["$ref"].split("/")[-1]], whole):
        return False
    if "anyOf" in schema and not any(fits(value, each, whole) for each in schema["anyOf"]):
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    names = schema.get("type", [])
    allowed = [TYPES[each] for each in ([names] if isinstance(names, str) else names)]
    if allowed and not any(isinstance(value, each) for each in allowed):
        return False
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        return False
    if isinstance(value, list):
        return all(fits(each, schema.get("items", {}), whole) for each in value)
    return not isinstance(value, dict) or members_fit(value, schema, whole)


def members_fit(value: dict[str, Any], schema: Any, whole: Any) -> bool:  # noqa: ANN401
    """Hold an object against what is said of its members."""
    properties, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    if not value.keys() >= set(schema.get("required", ())):
        return False
    for name, each in value.items():
        inner = properties.get(name, others)
        if inner is False or (inner is not True and not fits(each, inner, whole)):
            return False
    return True


@pytest.mark.parametrize("found", FITTING)
def test_what_kplan_reads_fits_the_json_schema(found: Any) -> None:  # noqa: ANN401
    schema = json.loads(json_schema())
    assert fits(found, schema, schema)


@pytest.mark.parametrize("found", UNFITTING)
def test_what_kplan_refuses_does_not_fit_the_json_schema(found: Any) -> None:  # noqa: ANN401
    schema = json.loads(json_schema())
    assert not fits(found, schema, schema)


def test_the_json_schema_has_every_block() -> None:
    schema = json.loads(json_schema())
    assert schema["properties"].keys() == {"//", "resource", *BLOCK_SCHEMAS}
    assert schema["$defs"].keys() >= {kind.name for kind in KINDS}


def test_every_choice_is_offered_for_completion() -> None:
    offered = json.loads(json_schema())["$defs"]["kafka_acl"]["properties"]["acl_operation"]
    assert "DescribeConfigs" in offered["anyOf"][0]["enum"]


def test_terraforms_tools_find_their_own_form() -> None:
    found = json.loads(provider_schema())
    assert found["format_version"] == "1.0"
    (provider,) = found["provider_schemas"].values()
    assert provider["resource_schemas"].keys() == {kind.name for kind in KINDS}
    topic = provider["resource_schemas"]["kafka_topic"]["block"]["attributes"]
    assert topic["replica_assignment"]["type"] == ["list", ["list", "number"]]
    assert topic["name"]["required"] is True
    assert topic["config"]["optional"] is True
    assert topic["id"] == {"type": "string", "description_kind": "plain", "computed": True}
    arguments = provider["provider"]["block"]["attributes"]
    assert [name for name, each in arguments.items() if each.get("sensitive")] == [
        "client_key",
        "client_key_passphrase",
        "connect_password",
        "sasl_aws_secret_key",
        "sasl_aws_token",
        "sasl_password",
        "schema_registry_password",
    ]


def test_every_attribute_of_every_block_is_in_the_reference() -> None:
    page = reference_page()
    for kind in KINDS:
        assert f'resource "{kind.name}"' in page
        for each in schema_fields(kind.schema):
            assert f"| `{each.name}` | {each.attribute.type} |" in page
    for name, attribute in PROVIDER_SCHEMA.items():
        assert f"| `{name}` |" in page
        assert attribute.doc.endswith(".")


def test_every_argument_of_the_state_block_is_in_the_reference() -> None:
    _, _, table = reference_page().partition("\n## `state`\n")
    names = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert names == sorted(STATE_SCHEMA.arguments)
    assert "allow an http:// endpoint on another machine" in table


def test_every_argument_that_counts_for_something_is_in_the_reference() -> None:
    """The others are known, so that a file of the provider is told what it has to change."""
    unserved = {name for name, setting in ARGUMENT_SETTINGS.items() if setting is Setting.AWS_OTHER}
    assert ARGUMENT_SETTINGS.keys() - PROVIDER_SCHEMA.keys() == {*unserved, "sasl_aws_creds_debug"}


def test_the_reference_tells_defaults_and_keeps_its_tables_whole() -> None:
    lines = reference_page().splitlines()
    assert any('| `"Literal"` |' in line for line in lines)
    for line in lines:
        if line.startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", line)) == 5
