"""Use cases over many clusters: authorizer logs, usage, and HCL to remove what is unused."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from kplan.cluster.usage import TopicUse
from kplan.config.fleet_file import FleetCluster, FleetConfiguration
from kplan.fleet import audit, audit_topic, dataframe, inventory
from kplan.fleet.log_layout import nearest_layout, parse_lines
from kplan.fleet.session import open_session
from kplan.fleet.snapshot import Row
from kplan.fleet.store import Store, UnreadableLog
from kplan.kinds import KINDS
from kplan.kinds.schema import from_document
from kplan.model.errors import ConfigError, FleetError, KplanError, UsageError
from kplan.model.resource import Identity
from kplan.model.state import State
from kplan.model.table import Figures
from kplan.model.version import VERSION
from kplan.workflow.adopt.block import declarable_value, generate_blocks, is_writable
from kplan.workflow.fleet.desired import FleetOptions, FleetPorts, read_owned
from kplan.workflow.fleet.fleet import (
    OpenSnapshot,
    choose_engine,
    filter_clusters,
    open_snapshot,
    read_audit,
    read_fleet,
    render_figures,
)

WARNED_SHARE, FAILED_SHARE = 0.01, 0.5
"""Shares of malformed lines of a log above which this is a warning, and an error."""
EXAMPLE_LENGTH = 200
"""Characters of a malformed line that a message shows."""
_OWNED_HEADER = """\
# These objects are unused. Delete their resource blocks, add this file, and plan: the plan deletes
# them. Of a block with for_each delete only the key.
"""
_UNOWNED_HEADER = """\
# These objects are unused, and kplan does not own them, so it does not delete them. To delete
# some, add their blocks and apply: that changes nothing but makes kplan their owner. Then take the
# blocks out again and plan.
"""


def render_removals(state: State, unused: Sequence[Row]) -> Mapping[str, str]:
    """Write, by the ending of a file, `removed` blocks for owned objects, and blocks for the rest.

    `unused` are rows of one cluster, `state` is its own.
    """
    owned = {(each.address.kind, each.identity): each.address for each in state.owned.values()}
    named = {(row.kind, Identity(row.identity)): row for row in unused}
    addresses = sorted(
        (owned[key] for key in owned.keys() & named.keys()), key=lambda each: each.sort_key
    )
    blocks = [
        f"removed {{\n  from = {each}\n  lifecycle {{\n    destroy = true\n  }}\n}}\n"
        for each in addresses
    ]
    foreign = [row for key, row in sorted(named.items()) if key not in owned]
    texts = {
        "unused": _OWNED_HEADER + "\n" + "\n".join(blocks) if blocks else "",
        "unmanaged": _UNOWNED_HEADER + "\n" + _render_unowned(foreign, state) if foreign else "",
    }
    return {ending: text for ending, text in texts.items() if text}


def _render_unowned(rows: Sequence[Row], state: State) -> str:
    values: dict[str, list[object]] = {}
    taken: dict[str, set[str]] = {}
    for each in state.owned.values():
        taken.setdefault(each.address.kind, set()).add(each.address.name)
    for kind in KINDS:
        found = (row.value for row in rows if row.kind == kind.name and row.value is not None)
        read = (from_document(kind.schema, json.loads(each)) for each in found)
        values[kind.name] = [declarable_value(each) for each in read if is_writable(each)]
    return generate_blocks(values, KINDS, taken, "unmanaged.tf")


if TYPE_CHECKING:
    from kplan.fleet.session import DataFrame, SparkSession


def ingest_logs(options: FleetOptions, ports: FleetPorts) -> Figures:
    """Read the authorizer logs that the fleet file names, and keep their sums.

    A file that grew since it was read is read again, and takes its own place; of a topic only what
    came since is read. What goes wrong with one cluster is a note, unless it goes wrong with all.
    """
    fleet = read_fleet(options)
    logging = [each for each in options.selected_clusters(fleet) if each.audit]
    if not logging:
        raise UsageError(
            "The fleet file names no authorizer log.", 'In a cluster block: audit = ["logs/*.log"]'
        )
    engine = choose_engine(fleet, options.engine)
    if any(map(_log_topics, logging)) and not engine.remote:
        more = audit_topic.connector_settings(engine.conf, options.inputs.environ)
        engine = replace(engine, conf={**engine.conf, **more})
    ports.progress.stage("Starting Spark")
    with open_session(engine, ports.progress.tasks) as spark:
        store = Store(spark, fleet.store, fleet.store_format)
        notes = _ingest_all(store, spark, [(fleet, each) for each in logging], ports)
        history = filter_clusters(options, store.usage())
        malformed = filter_clusters(options, store.malformed_lines())
        lineage = {**audit.log_lineage(history), "answered_by": VERSION, "store": fleet.store}
        notes += report_malformed(
            audit.malformed_logs(history, malformed, WARNED_SHARE), ports.progress.note
        )
        dataframe.write_table(history, options.output, lineage)
        dataframe.write_table(malformed, options.output, lineage, "malformed")
        told = {
            "requests": audit.request_counts(history),
            "malformed_lines": audit.malformed_counts(malformed),
            "malformed": malformed,
        }
        tables = dataframe.collect_tables(told, options.limit)
        return Figures("Authorizer logs", tables, lineage, tuple(notes))


def report_malformed(logs: Sequence[audit.MalformedLog], warn: Callable[[str], None]) -> list[str]:
    """Warn of logs with malformed lines; returns those of which most lines are malformed."""
    errors = []
    for each in logs:
        lines = "".join(f"\n    {line[:EXAMPLE_LENGTH]}" for line in each.examples)
        text = (
            f"{each.cluster}: {each.malformed:,} of {each.lines:,} lines ({each.share:.0%}) of "
            f"{each.source} are malformed"
        )
        if each.share > FAILED_SHARE:
            nearest = nearest_layout(each.examples)
            layout = f"the nearest layout is {nearest}" if nearest else "no layout is near"
            errors.append(f"{text}; {layout}:{lines}")
        else:
            warn(f"Warning: {text}:{lines}")
    return errors


def _ingest_all(
    store: Store,
    spark: "SparkSession",
    logging: Sequence[tuple[FleetConfiguration, FleetCluster]],
    ports: FleetPorts,
) -> list[str]:
    """Read all logs; returns the problems of those that failed. Raises KplanError."""
    failures: list[tuple[str, KplanError]] = []
    stopped = 0
    for what in logging:
        name = what[1].name
        ports.progress.stage(f"Reading logs of {name}")
        try:
            failures.extend((name, each) for each in _ingest(store, spark, what, ports))
        except KplanError as failure:
            failures.append((name, failure))
            stopped += 1
    if stopped == len(logging):
        raise failures[0][1]
    return [
        f"{name}: not all of its logs were read: {failure.detail or failure.summary}"
        for name, failure in failures
    ]


def _ingest(
    store: Store,
    spark: "SparkSession",
    what: tuple[FleetConfiguration, FleetCluster],
    ports: FleetPorts,
) -> list[UnreadableLog]:
    """Read all logs of one cluster; returns why some were left out. Raises KplanError."""
    _, cluster = what
    left_out = _ingest_files(store, spark, cluster)
    for topic in _log_topics(cluster):
        _ingest_topic(store, spark, (*what, topic), ports)
    return left_out


def _ingest_files(
    store: Store, spark: "SparkSession", cluster: FleetCluster
) -> list[UnreadableLog]:
    """Read the files that are new or changed, without those that cannot be read."""
    patterns, zone = _log_files(cluster), cluster.audit_time_zone
    found = audit.list_log_files(spark, cluster.name, patterns, zone) if patterns else []
    new = audit.new_log_files(found, store.log_stamps(cluster.name)) if found else []
    left_out: list[UnreadableLog] = []
    while new:
        try:
            store.append_audit(parse_lines(audit.read_lines(spark, cluster.name, new)), new, zone)
            break
        except UnreadableLog as failure:
            rest = [each for each in new if each.source != failure.source]
            if not rest or len(rest) == len(new):
                raise
            new = rest
            left_out.append(failure)
    return left_out


def _log_files(cluster: FleetCluster) -> list[str]:
    return [each for each in cluster.audit if not each.startswith(audit_topic.KAFKA_SCHEME)]


def _log_topics(cluster: FleetCluster) -> list[str]:
    found = (each for each in cluster.audit if each.startswith(audit_topic.KAFKA_SCHEME))
    return [each.removeprefix(audit_topic.KAFKA_SCHEME) for each in found]


def _ingest_topic(
    store: Store,
    spark: "SparkSession",
    what: tuple[FleetConfiguration, FleetCluster, str],
    ports: FleetPorts,
) -> None:
    """Read the new records of a topic."""
    fleet, cluster, topic = what
    if cluster.provider is None:
        raise UsageError(
            f"No file describes how topic {topic} of cluster {cluster.name} is read.",
            'Give the cluster a provider "kafka" block.',
        )
    connect, problems = ports.connector(cluster)
    if connect is None:
        raise ConfigError(problems, fleet.sources)
    with closing(connect()) as opened:
        use = opened.topic_use([topic])[topic]
    spans = tuple(_offset_ranges(topic, use, store.topic_offsets(cluster.name)))
    if not spans:
        raise FleetError(f"Topic {topic} of cluster {cluster.name}: {'; '.join(use.unread)}.")
    if any(each.start < each.end for each in spans):
        found = audit_topic.read_records(
            spark, cluster.name, spans, ports.java_client_settings(cluster)
        )
        store.append_records(cluster.name, parse_lines(found), spans)


def _offset_ranges(
    topic: str, use: TopicUse, known: Mapping[str, int]
) -> Iterator[audit_topic.OffsetRange]:
    """Return the offsets to read of each partition; none if a partition is unreadable."""
    parts = sorted(use.partitions.items())
    if any(each.start is None or each.end is None for _, each in parts):
        return
    for number, part in parts:
        whole = audit_topic.OffsetRange(topic, number, part.start or 0, part.end or 0)
        yield replace(whole, start=max(whole.start, known.get(whole.source, 0)))


def read_usage(options: FleetOptions, ports: FleetPorts, removed: Path | None = None) -> Figures:
    """Return the last use by principals, and the unused ACLs and topics.

    With `removed` HCL is written there for review, for each cluster with a configuration: `removed`
    blocks for what kplan owns of them, and for the others resource blocks to own them first.
    """
    with open_snapshot(options, ports) as found:
        history = read_audit(options, ports, found.store)
        idle = unused_objects(found.objects, history)
        if removed is not None:
            idle = {name: each.cache() for name, each in idle.items()}  # asked twice
            rows = audit.removal_candidates(
                found.objects, idle["unused_acls"], idle["unused_topics"]
            )
            _write_removals(found, rows, removed, (options, ports))
        told = {"used": audit.last_usage(history), **idle}
        return render_figures(
            "Use of the fleet", told, (options, found), audit.log_lineage(history)
        )


def unused_objects(objects: "DataFrame", history: "DataFrame") -> "dict[str, DataFrame]":
    """Return the unused objects, and the clusters for whose ACLs usage is unknown."""
    return {
        "unused_acls": audit.unused_acls(objects, history),
        "unused_topics": audit.unused_topics(objects, history),
        "unheard": inventory.clusters_without_log(objects, history),
    }


def _write_removals(
    found: OpenSnapshot,
    candidates: "DataFrame",
    folder: Path,
    given: tuple[FleetOptions, FleetPorts],
) -> None:
    options, ports = given
    clusters = {each.name: each for each in found.fleet.clusters if each.configuration is not None}
    if not clusters:
        ports.progress.note("No cluster has a configuration: there is nothing to write HCL for.")
        return
    folder.mkdir(parents=True, exist_ok=True)
    rows = (Row(*each) for each in candidates.select(*Row._fields).toLocalIterator())
    for name, own in groupby(rows, key=lambda each: each.cluster):
        if name not in clusters:
            continue
        for ending, text in render_removals(
            read_owned(clusters[name], options, ports), list(own)
        ).items():
            file = folder / f"{name}.{ending}.tf"
            file.write_text(text, encoding="utf-8")
            ports.progress.note(f"Written: {file}")
