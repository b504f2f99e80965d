"""The records that unclean elections lose, as far as offsets tell."""

from collections.abc import Collection, Iterator, Mapping

from kplan.cluster.port import Cluster
from kplan.cluster.usage import GroupDescription, TopicPartition
from kplan.model.errors import ClusterError

_MAX_PARTITIONS = 20
_UNKNOWN_LOSS = "No running broker knows how many records are lost."


def read_end_offsets(
    cluster: Cluster, partitions: Collection[TopicPartition]
) -> Mapping[TopicPartition, int | None]:
    """Return the offset from which the new leader of each partition continues, None if unknown."""
    uses = cluster.topic_use(sorted({name for name, _ in partitions})) if partitions else {}
    return {
        (name, number): held.end
        for name, number in sorted(partitions)
        if (held := uses[name].partitions.get(number)) is not None
    }


def describe_losses(cluster: Cluster, ends: Mapping[TopicPartition, int | None]) -> Iterator[str]:
    """Describe the loss of each partition; offsets that groups have read give a lower bound."""
    read = _read_furthest_offsets(cluster, ends) if ends else {}
    for (name, number), end in list(ends.items())[:_MAX_PARTITIONS]:
        at = f"{name}:{number}"
        if end is None:
            yield f"{at} has lost records that its new leader lacks; their first offset is unknown."
            continue
        yield f"{at} continues at offset {end:,}: what a former leader had from there on is lost."
        group, offset = read.get((name, number), ("", 0))
        if offset > end:
            yield (
                f"Group {group} had read {at} up to {offset:,}: at least {offset - end:,} records "
                "are lost, and it will skip as many new ones or start again (auto.offset.reset)."
            )
    if len(ends) > _MAX_PARTITIONS:
        yield f"And so do {len(ends) - _MAX_PARTITIONS:,} more partitions."
    if ends and not any(offset > (ends[key] or 0) for key, (_, offset) in read.items()):
        yield _UNKNOWN_LOSS


def _read_furthest_offsets(
    cluster: Cluster, partitions: Collection[TopicPartition]
) -> Mapping[TopicPartition, tuple[str, int]]:
    """Find the group that had read furthest, and its offset; none where groups are unreadable."""
    try:
        found = cluster.describe_groups(sorted(cluster.group_names()))
    except ClusterError:
        return {}
    best: dict[TopicPartition, tuple[str, int]] = {}
    for name, each in sorted(found.items()):
        if not isinstance(each, GroupDescription):
            continue
        for key, offset in each.committed_offsets.items():
            if key in partitions and offset > best.get(key, ("", -1))[1]:
                best[key] = (name, offset)
    return best
