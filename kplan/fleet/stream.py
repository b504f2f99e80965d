"""Streams of authorizer logs: queries of Spark's Structured Streaming that run until a signal.

What was read of a log is in the tables, where batch ingests keep it, too. A micro-batch takes only
what is not there yet, so that one that is done again after a kill, or what an ingest has read
meanwhile, counts once. Checkpoints say where the queries go on.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from kplan.fleet.logs.audit_topic import OffsetRange, read_records, record_lines
from kplan.fleet.logs.files import LINE_BYTES, NewLines
from kplan.fleet.logs.lines import sum_lines
from kplan.fleet.logs.part import LogPart, log_id
from kplan.fleet.logs.store import Added
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
_CONCURRENT_ERRORS = ("CONCURRENT_STREAM_LOG_UPDATE", "CONCURRENT_QUERY")
_MAX_CONFLICTS = 3


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

    A query that fails is told once for each reason, and started again.

    Raises:
        FleetError: another process works on the same checkpoints, or Spark has ended.

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
        if time.monotonic() >= self._retry_at:
            try:
                self._query = self._start()
            except KplanError as failure:
                self._tell(failure)

    def _start(self) -> "StreamingQuery":
        try:
            return (
                self.source.load(self.spark)
                .writeStream.foreachBatch(self._add)
                .option(
                    "checkpointLocation", f"{self.options.checkpoints}/{self.source.checkpoint}"
                )
                .trigger(processingTime=f"{self.options.interval_s:.3f} seconds")
                .queryName(f"kplan: {self.source.name}")
                .start()
            )
        except KplanError:
            raise
        except Exception as failure:
            raise FleetError(failure_reason(failure)) from failure

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
        if self._told != str(failure):
            self._told = str(failure)
            self.options.report_failure(self.source.name, failure)


# ---- topics


class _TopicBatch(NamedTuple):
    """What is new in a micro-batch, by partition, and what is missing before it."""

    spans: Mapping[int, OffsetRange]
    gaps: Mapping[int, OffsetRange]


def add_records(
    store: Store, records: "DataFrame", place: tuple[str, str], options: Mapping[str, str]
) -> Added:
    """Keep the records of a micro-batch of a topic that are not in the tables yet.

    `place` is cluster and topic; the session of the store is that of the micro-batch. Raises
    FleetError.
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    cluster, topic = place
    held = records.select("partition", "offset", "value").persist()
    try:
        new = _new_in_batch(held, topic, _ends(store, cluster))
        if not new.spans:
            return Added()
        numbers = {partition: 2 * at for at, partition in enumerate(new.spans)}
        starts = F.create_map(
            *(F.lit(each).cast("long") for pair in _first_offsets(new).items() for each in pair)
        )
        lines = record_lines(
            held.where(F.col("offset") >= starts[F.col("partition").cast("long")]), numbers
        )
        if new.gaps:
            gaps = {numbers[partition]: span for partition, span in new.gaps.items()}
            lines = lines.unionByName(
                read_records(records.sparkSession, gaps, options, may_be_gone=True)
            )
        parts = tuple(
            LogPart(
                cluster,
                span.source,
                file=log_id(span.source, None),
                part=numbers[partition],
                start=span.start,
                end=span.end,
            )
            for partition, span in new.spans.items()
        )
        size = sum(each.end - each.start for each in parts) * LINE_BYTES
        return store.logs.add(sum_lines(lines), NewLines(parts, size=size), {})
    finally:
        held.unpersist()


def _ends(store: Store, cluster: str) -> dict[str, int]:
    ends = store.logs.topic_ends().items()
    return {source: end for (name, source), end in ends if name == cluster}


def _first_offsets(new: _TopicBatch) -> dict[int, int]:
    """Say from which offset on each partition of the micro-batch itself counts."""
    return {
        partition: new.gaps[partition].end if partition in new.gaps else span.start
        for partition, span in new.spans.items()
    }


def _new_in_batch(records: "DataFrame", topic: str, known: Mapping[str, int]) -> _TopicBatch:
    """Compare a micro-batch with what was read before.

    An ingest, or a micro-batch that was done before a kill, may have read some of it. What is
    between the end that is known and its beginning was read by two at once, and not kept: it is
    read again.
    """
    from pyspark.sql import functions as F  # noqa: N812

    bounds = records.groupBy("partition").agg(F.min("offset"), F.max("offset")).collect()
    found: list[tuple[OffsetRange, OffsetRange | None]] = [
        new
        for partition, first, last in sorted(map(tuple, bounds))
        if (new := new_offsets(OffsetRange(topic, partition, first, last + 1), known))
    ]
    return _TopicBatch(
        {span.partition: span for span, _ in found},
        {gap.partition: gap for _, gap in found if gap is not None},
    )


def new_offsets(
    batch: OffsetRange, known: Mapping[str, int]
) -> tuple[OffsetRange, OffsetRange | None] | None:
    """Say what is new up to the end of a micro-batch, and which of it is missing in that.

    `known` are the ends that the tables tell, by source: those without one have nothing of it. None
    is that nothing is new.
    """
    end = known.get(batch.source, 0)
    if end >= batch.end:
        return None
    span = OffsetRange(batch.topic, batch.partition, end, batch.end)
    is_whole = end >= batch.start
    return span, None if is_whole else OffsetRange(batch.topic, batch.partition, end, batch.start)
