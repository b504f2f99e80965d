"""The active controller: who it is, and the answer of a node that it is not (NOT_CONTROLLER)."""

from collections.abc import Iterator, Mapping

from kplan.kafka.settings import Endpoint
from kplan.kafka.wire import messages
from kplan.kafka.wire.api import Message
from kplan.kafka.wire.connection import Connection
from kplan.kafka.wire.link import Deadline
from kplan.model.refusal import Refusal

BROKERS, CONTROLLERS = 1, 2
"""Kafka's numbers (EndpointType)."""

ELECTION_S = 20.0
"""How long the active controller is looked for: an election took 2 s where it was measured."""

PAUSE_S = 0.2
"""How long to wait before one looks again."""

_NOT_CONTROLLER = 41
_LISTS = ("results", "responses", "entries", "filter_results", "topics")
"""Where answers to changes hold what became of each item."""


def active(node: Connection, deadline: Deadline, *, is_direct: bool) -> Endpoint | None:
    """Ask where the active controller listens, None where none is known.

    A KRaft broker names any live broker instead, and forwards what it is asked (KIP-590): only a
    controller, or a cluster with ZooKeeper, ever answers that it is not the one.
    """
    kind = CONTROLLERS if is_direct else BROKERS
    request = messages.DESCRIBE_CLUSTER.request(endpoint_type=kind)
    answer = node.ask(messages.DESCRIBE_CLUSTER, request, deadline)
    said = [each for each in answer.brokers or () if each.broker_id == answer.controller_id]
    return Endpoint(said[0].host, said[0].port) if said else None


def is_not_controller(answer: object) -> bool:
    """Whether nothing was changed because another node is the controller."""
    if isinstance(answer, Mapping):
        refused = [each.code for each in answer.values() if isinstance(each, Refusal)]
        return bool(answer) and refused == [_NOT_CONTROLLER] * len(answer)
    return not isinstance(answer, Refusal) and set(_codes(answer)) == {_NOT_CONTROLLER}


def _codes(answer: Message) -> Iterator[int]:
    """List the error codes of an answer: its own, and else those of its items."""
    own = getattr(answer, "error_code", 0)
    if own:
        yield own
        return
    for name in _LISTS:
        yield from (getattr(each, "error_code", 0) for each in getattr(answer, name, None) or ())
