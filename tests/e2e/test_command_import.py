"""Taking over what a real Apache Kafka holds already."""

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from kplan.cluster.request import AclBinding, NewTopic, TopicRef
from kplan.kafka.cluster import open_cluster
from kplan.kafka.settings.resolver import resolve_settings
from kplan.sandbox.sandbox import Sandbox
from tests.e2e.commands import kplan
from tests.e2e.places import until

pytestmark = pytest.mark.broker

PREFIX = "adopted."
TOPICS = (
    NewTopic(f"{PREFIX}orders", 3, 1, config={"retention.ms": "3600000", "segment.ms": "600000"}),
    NewTopic(f"{PREFIX}log", 1, 1, config={"cleanup.policy": "compact,delete"}),
    NewTopic(f"{PREFIX}plain", 2, 1),
)
ACLS = tuple(
    AclBinding("TOPIC", f"{PREFIX}{name}", pattern, principal, host, operation, permission)
    for name, pattern, principal, host, operation, permission in (
        ("orders", "LITERAL", "User:writer", "*", "WRITE", "ALLOW"),
        ("orders", "LITERAL", "User:writer", "*", "DESCRIBE", "ALLOW"),
        ("log", "LITERAL", "User:writer", "*", "WRITE", "ALLOW"),
        ("", "PREFIXED", "User:reader", "*", "READ", "ALLOW"),
        ("log", "LITERAL", "User:CN=bad actor,O=x", "10.0.0.9", "ALL", "DENY"),
    )
)


def test_a_cluster_is_written_down_and_owned_and_then_there_is_nothing_to_do(
    tmp_path: Path, broker: Sandbox
) -> None:
    env = {"KPLAN_BOOTSTRAP_SERVERS": broker.bootstrap_servers, "KPLAN_TLS_ENABLED": "false"}
    settings = resolve_settings(None, env, folder=tmp_path).settings
    assert settings is not None
    with closing(open_cluster(settings)) as cluster:
        assert set(cluster.create_topics(TOPICS).values()) == {None}
        assert set(cluster.create_acls(ACLS).values()) == {None}
        until(lambda: set(ACLS) <= cluster.acls())
        try:
            _take_over(tmp_path, env)
        finally:
            cluster.delete_topics([TopicRef(each.name) for each in TOPICS])
            cluster.delete_acls(ACLS)


def _take_over(folder: Path, env: dict[str, str]) -> None:
    ran = kplan(folder, "import", "-all", f"-prefix={PREFIX}", "-generate-config=c.tf", env=env)
    assert (ran.code, "5 kafka_acl, 3 kafka_topic owned now." in ran.out) == (0, True), ran
    planned = kplan(folder, "plan", "-detailed-exitcode", env=env)
    assert planned.code == 0, planned
    assert kplan(folder, "drift", env=env).code == 0
    assert kplan(folder, "state", "verify", env=env).code == 0
    text = (folder / "c.tf").read_text()
    assert text.count("compression.type") == text.count("min.insync.replicas") == 0  # inherited
    shutil.rmtree(folder / "state")
    rebuilt = kplan(folder, "state", "rebuild", "-auto-approve", env=env)
    assert "8 objects to own." in rebuilt.out, rebuilt
    assert kplan(folder, "plan", "-detailed-exitcode", env=env).code == 0
