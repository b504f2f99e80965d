"""The value of a topic, and the checks of a declared topic that need no cluster."""

from collections.abc import Iterator, Mapping
from dataclasses import field
from difflib import get_close_matches
from functools import lru_cache
from typing import Annotated

from kplan.cluster.protocol import INT16_MAX, INT32_MAX
from kplan.cluster.request import Assignment
from kplan.cluster.topic import (
    is_internal_topic,
    is_own,
    topic_name_fault,
    topic_value_fault,
)
from kplan.kinds.base import Problem
from kplan.kinds.schema import Attribute, InternalField
from kplan.model.dataclass import dataclass

KNOWN_TOPIC_CONFIGS = frozenset(
    (
        "cleanup.policy",
        "compression.gzip.level",
        "compression.lz4.level",
        "compression.type",
        "compression.zstd.level",
        "delete.retention.ms",
        "errors.deadletterqueue.copy.record.enable",
        "errors.deadletterqueue.topic.name",
        "file.delete.delay.ms",
        "flush.messages",
        "flush.ms",
        "follower.replication.throttled.replicas",
        "index.interval.bytes",
        "internal.segment.bytes",
        "leader.replication.throttled.replicas",
        "local.retention.bytes",
        "local.retention.ms",
        "max.compaction.lag.ms",
        "max.message.bytes",
        "message.downconversion.enable",
        "message.format.version",
        "message.timestamp.after.max.ms",
        "message.timestamp.before.max.ms",
        "message.timestamp.difference.max.ms",
        "message.timestamp.type",
        "min.cleanable.dirty.ratio",
        "min.compaction.lag.ms",
        "min.insync.replicas",
        "preallocate",
        "remote.copy.disable",
        "remote.log.copy.disable",
        "remote.log.delete.on.disable",
        "remote.storage.enable",
        "retention.bytes",
        "retention.ms",
        "segment.bytes",
        "segment.index.bytes",
        "segment.jitter.ms",
        "segment.ms",
        "unclean.leader.election.enable",
    )
)
"""Topic configs of Apache Kafka 2 to 4 (its "Topic Configs" reference). Vendors add their own."""

_MAX_CONFIG_VALUE = 32_767
_MAX_UNCHECKED_LENGTH = _MAX_CONFIG_VALUE // 4  # a character has up to four bytes


def topic_problems(
    name: str,
    counts: tuple[int | None, int | None],
    assignment: Assignment | None,
    config: Mapping[str, str],
) -> Iterator[Problem]:
    """Check name, layout (`counts` is partitions and replication factor) and configs."""
    yield from _name_problems(name)
    if assignment is None:
        yield from _count_problems(name, *counts)
    else:
        yield from _assignment_problems(name, counts, assignment)
    for key, value in sorted(config.items()):
        if key not in KNOWN_TOPIC_CONFIGS or len(value) > _MAX_UNCHECKED_LENGTH:
            yield from _config_problems(key, value)
        elif fault := _value_fault(key, value):
            detail = f'{key} is "{value}": {fault}.'
            yield Problem("KP208", detail, path=("config", key), is_independent=True)
    factor = len(assignment[0]) if assignment else counts[1]
    yield from _in_sync_problems(name, factor, config.get(_MIN_IN_SYNC, ""))


def _name_problems(name: str) -> Iterator[Problem]:
    if fault := topic_name_fault(name):
        shown = name if len(name) <= 60 else f"{name[:57]}..."  # noqa: PLR2004 - one line's worth
        detail = f'"{shown}" is not a valid topic name: {fault}.'
        yield Problem("KP201", detail, path=("name",), is_independent=True)
    elif is_internal_topic(name):
        yield Problem(
            "KP207",
            f'"{name}" belongs to {_topic_owner(name)} itself; kplan leaves such topics alone.',
            "Remove the resource; change internal topics with Kafka's own tools.",
            ("name",),
            is_independent=True,
        )


def _topic_owner(name: str) -> str:
    return "kplan" if is_own(name) else "Kafka"


def _count_problems(name: str, partitions: int | None, factor: int | None) -> Iterator[Problem]:
    counts = (
        ("KP204", "partition", partitions, INT32_MAX, "partitions"),
        ("KP205", "replica", factor, INT16_MAX, "replication_factor"),
    )
    for code, what, count, most, attribute in counts:
        if count is not None and not 1 <= count <= most:
            limit = f"needs at least 1 {what}" if count < 1 else f"takes at most {most:,} {what}s"
            detail = f'Topic "{name}" {limit}, got {count}.'
            yield Problem(code, detail, path=(attribute,), is_independent=True)


def _assignment_problems(
    name: str, counts: tuple[int | None, int | None], assignment: Assignment
) -> Iterator[Problem]:
    path = ("replica_assignment",)
    if counts != (None, None):
        yield Problem(
            "KP203",
            f'Topic "{name}" declares replica_assignment together with partitions or '
            "replication_factor; the assignment implies both.",
            "Use only one of the two forms.",
            path,
        )
    if not assignment:
        yield Problem("KP206", f'The assignment of topic "{name}" has no partition.', path=path)
    elif len({len(replicas) for replicas in assignment}) > 1:
        yield Problem(
            "KP206",
            f'The partitions of topic "{name}" have different numbers of replicas.',
            "Give each partition the same number of brokers.",
            path,
        )
    for partition, replicas in enumerate(assignment):
        is_distinct = 0 < len(set(replicas)) == len(replicas)
        if not is_distinct or not 0 <= min(replicas) <= max(replicas) <= INT32_MAX:
            yield Problem(
                "KP206",
                f'Partition {partition} of topic "{name}" is assigned to {list(replicas)}; '
                f"broker ids must be distinct, and from 0 to {INT32_MAX:,}.",
                path=path,
            )


