"""Use cases: list and describe topics, and list their offsets."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import TypeVar

from kplan.cluster.port import Cluster
from kplan.cluster.request import NO_LEADER, ConfigEntry, ConfigSource, TopicDescription
from kplan.cluster.topic import is_internal_topic, topic_name_fault
from kplan.model.errors import ClusterError, Refusal, UsageError
from kplan.model.table import Cell, Figures, FigureTable

_T = TypeVar("_T")
Configs = Mapping[str, Mapping[str, ConfigEntry] | Refusal]


def list_topics(cluster: Cluster, match: str = "*", *, shows_internal: bool = False) -> Figures:
    """List the visible topics whose names fit a pattern, with `*` and `?`.

    Topics that could not be read are noted, and the others are reported.

    Raises:
        ClusterError: the cluster does not answer, or refuses to.

    """
    answers = {
        name: result for name, result in cluster.topics().items() if fnmatchcase(name, match)
    }
    found = _topic_descriptions(answers)
    shown = [each for each in found if shows_internal or not _is_internal(each)]
    configs = cluster.topic_configs([each.name for each in shown]) if shown else {}
    notes = [*_unread_notes(answers), *_unread_notes(configs, "Configs of topic")]
    if left_out := len(found) - len(shown):
        notes.append(f"Internal topics are not shown ({left_out}); -internal shows them.")
    rows = tuple(_topic_row(each, configs) for each in shown)
    columns = ("topic", "partitions", "replication_factor", "own_configs", "internal")
    return Figures("Topics", (FigureTable("topics", columns, rows),), notes=tuple(notes))


def describe_topics(cluster: Cluster, names: Sequence[str]) -> Figures:
    """Return all about some topics; configs are those that differ from Kafka's defaults.

    Topics that do not exist or are hidden are named in a note.

    Raises:
        UsageError: a name is none that a topic can have.
        ClusterError: none of the topics can be read; all are named.

    """
    found, notes = _find_topics(cluster, names)
    configs = cluster.topic_configs([each.name for each in found])
    notes += [*_unread_notes(configs, "Configs of topic")]
    return Figures(
        "Topics",
        (_topic_table(found), _partition_table(found), _config_table(configs)),
        notes=tuple(notes),
        findings=frozenset({"unread"} if notes else ()),
    )


def list_offsets(cluster: Cluster, names: Sequence[str]) -> Figures:
    """Return the offsets of topics, partition by partition.

    Raises:
        UsageError: a name is none that a topic can have.
        ClusterError: none of the topics can be read; all are named.

    """
    found, notes = _find_topics(cluster, names)
    used = cluster.topic_use([each.name for each in found])
    rows = tuple(
        (name, number, each.start, each.end, each.records, _format_time(each.newest_ms))
        for name, use in used.items()
        for number, each in sorted(use.partitions.items())
    )
    notes += [
        f"Topic {name}: {why.rstrip('.')}."
        for name, use in used.items()
        for why in use.unread
        if not why.startswith(_OTHER_USE_PREFIXES)
    ]
    columns = ("topic", "partition", "start", "end", "offsets", "newest_record")
    return Figures(
        "Offsets",
        (FigureTable("offsets", columns, rows),),
        notes=tuple(notes),
        findings=frozenset({"unread"} if notes else ()),
    )


_OTHER_USE_PREFIXES = ("sizes:", "producers:", "groups:")


def _format_time(newest_ms: int | None) -> str | None:
    """Write the time of a record, in UTC."""
    if newest_ms is None:
        return None
    return datetime.fromtimestamp(newest_ms / 1000, UTC).isoformat(timespec="seconds")


def _find_topics(
    cluster: Cluster, names: Sequence[str]
) -> tuple[list[TopicDescription], list[str]]:
    """Find topics by name, with a note for each that cannot be read.

    Raises:
        UsageError: a name is none that a topic can have.
        ClusterError: none of them can be read.

    """
    wanted = sorted(set(names))
    for name in wanted:
        if fault := topic_name_fault(name):
            raise UsageError(f'"{name}" is not a topic name: {fault}.')
    answers = cluster.topics(wanted)
    found, notes = _topic_descriptions(answers), [*_unread_notes(answers)]
    if notes and not found:
        raise ClusterError(" ".join(notes), _VISIBLE_TOPICS_HINT)
    return found, notes


_VISIBLE_TOPICS_HINT = (
    "kplan topics list shows the visible topics; kplan errors explain describes an error of Kafka."
)


def _topic_descriptions(
    answers: Mapping[str, TopicDescription | Refusal],
) -> list[TopicDescription]:
    found = (each for _, each in sorted(answers.items()))
    return [each for each in found if isinstance(each, TopicDescription)]


def _unread_notes(answers: Mapping[str, object], what: str = "Topic") -> Iterator[str]:
    for name, each in sorted(answers.items()):
        if isinstance(each, Refusal):
            yield f"{what} {name} cannot be read: {str(each).rstrip('.')}."


def _is_internal(topic: TopicDescription) -> bool:
    return topic.is_internal or is_internal_topic(topic.name)


def _topic_row(topic: TopicDescription, configs: Configs) -> tuple[Cell, ...]:
    return (
        topic.name,
        len(topic.assignment),
        _replication_factor(topic),
        _own_config_count(configs.get(topic.name)),
        _is_internal(topic),
    )


def _replication_factor(topic: TopicDescription) -> Cell:
    """Give the replication factor; partitions of one topic may differ while replicas are moved."""
    counts = sorted({len(replicas) for replicas in topic.assignment})
    return counts[0] if len(counts) == 1 else " or ".join(map(str, counts))


def _own_config_count(configs: Mapping[str, ConfigEntry] | Refusal | None) -> int | None:
    """Count the configs that are the topic's own; None where they could not be read."""
    if configs is None or isinstance(configs, Refusal):
        return None
    return sum(1 for each in configs.values() if each.source is ConfigSource.TOPIC)


def _topic_table(topics: Sequence[TopicDescription]) -> FigureTable:
    columns = (
        "topic", "topic_id", "partitions", "replication_factor", "leaderless", "under_replicated",
        "internal",
    )  # fmt: skip
    rows = tuple(
        (
            each.name,
            each.topic_id,
            len(each.assignment),
            _replication_factor(each),
            each.leaderless,
            each.under_replicated,
            _is_internal(each),
        )
        for each in topics
    )
    return FigureTable("topics", columns, rows)


def _partition_table(topics: Sequence[TopicDescription]) -> FigureTable:
    columns = (
        "topic", "partition", "leader", "preferred_leader", "replicas", "in_sync", "offline",
    )  # fmt: skip
    rows = tuple(
        (
            topic.name,
            at,
            _item(topic.leaders, at, None),
            replicas[0] if replicas else None,
            replicas,
            _item(topic.in_sync, at, ()),
            _item(topic.offline, at, ()),
        )
        for topic in topics
        for at, replicas in enumerate(topic.assignment)
    )
    return FigureTable("partitions", columns, rows)


def _item(found: Sequence[_T], at: int, absent: _T) -> _T:
    """Return the offset at a position; `absent` if it is unknown or there is no leader."""
    if at >= len(found) or found[at] == NO_LEADER:
        return absent
    return found[at]


def _config_table(configs: Configs) -> FigureTable:
    rows = tuple(
        (name, key, "(sensitive)" if each.is_sensitive else each.value, str(each.source))
        for name, found in sorted(configs.items())
        if not isinstance(found, Refusal)
        for key, each in sorted(found.items())
        if each.source is not ConfigSource.DEFAULT
    )
    return FigureTable("configs", ("topic", "config", "value", "source"), rows)
