"""Use case over many clusters: reading authorizer logs that are in topics."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kplan.cluster.request import TopicDescription
from kplan.cluster.usage import TopicUse
from kplan.config.fleet_file import FleetCluster, FleetConfiguration
from kplan.fleet.logs import audit_topic
from kplan.fleet.logs.counts import LineCount, add_counts
from kplan.fleet.logs.files import LINE_BYTES, NewLines
from kplan.fleet.logs.lines import sum_lines
from kplan.fleet.logs.part import LogPart
from kplan.fleet.logs.topic_part import (
    TopicEnd,
    cluster_ends,
    lost_offsets,
    new_logs,
    topic_part,
    unread_offsets,
)
from kplan.fleet.spark.jobs import describe_jobs
from kplan.fleet.store import Store
from kplan.model.errors import ConfigError, FleetError, KplanError, UsageError
from kplan.model.log_layout import KAFKA_SCHEME
from kplan.report.documents.notation import count_text
from kplan.workflow.fleet.ports import FleetPorts

if TYPE_CHECKING:
    from kplan.fleet.spark.session import DataFrame, SparkSession

_CONNECTIONS = 8
"""Clusters that are asked at once how long their topics are."""
Logging = tuple[FleetConfiguration, Sequence[FleetCluster]]
Failures = list[tuple[str, KplanError]]


def log_topics(cluster: FleetCluster) -> list[str]:
    """Return the names of the topics with the log of a cluster."""
    found = (each for each in cluster.audit if each.startswith(KAFKA_SCHEME))
    return [each.removeprefix(KAFKA_SCHEME) for each in found]


class _NewRecords(NamedTuple):
    """What came into a topic: spans of its partitions, and how to connect to it.

    `time_zone` is that of lines that name none, "" UTC.
    """

    cluster: str
    spans: Sequence[audit_topic.OffsetRange]
    options: Mapping[str, str]
    time_zone: str


class IngestedTopics(NamedTuple):
    """What is wrong with the topics of clusters, and the lines read of each partition."""

    failures: Failures
    counts: Sequence[LineCount]


def ingest_topics(
    store: Store, spark: "SparkSession", logging: Logging, ports: FleetPorts
) -> IngestedTopics:
    """Read what came into topics since they were last read, those of all clusters in one job."""
    fleet, clusters = logging
    known, failures = store.logs.topic_ends(), []
    found: list[_NewRecords] = []
    with ThreadPoolExecutor(_CONNECTIONS, thread_name_prefix="topics") as pool:
        work = partial(_find_new_records, fleet, known=known, ports=ports)
        asked = [(each.name, pool.submit(work, each)) for each in clusters]
        for name, records in asked:
            try:
                found += records.result()
            except KplanError as failure:
                failures.append((name, failure))
    counts: list[LineCount] = []
    if found:
        try:
            counts += _add_records(store, spark, found)
        except FleetError as failure:
            if len(found) == 1:
                return IngestedTopics([*failures, (found[0].cluster, failure)], ())
            each_failed, counts = _add_each(store, spark, found)
            failures += each_failed
    return IngestedTopics(failures, counts)


def topic_counts(partitions: Iterable[LineCount]) -> list[LineCount]:
    """Add up the lines of the partitions of each topic."""
    found: dict[tuple[str, str], list[LineCount]] = {}
    for each in partitions:
        found.setdefault((each.cluster, each.source.rpartition("/")[0]), []).append(each)
    return [add_counts(*place, own) for place, own in found.items()]


def _find_new_records(
    fleet: FleetConfiguration,
    cluster: FleetCluster,
    *,
    known: Mapping[tuple[str, str], TopicEnd],
    ports: FleetPorts,
) -> list[_NewRecords]:
    """Ask a cluster how long its topics are; raises KplanError."""
    found = find_records(fleet, cluster, log_topics(cluster), known, ports)
    new = [spans for spans in found if any(each.start < each.end for each in spans)]
    for spans in new:
        warn_of_topic(cluster.name, spans, known, ports)
    return [
        _NewRecords(
            cluster.name, spans, ports.java_client_settings(cluster), cluster.audit_time_zone
        )
        for spans in new
    ]


def find_records(
    fleet: FleetConfiguration,
    cluster: FleetCluster,
    topics: Sequence[str],
    known: Mapping[tuple[str, str], TopicEnd],
    ports: FleetPorts,
) -> list[tuple[audit_topic.OffsetRange, ...]]:
    """Ask a cluster for each topic what is to be read of its partitions.

    `known` are the ends that were read up to, by cluster and source. Raises KplanError.
    """
    if cluster.provider is None:
        raise UsageError(
            f"No file describes how topic {topics[0]} of cluster {cluster.name} is read.",
            'Give the cluster a provider "kafka" block.',
        )
    connect, problems = ports.connector(cluster)
    if connect is None:
        raise ConfigError(problems, fleet.sources)
    own = cluster_ends(cluster.name, known)
    found = []
    with closing(connect()) as opened:
        for topic, use in opened.topic_use(topics).items():
            spans = tuple(_offset_ranges(topic, use, own))
            if not spans:
                detail = "; ".join(use.unread)
                raise FleetError(f"Topic {topic} of cluster {cluster.name}: {detail}.")
            found.append(spans)
    return found


def find_topic_id(cluster: FleetCluster, topic: str, ports: FleetPorts) -> str:
    """Ask a cluster for the id of a topic; "" is that it has none, or is not shown.

    Raises KplanError.
    """
    connect, _ = ports.connector(cluster)
    if connect is None:
        return ""
    with closing(connect()) as opened:
        described = opened.topics([topic]).get(topic)
    return described.topic_id if isinstance(described, TopicDescription) else ""


def warn_of_topic(
    cluster: str,
    spans: Sequence[audit_topic.OffsetRange],
    known: Mapping[tuple[str, str], TopicEnd],
    ports: FleetPorts,
) -> None:
    """Say that a topic was re-created or truncated, and which of its records are lost.

    In: what `find_records` gives of it.
    """
    own = cluster_ends(cluster, known)
    if anew := new_logs(spans, own):
        ports.progress.note(_restart_text(cluster, anew, own))
    if lost := lost_offsets(spans, own):
        ports.progress.note(_loss_text(cluster, lost))


def _loss_text(cluster: str, lost: Sequence[audit_topic.OffsetRange]) -> str:
    first, more = lost[0], len(lost) - 1
    others = f" and some of {count_text(more, 'other partition')}" if more else ""
    return (
        f"Warning: {cluster}: records of topic {first.topic} were removed before they were read: "
        f"offsets {first.start:,} to {first.end - 1:,} of partition {first.partition}{others}. "
        "Their requests are not counted. Ingest more often, or retain records for longer."
    )


def _restart_text(
    cluster: str, spans: Sequence[audit_topic.OffsetRange], known: Mapping[str, TopicEnd]
) -> str:
    first, more = spans[0], len(spans) - 1
    end = known[first.source]
    others = f", and {count_text(more, 'other partition')} before what was read" if more else ""
    why = (
        f"re-created: it has the id {first.topic_id}, and {end.topic_id} was read"
        if end.is_of_other_topic(first.topic_id)
        else f"re-created or truncated: partition {first.partition} ends at offset {first.end:,} "
        f"and was read up to {end.end:,}{others}"
    )
    return (
        f"Warning: {cluster}: topic {first.topic} was {why}. It is read from its first offset as a "
        "new log; what was read before counts, too."
    )


def _add_records(
    store: Store, spark: "SparkSession", found: Sequence[_NewRecords]
) -> Sequence[LineCount]:
    """Add up new records of topics; raises FleetError."""
    parts: list[LogPart] = []
    lines: DataFrame | None = None
    for records in found:
        spans = {2 * (len(parts) + at): each for at, each in enumerate(records.spans)}
        has_zone = bool(records.time_zone)
        read = audit_topic.read_records(spark, spans, records.options, has_zone=has_zone)
        lines = read if lines is None else lines.unionByName(read)
        parts += [topic_part(records.cluster, each, number) for number, each in spans.items()]
    size = sum(each.end - each.start for each in parts) * LINE_BYTES
    if lines is None:
        return ()
    describe_jobs(spark, f"read {count_text(len(found), 'topic')} with new records")
    zones = {each.cluster: each.time_zone for each in found if each.time_zone}
    sums = sum_lines(lines, frozenset(each.part for each in parts if each.cluster in zones))
    return store.logs.add(sums, NewLines(tuple(parts), size=size), zones).counts


def _add_each(
    store: Store, spark: "SparkSession", found: Sequence[_NewRecords]
) -> tuple[Failures, list[LineCount]]:
    failures: Failures = []
    counts: list[LineCount] = []
    for each in found:
        try:
            counts += _add_records(store, spark, [each])
        except FleetError as failure:
            failures.append((each.cluster, failure))
    return failures, counts


def _offset_ranges(
    topic: str, use: TopicUse, known: Mapping[str, TopicEnd]
) -> Iterator[audit_topic.OffsetRange]:
    """Say what is to be read of each partition; nothing where one of them cannot be seen."""
    parts = sorted(use.partitions.items())
    if any(each.start is None or each.end is None for _, each in parts):
        return
    for number, part in parts:
        whole = audit_topic.OffsetRange(
            topic, number, part.start or 0, part.end or 0, topic_id=use.topic_id
        )
        yield unread_offsets(whole, known.get(whole.source))
