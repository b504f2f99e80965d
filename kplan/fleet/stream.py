"""Streams of authorizer logs: queries of Spark's Structured Streaming that run until a signal.

What was read of a log is in the tables, where batch ingests keep it, too. A micro-batch takes only
what is not there yet, so that one that is done again after a kill, or what an ingest has read
meanwhile, counts once. Checkpoints say where the queries go on.
"""

import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, NamedTuple

from kplan.fleet.logs.audit_topic import OffsetRange, is_of_topic, read_records, record_lines
from kplan.fleet.logs.files import LINE_BYTES, NewLines
from kplan.fleet.logs.lines import sum_lines
from kplan.fleet.logs.outcome import Added
from kplan.fleet.logs.part import LogPart
from kplan.fleet.logs.topic_part import TopicEnd, cluster_ends, new_logs, topic_part
from kplan.fleet.spark.errors import failure_reason
from kplan.fleet.store import Store
from kplan.model.dataclass import dataclass
from kplan.model.errors import FleetError, KplanError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

STOP_TIMEOUT_S = 10.0
MIN_RETRY_S = 5.0
"""How long a query that failed waits at least until it is started again."""
POLL_INTERVAL_S = 0.5
_STOP_TIMEOUT_SETTING = "spark.sql.streaming.stopTimeout"
REFRESH_S = 600.0
"""How long what a stream knows of its topics holds, where others may write, too: far less than
COMPACT_GRACE, after which maintenance removes what it put together."""
_CONCURRENT_ERRORS = ("CONCURRENT_STREAM_LOG_UPDATE", "CONCURRENT_QUERY")
_MAX_CONFLICTS = 3
REMIND_S = 3600.0
"""After how long a failure that lasts is told again."""
_CHANGING_PARTS = re.compile(r"[0-9a-f]{32}|[0-9]+")
"""What differs each time in the text of the same failure: ids of attempts, and numbers of tasks."""


class LogSource(NamedTuple):
    """What a stream reads.

    `checkpoint` is the folder of its checkpoint, below that of all. `load` makes its stream, and
    `add` keeps a micro-batch and says what was new in it. Both may raise KplanError: then they are
    tried again.
    """

    name: str
    checkpoint: str
    load: "Callable[[SparkSession], DataFrame]"
    add: "Callable[[DataFrame], Added]"


class Batch(NamedTuple):
    """A micro-batch that is done: of which source, what was new in it, and how long it took."""

    source: str
    added: Added
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """How streams run, and who hears of micro-batches with something new and of failures."""

    checkpoints: str
    interval_s: float
    report_batch: Callable[[Batch], None]
    report_failure: Callable[[str, KplanError], None]


def ticks(spark: "SparkSession") -> "DataFrame":
    """Return a stream with one row for each micro-batch: files are looked at in each of them.

    Spark's own source of files takes a file once, as a whole. Logs grow and are renamed.
    """
    source = spark.readStream.format("rate-micro-batch")
    return source.option("rowsPerBatch", 1).option("numPartitions", 1).load()


def run_streams(
    spark: "SparkSession",
    sources: Sequence[LogSource],
    options: StreamOptions,
    stop_event: threading.Event,
) -> None:
    """Run a query for each source until the event is set; then the micro-batches at work end.

    A query that fails is told for each reason, once an hour, and started again.

    Raises:
        FleetError: the place of the checkpoints cannot be written when a query first starts,
            another process works on the same checkpoints, or Spark has ended.

    """
    spark.conf.set(_STOP_TIMEOUT_SETTING, f"{STOP_TIMEOUT_S:.0f}s")
    queries = [_Query(spark, each, options) for each in sources]
    ended = threading.Event()
    threads = [
        threading.Thread(target=each.run, args=(ended,), name="stream", daemon=True)
        for each in queries
    ]
    for thread in threads:
        thread.start()
    while all(each.error is None for each in queries) and not stop_event.wait(POLL_INTERVAL_S):
        pass
    ended.set()
    for thread in threads:
        thread.join()
    for each in queries:
        if each.error is not None and not stop_event.is_set():
            raise each.error


