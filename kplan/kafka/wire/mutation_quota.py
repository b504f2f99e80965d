"""Whether a quota on changes of topics may hold for us (KIP-599)."""

from collections.abc import Iterator, Mapping
from typing import Any

from kplan.kafka.wire import messages
from kplan.kafka.wire.api import Message
from kplan.kafka.wire.gateway import Gateway
from kplan.model.errors import ClusterError

KEY = "controller_mutation_rate"
_EXACT, _DEFAULT = 0, 1


def may_be_limited(gateway: Gateway, client_id: str) -> bool:
    """Look for such a quota of our user, of our client id, and of all that have none of their own.

    Where we may not read quotas there may be one. Where the cluster has no such API, or does not
    answer, the answer is no. Who we are may not be known (a broker may rename us); then any such
    quota counts.
    """
    try:
        return any(_has_rate(gateway, *each) for each in _filters(gateway.principal, client_id))
    except ClusterError:
        return False


def _filters(principal: str, client_id: str) -> Iterator[tuple[list[Mapping[str, Any]], bool]]:
    """Give what is asked for, and whether other entities must have no further part."""
    user = principal.removeprefix("User:")
    if not user:
        yield [], False
        return
    for sort, name, is_strict in (("user", user, False), ("client-id", client_id, True)):
        yield [{"entity_type": sort, "match_type": _EXACT, "match": name}], is_strict
        yield [{"entity_type": sort, "match_type": _DEFAULT, "match": None}], is_strict


def _has_rate(gateway: Gateway, parts: list[Mapping[str, Any]], is_strict: bool) -> bool:  # noqa: FBT001 - as the protocol has it
    request = messages.DESCRIBE_QUOTAS.request
    components = [request.ComponentData(**each) for each in parts]
    answer: Message = gateway.ask(
        messages.DESCRIBE_QUOTAS, request(components=components, strict=is_strict)
    )
    rates = (value for entry in answer.entries or () for value in entry.values)
    return bool(answer.error_code) or any(each.key == KEY for each in rates)
