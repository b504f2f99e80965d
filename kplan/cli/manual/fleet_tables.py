"""The page about the stored tables of a fleet, made of the schemas in the code."""

from collections.abc import Mapping
from typing import NamedTuple


class TablePage(NamedTuple):
    """What the page says of a table. `meanings` are those of its columns."""

    summary: str
    key: str
    layout: str
    meanings: Mapping[str, str]


def table_schemas() -> Mapping[str, str]:
    """Return the schema of each stored table."""
    from kplan.fleet.logs.audit_topic import OFFSET_SCHEMA  # noqa: PLC0415
    from kplan.fleet.logs.part import LOG_SCHEMA  # noqa: PLC0415
    from kplan.fleet.logs.requests import AUDIT_SCHEMA, REQUEST_SCHEMA  # noqa: PLC0415 - only this needs them
    from kplan.fleet.tables import ATTEMPT_SCHEMA, RUN_SCHEMA  # noqa: PLC0415

    return {
        "runs": RUN_SCHEMA,
        "objects": ATTEMPT_SCHEMA,
        "logs": LOG_SCHEMA,
        "requests": f"{REQUEST_SCHEMA}, attempt string",
        "audit": AUDIT_SCHEMA,
        "offsets": OFFSET_SCHEMA,
    }


def fleet_tables_page() -> str:
    """Return the page."""
    lines = [_HEAD]
    for table, schema in table_schemas().items():
        page = _PAGES[table]
        lines += [
            f"## {table}",
            "",
            page.summary,
            "",
            f"- Key: {page.key}",
            f"- Partitions: {page.layout}",
            "",
            "| Column | Type | Meaning |",
            "|---|---|---|",
        ]
        for column in schema.split(", "):
            name, _, kind = column.partition(" ")
            lines.append(f"| `{name}` | {kind} | {page.meanings[name]} |")
        lines.append("")
    return "\n".join([*lines, _TAIL])


