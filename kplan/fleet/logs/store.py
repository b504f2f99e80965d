"""What a store keeps of authorizer logs: sums of requests, and lines that are none.

requests     rows of attempts at reading logs; those of one part of a log have its number
logs         a line for each part, written last: an attempt without counts for nothing
audit        rows as kplan up to 0.3 kept them, by cluster and log; and `offsets` of topics
"""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from kplan.fleet.access import request_sums
from kplan.fleet.dataframe import create_dataframe
from kplan.fleet.logs.audit_topic import OFFSET_SCHEMA
from kplan.fleet.logs.compaction import (
    chosen_run,
    closed_log,
    known_logs,
    merge_log,
    small_attempts,
)
from kplan.fleet.logs.counts import (
    LOG_KEYS,
    LogCount,
    count_log,
    count_parts,
    count_rows,
)
from kplan.fleet.logs.files import LINE_BYTES, NewLines
from kplan.fleet.logs.layout import are_requests, parse_lines, parse_requests
from kplan.fleet.logs.outcome import (
    Added,
    UnreadableLog,
    part_starts,
    read_parts,
    unreadable_source,
)
from kplan.fleet.logs.part import (
    LOG_FORMAT,
    LOG_SCHEMA,
    Log,
    LogPart,
    current_logs,
    live_logs,
    log_id,
)
from kplan.fleet.logs.requests import (
    AUDIT_SCHEMA,
    REQUEST_SCHEMA,
    line_sums,
    malformed_lines,
    usage,
)
from kplan.fleet.logs.topic_part import TopicEnd, topic_ends
from kplan.fleet.spark.errors import drop_rows, failure_reason
from kplan.fleet.spark.jobs import describe_jobs
from kplan.fleet.spark.session import enable_codegen
from kplan.fleet.tables import Tables, read_if_exists
from kplan.model.errors import FleetError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

COMPACT_GRACE = timedelta(hours=1)
"""How long rows stay that were put together, for those who read them at that time."""
MERGED = "merged-"
"""How the attempts begin that put together what others kept."""
_MIN_ATTEMPTS = 2
_LINES_PER_ROW = 10
"""Lines of logs that a stored row adds up, at least: most are the same requests again."""
_LIVE_SCHEMA = (
    "attempt string, part int, cluster string, source string, file string, stamp string, at string"
)
_SUM_KEYS = (
    *("cluster", "principal", "host", "operation", "resource_type", "resource_name"),
    *("is_allowed", "request", "line"),
)


class OldRows(NamedTuple):
    """What of the logs is older than `limit`: all rows of `whole` logs, and some of `others`.

    Logs are named by cluster and file; `parts` are those that were looked at.
    """

    limit: datetime
    whole: frozenset[tuple[str, str]] = frozenset()
    others: frozenset[tuple[str, str]] = frozenset()
    parts: Sequence[LogPart] = ()

    @property
    def logs(self) -> int:
        """Count the logs."""
        return len(self.whole | self.others)


