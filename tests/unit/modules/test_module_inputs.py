"""What the modules make of their inputs, and what they refuse."""

from pathlib import Path
from typing import Any

import pytest

from kplan.config.inputs import Inputs
from kplan.config.load import Configuration, load_configuration
from kplan.kinds import KINDS
from kplan.kinds.acl import Acl
from kplan.kinds.topic_rules import Topic

MODULES = Path(__file__).parents[3] / "modules"
SERVICE = 'principal = "User:app"'
CONSUMER = f'{SERVICE}\ntopics = ["t"]'
TRANSACTIONAL = f'{CONSUMER}\ntransactional_id = "id-"'
STREAMS = f'{SERVICE}\napplication_id = "app"\ninput_topics = ["t"]'
CONNECT = f'{SERVICE}\ngroup_id = "c"'
TEAM = 'team = "pay"'


def used(tmp_path: Path, module: str, inputs: str, yaml: str = "") -> Configuration:
    """Load a folder that uses a module."""
    (tmp_path / "modules").symlink_to(MODULES)
    folder = tmp_path / "live"
    folder.mkdir()
    (folder / "topics.yaml").write_text(yaml, encoding="utf-8")
    block = f'module "m" {{\n  source = "../modules/{module}"\n{inputs}\n}}\n'
    text = f'provider "kafka" {{}}\n{block}\noutput "all" {{\n  value = module.m\n}}\n'
    (folder / "main.tf").write_text(text, encoding="utf-8")
    parsed_once = {"XDG_CACHE_HOME": str(tmp_path.parent)}
    return load_configuration(folder, Inputs(environ=parsed_once), KINDS)


def grants(found: Configuration) -> set[tuple[str, str, str, str]]:
    """Give operation, type, name and pattern of every ACL."""
    assert found.diagnostics == ()
    return {
        (
            each.value.acl_operation,
            each.value.resource_type,
            each.value.resource_name,
            each.value.resource_pattern_type_filter,
        )
        for each in found.resources
        if isinstance(each.value, Acl)
    }


def topics(found: Configuration) -> dict[str, Topic]:
    """Give every topic by its name."""
    assert found.diagnostics == ()
    return {each.value.name: each.value for each in found.resources if type(each.value) is Topic}


def outputs(found: Configuration) -> dict[str, Any]:
    """Give the outputs of the module."""
    value = found.outputs[0].value
    assert isinstance(value, dict)
    return value


@pytest.mark.parametrize(
    ("module", "inputs", "told"),
    [
        ("producer", 'principal = "app"\ntopics = ["t"]', 'A principal has the form "User:name".'),
        ("producer", SERVICE, "A producer requires topics"),
        ("producer", f'{SERVICE}\ntopic_prefixes = [""]', "An empty prefix matches every topic"),
        ("consumer", f'{SERVICE}\ngroup = "g"', "A consumer requires topics"),
        ("consumer", CONSUMER, 'needs its input variable "group"'),
        ("consumer", f'{CONSUMER}\ngroup = ""', "The name of a group cannot be empty"),
        ("transactional-producer", f'{CONSUMER}\ntransactional_id = ""', "cannot be empty"),
        (
            "streams-app",
            f'{STREAMS}\nprocessing_guarantee = "exactly_once"',
            "The guarantee must be",
        ),
        ("streams-app", STREAMS.replace('["t"]', "[]"), "requires at least one input topic"),
        ("streams-app", STREAMS.replace('"app"', '"my app"'), "is a prefix of topics"),
        (
            "connect-cluster",
            f"{CONNECT}\nconnectors = {{ a = {{}} }}",
            "must read or write at least",
        ),
        ("team-namespace", 'team = "Pay"', "lower-case letters"),
        ("team-namespace", f'{TEAM}\nprefix = "pay"', "A prefix must end with"),
        (
            "team-namespace",
            f"{TEAM}\ntopics = {{ a = {{ partitions = 25 }} }}",
            "more than 24 partitions",
        ),
        (
            "team-namespace",
            f'{TEAM}\ntopics = {{ a = {{ config = {{ "retention.ms" = "-1" }} }} }}',
            "longer than 2592000000 ms",
        ),
        ("topic-set-from-yaml", 'file = "none.yaml"', "The file none.yaml does not exist."),
    ],
)
def test_a_module_refuses_what_makes_no_sense(
    module: str, inputs: str, told: str, tmp_path: Path
) -> None:
    found = used(tmp_path, module, inputs)
    assert told in " ".join(each.detail for each in found.diagnostics)


@pytest.mark.parametrize(
    ("yaml", "told"),
    [
        ("topics: [a, b]", 'is not YAML with a mapping "topics"'),
        ("topics: {a: }\ntopic: {}", 'keys other than "defaults" and "topics"'),
        ("defaults: {retention: 1}\ntopics: {a: }", "The defaults in"),
        ("topics: {a: {retention.ms: 1}}", "Topic a in"),
        ("topics: {a: [}", "is not YAML"),
    ],
)
def test_a_yaml_file_with_a_mistake_is_refused(yaml: str, told: str, tmp_path: Path) -> None:
    found = used(tmp_path, "topic-set-from-yaml", 'file = "${path.module}/topics.yaml"', yaml)
    assert told in " ".join(each.detail for each in found.diagnostics)


def test_a_producer_needs_nothing_but_write(tmp_path: Path) -> None:
    found = used(tmp_path, "producer", f'{CONSUMER}\ntopic_prefixes = ["p."]\nhost = "10.0.0.1"')
    assert grants(found) == {
        ("Write", "Topic", "t", "Literal"),
        ("Write", "Topic", "p.", "Prefixed"),
    }
    assert {str(each.identity).split("|")[1] for each in found.resources} == {"10.0.0.1"}


