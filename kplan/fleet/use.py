"""What stands in topics and who uses it, as rows of a run.

One row of kind `use` per topic: `records`, `bytes` (of one replica of each partition), `newest_ms`
(of its newest record, since 1970), `producers` and `groups`, a JSON list of
`[group, is_live, lag]`. What could not be read is not there, and `unread` says why. One row of kind
`group` per consumer group.
"""

import json
from collections.abc import Collection, Iterator, Mapping

from kplan.cluster.port import Cluster
from kplan.cluster.usage import TopicUse
from kplan.fleet.rows import GROUP, UNREAD, USE, Row
from kplan.model.errors import ClusterError
from kplan.policy.blast import impact


def use_rows(name: str, cluster: Cluster, topics: Collection[str]) -> Iterator[Row]:
    """Read the use of topics and all groups; what cannot be read is told."""
    try:
        used = cluster.topic_use(topics) if topics else {}
        yield from (Row(name, USE, each, attributes=_told(used[each])) for each in sorted(used))
    except ClusterError as failure:
        yield Row(name, UNREAD, USE, attributes={"reason": failure.detail})
    try:
        yield from (Row(name, GROUP, each) for each in sorted(cluster.group_names()))
    except ClusterError as failure:
        yield Row(name, UNREAD, GROUP, attributes={"reason": failure.detail})


def _told(used: TopicUse) -> Mapping[str, str]:
    summed = impact(used, 0)
    newest = [each.newest_ms for each in used.partitions.values() if each.newest_ms is not None]
    groups = [[each.group, each.is_live, each.lag] for each in summed.groups or ()]
    told = {
        "records": summed.records,
        "bytes": summed.size_bytes,
        "newest_ms": max(newest, default=None),
        "producers": summed.producers,
        "groups": None if summed.groups is None else json.dumps(groups),
        "unread": "; ".join(used.unread) or None,
    }
    return {key: str(each) for key, each in told.items() if each is not None}
