"""What an unclean election has lost, as far as anybody who runs can tell."""

from collections.abc import Collection, Iterator, Mapping

from kplan.cluster.port import Cluster
from kplan.cluster.usage import GroupDescription, TopicPartition
from kplan.model.errors import ClusterError

_TOLD = 20
UNTOLD = "Nobody who runs can tell how many records are lost."


def new_ends(
    cluster: Cluster, partitions: Collection[TopicPartition]
) -> Mapping[TopicPartition, int | None]:
    """Tell the offset from which the new leader of each partition goes on, None if not told."""
    uses = cluster.topic_use(sorted({name for name, _ in partitions})) if partitions else {}
    return {
        (name, number): held.end
        for name, number in sorted(partitions)
        if (held := uses[name].partitions.get(number)) is not None
    }


def losses_told(cluster: Cluster, ends: Mapping[TopicPartition, int | None]) -> Iterator[str]:
    """Say what is lost of each partition; what groups had read and is gone gives a lower bound."""
    read = _read_up_to(cluster, ends) if ends else {}
    for (name, number), end in list(ends.items())[:_TOLD]:
        at = f"{name}:{number}"
        if end is None:
            yield f"{at} has lost what its new leader lacks; where that begins is not told."
            continue
        yield f"{at} goes on at offset {end:,}: what a former leader had from there on is lost."
        group, offset = read.get((name, number), ("", 0))
        if offset > end:
            yield (
                f"Group {group} had read {at} up to {offset:,}: at least {offset - end:,} records "
                "are lost, and it will skip as many new ones or begin anew (auto.offset.reset)."
            )
    if len(ends) > _TOLD:
        yield f"And so do {len(ends) - _TOLD:,} more partitions."
    if ends and not any(offset > (ends[key] or 0) for key, (_, offset) in read.items()):
        yield UNTOLD


def _read_up_to(
    cluster: Cluster, partitions: Collection[TopicPartition]
) -> Mapping[TopicPartition, tuple[str, int]]:
    """Find who had read furthest, and how far; nobody where groups cannot be read."""
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
