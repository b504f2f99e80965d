"""Use case over many clusters: following their authorizer logs as streams."""

import os
import threading
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import quote

from kplan.config.fleet_file import FleetCluster, FleetConfiguration
from kplan.fleet.logs.audit_topic import OffsetRange, follow_records
from kplan.fleet.logs.outcome import Added
from kplan.fleet.spark.joined import has_spark
from kplan.fleet.spark.session import SparkSettings, open_session
from kplan.fleet.store import Store
from kplan.fleet.stream import (
    Batch,
    FollowedTopic,
    LogSource,
    StreamOptions,
    add_records,
    run_streams,
    ticks,
)
from kplan.model.errors import KplanError, UsageError
from kplan.model.log_layout import KAFKA_SCHEME
from kplan.report.documents.notation import count_text
from kplan.workflow.fleet.fleet import choose_engine, open_store, read_fleet, server_settings
from kplan.workflow.fleet.ingest import ingest_files, log_patterns, logging_clusters
from kplan.workflow.fleet.ingest_topics import (
    find_records,
    find_topic_id,
    log_topics,
    warn_of_topic,
)
from kplan.workflow.fleet.ports import FleetOptions, FleetPorts

if TYPE_CHECKING:
    from kplan.fleet.spark.session import DataFrame, SparkSession

CHECKPOINTS = "checkpoints"
"""The folder of a store with what Spark notes of streams."""
_FILES, _TOPICS = "files", "topics"


def follow_logs(
    options: FleetOptions, ports: FleetPorts, interval_s: float, stop_event: threading.Event
) -> None:
    """Follow the authorizer logs that the fleet file names until an event is set.

    Their sums are kept as `ingest_logs` keeps them, in micro-batches. What goes wrong with one
    cluster is a note, and tried again.

    Raises:
        FleetError: Spark does not start or has ended, or another process follows the same logs.
        UsageError: no log is named, or Spark Connect is.

    """
    fleet = read_fleet(options)
    clusters = logging_clusters(fleet, options)
    engine = _stream_engine(fleet, options.engine)
    ports.progress.stage("Starting Spark")
    with open_session(engine, ports.progress, options.command) as spark:
        store = open_store(spark, fleet)
        store.logs.parts()  # says now what no stream can work on
        follower = _Follower(store, spark, fleet, ports)
        sources = [follower.files(clusters)] if log_patterns(clusters) else []
        sources += [follower.topic(each, topic) for each in clusters for topic in log_topics(each)]
        run = StreamOptions(
            f"{store.root}/{CHECKPOINTS}",
            interval_s,
            follower.report_batch,
            follower.report_failure,
        )
        ports.progress.stage("")
        ports.progress.note(
            f"Following the logs of {count_text(len(clusters), 'cluster')} into {store.name}, "
            f"every {interval_s:g} s."
        )
        run_streams(spark, sources, run, stop_event)


def _stream_engine(fleet: FleetConfiguration, engine: SparkSettings) -> SparkSettings:
    """Say which Spark works: one whose driver is this process, as micro-batches come back to it.

    Raises UsageError.
    """
    if not engine.remote and has_spark(os.environ):
        return choose_engine(fleet, engine)
    is_named = engine.master or engine.remote
    remote = engine.remote if is_named else fleet.spark_remote
    if remote:
        raise UsageError(
            "-follow does not work through Spark Connect: micro-batches are kept by this process.",
            "Name a master with -master, or leave out both for this machine.",
        )
    conf = {**fleet.spark_conf, **engine.conf}
    master = engine.master or fleet.spark_master
    conf |= server_settings(fleet, conf)
    return SparkSettings(master, "", conf, fleet.store_format)


class _Follower:
    """What streams read, and how that is told."""

    def __init__(
        self, store: Store, spark: "SparkSession", fleet: FleetConfiguration, ports: FleetPorts
    ) -> None:
        self._store = store
        self._spark = spark
        self._fleet = fleet
        self._ports = ports
        self._told: set[str] = set()

    def files(self, clusters: "tuple[FleetCluster, ...]") -> LogSource:
        """Return the files of all clusters as one source."""
        given = log_patterns(clusters)

        def add(rows: "DataFrame") -> Added:
            del rows
            found = ingest_files(self._store, self._spark, given)
            failures = {f"{name}: {each.detail or each.summary}" for name, each in found.failures}
            self._note_new({*failures, *found.notes})
            return found.added

        return LogSource(_FILES, _FILES, ticks, add)

    def topic(self, cluster: FleetCluster, topic: str) -> LogSource:
        """Return a topic of a cluster as a source."""

        def find(*, is_told: bool = True) -> "tuple[OffsetRange, ...]":
            ends = self._store.logs.topic_ends()
            (found,) = find_records(self._fleet, cluster, [topic], ends, self._ports)
            if is_told:
                warn_of_topic(cluster.name, found, ends, self._ports)
            return found

        settings = partial(self._ports.java_client_settings, cluster)
        topic_id = partial(find_topic_id, cluster, topic, self._ports)
        followed = FollowedTopic(
            cluster.name, topic, settings, cluster.audit_time_zone, find, topic_id
        )

        def load(spark: "SparkSession") -> "DataFrame":
            starts = {each.partition: min(each.start, each.end) for each in find(is_told=False)}
            return follow_records(spark, topic, starts, settings())

        def add(rows: "DataFrame") -> Added:
            store = self._store.with_session(rows.sparkSession)
            return add_records(store, rows, followed)

        place = "/".join(quote(each, safe="") for each in (_TOPICS, cluster.name, topic))
        return LogSource(f"{cluster.name}: {KAFKA_SCHEME}{topic}", place, load, add)

    def report_batch(self, batch: Batch) -> None:
        """Report what a micro-batch read."""
        self._note(batch_text(batch))

    def report_failure(self, source: str, failure: KplanError) -> None:
        """Tell why a query has ended, which is started again."""
        self._note(f"{source}: {failure_text(failure)}")

    def _note_new(self, notes: set[str]) -> None:
        """Report what the micro-batch before did not report."""
        for each in sorted(notes - self._told):
            self._note(each)
        self._told = notes

    def _note(self, text: str) -> None:
        at = self._ports.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        self._ports.progress.note(f"{at} {text}")


def batch_text(batch: Batch) -> str:
    """Say what a micro-batch read: `files: 2 lines of 1 log [0.5 s]`."""
    added = batch.added
    logs = len({(each.cluster, each.source) for each in added.parts})
    malformed = f", {added.malformed:,} of them malformed" if added.malformed else ""
    others = f", and {added.others:,} of other loggers" if added.others else ""
    return (
        f"{batch.source}: {count_text(added.lines, 'line')} of {count_text(logs, 'log')}"
        f"{malformed}{others} [{batch.elapsed_s:.1f} s]"
    )


def failure_text(failure: KplanError) -> str:
    """Say why a query has ended, which is started again; Java ends its texts without a point."""
    reason = (failure.detail or failure.summary).rstrip(".")
    hint = f" hint: {failure.hint}" if failure.hint else ""
    return f"{reason}. kplan tries again.{hint}"
