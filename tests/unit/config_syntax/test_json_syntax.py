"""The JSON syntax says the same as the native one."""

import json
from pathlib import Path

from kplan.kinds.topic_rules import Topic
from tests.unit.config.load_helper import load_files

DOCUMENT = {
    "//": "written by a machine",
    "terraform": {"required_version": ">= 1.5"},
    "provider": {"kafka": [{"bootstrap_servers": ["localhost:9092"]}]},
    "variable": {
        "env": {
            "type": "string",
            "default": "dev",
            "validation": [
                {"condition": '${contains(["dev", "prod"], var.env)}', "error_message": "No."}
            ],
        },
        "sizes": {"type": "map(number)", "default": {"eu": 3, "us": 6}},
    },
    "locals": {"prefix": "${var.env}.orders", "literal": "$${x}", "list": [1, 2.5, True, None]},
    "resource": {
        "kafka_topic": {
            "orders": {
                "for_each": "${var.sizes}",
                "name": "${local.prefix}.${each.key}",
                "partitions": "${each.value}",
                "config": {'${"cleanup"}.policy': "delete", "retention.ms": 1000},
                "lifecycle": {"prevent_destroy": True, "ignore_changes": ["partitions"]},
            }
        }
    },
    "output": {"all": {"value": {"names": "${values(kafka_topic.orders)[*].name}",
                                 "literal": "${local.literal}", "list": "${local.list}"}}},
}  # fmt: skip


def test_json_is_read_as_the_native_syntax_is(tmp_path: Path) -> None:
    found = load_files(tmp_path, {"main.tf.json": json.dumps(DOCUMENT, indent=2)})
    assert found.diagnostics == ()
    eu, us = found.resources
    config = {"cleanup.policy": "delete", "retention.ms": "1000"}
    assert eu.value == Topic("dev.orders.eu", 3, None, None, config)
    assert us.value == Topic("dev.orders.us", 6, None, None, config)
    assert eu.lifecycle.prevent_destroy
    assert eu.lifecycle.ignore_changes == (("partitions",),)
    assert found.providers[0].arguments == {"bootstrap_servers": ["localhost:9092"]}
    assert found.outputs[0].value == {
        "names": ["dev.orders.eu", "dev.orders.us"],
        "literal": "${x}",
        "list": [1, 2.5, True, None],
    }


def test_both_syntaxes_stand_beside_each_other(tmp_path: Path) -> None:
    files = {
        "main.tf": 'output "x" {\n  value = local.x\n}\n',
        "more.tf.json": '{"locals": {"x": "${1 + 1}"}}',
    }
    found = load_files(tmp_path, files)
    assert found.diagnostics == ()
    assert found.outputs[0].value == 2


def test_problems_in_json_are_told_at_the_place_in_the_string(tmp_path: Path) -> None:
    text = """{
  "resource": {"kafka_topic": {"orders": {
    "name": "${var.prefx}.orders",
    "partitons": 3,
    "config": {"a": "${1 +}"},
    "replication_factor": "${lookup({}, \\"x\\")}"
  }}},
  "variable": {"prefix": {}, "bad": {"type": "strng", "default": "x"}},
  "locals": {"x": 1, "x": 2}
}
"""
    found = load_files(tmp_path, {"main.tf.json": text})
    told = {(each.code, str(each.subject)) for each in found.diagnostics}
    assert told >= {
        ("KP101", "main.tf.json:5:21"),
        ("KP121", "main.tf.json:4:5"),
        ("KP113", "main.tf.json:9:22"),
        ("KP130", "main.tf.json:8:47"),
    }


def test_an_undeclared_name_in_json_has_its_own_place(tmp_path: Path) -> None:
    text = '{"output": {"x": {"value": "a ${var.nope} b"}}}'
    found = load_files(tmp_path, {"main.tf.json": text})
    assert [(each.code, str(each.subject)) for each in found.diagnostics] == [
        ("KP140", "main.tf.json:1:33")
    ]


def test_what_is_no_json_is_told_with_its_place(tmp_path: Path) -> None:
    for text, place in (
        ("", "1:1"),
        ("[1, 2", "1:6"),
        ('{"a" 1}', "1:6"),
        ('{"a": 1,}', "1:9"),
        ('{"a": nope}', "1:7"),
        ('{"a": "\n"}', "1:7"),
        ("{} {}", "1:4"),
        ('{"output": 5}', "1:12"),
        ('{"locals": {"x": 1e99999}}', "1:18"),
    ):
        found = load_files(tmp_path, {"main.tf.json": text})
        assert [(each.code, str(each.subject)) for each in found.diagnostics] == [
            ("KP119", f"main.tf.json:{place}")
        ], text


def test_json_that_is_nested_too_deeply_is_an_error(tmp_path: Path) -> None:
    found = load_files(tmp_path, {"main.tf.json": "[" * 5000})
    assert [each.code for each in found.diagnostics] == ["KP114"]