@dataclass(slots=True)
class _Query:
    """The query of a source, which is started again after failures; `error` is what ended it."""

    spark: "SparkSession"
    source: LogSource
    options: StreamOptions
    error: FleetError | None = None
    _query: "StreamingQuery | None" = None
    _failure: KplanError | None = None
    _told: str = ""
    _told_at: float = 0.0
    _has_begun: bool = False
    _conflicts: int = 0
    _retry_at: float = 0.0
    _ended: threading.Event = field(default_factory=threading.Event)
    _at_work: threading.Lock = field(default_factory=threading.Lock)

    def run(self, ended: threading.Event) -> None:
        """Keep the query running until the event is set, and end it after its micro-batch."""
        self._ended = ended
        try:
            while not ended.wait(POLL_INTERVAL_S):
                self._check()
            with self._at_work:  # no other one begins
                pass
            self._stop()
        except FleetError as failure:
            self.error = failure
        except Exception as failure:  # noqa: BLE001 - Java is gone, for example
            self.error = FleetError(f"Spark ended: {failure_reason(failure)}")

    def _check(self) -> None:
        """Start the query, and again if it has failed. Raises FleetError as `run_streams` does."""
        if self._query is not None:
            if self._query.isActive:
                return
            failure, self._query = self._query_failure(self._query), None
            self._tell(failure)
        if time.monotonic() < self._retry_at:
            return
        try:
            rows = self.source.load(self.spark)
        except KplanError as failure:
            self._tell(failure)
            return
        try:
            self._query = self._start(rows)
        except FleetError as failure:
            if not self._has_begun:
                raise  # who started it hears of it, not only a log
            self._tell(failure)
        self._has_begun = True

    def _start(self, rows: "DataFrame") -> "StreamingQuery":
        place = f"{self.options.checkpoints}/{self.source.checkpoint}"
        try:
            return (
                rows.writeStream.foreachBatch(self._add)
                .option("checkpointLocation", place)
                .trigger(processingTime=f"{self.options.interval_s:.3f} seconds")
                .queryName(f"kplan: {self.source.name}")
                .start()
            )
        except Exception as failure:
            detail = f"A stream cannot begin with {place}: {failure_reason(failure)}"
            raise FleetError(detail) from failure

    def _stop(self) -> None:
        """Stop the query, once it has noted which micro-batch is done."""
        query, deadline = self._query, time.monotonic() + STOP_TIMEOUT_S
        if query is None:
            return
        while query.isActive and query.status["isTriggerActive"] and time.monotonic() < deadline:
            time.sleep(POLL_INTERVAL_S)
        query.stop()

    def _add(self, rows: "DataFrame", number: int) -> None:
        """Keep a micro-batch. What is raised here ends the query before the batch is noted."""
        del number
        with self._at_work:
            if self._ended.is_set():
                raise FleetError("The stream ends.")
            began = time.monotonic()
            try:
                added = self.source.add(rows)
            except KplanError as failure:
                self._failure = failure
                raise
            self._told = ""
            if added.parts:
                self.options.report_batch(Batch(self.source.name, added, time.monotonic() - began))

    def _query_failure(self, query: "StreamingQuery") -> KplanError:
        failure, self._failure = self._failure, None
        if failure is not None:
            return failure
        found = query.exception()
        if any(each in str(found) for each in _CONCURRENT_ERRORS):
            self._conflicts += 1
            if self._conflicts >= _MAX_CONFLICTS:
                raise FleetError(
                    f"Another process follows logs with {self.options.checkpoints}.",
                    "Run one stream for each store.",
                )
        return FleetError(failure_reason(found) if found else "Spark ended the query.")

    def _tell(self, failure: KplanError) -> None:
        self._retry_at = time.monotonic() + max(MIN_RETRY_S, self.options.interval_s)
        reason = _CHANGING_PARTS.sub("", str(failure))
        now = time.monotonic()
        if self._told != reason or now >= self._told_at + REMIND_S:
            self._told, self._told_at = reason, now
            self.options.report_failure(self.source.name, failure)


# ---- topics


@dataclass(slots=True)
class FollowedTopic:
    """A topic that a stream reads, and how far it was read as the stream knows it.

    `options` says how Kafka's Java client connects to it. `time_zone` is that of lines that name
    none, "" UTC. `find` asks the cluster what is to be read of its partitions, and `topic_id` which
    id the topic has now, "" if none is known; all three may raise KplanError.
    """

    cluster: str
    name: str
    options: Callable[[], Mapping[str, str]] = dict
    time_zone: str = ""
    find: Callable[[], Sequence[OffsetRange]] = tuple
    topic_id: Callable[[], str] = str
    _ends: dict[str, TopicEnd] | None = None
    _read_at: float = 0.0

    def ends(self, store: Store, batch: Sequence[OffsetRange]) -> Mapping[str, TopicEnd]:
        """Return how far the partitions were read, by source; raises FleetError.

        The tables say so, and reading them takes the longer the more micro-batches there were. They
        are read where the micro-batch does not begin where the one before it ended, and after
        REFRESH_S. What an ingest wrote in that time overlaps with what is written here, and counts
        once: `live_logs` chooses, and no part of it is removed before COMPACT_GRACE.
        """
        known, none = self._ends, TopicEnd(0, "")
        is_next = known is not None and all(
            known.get(each.source, none).end == each.start for each in batch
        )
        if known is None or not (batch and is_next) or time.monotonic() > self._read_at + REFRESH_S:
            self._read_at = time.monotonic()
            known = cluster_ends(self.cluster, store.logs.topic_ends())
        self._ends = None  # until all is kept
        return known

    def keep_ends(self, known: Mapping[str, TopicEnd], parts: Iterable[LogPart]) -> None:
        """Remember how far the partitions were read, now that parts were kept."""
        ends = {each.source: TopicEnd(each.end, each.file, each.head) for each in parts}
        self._ends = {**known, **ends}

    def is_other(self, known: Mapping[str, TopicEnd], topic_id: str) -> bool:
        """Whether the topic was re-created since one of its partitions was read; in: its id now."""
        return any(
            is_of_topic(source, self.name) and end.is_of_other_topic(topic_id)
            for source, end in known.items()
        )


