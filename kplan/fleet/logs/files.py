"""The files of authorizer logs: what is new in each, and the lines of that."""

import heapq
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial, reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from kplan.fleet.dataframe import create_dataframe
from kplan.fleet.logs.content import (
    LINE_LIMIT,
    LINE_SCHEMA,
    STATE_SCHEMA,
    FileState,
    LogPath,
    Span,
    file_states,
    span_lines,
    stamp_of,
)
from kplan.fleet.logs.file_names import NamedFile, escape_pattern
from kplan.fleet.logs.known_end import UNKNOWN_END, index_ends
from kplan.fleet.logs.layout import apply_layouts
from kplan.fleet.logs.lines import SUM_SCHEMA, add_up, sum_lines
from kplan.fleet.logs.packed import is_packed
from kplan.fleet.logs.part import (
    LogPart,
    known_stamps,
    log_id,
    log_stem,
)
from kplan.fleet.logs.stored_logs import StoredLogs
from kplan.fleet.spark.errors import failure_reason
from kplan.model.dataclass import dataclass
from kplan.model.errors import FleetError
from kplan.model.log_layout import LogLayout

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TASK_BYTES = 256 << 20
"""What a task reads of a log: the more, the more of its lines are alike."""
PACKED_RATIO = 8
"""How much more a byte of a compressed file is to read."""
LINE_BYTES = 300
_PART_SUMS = f"part int, {SUM_SCHEMA}"
_STATES_PER_TASK = 2_000
_SPARKS_OWN = re.compile(r"[.](lz4|snappy|deflate)$")


@dataclass(frozen=True, slots=True)
class NewLines:
    """What is to be read of logs: parts, their spans, and files that only Spark itself reads.

    `failures` tells, by cluster and source, what cannot be read, `names` how new logs are named,
    by part, `known` names the logs that were read before, `layouts` are those that are named, by
    part, and `removals` say what counts no more where a part is kept. `has_others` says whether it
    is known that Java has to take lines apart; of records of topics nothing is known before.
    """

    parts: tuple[LogPart, ...] = ()
    spans: tuple[Span, ...] = ()
    native: tuple[LogPart, ...] = ()
    failures: Mapping[tuple[str, str], str] = field(default_factory=dict)
    size: int = 0
    names: Mapping[int, str] = field(default_factory=dict)
    known: frozenset[str] = frozenset()
    layouts: Mapping[int, LogLayout] = field(default_factory=dict)
    removals: Mapping[int, LogPart] = field(default_factory=dict)
    has_others: bool = False


# ---- what is new


def find_new_lines(
    spark: "SparkSession", files: Sequence[NamedFile], parts: Sequence[LogPart]
) -> NewLines:
    """Look at files, and say what is to be read of them; `parts` are what was read before.

    Raises:
        FleetError: Spark could not look at files that only it reads.

    """
    stamps = known_stamps(parts)
    here = [each for each in files if is_read_here(each.source)]
    elsewhere = [each for each in files if not is_read_here(each.source)]
    found = _grown_files(spark, here, stamps, StoredLogs(parts))
    native = _changed_objects(spark, elsewhere, stamps)
    first = 2 * len(found.parts)
    numbered = tuple(replace(each, part=first + 2 * at) for at, each in enumerate(native))
    named = {(each.cluster, each.source): each.layout for each in files if each.layout}
    layouts = {
        part.part + n: named[part.cluster, part.source]
        for part in (*found.parts, *numbered)
        if (part.cluster, part.source) in named
        for n in (0, 1)
    }
    has_others = found.has_others or bool(numbered or layouts)
    return replace(found, native=numbered, layouts=layouts, has_others=has_others)


def is_read_here(source: str) -> bool:
    """Whether executors open a file themselves: what is elsewhere does not grow."""
    return urlsplit(source).scheme in {"", "file"} and not _SPARKS_OWN.search(source)


