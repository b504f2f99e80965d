"""Use case: elect the leaders of partitions."""

import time
from collections.abc import Collection, Mapping

from kplan.cluster.errors import Handling, handling
from kplan.cluster.port import Cluster
from kplan.cluster.request import ItemResult, TopicDescription
from kplan.cluster.topology import ElectionType
from kplan.cluster.usage import TopicPartition
from kplan.model.errors import Refusal, UsageError
from kplan.model.table import Cell, Figures, FigureTable
from kplan.workflow.moves.election_loss import describe_losses, read_end_offsets
from kplan.workflow.moves.status import FAILED

_NO_TOPICS = (
    "No topic was shown: there is none, or kplan lacks DESCRIBE on all. Whether a partition needs "
    "an election is not known."
)
_VISIBLE_S, _PAUSE_S = 5.0, 0.1


def find_electable_partitions(
    cluster: Cluster, election: ElectionType
) -> tuple[TopicPartition, ...]:
    """Name the partitions without a leader, or whose leader is not the preferred one."""
    return tuple(
        (name, number)
        for name, found in sorted(cluster.topics().items())
        if isinstance(found, TopicDescription)
        for number, leader in enumerate(found.leaders)
        if (
            leader < 0
            if election is ElectionType.UNCLEAN
            else leader != found.assignment[number][0]
        )
    )


def elect_leaders(
    cluster: Cluster, partitions: Collection[TopicPartition], election: ElectionType
) -> Figures:
    """Elect leaders, with the outcome of each partition (K4o-12, K4o-13).

    Raises:
        UsageError: the name or number of a partition is invalid.
        ClusterError: the cluster does not answer, or refuses the request.

    """
    if any(number < 0 or not name for name, number in partitions):
        raise UsageError("A partition has a topic and a number from 0.")
    results = cluster.elect_leaders(partitions, election) if partitions else {}
    topics = _wait_for_leaders(cluster, partitions, results)
    rows: list[tuple[Cell, ...]] = [
        (*key, *_leader_and_preferred(key, topics.get(key[0])), _election_outcome(key, results))
        for key in sorted(partitions)
    ]
    led = sum(1 for row in rows if row[2] is not None and row[2] == row[3])
    notes = [f"leader == preferred: {led:,} of {len(rows):,}"] if rows else []
    if not rows:
        notes.append("No partition needs an election." if cluster.topics() else _NO_TOPICS)
    columns: tuple[str, ...] = ("topic", "partition", "leader", "preferred", "outcome")
    if election is ElectionType.UNCLEAN:
        ends = read_end_offsets(cluster, [key for key, result in results.items() if result is None])
        notes += describe_losses(cluster, ends)
        rows = [(*row, ends.get(key)) for row, key in zip(rows, sorted(partitions), strict=True)]
        columns = (*columns, "end_offset")
    failed = any(row[4] not in {"elected", "not needed"} for row in rows)
    return Figures(
        f"Elections ({election.name.lower()})",
        (FigureTable("partitions", columns, tuple(rows)),),
        notes=tuple(notes),
        findings=frozenset({FAILED}) if failed else frozenset(),
    )


def _wait_for_leaders(
    cluster: Cluster,
    partitions: Collection[TopicPartition],
    results: Mapping[TopicPartition, ItemResult],
) -> Mapping[str, TopicDescription | Refusal]:
    """Describe the topics once brokers know the leaders that were elected, or the time is up."""
    names = sorted({name for name, _ in partitions})
    elected = [key for key in partitions if key in results and results[key] is None]
    topics = cluster.topics(names) if names else {}
    until = time.monotonic() + _VISIBLE_S
    while time.monotonic() < until and any(
        _leader_and_preferred(key, topics.get(key[0]))[0] is None for key in elected
    ):
        time.sleep(_PAUSE_S)
        topics = cluster.topics(names)
    return topics


def _leader_and_preferred(
    key: TopicPartition, topic: TopicDescription | Refusal | None
) -> tuple[int | None, ...]:
    if not isinstance(topic, TopicDescription) or key[1] >= len(topic.leaders):
        return None, None
    leader = topic.leaders[key[1]]
    return leader if leader >= 0 else None, topic.assignment[key[1]][0]


def _election_outcome(key: TopicPartition, results: Mapping[TopicPartition, ItemResult]) -> str:
    if key not in results:
        return "no answer"
    result = results[key]
    if result is None:
        return "elected"
    return "not needed" if handling(result) is Handling.CONVERGED else str(result)