def test_a_consumer_without_a_group_is_granted_topics_only(tmp_path: Path) -> None:
    found = used(tmp_path, "consumer", f"{CONSUMER}\ngroup = null")
    assert grants(found) == {("Read", "Topic", "t", "Literal")}
    assert outputs(found) == {"client_properties": {}}


def test_a_prefix_of_groups_leaves_the_name_to_the_client(tmp_path: Path) -> None:
    found = used(tmp_path, "consumer", f'{CONSUMER}\ngroup = "g-"\ngroup_is_prefix = true')
    assert ("Read", "Group", "g-", "Prefixed") in grants(found)
    assert outputs(found) == {"client_properties": {}}


def test_a_literal_transactional_id_is_told_to_the_client(tmp_path: Path) -> None:
    found = used(tmp_path, "transactional-producer", TRANSACTIONAL)
    assert ("Write", "TransactionalID", "id-", "Literal") in grants(found)
    assert outputs(found)["client_properties"]["transactional.id"] == "id-"


def test_streams_without_transactions_get_no_transactional_id(tmp_path: Path) -> None:
    found = used(tmp_path, "streams-app", STREAMS)
    assert grants(found) == {
        ("Read", "Topic", "t", "Literal"),
        ("Read", "Group", "app", "Literal"),
        *((each, "Topic", "app-", "Prefixed") for each in ("Create", "Delete", "Read", "Write")),
    }
    assert outputs(found)["internal_prefix"] == "app-"


def test_connect_without_connectors_gets_its_own_topics_and_group(tmp_path: Path) -> None:
    found = used(tmp_path, "connect-cluster", f'{CONNECT}\nstatus_topic = "s"')
    assert grants(found) == {
        ("Read", "Group", "c", "Literal"),
        *(
            (operation, "Topic", name, "Literal")
            for operation in ("Read", "Write")
            for name in ("c-configs", "c-offsets", "s")
        ),
    }
    made = {name: (each.partitions, each.config) for name, each in topics(found).items()}
    compact = {"cleanup.policy": "compact"}
    assert made == {"c-configs": (1, compact), "c-offsets": (25, compact), "s": (5, compact)}


def test_only_sources_get_transactional_ids(tmp_path: Path) -> None:
    connectors = 'connectors = { in = { writes = ["a"] }, out = { reads = ["b"], writes = ["c"] } }'
    found = used(
        tmp_path, "connect-cluster", f"{CONNECT}\n{connectors}\nexactly_once_source = true"
    )
    ids = {grant for grant in grants(found) if grant[1] == "TransactionalID"}
    assert ids == {
        ("Write", "TransactionalID", "connect-cluster-c", "Literal"),
        ("Write", "TransactionalID", "c-in", "Prefixed"),
    }
    assert ("Read", "Group", "connect-out", "Literal") in grants(found)


def test_topics_that_connectors_share_are_granted_once(tmp_path: Path) -> None:
    connectors = 'connectors = { x = { reads = ["a"] }, y = { reads = ["a"], writes = ["a"] } }'
    found = used(tmp_path, "connect-cluster", f"{CONNECT}\n{connectors}")
    assert {grant[0] for grant in grants(found) if grant[2] == "a"} == {"Read", "Write"}


def test_one_principal_may_have_every_role_in_a_namespace(tmp_path: Path) -> None:
    everyone = '["User:app"]'
    roles = "\n".join(f"{each} = {everyone}" for each in ("members", "maintainers", "guests"))
    found = used(tmp_path, "team-namespace", f"{TEAM}\n{roles}")
    on_topics = {operation for operation, sort, _, _ in grants(found) if sort == "Topic"}
    assert on_topics == {"Alter", "AlterConfigs", "Create", "Delete", "Read", "Write"}


def test_a_limit_of_minus_one_lets_records_stay_for_ever(tmp_path: Path) -> None:
    inputs = f"""{TEAM}
    limits = {{ retention_ms = -1 }}
    topics = {{ a = {{ config = {{ "retention.ms" = "-1" }} }} }}
    """
    found = used(tmp_path, "team-namespace", inputs)
    assert topics(found)["pay.a"].config == {"retention.ms": "-1"}


def test_a_topic_says_more_than_defaults_and_defaults_more_than_inputs(tmp_path: Path) -> None:
    yaml = """
defaults: {partitions: 3, config: {flush.ms: 1, retention.ms: 2, segment.ms: 3}}
topics:
  plain:
  own:
    partitions: 6
    replication_factor: 2
    config:
      cleanup.policy: [compact, delete]
      preallocate: true
      retention.ms: 9
      segment.ms: null
"""
    inputs = 'file = "${path.module}/topics.yaml"\nprefix = "p."\npartitions = 9'
    found = topics(used(tmp_path, "topic-set-from-yaml", inputs, yaml))
    plain, own = found["p.plain"], found["p.own"]
    assert (plain.partitions, plain.replication_factor) == (3, 3)
    assert plain.config == {"flush.ms": "1", "retention.ms": "2", "segment.ms": "3"}
    assert (own.partitions, own.replication_factor) == (6, 2)
    assert own.config == {
        "cleanup.policy": "compact,delete",
        "flush.ms": "1",
        "preallocate": "true",
        "retention.ms": "9",
    }


def test_topics_need_no_defaults(tmp_path: Path) -> None:
    yaml = "topics: {a: {config: }}"
    found = used(tmp_path, "topic-set-from-yaml", 'file = "${path.module}/topics.yaml"', yaml)
    assert topics(found) == {"a": Topic("a", 1, 3)}
    assert outputs(found) == {"names": {"a": "a"}}
