"""Use case over many clusters: reading their authorizer logs, all of them in one job."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from kplan.config.fleet_file import FleetCluster, FleetConfiguration
from kplan.fleet import figures
from kplan.fleet.dataframe import create_dataframe
from kplan.fleet.jars import KAFKA_CONNECTOR
from kplan.fleet.logs import requests
from kplan.fleet.logs.counts import (
    MALFORMED_LOGS,
    LineCount,
    count_lineage,
    line_examples,
    malformed_files,
    malformed_table,
    other_table,
    request_table,
    silent_clusters,
)
from kplan.fleet.logs.file_names import LogPatterns, NamedFile, list_log_files
from kplan.fleet.logs.files import NewLines, find_new_lines, is_read_here, read_new_lines
from kplan.fleet.logs.layout import nearest_layout
from kplan.fleet.logs.outcome import Added, UnreadableLog
from kplan.fleet.logs.part import LogPart, latest_parts
from kplan.fleet.spark.jobs import describe_jobs
from kplan.fleet.spark.session import SparkSettings, open_session
from kplan.fleet.store import Store
from kplan.model.errors import FleetError, KplanError, UsageError
from kplan.model.log_layout import KAFKA_SCHEME
from kplan.model.table import Figures, FigureTable
from kplan.model.version import VERSION
from kplan.report.documents.notation import count_text, shorten
from kplan.workflow.fleet.fleet import (
    choose_engine,
    filter_clusters,
    open_store,
    read_fleet,
)
from kplan.workflow.fleet.ingest_topics import Logging, ingest_topics, log_topics, topic_counts
from kplan.workflow.fleet.ports import FleetOptions, FleetPorts

if TYPE_CHECKING:
    from kplan.fleet.spark.session import DataFrame, SparkSession

WARNED_SHARE, FAILED_SHARE = 0.01, 0.5
"""Shares of malformed lines of a log above which this is a warning, and an error."""
NO_LINES = "There is nothing in the logs yet: a later ingest reads what comes into them."
EXAMPLE_LENGTH = 200
"""Characters of a malformed line that a message shows."""


def ingest_logs(options: FleetOptions, ports: FleetPorts) -> Figures:
    """Read the authorizer logs that the fleet file names, and keep their sums.

    Of what was read before only what is new is read. What goes wrong with one cluster is a note,
    unless it goes wrong with all.
    """
    fleet = read_fleet(options)
    logging = logging_clusters(fleet, options)
    engine = _choose_engine(fleet, logging, options)
    ports.progress.stage("Starting Spark")
    with open_session(engine, ports.progress, options.command) as spark:
        store = open_store(spark, fleet)
        found = _ingest_all(store, spark, (fleet, logging), ports)
        names = options.cluster_names
        every = store.logs.counts()
        counts = [each for each in every if not names or each.cluster in names]
        lineage = {**count_lineage(counts), "answered_by": VERSION, "store": store.name}
        notes = [*found.notes]
        lines = FigureTable("malformed", requests.MALFORMED_COLUMNS, ())
        if options.output or any(each.malformed for each in counts):  # else no stored row is needed
            rows = _stored_rows(store, spark, options)
            malformed = requests.malformed_lines(rows).orderBy("cluster", "source", "line")
            files = store.logs.current(found.files)
            judged = [*malformed_files(counts, files, WARNED_SHARE), *found.topics]
            notes += report_malformed(judged, malformed, ports.progress.note)
            if options.output:
                figures.write_table(requests.usage(rows), options.output, lineage)
                figures.write_table(malformed, options.output, lineage, "malformed")
            lines = figures.collect_table("malformed", malformed, options.limit)
        tables = (
            request_table(counts, options.limit),
            malformed_table(counts, options.limit),
            lines,
            other_table(counts, options.limit),
        )
        for name, others in silent_clusters(counts):
            ports.progress.note(
                f"Warning: {name}: none of {others:,} lines of its logs is of the authorizer; all "
                "are of other loggers. Does kafka.authorizer.logger write there?"
            )
        remarks = () if any(each.lines or each.others for each in every) else (NO_LINES,)
        return Figures("Authorizer logs", tables, lineage, tuple(notes), remarks=remarks)


def _choose_engine(
    fleet: FleetConfiguration, logging: Iterable[FleetCluster], options: FleetOptions
) -> SparkSettings:
    """Say which Spark reads the logs; of files on this machine Python reads the lines."""
    engine = choose_engine(fleet, options.engine)
    if any(map(log_topics, logging)):
        if engine.remote:
            return engine
        more = KAFKA_CONNECTOR.settings(engine.conf, options.inputs.environ)
        return replace(engine, conf={**engine.conf, **more})
    files = (file for each in log_patterns(logging) for file in each.patterns)
    return replace(engine, reads_little=all(map(is_read_here, files)))


def _stored_rows(store: Store, spark: "SparkSession", options: FleetOptions) -> "DataFrame":
    """Return the rows of the selected clusters, none where no line is stored."""
    if not store.logs.lines:
        return create_dataframe(spark, [], requests.AUDIT_SCHEMA)
    return filter_clusters(options, store.logs.rows())


def logging_clusters(fleet: FleetConfiguration, options: FleetOptions) -> tuple[FleetCluster, ...]:
    """Return the selected clusters with logs; raises UsageError where there are none."""
    found = tuple(each for each in options.selected_clusters(fleet) if each.has_audit)
    if not found:
        raise UsageError(
            "The fleet file names no authorizer log.",
            'In a cluster block: audit = ["logs/*.log"], or with a layout: '
            'audit "logs/*.log" { layout = "log4j2-json" }',
        )
    return found


def report_malformed(
    logs: Iterable[LineCount], malformed: "DataFrame", warn: Callable[[str], None]
) -> list[str]:
    """Warn of logs with malformed lines; returns those of which most lines are malformed."""
    errors = []
    found = sorted((each for each in logs if each.share > WARNED_SHARE), key=_worst_first)
    for each in found[:MALFORMED_LOGS]:
        examples = line_examples(malformed, each)
        lines = "".join(f"\n    {shorten(line, EXAMPLE_LENGTH)}" for line in examples)
        text = (
            f"{each.cluster}: {each.malformed:,} of {each.lines:,} lines ({each.share:.0%}) of "
            f"{each.source} are malformed"
        )
        if each.others:
            text += f" (besides {count_text(each.others, 'line')} of other loggers)"
        if each.share > FAILED_SHARE:
            nearest = nearest_layout(examples)
            layout = f"the nearest layout is {nearest}" if nearest else "no layout is near"
            errors.append(f"{text}; {layout}:{lines}")
        else:
            warn(f"Warning: {text}:{lines}")
    return errors


def _worst_first(log: LineCount) -> tuple[float, str, str]:
    return -log.share, log.cluster, log.source


class _Ingested(NamedTuple):
    """What is to be reported of logs that were not read, and what is judged by its lines.

    `files` are those that patterns fit, by cluster and source; of `topics` what was read counts.
    """

    notes: Sequence[str]
    files: Collection[tuple[str, str]]
    topics: Sequence[LineCount]


def _ingest_all(
    store: Store, spark: "SparkSession", logging: Logging, ports: FleetPorts
) -> _Ingested:
    """Read all logs. Raises KplanError."""
    clusters = logging[1]
    given = log_patterns(clusters)
    ports.progress.stage(f"Reading logs of {count_text(len(clusters), 'cluster')}")
    found = ingest_files(store, spark, given) if given else IngestedFiles()
    failures, counts, is_read = [*found.failures], [], bool(found.files)
    if topics := [each for each in clusters if log_topics(each)]:
        ports.progress.stage(f"Reading topics of {count_text(len(topics), 'cluster')}")
        read = ingest_topics(store, spark, (logging[0], topics), ports)
        failures, counts = [*failures, *read.failures], topic_counts(read.counts)
        is_read |= {name for name, _ in read.failures} != {each.name for each in topics}
    if failures and not is_read:
        told = dict.fromkeys(each.detail or each.summary for _, each in failures)
        raise failures[0][1] if len(told) == 1 else FleetError("\n".join(told))
    items = [
        f"{name}: not all of its logs were read: {failure.detail or failure.summary}"
        for name, failure in failures
    ]
    return _Ingested([*items, *found.notes], found.files, counts)


class IngestedFiles(NamedTuple):
    """What is wrong with the patterns of clusters, and a note for each file not read to its end.

    `files` are all that patterns fit, by cluster and source.
    """

    failures: Sequence[tuple[str, KplanError]] = ()
    notes: Sequence[str] = ()
    added: Added = Added()
    files: Collection[tuple[str, str]] = ()


def ingest_files(
    store: Store, spark: "SparkSession", given: Sequence[LogPatterns]
) -> IngestedFiles:
    """Read what is new in the files that patterns fit; raises FleetError."""
    describe_jobs(spark, "find new lines of logs")
    files, failed = list_log_files(spark, given)
    parts = store.logs.parts()
    new = find_new_lines(spark, files, parts)
    zones = {each.cluster: each.time_zone for each in given if each.time_zone}
    reasons = {f"{cluster}: {source}": why for (cluster, source), why in new.failures.items()}
    reasons |= _known_damage(files, new, parts)
    added = Added()
    if new.parts or new.native:
        describe_jobs(spark, _new_text(new))
        try:
            added = store.logs.add(read_new_lines(spark, new), new, zones)
        except UnreadableLog as failure:  # of Spark's own reader, which tells of one only
            new = _with_damage(new, failure)
            added = store.logs.add(read_new_lines(spark, new, are_cut_read=True), new, zones)
    reasons |= added.reasons
    items = [f"{name} could not be read: {why}." for name, why in sorted(reasons.items())]
    return IngestedFiles(failed, items, added, {(each.cluster, each.source) for each in files})


def _known_damage(
    files: Iterable[NamedFile], new: NewLines, parts: Iterable[LogPart]
) -> dict[str, str]:
    """Return, by `CLUSTER: SOURCE`, what was not read of files that are as they were."""
    changed = {(each.cluster, each.source) for each in (*new.parts, *new.native)}
    damages = {
        place: each.damage
        for place, each in latest_parts(parts).items()
        if each.damage and place not in changed and place not in new.failures
    }
    return {
        f"{each.cluster}: {each.source}": damages[place]
        for each in files
        if (place := (each.cluster, each.source)) in damages
    }


def _with_damage(new: NewLines, failure: UnreadableLog) -> NewLines:
    """Note which file Spark's own reader could not read."""
    damage = f"it is damaged ({failure.detail}); some of it is counted"
    native = (
        replace(each, damage=damage) if each.source == failure.source else each
        for each in new.native
    )
    return replace(new, native=tuple(native))


def _new_text(new: NewLines) -> str:
    parts = (*new.parts, *new.native)
    names = sorted({each.cluster for each in parts})
    where = f"cluster {names[0]}" if len(names) == 1 else f"{len(names):,} clusters"
    files = {(each.cluster, each.source) for each in parts}
    return f"read {count_text(len(files), 'new file')} of {where}"


def log_patterns(clusters: Iterable[FleetCluster]) -> list[LogPatterns]:
    """Return the log files of clusters, those of each layout."""
    found = []
    for each in clusters:
        own = tuple(log for log in each.audit if not log.startswith(KAFKA_SCHEME))
        if own:
            found.append(LogPatterns(each.name, own, each.audit_time_zone))
        found += [
            LogPatterns(each.name, files.patterns, each.audit_time_zone, files.layout)
            for files in each.audit_files
        ]
    return found