_HEAD = """# Tables of a fleet

`store { path = "..." }` in fleet.hcl names the folder of these tables: Parquet, or with
`format` Delta or Iceberg, which may be in a `catalog` (`kplan help fleet-platforms`). They are for
queries of your own; only kplan writes them. Every write is an attempt of its own, whose rows count
once a row in `runs` or `logs` exists: join `objects` to `runs` by `attempt`.

    clusters    kplan fleet snapshot       objects, then runs
    log lines   kplan fleet audit ingest   requests, then logs

Raw lines are not stored, except for malformed ones. `requests` has their sums by day: a line counts
in the row of its day, whenever it arrives. The daily use is the sum of `count` by the day of
`first_at`. A log that was read again from its beginning, or by two at once, has rows that do not
count: `kplan fleet audit ingest -output=DIR` writes the rows that count, with the file of each.
"""
_TAIL = """## checkpoints

What Spark records of `kplan fleet audit ingest -follow`: a folder for the files, and one for each
topic. They are not needed to count each request once, because `logs` records what was read. If the
folder is deleted, or a new version of Spark cannot read it, the next stream continues where `logs`
ends.

## How tables change

Versions of kplan only add columns. A column that a row does not have is null, which means what it
meant before the column existed. `format` in `runs` and `logs` is raised when older versions would
misread a row: they refuse it. Newer versions read all older tables, and `kplan fleet maintain`
writes the rows of `audit` as rows of `requests`.

No table is partitioned by day. The rows of an ingest are of a few days, and merged rows are sorted
by `last_at`: a query with -since skips the others by the statistics in the files.
"""
_CLUSTER = "Name of the cluster in fleet.hcl."
_REQUESTS: Mapping[str, str] = {
    "cluster": _CLUSTER,
    "principal": "Who, as User:name.",
    "host": "Address of the client.",
    "operation": "Operation as Kafka's authorizer names it.",
    "resource_type": "Type of the resource.",
    "resource_name": "Name of the resource.",
    "is_allowed": "Whether the authorizer allowed it.",
    "request": "Type of the request, null before Kafka 2.4.",
    "count": "How many requests.",
    "first_at": "First request.",
    "last_at": "Last request.",
    "line": "Text of a line that is malformed; the other columns but count are null then. Merged "
    "rows have the time of the ingest that read it.",
}
_PAGES: Mapping[str, TablePage] = {
    "runs": TablePage(
        "One row for each complete attempt of kplan fleet snapshot; of a run the last one counts.",
        "`attempt`.",
        "none for Delta; a folder `attempt=...` with one file of JSON for Parquet.",
        {
            "run": "Name of the run.",
            "attempt": "Id of the attempt whose rows in `objects` count.",
            "at": "When the run began, ISO 8601 in UTC.",
            "format": "Format of the rows.",
            "kplan_version": "Version that wrote them.",
            "rows": "Number of rows in `objects`.",
            "kinds_read": "Which kinds were read in full of which clusters. Null before the column "
            "existed: the rows of kind cluster say it, too.",
            "has_sizes": "Whether rows of topics have `partitions`, `replicas` and `bytes`.",
        },
    ),
    "objects": TablePage(
        "One row for each object of each cluster.",
        "`attempt`, `cluster`, `kind`, `identity`.",
        "`attempt`, then `kind`.",
        {
            "cluster": _CLUSTER,
            "kind": "Kind such as kafka_topic; cluster, use, group, hidden and unread are no "
            "kinds of resources.",
            "identity": "Name on the cluster; for unread the kind that could not be read.",
            "uid": "Id of a topic.",
            "value": "The object as JSON under the attributes of its kind.",
            "attributes": "The same flat, for example config.retention.ms.",
            "partitions": "Of a topic its partitions, else null.",
            "replicas": "Of a topic the replicas of all its partitions.",
            "bytes": "Of a topic the bytes of all its replicas, null where the size is not known.",
            "attempt": "Id of the attempt.",
        },
    ),
    "logs": TablePage(
        "One row for each part of a log that was read, by an ingest or a stream; written last.",
        "`attempt`, `part`.",
        "none for Delta; a folder `attempt=...` with one file of JSON for Parquet.",
        {
            "cluster": _CLUSTER,
            "source": "The file, or kafka://TOPIC/PARTITION.",
            "stamp": "Size, time of change, time zone and reader, to recognize an unchanged file.",
            "file": "Id of the log, also after it was renamed or compressed.",
            "part": "Number of the part in its attempt, as in `requests`.",
            "start": "First byte, or first offset of a topic; -1 if the log was deleted.",
            "end": "Byte or offset where the next reading continues; -1 if it cannot continue.",
            "lines": "Number of lines without those of other loggers.",
            "others": "Number of lines of other loggers, of which nothing is stored.",
            "requests": "Number of requests in `requests`; -1 or null if it was not counted.",
            "malformed": "Number of malformed lines in `requests`, likewise.",
            "first_at": "Time of the first of these requests, ISO 8601 in UTC.",
            "last_at": "Time of the last of them.",
            "is_open": "Whether it is a last line without its end; counts until there is more.",
            "head_length": "Number of bytes that `head` is of.",
            "until": "Of a log that was removed: before when (`at`) its parts are gone.",
            "head": "Checksum of the first bytes; of a topic its id.",
            "tail": "Checksum of the bytes before the end.",
            "attempt": "Id of the attempt whose rows in `requests` count.",
            "at": "When it was stored, ISO 8601 in UTC.",
            "read_at": "When it was read, if that was before: it was put together since.",
            "format": "Format of the rows.",
            "damage": "Why not all of the file could be read, empty if it could.",
        },
    ),
    "requests": TablePage(
        "One row for each principal, host, operation, resource, request type, result and day.",
        "`attempt`, `part`, `principal`, `host`, `operation`, `resource_type`, `resource_name`, "
        "`is_allowed`, `request`, `line`, and the day of `first_at`.",
        "`attempt`.",
        {
            **_REQUESTS,
            "part": "Number of the part in its attempt, as in `logs`.",
            "attempt": "Id of the attempt.",
        },
    ),
    "audit": TablePage(
        "Rows of requests as kplan up to 0.3 stored them. Newer versions only read it.",
        "`file` and the columns before `count`.",
        "`cluster`, then `file`.",
        {
            **_REQUESTS,
            "source": "The file, or kafka://TOPIC/PARTITION.",
            "file": "Id of the log.",
            "stamp": "Which contents of the file were read.",
        },
    ),
    "offsets": TablePage(
        "Where kplan up to 0.3 continued topics. Newer versions only read it.",
        "`cluster`, `source`.",
        "`cluster`, then `file`.",
        {
            "cluster": _CLUSTER,
            "source": "The partition, as kafka://TOPIC/PARTITION.",
            "end": "Offset where the next reading continues.",
        },
    ),
}
