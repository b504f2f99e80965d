"""How far topics with audit records were read, and what of them is new."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from kplan.fleet.logs.audit_topic import OffsetRange
from kplan.fleet.logs.part import Log, LogPart, log_id


class TopicEnd(NamedTuple):
    """How far a partition of a topic was read, and the id of the log that it has.

    `topic_id` is Kafka's id of the topic that was read, "" where it is not known.
    """

    end: int
    log: str
    topic_id: str = ""

    def is_of_other_topic(self, topic_id: str) -> bool:
        """Whether an id is that of another topic than was read; it is not, where one is unknown."""
        return bool(self.topic_id and topic_id) and self.topic_id != topic_id


def topic_ends(logs: Iterable[Log]) -> dict[tuple[str, str], TopicEnd]:
    """Return how far each partition of a topic was read, by cluster and source.

    Of several logs in a partition the last one counts: each is named after the one before it.
    """
    ends = {
        (each.last.cluster, each.last.source, each.last.file): each.last
        for each in logs
        if each.last.is_topic
    }
    found = {}
    for cluster, source, _ in ends:
        log = log_id(source, None)
        while (cluster, source, later := next_log_id(log)) in ends:
            log = later
        if (last := ends.get((cluster, source, log))) is not None:
            found[cluster, source] = TopicEnd(last.end, log, last.head)
    return found


def next_log_id(log: str) -> str:
    """Name the log that took the place of another one in its partition: for all who see it."""
    return hashlib.md5(f"{log}\nnext".encode(), usedforsecurity=False).hexdigest()


def unread_offsets(whole: OffsetRange, known: TopicEnd | None) -> OffsetRange:
    """Say what of a partition was not read; all of it where it is another log than was read.

    It is where its topic has another id, and where it is shorter than what was read: the topic was
    re-created or truncated.
    """
    if known is None:
        return whole
    if whole.end < known.end or known.is_of_other_topic(whole.topic_id):
        return replace(whole, log=next_log_id(known.log))
    return replace(whole, start=max(whole.start, known.end), log=known.log)


def new_logs(spans: Iterable[OffsetRange], known: Mapping[str, TopicEnd]) -> list[OffsetRange]:
    """Return the spans of another log than was read of their partition; in: ends by source."""
    return [each for each in spans if each.source in known and each.log != known[each.source].log]


def lost_offsets(spans: Iterable[OffsetRange], known: Mapping[str, TopicEnd]) -> list[OffsetRange]:
    """Return what was removed from partitions before it was read; in: as for `new_logs`."""
    return [
        replace(each, start=end.end, end=each.start)
        for each in spans
        if (end := known.get(each.source)) and end.log == each.log and end.end < each.start
    ]


def cluster_ends(cluster: str, ends: Mapping[tuple[str, str], TopicEnd]) -> dict[str, TopicEnd]:
    """Return how far the topics of one cluster were read, by source."""
    return {source: end for (name, source), end in ends.items() if name == cluster}


def topic_part(cluster: str, span: OffsetRange, number: int) -> LogPart:
    """Return the part of a log that records of a partition are."""
    file = span.log or log_id(span.source, None)
    return LogPart(
        cluster,
        span.source,
        file=file,
        part=number,
        start=span.start,
        end=span.end,
        head=span.topic_id,
    )
