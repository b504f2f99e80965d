"""What the contract suite says to clusters, and real ones left as they were found."""

import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from kplan.cluster.port import Cluster
from kplan.cluster.request import AclBinding, ConfigSource, NewTopic, TopicDescription, TopicRef
from kplan.kafka.cluster import open_cluster
from kplan.kafka.settings.connection import ConnectionSettings
from kplan.kafka.settings.resolver import resolve_settings
from kplan.kafka.wire.driver import WireCluster
from kplan.model.errors import Refusal
from kplan.sandbox.sandbox import Sandbox, properties_file

Name = TypeVar("Name", bound=Hashable)
VISIBLE_S = 30.0
NOT_YET = (
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
)
"""How a broker answers that has not yet read the part of `__consumer_offsets` of a group."""


def settings_of(sandbox: Sandbox, user: str) -> ConnectionSettings:
    """Connect as a user of the sandbox by the file that it writes for that user."""
    file = properties_file(sandbox.folder, user)
    found = resolve_settings(None, {}, folder=Path(), properties_file=file)
    assert found.settings is not None, found.diagnostics
    return found.settings


def connected(kind: str, settings: ConnectionSettings) -> Cluster:
    """Connect with the implementation."""
    return WireCluster(settings) if kind == "wire" else open_cluster(settings)


@contextmanager
def cleaned(cluster: Cluster, prefix: str) -> Iterator[Cluster]:
    """Lend a cluster; remove what the test has left there."""
    with closing(cluster):
        yield cluster
        left = [name for name in cluster.topics() if name.startswith(prefix)]
        for start in range(0, len(left), 1000):
            cluster.delete_topics([TopicRef(name) for name in left[start : start + 1000]])
        acls = [each for each in cluster.acls() if f"{each}".count(prefix)]
        for start in range(0, len(acls), 500):
            cluster.delete_acls(acls[start : start + 500])


def errors(answers: Mapping[Name, object]) -> dict[Name, str]:
    """Name what became of each item: Kafka's error, or "ok"."""
    return {
        name: each.error if isinstance(each, Refusal) else "ok" for name, each in answers.items()
    }


def alike(found: Mapping[Name, str], wanted: Mapping[Name, str], *, exact: bool) -> bool:
    """Compare outcomes: by their codes, or only whether each item was refused."""
    if exact:
        return found == wanted
    return {key: each == "ok" for key, each in found.items()} == {
        key: each == "ok" for key, each in wanted.items()
    }


def soon(holds: Callable[[], bool]) -> None:
    """Wait until a broker shows what was acknowledged (trap 2)."""
    end = time.monotonic() + VISIBLE_S
    while not holds():
        assert time.monotonic() < end, "not visible in time"
        time.sleep(0.05)


def committed(consumer: Consumer, topic: str, offset: int) -> None:
    """Commit for partition 0, again while the coordinator of the group is new."""

    def is_taken() -> bool:
        try:
            consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
        except KafkaException as refused:
            if refused.args[0].code() not in NOT_YET:
                raise
            return False
        return True

    soon(is_taken)


def made(cluster: Cluster, *specs: NewTopic) -> None:
    """Create topics and wait until they can be used."""
    answers = cluster.create_topics(specs)
    assert set(errors(answers).values()) == {"ok"}, answers
    names = [spec.name for spec in specs]
    soon(lambda: all(is_ready(each) for each in cluster.topics(names).values()))


def is_ready(found: TopicDescription | Refusal) -> bool:
    return isinstance(found, TopicDescription) and found.leaderless == 0


def described(cluster: Cluster, name: str) -> TopicDescription:
    found = cluster.topics([name])[name]
    assert isinstance(found, TopicDescription)
    return found


def own_config(cluster: Cluster, name: str) -> dict[str, str | None]:
    found = cluster.topic_configs([name])[name]
    assert not isinstance(found, Refusal)
    return {key: each.value for key, each in found.items() if each.source is ConfigSource.TOPIC}


def listed(cluster: Cluster, prefix: str) -> list[str]:
    return sorted(name for name in cluster.topics() if name.startswith(prefix))


def acl(prefix: str, **given: str) -> AclBinding:
    parts = {
        "resource_type": "TOPIC",
        "resource_name": f"{prefix}orders",
        "pattern_type": "LITERAL",
        "principal": f"User:{prefix}app",
        "host": "*",
        "operation": "READ",
        "permission": "ALLOW",
    }
    return AclBinding(**{**parts, **given})


def own_acls(cluster: Cluster, prefix: str) -> set[AclBinding]:
    return {each for each in cluster.acls() if each.principal == f"User:{prefix}app"}
