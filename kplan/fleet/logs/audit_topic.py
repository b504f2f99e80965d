"""Audit records in topics, read through Spark's Kafka connector.

A record is the line of a log as text, or JSON: an event of log4j 2 (`JsonLayout`,
`JsonTemplateLayout`), of GELF or of whatever ships logs, with the line or its message in `message`
or `short_message`; or an event of Confluent's audit log (CloudEvents). Everything else keeps its
text and does not count as a line of the authorizer.
"""

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from kplan.fleet.jars import KAFKA_CONNECTOR
from kplan.fleet.kafka_names import kafka_enum_name
from kplan.fleet.logs.times import epoch_millis, number_instant, text_instant
from kplan.model.dataclass import dataclass
from kplan.model.errors import FleetError
from kplan.model.log_layout import KAFKA_SCHEME

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

OFFSET_SCHEMA = "cluster string, source string, end long"
"""Of the table that says how far topics were read."""
MAX_RECORDS = 2_000_000
"""Records that one micro-batch of a topic takes."""
EVENT_SCHEMA = (
    "message string, log string, short_message string, textPayload string, line string, "
    "msg string, `event.original` string, event struct<original: string>, "
    "jsonPayload struct<message: string>, "
    "`@timestamp` string, timestamp string, time string, timeMillis long, "
    "timestampSeconds long, timestampNanos long, "
    "instant struct<epochSecond: long, nanoOfSecond: long>, "
    "data struct<methodName: string, authenticationInfo: struct<principal: string>, "
    "authorizationInfo: struct<granted: boolean, operation: string, resourceType: string, "
    "resourceName: string>, requestMetadata: struct<client_address: string, "
    "clientAddress: array<struct<ip: string>>>>, specversion string"
)


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """Records of one partition, from `start` up to but not `end`.

    `log` is the id of the log that they are of; "" is the first one of this name. `topic_id` is
    Kafka's id of the topic, "" where it is not known.
    """

    topic: str
    partition: int
    start: int
    end: int
    log: str = ""
    topic_id: str = ""

    @property
    def source(self) -> str:
        """Name the partition."""
        return f"{KAFKA_SCHEME}{self.topic}/{self.partition}"


def is_of_topic(source: str, topic: str) -> bool:
    """Whether a source is a partition of the topic."""
    return source.rpartition("/")[0] == f"{KAFKA_SCHEME}{topic}"


def read_records(
    spark: "SparkSession",
    spans: Mapping[int, OffsetRange],
    options: Mapping[str, str],
    *,
    may_be_gone: bool = False,
    has_zone: bool = False,
) -> "DataFrame":
    """Read the records of spans of one topic, by the number of each: part, line.

    `options` are those of Kafka's Java client, for how to connect. Records that are gone fail the
    query, unless they `may_be_gone`. `has_zone` is that of `record_lines`.
    """
    every = list(spans.values())
    topic = every[0].topic
    starts, ends = (
        offsets_json(
            topic, {each.partition: bound for each, bound in zip(every, bounds, strict=True)}
        )
        for bounds in ([each.start for each in every], [each.end for each in every])
    )
    given = {
        **_connection_options(options),
        "assign": json.dumps({topic: sorted(each.partition for each in every)}),
        "startingOffsets": starts,
        "endingOffsets": ends,
        "failOnDataLoss": "false" if may_be_gone else "true",
    }
    read = _load_records(spark, spark.read.format("kafka").options(**given).load)
    numbers = {span.partition: number for number, span in spans.items()}
    return record_lines(read, numbers, has_zone=has_zone)


def follow_records(
    spark: "SparkSession", topic: str, starts: Mapping[int, int], options: Mapping[str, str]
) -> "DataFrame":
    """Follow a topic as a stream: partition, offset, value, ...

    `starts` says where each partition begins in a stream without a checkpoint; one that is added
    later begins at its first record. Records that are gone are left out.
    """
    given = stream_options(topic, starts, options)
    return _load_records(spark, spark.readStream.format("kafka").options(**given).load)


def stream_options(
    topic: str, starts: Mapping[int, int], options: Mapping[str, str]
) -> dict[str, str]:
    """Return the options of Spark's connector with which a topic is followed.

    A cluster without an answer fails the query after the minute that Kafka's client waits for one:
    the query is started again anyway, and three tries would be three minutes without a word.
    """
    return {
        **_connection_options(options),
        "subscribe": topic,
        "startingOffsets": offsets_json(topic, starts),
        "failOnDataLoss": "false",
        "maxOffsetsPerTrigger": str(MAX_RECORDS),
        "fetchOffset.numRetries": "1",
    }


def record_lines(
    records: "DataFrame", parts: Mapping[int, int], *, has_zone: bool = False
) -> "DataFrame":
    """Turn records into lines, with the number that each partition has: part, line.

    `has_zone` is whether lines without a zone are of another one than UTC.
    """
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    numbers = F.create_map(*(F.lit(each) for pair in parts.items() for each in pair))
    text = F.coalesce(F.col("value").cast("string"), F.lit(""))
    return records.select(
        F.try_element_at(numbers, F.col("partition").cast("int")).alias("part"),
        authorizer_line(text, has_zone=has_zone).alias("line"),
    )


