"""The quorum of controllers: DescribeQuorum (KIP-595); and UnregisterBroker (KIP-631)."""

import time
from collections.abc import Sequence
from contextlib import suppress

from kplan.cluster.quorum import Follower, Quorum
from kplan.cluster.specs import Verdict
from kplan.kafka.settings import Endpoint
from kplan.kafka.wire.gateway import Gateway
from kplan.kafka.wire.link import Deadline
from kplan.kafka.wire.messages import Message
from kplan.kafka.wire.quorum_messages import DESCRIBE_QUORUM, UNREGISTER_BROKER
from kplan.kafka.wire.verdict import refused, unread, verdict
from kplan.model.errors import ClusterError, Unreachable, Unread
from kplan.model.refusal import Refusal

_METADATA = "__cluster_metadata"
_NOT_LEADER = frozenset({5, 6})
_ELECTION_S = 20.0
_PAUSE_S = 0.2
_RIGHT = "To see the quorum takes DESCRIBE on CLUSTER."


def quorum(gateway: Gateway) -> Quorum:
    """Ask the leader of the quorum, which any broker forwards to, for how far everybody is.

    Raises:
        Unread: the right to describe the cluster is missing.
        ClusterError: there is no leader now.

    """
    answer, partition = _told_by_leader(gateway)
    if partition.error_code:
        why = refused(partition.error_code, partition.error_message)
        raise ClusterError(f"The quorum cannot be described: {why}")
    return _quorum(answer, partition)


def _told_by_leader(gateway: Gateway) -> tuple[Message, Message]:
    """Ask; a controller that does not lead cannot tell, and one may just be elected."""
    deadline = Deadline.after(_ELECTION_S)
    found = _asked(gateway, None)
    while found[1].error_code in _NOT_LEADER and deadline.is_ahead:
        with suppress(Unreachable):  # the leader that was, which is down
            found = _asked(gateway, gateway.controller())
        if found[1].error_code in _NOT_LEADER:
            time.sleep(_PAUSE_S)
    return found


def _asked(gateway: Gateway, at: Endpoint | None) -> tuple[Message, Message]:
    topic = DESCRIBE_QUORUM.request.TopicData
    partition = topic.PartitionData(partition_index=0)
    request = DESCRIBE_QUORUM.request(topics=[topic(topic_name=_METADATA, partitions=[partition])])
    answer = gateway.ask(DESCRIBE_QUORUM, request, at=at)
    if answer.error_code:
        failure = unread("The quorum", answer.error_code, answer.error_message)
        raise Unread(failure.detail, hint=_RIGHT)
    return answer, answer.topics[0].partitions[0]


def _quorum(answer: Message, partition: Message) -> Quorum:
    leader = next(
        (each for each in partition.current_voters if each.replica_id == partition.leader_id), None
    )
    # The leader's own clock: it has caught up with itself now.
    now_ms = leader.last_caught_up_timestamp if leader else -1
    end = leader.log_end_offset if leader else partition.high_watermark
    addresses = {
        node.node_id: str(Endpoint(node.listeners[0].host, node.listeners[0].port))
        for node in answer.nodes or ()
        if node.listeners
    }
    return Quorum(
        partition.leader_id,
        partition.leader_epoch,
        partition.high_watermark,
        _followers(partition.current_voters, end, now_ms),
        _followers(partition.observers, end, now_ms),
        dict(sorted(addresses.items())),
    )


def _followers(replicas: Sequence[Message], end: int, now_ms: int) -> tuple[Follower, ...]:
    return tuple(
        Follower(
            each.replica_id,
            each.log_end_offset,
            max(0, end - each.log_end_offset),
            _ago(each.last_fetch_timestamp, now_ms),
            _ago(each.last_caught_up_timestamp, now_ms),
        )
        for each in sorted(replicas, key=lambda each: int(each.replica_id))
    )


def _ago(at_ms: int, now_ms: int) -> int | None:
    return max(0, now_ms - at_ms) if min(at_ms, now_ms) > 0 else None


def unregister_broker(gateway: Gateway, broker: int) -> Verdict:
    """Take a broker out of the cluster; the answer is that of the active controller."""
    answer = gateway.send(UNREGISTER_BROKER, UNREGISTER_BROKER.request(broker_id=broker))
    if isinstance(answer, Refusal):
        return answer
    return verdict(answer.error_code, answer.error_message, throttle_ms=answer.throttle_time_ms)