class LogStore:
    """The logs in the tables of a store; `root` is what messages call that."""

    def __init__(self, spark: "SparkSession", tables: Tables, root: str) -> None:
        self._spark = spark
        self._tables = tables
        self._root = root
        self._rows: DataFrame | None = None
        self._live: Sequence[Log] | None = None

    @property
    def lines(self) -> int:
        """Count the lines that count; raises FleetError as `parts`."""
        return _count_lines(self._live_logs())

    @property
    def clusters(self) -> frozenset[str]:
        """Name the clusters with a log; raises FleetError as `parts`."""
        return frozenset(each.last.cluster for each in self._live_logs())

    def current(self, files: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
        """Return the logs that files have now, by cluster and id; raises FleetError as `parts`.

        In: clusters and sources.
        """
        logs = current_logs(self._live_logs())
        return {(each[0], logs[each]) for each in files if each in logs}

    def counts(self) -> list[LogCount]:
        """Count the requests and malformed lines of each log; raises FleetError as `parts`.

        Rows are read only of logs that an earlier version of kplan kept.
        """
        counts = [(each, count_log(each)) for each in self._live_logs()]
        found = [count for _, count in counts if count is not None]
        if uncounted := [each for each, count in counts if count is None]:
            counted = count_rows(self._live_rows(uncounted), LOG_KEYS)
            found += [LogCount(*row) for row in counted.collect()]
        return found

    def _live_logs(self) -> Sequence[Log]:
        if self._live is None:
            describe_jobs(self._spark, "list logs")
            self._live = live_logs(self.parts())
        return self._live

    def parts(self) -> list[LogPart]:
        """List what was read of logs; raises FleetError where a later version wrote it."""
        rows = read_if_exists(self._spark, lambda: self._tables.lines("logs", LOG_SCHEMA).collect())
        found = [
            LogPart(**{k: v for k, v in row.asDict().items() if v is not None or k == "damage"})
            for row in rows or ()
        ]
        if any(each.format > LOG_FORMAT for each in found):
            raise FleetError(
                f"Logs in {self._root} were stored by a later version of kplan.",
                "Use that version.",
            )
        return [*self._old_parts(), *found]

    def add(self, sums: "DataFrame", new: NewLines, time_zones: Mapping[str, str]) -> Added:
        """Keep what lines say, in one job; no one sees any of it before all is there.

        In: what `sum_lines` gives of lines by part; the parts; the time zones of clusters that have
        one.

        Raises:
            UnreadableLog: Spark's own reader could not read a log; nothing was kept.
            FleetError: the rows could not be written; nothing was kept.

        """
        from pyspark import StorageLevel
        from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

        attempt = uuid.uuid4().hex
        places = [
            (p.part + n, p.cluster, time_zones.get(p.cluster, ""))
            for p in (*new.parts, *new.native)
            for n in (0, 1)
        ]
        known = create_dataframe(self._spark, places, "part int, cluster string, zone string")
        zone = F.coalesce("zone", F.lit("")) if any(time_zones.values()) else None
        if zone is not None:  # the days that lines are added up by are those of UTC
            sums = sums.join(F.broadcast(known.select("part", "zone")), "part", "left")
        sums = enable_codegen(sums, new.size // LINE_BYTES)
        if not new.has_others:
            sums = sums.persist(StorageLevel.DISK_ONLY)  # they may be many, if not as expected
        held = sums
        try:
            parse = parse_lines if new.has_others or not are_requests(sums) else parse_requests
            held = parse(sums, zone).cache()
            rows = line_sums(held.join(F.broadcast(known.drop("zone")), "part"), zone)
            self._tables.add_requests(rows.drop("zone"), attempt)
            starts = part_starts(held, zone)
            kept, reasons = read_parts(new, starts)
            gone = [new.removals[each.part] for each in kept if each.part in new.removals]
            self._commit([*kept, *gone], attempt)
        except Exception as failure:
            if source := unreadable_source(self._spark, failure, new.native):
                raise UnreadableLog(source, failure_reason(failure)) from failure
            raise FleetError(
                f"The logs could not be stored in {self._root}: {failure_reason(failure)}"
            ) from failure
        finally:
            drop_rows(held)
            drop_rows(sums)
        return Added(kept, reasons)

    def _commit(self, parts: Sequence[LogPart], attempt: str) -> None:
        at = _now()
        rows = [astuple(replace(each, attempt=attempt, at=at)) for each in parts]
        if rows:
            lines = create_dataframe(self._spark, rows, LOG_SCHEMA)
            self._tables.add_lines("logs", lines, attempt)
        self._rows = self._live = None

    def topic_ends(self) -> dict[tuple[str, str], TopicEnd]:
        """Return how far topics were read, by cluster and partition (`OffsetRange.source`)."""
        rows = read_if_exists(
            self._spark,
            lambda: self._tables.read("offsets", f"{OFFSET_SCHEMA}, file string").collect(),
        )
        found = {
            (row["cluster"], row["source"]): TopicEnd(row["end"], log_id(row["source"], None))
            for row in rows or ()
        }
        return found | topic_ends(live_logs(self.parts()))

    def usage(self) -> "DataFrame":
        """Return the sums of all requests kept; raises FleetError where there are none."""
        return usage(self.rows())

    def malformed_lines(self) -> "DataFrame":
        """Return the lines of the logs that are none of the authorizer's; raises as `usage`."""
        return malformed_lines(self.rows())

    def rows(self) -> "DataFrame":
        """Return all rows that count; raises FleetError where there are none."""
        if self._rows is None:
            self._rows = self._live_rows(self._live_logs()).drop("at")
            describe_jobs(self._spark, "")
        return self._rows

    def _live_rows(self, logs: Sequence[Log]) -> "DataFrame":
        from pyspark.sql import functions as F  # noqa: N812

        if not _count_lines(logs):
            raise FleetError(
                f"No authorizer log is stored in {self._root} yet.",
                'Name logs in fleet.hcl (audit = ["..."]), then: kplan fleet audit ingest',
            )
        unknown = _now()  # of what kplan up to 0.3 kept it is not known when that was read
        places = [
            (
                *(part.attempt, part.part, part.cluster),
                *(log.last.source, log.last.file, log.last.stamp, part.at or unknown),
            )
            for log in logs
            for part in log.parts
            if part.lines  # others, as of what was removed, have no rows
        ]
        live = F.broadcast(create_dataframe(self._spark, places, _LIVE_SCHEMA))
        names = [*_names(AUDIT_SCHEMA), "at"]
        attempts = sorted({place[0] for place in places} - {""})
        found = []
        if attempts:
            rows = max(1, _count_lines(logs) // _LINES_PER_ROW)
            read = enable_codegen(self._tables.requests(attempts, REQUEST_SCHEMA), rows)
            found.append(read.join(live.drop("cluster"), ["attempt", "part"]).select(*names))
        if any(not place[0] for place in places):
            place = ["cluster", "source", "file"]
            own = F.broadcast(live.where("attempt = ''").select(*place, "at"))
            read = enable_codegen(self._tables.read("audit", AUDIT_SCHEMA))
            found.append(read.join(own, place).select(*names))
        return found[0] if len(found) == 1 else found[0].unionByName(found[1])

    def _old_parts(self) -> list[LogPart]:
        """List the logs that an earlier version kept."""
        from pyspark.sql import functions as F  # noqa: N812

        def read() -> list[LogPart]:
            logs = self._tables.read("audit", AUDIT_SCHEMA)
            counted = logs.groupBy("cluster", "source", "stamp", "file").agg(F.sum("count"))
            return [
                LogPart(cluster, source, stamp or "", file, lines=lines, damage=None)
                for cluster, source, stamp, file, lines in counted.collect()
            ]

        return read_if_exists(self._spark, read) or []

    # ---- putting together

    def old_rows(self, limit: datetime) -> OldRows:
        """Find what is older than a limit, in whole days of a log; raises FleetError as `parts`."""
        from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

        parts = self.parts()
        if not _count_lines(logs := live_logs(parts)):
            return OldRows(limit)
        rows = _dated(self._live_rows(logs)).groupBy("cluster", "file")
        times = rows.agg(F.min("last_at").alias("first"), F.max("last_at").alias("last"))
        is_whole = (F.col("last") < F.lit(limit)).alias("is_whole")
        old = times.where(F.col("first") < F.lit(limit)).select("cluster", "file", is_whole)
        found = {(row["cluster"], row["file"]): row["is_whole"] for row in old.collect()}
        whole = frozenset(place for place, is_whole in found.items() if is_whole)
        return OldRows(limit, whole, frozenset(found) - whole, parts)

    def compact(self, old: OldRows | None = None) -> int:
        """Put the rows of small attempts together by log, and those with what is old without it.

        A last line that is open stays where it is, so that its log is read on from there. What is
        left out stays known, and is not read again. A log that is old as a whole is left
        out; of others it stays known how many lines were read of them, so that what was put
        together counts and not what it was made of. Returns how many attempts were put together.
        Raises FleetError; nothing changed then.
        """
        from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

        parts = old.parts if old else self.parts()  # others may be kept meanwhile, and stay
        logs = [closed_log(each) for each in live_logs(parts) if each.parts]
        whole = old.whole if old else frozenset()
        attempts = small_attempts(logs, whole | old.others if old else whole)
        are_many = len(attempts) >= _MIN_ATTEMPTS
        if not are_many and not (old and old.logs):
            return 0
        runs = [(each, chosen_run(each, attempts)) for each in logs]
        chosen = [run for _, run in runs if run is not None]
        kept = [each for each in chosen if (each.last.cluster, each.last.file) not in whole]
        merged = [merge_log(each, at) for at, each in enumerate(kept)]
        attempt = MERGED + uuid.uuid4().hex
        counted: list[Row] = []
        if _count_lines(kept):
            numbers = [(each.cluster, each.file, each.part) for each in merged]
            number = create_dataframe(self._spark, numbers, "cluster string, file string, part int")
            rows = _dated(self._live_rows(kept)).join(F.broadcast(number), ["cluster", "file"])
            if old is not None:
                rows = rows.where(F.col("last_at") >= F.lit(old.limit))
            day = F.to_date("first_at").alias("day")
            sums = rows.groupBy("part", *_SUM_KEYS, day).agg(*request_sums())
            # Of some days only these pages are read: `usage_since` asks for the last time.
            by_day = sums.select(*_names(REQUEST_SCHEMA)).sortWithinPartitions("last_at")
            self._tables.add_requests(by_day, attempt)
            counts = count_rows(self._tables.requests([attempt], REQUEST_SCHEMA), ["part"])
            counted = counts.collect()
        merged = count_parts(merged, counted)
        staying = [each for each, run in runs if run is None]
        self._commit([*merged, *known_logs(parts, chosen, merged, staying)], attempt)
        return len(attempts) if are_many else 0

    def remove_merged(self, now: datetime) -> int:
        """Remove the attempts that were put together some time ago; returns how many went."""
        parts = self.parts()
        if all(not each.attempt for each in parts):
            return 0
        merged = {each.at for each in parts if each.attempt.startswith(MERGED)}
        until = max((at for at in merged if now - _time(at) >= COMPACT_GRACE), default="")
        live = {part.attempt for log in live_logs(parts) for part in log.parts}
        kept = live | {each.attempt for each in parts if each.at >= until}
        counted = {each.attempt for each in parts}
        return self._tables.remove_attempts("requests", kept, counted, now)


def _dated(rows: "DataFrame") -> "DataFrame":
    """Give lines that are malformed, which have no time, that of the ingest that read them."""
    from pyspark.sql import functions as F  # noqa: N812

    at = F.col("at").cast("timestamp")
    return rows.withColumns({each: F.coalesce(each, at) for each in ("first_at", "last_at")})


def _count_lines(logs: Sequence[Log]) -> int:
    return sum(part.lines for log in logs for part in log.parts)


def _time(at: str) -> datetime:
    return datetime.fromisoformat(at) if at else datetime.min.replace(tzinfo=UTC)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _names(schema: str) -> list[str]:
    return [each.split()[0] for each in schema.split(", ")]