def _connection_options(options: Mapping[str, str]) -> dict[str, str]:
    return {f"kafka.{name}": value for name, value in options.items()}


def _load_records(spark: "SparkSession", load: "Callable[[], DataFrame]") -> "DataFrame":
    from pyspark.errors import AnalysisException

    try:
        found = load()
        _ = found.schema  # Spark Connect looks no sooner than it must
    except AnalysisException as failure:
        raise FleetError(
            "This Spark has no Kafka connector.", KAFKA_CONNECTOR.start_hint(spark.version)
        ) from failure
    return found


def offsets_json(topic: str, bounds: Mapping[int, int]) -> str:
    """Write offsets by partition as Spark's connector takes them."""
    return json.dumps({topic: {str(number): bound for number, bound in bounds.items()}})


def authorizer_line(text: "Column", *, has_zone: bool) -> "Column":
    """Turn a record into a line as the authorizer writes it; other records stay unchanged.

    Times of events are of UTC, which they say where others are not.
    """
    from pyspark.sql import functions as F  # noqa: N812

    event = F.from_json(text, EVENT_SCHEMA)
    message = F.coalesce(event["message"], event["short_message"])
    form = "yyyy-MM-dd HH:mm:ss,SSS'Z'" if has_zone else "yyyy-MM-dd HH:mm:ss,SSS"
    at = F.concat(F.lit("["), F.date_format(event_instant(event), form), F.lit("] INFO "))
    return F.coalesce(
        F.when(message.startswith("["), message),
        F.when(message.startswith("Principal = "), F.concat(at, message)),
        F.concat(at, cloud_event_line(event["data"])),
        text,
    )


def event_texts(event: "Column", json: "Column") -> "list[Column]":
    """List what of an event may be the line of a broker; `json` is all of it."""
    from pyspark.sql import functions as F  # noqa: N812

    names = ("message", "log", "short_message", "textPayload", "line", "msg", "event.original")
    nested = event["event"]["original"], event["jsonPayload"]["message"]
    journal = F.get_json_object(json, "$.MESSAGE")  # a schema has no other case of a name
    return [*(event[each] for each in names), *nested, journal]


def event_instant(event: "Column") -> "Column":
    """Find the time of an event; texts without a zone are of UTC."""
    from pyspark.sql import functions as F  # noqa: N812

    instant = event["instant"]
    millis = F.coalesce(
        epoch_millis(event["timeMillis"], 1),
        epoch_millis(instant["epochSecond"], 1000, instant["nanoOfSecond"]),
        epoch_millis(event["timestampSeconds"], 1000, event["timestampNanos"]),
    )
    return F.coalesce(
        F.timestamp_millis(millis),
        number_instant(event["timestamp"]),
        *(text_instant(event[name]) for name in ("@timestamp", "timestamp", "time")),
        number_instant(event["@timestamp"]),
    )


def is_other_event(event: "Column") -> "Column":
    """Whether an event is one of Confluent's audit log that is about no request to Kafka.

    Logins are such, and what its Metadata Service was asked.
    """
    data = event["data"]
    is_request = data["authorizationInfo"].isNotNull() & _is_of_kafka(data["methodName"])
    return event["specversion"].isNotNull() & data.isNotNull() & ~is_request


def _is_of_kafka(method: "Column") -> "Column":
    from pyspark.sql import functions as F  # noqa: N812

    return F.coalesce(method.startswith("kafka."), F.lit(col=False))


def cloud_event_line(data: "Column") -> "Column":
    """Convert a decision of Confluent's audit log to a line; NULL for what is none of Kafka."""
    from pyspark.sql import functions as F  # noqa: N812

    said, asked = data["authorizationInfo"], data["requestMetadata"]
    principal, method = data["authenticationInfo"]["principal"], data["methodName"]
    verdict = F.when(said["granted"], F.lit("Allowed")).otherwise(F.lit("Denied"))
    host = F.coalesce(
        asked["client_address"], F.get(asked["clientAddress"], F.lit(0))["ip"], F.lit("")
    )
    request = F.when(_is_of_kafka(method), F.substring_index(method, ".", -1))
    parts = (
        (F.lit("Principal = "), F.when(~principal.startswith("{"), principal)),
        (F.lit(" is "), F.when(said["granted"].isNotNull(), verdict)),
        (F.lit(" operation = "), kafka_enum_name(said["operation"])),
        (F.lit(" from host = "), F.regexp_replace(host, "^/+", "")),
        (F.lit(" on resource = "), said["resourceType"]),
        (F.lit(":LITERAL:"), said["resourceName"]),
        (F.lit(" for request = "), request),
        (F.lit(" with resourceRefCount = 1 based on rule "), F.lit("of its audit log")),
    )
    return F.concat(*(part for pair in parts for part in pair))
