"""The quorum of controllers: DescribeQuorum (KIP-595), voters (KIP-853); UnregisterBroker."""

import time
from collections.abc import Sequence
from contextlib import suppress

from kplan.cluster.request import ItemResult
from kplan.cluster.topology import Quorum, QuorumReplica, Voter
from kplan.kafka.settings.connection import Endpoint
from kplan.kafka.wire import messages
from kplan.kafka.wire.gateway import ELECTION_TIMEOUT_S, RETRY_PAUSE_S, TIMEOUT_HINT, Gateway
from kplan.kafka.wire.messages import (
    ADD_VOTER,
    DESCRIBE_QUORUM,
    REMOVE_VOTER,
    UNREGISTER_BROKER,
    Api,
    Message,
    broker_refusal,
    invalid_refusal,
    item_result,
    unread_error,
)
from kplan.kafka.wire.transport import Deadline
from kplan.model.errors import ClusterError, Refusal, UnreachableError, UnreadableError

_METADATA_TOPIC = "__cluster_metadata"
_NOT_LEADER_CODES = frozenset({5, 6})
_MAJORITY_HINT = "A majority of the controllers that vote has to run."
_SILENT_HINT = (
    "Brokers pass this request to the active controller, and wait where there is none. "
    f"{_MAJORITY_HINT} To ask them: -bootstrap-controller=HOST:PORT,..."
)
_RIGHT_HINT = "To see the quorum takes DESCRIBE on CLUSTER."


def read_quorum(gateway: Gateway) -> Quorum:
    """Ask the leader of the quorum, which any broker forwards to, for how far everybody is.

    Raises:
        UnreadableError: the right to describe the cluster is missing.
        ClusterError: there is no leader now.

    """
    answer, partition = _ask_leader(gateway)
    if partition.error_code in _NOT_LEADER_CODES:
        raise ClusterError("The cluster has no active controller.", hint=_MAJORITY_HINT)
    if partition.error_code:
        why = broker_refusal(partition.error_code, partition.error_message)
        raise ClusterError(f"The quorum cannot be described: {why}")
    return _decode_quorum(answer, partition)


def _ask_leader(gateway: Gateway) -> tuple[Message, Message]:
    """Send the request; a controller that is not the leader refuses, maybe amid an election."""
    deadline = Deadline.after(ELECTION_TIMEOUT_S)
    try:
        found = _ask_quorum(gateway, None)
    except UnreachableError as failure:
        if gateway.is_direct or TIMEOUT_HINT not in failure.hint:
            raise
        raise UnreachableError(failure.detail, hint=_SILENT_HINT) from failure
    while found[1].error_code in _NOT_LEADER_CODES and deadline.has_time_left:
        with suppress(UnreachableError):  # the leader that was, which is down
            found = _ask_quorum(gateway, gateway.controller())
        if found[1].error_code in _NOT_LEADER_CODES:
            time.sleep(RETRY_PAUSE_S)
    return found


def _ask_quorum(gateway: Gateway, at: Endpoint | None) -> tuple[Message, Message]:
    topic = DESCRIBE_QUORUM.request.TopicData
    partition = topic.PartitionData(partition_index=0)
    request = DESCRIBE_QUORUM.request(
        topics=[topic(topic_name=_METADATA_TOPIC, partitions=[partition])]
    )
    answer = gateway.ask(DESCRIBE_QUORUM, request, at=at)
    if answer.error_code:
        failure = unread_error("The quorum", answer.error_code, answer.error_message)
        raise UnreadableError(failure.detail, hint=_RIGHT_HINT)
    return answer, answer.topics[0].partitions[0]


def _decode_quorum(answer: Message, partition: Message) -> Quorum:
    leader = next(
        (each for each in partition.current_voters if each.replica_id == partition.leader_id), None
    )
    # The leader's own clock: it has caught up with itself now.
    now_ms = leader.last_caught_up_timestamp if leader else -1
    end = leader.log_end_offset if leader else partition.high_watermark
    listeners = {node.node_id: node.listeners[0] for node in answer.nodes or () if node.listeners}
    addresses = {key: str(Endpoint(each.host, each.port)) for key, each in listeners.items()}
    lead = listeners.get(partition.leader_id)
    return Quorum(
        partition.leader_id,
        partition.leader_epoch,
        partition.high_watermark,
        _followers(partition.current_voters, end, now_ms),
        _followers(partition.observers, end, now_ms),
        dict(sorted(addresses.items())),
        lead.name if lead else "",
    )


def _followers(replicas: Sequence[Message], end: int, now_ms: int) -> tuple[QuorumReplica, ...]:
    return tuple(
        QuorumReplica(
            each.replica_id,
            each.log_end_offset,
            max(0, end - each.log_end_offset),
            _elapsed_ms(each.last_fetch_timestamp, now_ms),
            _elapsed_ms(each.last_caught_up_timestamp, now_ms),
            messages.format_uuid(each.replica_directory_id),
        )
        for each in sorted(replicas, key=lambda each: int(each.replica_id))
    )


def _elapsed_ms(at_ms: int, now_ms: int) -> int | None:
    return max(0, now_ms - at_ms) if min(at_ms, now_ms) > 0 else None


def unregister_broker(gateway: Gateway, broker: int) -> ItemResult:
    """Take a broker out of the cluster; the answer is that of the active controller."""
    return _send_change(gateway, UNREGISTER_BROKER, UNREGISTER_BROKER.request(broker_id=broker))


def add_voter(gateway: Gateway, voter: Voter) -> ItemResult:
    """Add a voter; the response arrives once the voters have committed it."""
    try:
        directory = messages.parse_uuid(voter.directory)
    except ValueError:
        return invalid_refusal(f'"{voter.directory}" is not a directory id.')
    listener = ADD_VOTER.request.Listener(name=voter.listener, host=voter.host, port=voter.port)
    request = ADD_VOTER.request(
        cluster_id=None,
        timeout_ms=gateway.operation_timeout_ms,
        voter_id=voter.id,
        voter_directory_id=directory,
        listeners=[listener],
    )
    return _send_change(gateway, ADD_VOTER, request)


def remove_voter(gateway: Gateway, voter: int, directory: str) -> ItemResult:
    """Remove a voter; the response arrives once the others have committed it."""
    try:
        found = messages.parse_uuid(directory)
    except ValueError:
        return invalid_refusal(f'"{directory}" is not a directory id.')
    request = REMOVE_VOTER.request(cluster_id=None, voter_id=voter, voter_directory_id=found)
    return _send_change(gateway, REMOVE_VOTER, request)


def _send_change(gateway: Gateway, api: Api, request: Message) -> ItemResult:
    answer = gateway.send(api, request)
    if isinstance(answer, Refusal):
        return answer
    return item_result(answer.error_code, answer.error_message, throttle_ms=answer.throttle_time_ms)