_MIN_IN_SYNC = "min.insync.replicas"
_MAX_DIGITS = 10
"""Those of an int of Kafka's; longer numbers are another problem."""


def _in_sync_problems(name: str, factor: int | None, wanted: str) -> Iterator[Problem]:
    """Warn of more in-sync replicas than there are: Kafka takes it (KAFKA-15583 caps it)."""
    is_number = wanted.isdecimal() and len(wanted) <= _MAX_DIGITS
    if factor and is_number and int(wanted) > factor:
        replicas = "1 replica" if factor == 1 else f"{factor:,} replicas"
        yield Problem(
            "KP216",
            f'Topic "{name}" has {replicas} and {_MIN_IN_SYNC} = {wanted}. Before version 3.7 '
            "Kafka refuses all writes with acks=all (NOT_ENOUGH_REPLICAS); later versions refuse "
            "them as soon as one replica is not in sync.",
            f"Leave {_MIN_IN_SYNC} out, or declare more replicas."
            if factor == 1
            else f"Set {_MIN_IN_SYNC} to less than replication_factor, or declare more replicas.",
            ("config", _MIN_IN_SYNC),
            is_warning=True,
        )


# Thousands of topics have the same few configs.
_value_fault = lru_cache(4096)(topic_value_fault)


def _config_problems(key: str, value: str) -> Iterator[Problem]:
    if len(value.encode()) > _MAX_CONFIG_VALUE:
        yield Problem(
            "KP208",
            f'The value of "{key}" has {len(value.encode())} bytes; '
            f"Kafka takes at most {_MAX_CONFIG_VALUE}.",
            path=("config", key),
            is_independent=True,
        )
    elif fault := topic_value_fault(key, value):
        detail = f'The value of "{key}" has {len(value):,} characters: {fault}.'
        yield Problem("KP208", detail, path=("config", key), is_independent=True)
    if key not in KNOWN_TOPIC_CONFIGS:
        near = get_close_matches(key, sorted(KNOWN_TOPIC_CONFIGS), n=1)
        yield Problem(
            "KP208",
            f'Apache Kafka has no topic config "{key}".',
            f'Did you mean "{near[0]}"?' if near else "Check the name; a vendor's key is fine.",
            ("config", key),
            is_warning=True,
        )


THROTTLED_REPLICAS = (
    "follower.replication.throttled.replicas",
    "leader.replication.throttled.replicas",
)
"""Configs that a reassignment sets and takes away again; no one means them to last."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic. Counts left out are the broker's choice (KIP-464); an assignment implies them.

    A live topic has all of them, `config` then holds only the keys the topic itself overrides.
    `is_generated` says that kplan worked the assignment out: it is planned, and no one declared it.
    A live topic whose replicas are being moved is where it was before, and `moving_to` says
    where it goes. The topic before a change that takes such a move back is where it goes, and
    `origin` says where it was. `retention_target` is the declared retention.ms, where this is a
    step to it.
    """

    name: Annotated[str, Attribute("Name of the topic.", forces_replacement=True)]
    partitions: Annotated[
        int | None, Attribute("Number of partitions; it can only grow.", "number")
    ] = None
    replication_factor: Annotated[
        int | None, Attribute("Number of replicas of each partition.", "number")
    ] = None
    replica_assignment: Annotated[
        Assignment | None,
        Attribute(
            "Broker ids per partition, instead of the counts; the first is the preferred leader.",
            "list(list(number))",
        ),
    ] = None
    config: Annotated[
        Mapping[str, str], Attribute("Configs the topic overrides.", "map(string)")
    ] = field(default_factory=dict)
    placement: Annotated[
        Mapping[str, str] | None,
        Attribute(
            "How kplan places replicas: { strategy = rack-aware, balanced-leaders, in-rack or "
            "static }.",
            "map(string)",
            is_omitted_if_unset=True,
        ),
    ] = None
    is_generated: Annotated[bool, InternalField()] = False
    moving_to: Annotated[Assignment | None, InternalField()] = None
    origin: Annotated[Assignment | None, InternalField(is_reviewed=False)] = None
    retention_step: Annotated[
        str | None,
        Attribute(
            "The most that one apply cuts from retention.ms, for example 12h.",
            is_omitted_if_unset=True,
        ),
    ] = None
    retention_target: Annotated[str | None, InternalField()] = None

    @property
    def partition_count(self) -> int | None:
        """Number of partitions, declared or implied."""
        return self.partitions if self.replica_assignment is None else len(self.replica_assignment)

    @property
    def replica_count(self) -> int | None:
        """Number of replicas of each partition, declared or implied."""
        return (
            len(self.replica_assignment[0]) if self.replica_assignment else self.replication_factor
        )

    @property
    def strategy(self) -> str:
        """How replicas are placed, "" where nothing says so."""
        return (self.placement or {}).get("strategy", "")