def _grown_files(
    spark: "SparkSession",
    files: Sequence[NamedFile],
    stamps: Mapping[tuple[str, str], str],
    stored: StoredLogs,
) -> NewLines:
    """Find where new lines begin and end in the files of this machine, or of a shared disk."""
    keys = [(each.cluster, log_stem(each.source), each.settings) for each in files]
    own = {key: stored.ends(*key) for key in dict.fromkeys(keys)}
    ends = {key: index_ends(end for end, _ in found) for key, found in own.items()}
    paths = [
        LogPath(
            place,
            _path(each.source),
            stamps.get((each.cluster, each.source), ""),
            each.settings,
            ends[keys[place]],
        )
        for place, each in enumerate(files)
    ]
    parts: list[LogPart] = []
    spans: list[Span] = []
    failures: dict[tuple[str, str], str] = {}
    names: dict[int, str] = {}
    removals: dict[int, LogPart] = {}
    size = 0
    states = _read_states(spark, paths)
    looked_at = {each.place for each in states}
    unchanged = {
        (each.cluster, each.source) for at, each in enumerate(files) if at not in looked_at
    }
    for state in states:
        file, path = files[state.place], paths[state.place].path
        if state.failure:
            failures[file.cluster, file.source] = state.failure
            continue
        log = own[keys[state.place]][state.known][1] if state.known >= 0 else ""
        part = _grown_part(file, path, state, log, 2 * len(parts))
        name = log_id(file.source, state.first) if state.first else ""
        part, removal = stored.name_part(part, unchanged)
        if (packed := stored.packed_part(part, name)) is not None:
            parts.append(packed)
            continue
        parts.append(part)
        removals |= {part.part: removal} if removal is not None else {}
        names |= {part.part: name} if name else {}
        spans += _spans(part, path, state.end, state.length)
        size += (state.length - state.start) * (PACKED_RATIO if is_packed(path) else 1)
    return NewLines(
        tuple(parts),
        tuple(spans),
        failures=failures,
        size=size,
        names=names,
        known=stored.ids,
        removals=removals,
        has_others=any(each.has_others for each in states),
    )


def _grown_part(file: NamedFile, path: str, state: FileState, log: str, number: int) -> LogPart:
    """Return the part of a log that a file has beyond what was read; `log` is the id if known."""
    return LogPart(
        file.cluster,
        file.source,
        stamp_of(state.length, state.changed_ms, file.settings),
        file=log,
        part=number,
        start=state.start,
        end=UNKNOWN_END if is_packed(path) else state.end,
        head_length=state.head_length,
        head=state.head,
        tail=state.tail,
    )


def _read_states(spark: "SparkSession", paths: Sequence[LogPath]) -> list[FileState]:
    if not paths:
        return []
    tasks = 1 + len(paths) // _STATES_PER_TASK
    looked = spark.range(0, tasks, 1, tasks).mapInArrow(file_states(paths, tasks), STATE_SCHEMA)
    return [FileState(*each) for each in looked.collect()]


def _path(source: str) -> str:
    return unquote(urlsplit(source).path)


def _spans(part: LogPart, path: str, end: int, length: int) -> Iterator[Span]:
    """Cut what is new in a file into spans; a last line that is open is a part of its own."""
    sums = part.head_length, part.head
    if part.end == UNKNOWN_END:
        yield Span(part.part, path, 0, 0, length, length, *sums)
        return
    begins = [*range(part.start, end, TASK_BYTES), end]
    for begin, until in pairwise(begins):
        yield Span(part.part, path, part.start, begin, until, end, *sums)
    if end < length:
        yield Span(part.part + 1, path, end, end, length, length, *sums)