class _TopicBatch(NamedTuple):
    """What is new in a micro-batch, by partition, and what is missing before it."""

    spans: Mapping[int, OffsetRange]
    gaps: Mapping[int, OffsetRange]


def add_records(store: Store, records: "DataFrame", topic: FollowedTopic) -> Added:
    """Keep the records of a micro-batch of a topic that are not in the tables yet.

    The session of the store is that of the micro-batch. Raises KplanError.
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    held = records.select("partition", "offset", "value").persist()
    try:
        batch = _batch_offsets(held, topic.name)
        known = topic.ends(store, batch)
        new = _new_in_batch(batch, topic, known)
        if not new.spans:
            topic.keep_ends(known, ())
            return Added()
        numbers = {partition: 2 * at for at, partition in enumerate(new.spans)}
        starts = F.create_map(
            *(F.lit(each).cast("long") for pair in _first_offsets(new).items() for each in pair)
        )
        start = F.try_element_at(starts, F.col("partition").cast("long"))
        own = held.where(F.col("offset") >= start)
        has_zone = bool(topic.time_zone)
        lines = record_lines(own, numbers, has_zone=has_zone)
        if new.gaps:
            gaps = {numbers[partition]: span for partition, span in new.gaps.items()}
            more = read_records(
                records.sparkSession, gaps, topic.options(), may_be_gone=True, has_zone=has_zone
            )
            lines = lines.unionByName(more)
        parts = tuple(
            topic_part(topic.cluster, span, numbers[partition])
            for partition, span in new.spans.items()
        )
        size = sum(each.end - each.start for each in parts) * LINE_BYTES
        sums = sum_lines(lines, frozenset(numbers.values() if has_zone else ()))
        zones = {topic.cluster: topic.time_zone}
        added = store.logs.add(sums, NewLines(parts, size=size), zones)
        topic.keep_ends(known, parts)
        return added
    finally:
        held.unpersist()


def _first_offsets(new: _TopicBatch) -> dict[int, int]:
    """Say from which offset on each partition of the micro-batch itself counts."""
    return {
        partition: new.gaps[partition].end if partition in new.gaps else span.start
        for partition, span in new.spans.items()
    }


def _batch_offsets(records: "DataFrame", topic: str) -> list[OffsetRange]:
    """Say which offsets of each partition a micro-batch has."""
    from pyspark.sql import functions as F  # noqa: N812

    bounds = records.groupBy("partition").agg(F.min("offset"), F.max("offset")).collect()
    return [
        OffsetRange(topic, partition, first, last + 1)
        for partition, first, last in sorted(map(tuple, bounds))
    ]


def _new_in_batch(
    batch: Sequence[OffsetRange], topic: FollowedTopic, known: Mapping[str, TopicEnd]
) -> _TopicBatch:
    """Compare a micro-batch with what was read before.

    An ingest, or a micro-batch that was done before a kill, may have read some of it. What is
    between the end that is known and its beginning was read by two at once, and not kept: it is
    read again. A topic that was re-created has another id, and its partitions are read up to their
    ends at once. Of Kafka that has no ids, one that ends before the end that is known may be of
    such a topic, as may one without records, of which Spark goes back to a lower offset: the
    cluster knows. It also knows what of a gap is gone.
    """
    topic_id = topic.topic_id()
    ends = [(each, known[each.source].end) for each in batch if each.source in known]
    is_odd = any(each.end < end or each.start > end for each, end in ends)
    is_other = topic.is_other(known, topic_id)
    anew = new_logs(topic.find(), known) if is_other or is_odd or not batch else []
    # Of those without a record it is kept, too, that they are another log.
    spans = {each.partition: each for each in anew}
    gaps = dict(spans)
    for each in batch:
        new = None if each.partition in spans else new_offsets(each, known, topic_id)
        if new is not None:
            spans[each.partition], gap = new
            gaps |= {each.partition: gap} if gap is not None else {}
    return _TopicBatch(spans, gaps)


def new_offsets(
    batch: OffsetRange, known: Mapping[str, TopicEnd], topic_id: str = ""
) -> tuple[OffsetRange, OffsetRange | None] | None:
    """Say what is new up to the end of a micro-batch, and which of it is missing in that.

    `known` are the ends that the tables tell, by source: those without one have nothing of it. None
    is that nothing is new.
    """
    end, log, _ = known.get(batch.source, TopicEnd(0, ""))
    if end >= batch.end:
        return None
    span = replace(batch, start=end, log=log, topic_id=topic_id)
    return span, None if end >= batch.start else replace(span, end=batch.start)