def _changed_objects(
    spark: "SparkSession", files: Sequence[NamedFile], stamps: Mapping[tuple[str, str], str]
) -> list[LogPart]:
    """Find the files that differ from what was read, of those that only Spark itself reads."""
    from pyspark.sql import functions as F  # noqa: N812 - heavy; its customary name

    if not files:
        return []
    changed = F.unix_millis("modificationTime").alias("changed_ms")
    read = spark.read.format("binaryFile").load([escape_pattern(each.source) for each in files])
    try:
        rows = read.select("_metadata.file_path", "length", changed).collect()
    except Exception as failure:
        raise FleetError(failure_reason(failure)) from failure
    values = {row["file_path"]: (row["length"], row["changed_ms"]) for row in rows}
    found = []
    for each in files:
        if each.source in values:
            stamp = stamp_of(*values[each.source], each.settings)
            if stamps.get((each.cluster, each.source)) != stamp:
                found.append(LogPart(each.cluster, each.source, stamp))
    return found


# ---- lines


def read_new_lines(
    spark: "SparkSession", new: NewLines, *, are_cut_read: bool = False
) -> "DataFrame":
    """Read new lines and add them up: part, and SUM_SCHEMA.

    With `are_cut_read` Spark takes what it can of damaged files.
    """
    parts = (*new.parts, *new.native)
    zoned = frozenset(each.part + n for each in parts if each.time_zone for n in (0, 1))
    plain = [each for each in new.spans if each.part not in new.layouts]
    named = [each for each in new.spans if each.part in new.layouts]
    sums = partial(_span_sums, zoned=zoned)
    found = [_read_spans(spark, plain, sums, _PART_SUMS)] if plain else []
    lines = [_read_spans(spark, named, span_lines, LINE_SCHEMA)] if named else []
    if new.native:
        lines.append(_read_native(spark, new.native, are_cut_read=are_cut_read))
    found += [sum_lines(apply_layouts(each, new.layouts), zoned) for each in lines]
    if not found:
        return create_dataframe(spark, [], _PART_SUMS)
    return reduce(lambda one, other: one.unionByName(other), found)


def _read_spans(
    spark: "SparkSession",
    spans: Sequence[Span],
    work: Callable[[Mapping[int, Sequence[Span]]], Callable[[Any], Iterator[Any]]],
    schema: str,
) -> "DataFrame":
    tasks = dict(enumerate(even_tasks(spans, _span_size)))
    return spark.range(0, len(tasks), 1, len(tasks)).mapInArrow(work(tasks), schema)


def _span_sums(
    tasks: Mapping[int, Sequence[Span]], zoned: Collection[int]
) -> Callable[[Any], Iterator[Any]]:
    """Return the work of tasks that add up what `span_lines` reads."""
    read = span_lines(tasks)

    def work(batches: Any) -> Iterator[Any]:  # noqa: ANN401 - of Arrow
        yield from add_up(read(batches), zoned)

    return work


def _span_size(span: Span) -> int:
    return (span.end - span.begin) * (PACKED_RATIO if is_packed(span.path) else 1)


def even_tasks(spans: Sequence[Span], size: Callable[[Span], int]) -> list[list[Span]]:
    """Spread spans over tasks of about the same size: the largest first, each to the smallest."""
    total = sum(map(size, spans))
    tasks: list[list[Span]] = [[] for _ in range(min(len(spans), 1 + total // TASK_BYTES))]
    sizes = [(0, at) for at in range(len(tasks))]
    for span in sorted(spans, key=size, reverse=True):
        least, at = sizes[0]
        tasks[at].append(span)
        heapq.heapreplace(sizes, (least + size(span), at))
    return tasks


def _read_native(
    spark: "SparkSession", parts: Sequence[LogPart], *, are_cut_read: bool
) -> "DataFrame":
    """Read files with Spark's own reader: what is elsewhere, and packed as only Hadoop does."""
    from pyspark.sql import functions as F  # noqa: N812

    reader = spark.read.options(**LINE_LIMIT, ignoreCorruptFiles=are_cut_read)
    read = reader.text([escape_pattern(each.source) for each in parts])
    named = create_dataframe(
        spark, [(each.source, each.part) for each in parts], "source string, part int"
    )
    lines = read.select(F.col("_metadata.file_path").alias("source"), F.col("value").alias("line"))
    return lines.join(F.broadcast(named), "source").select("part", "line")
