"""What must not be given to confluent-kafka: it would crash, corrupt the item or refuse the call.

Measured on confluent-kafka 2.16.1 with librdkafka 2.16.0. What a broker would refuse too is refused
with the broker's code, so that both drivers answer alike; the origin tells that it was not sent.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from kplan.cluster.errors import CLIENT_INVALID, client_refusal, refusal
from kplan.cluster.specs import Assignment, ConfigAlteration, NewPartitions, NewTopic
from kplan.model.refusal import Origin, Refusal

_MOST_BYTES = 32_767
"""The longest string of the protocol; librdkafka sends a longer one as null, or breaks off."""

_MOST_BROKER_ID = 2**31 - 1


def repeated(names: Iterable[str]) -> dict[str, Refusal]:
    """Refuse what is named more than once: a duplicate ends the whole process (SIGSEGV)."""
    return {
        name: _as_broker(42, "Duplicate topic name.")
        for name, count in Counter(names).items()
        if count > 1
    }


def topic_fault(spec: NewTopic) -> Refusal | None:
    """Refuse a topic that cannot be sent as it is."""
    if fault := _text_fault((spec.name, *spec.config.keys(), *spec.config.values())):
        return client_refusal(CLIENT_INVALID, fault)
    if spec.assignment is not None:
        return _manual_fault(spec) or _replica_fault(spec.assignment)
    if spec.replication_factor is not None and spec.replication_factor < 1:
        return _as_broker(
            38, "Replication factor must be larger than 0, or -1 to use the default value."
        )
    if spec.partitions is not None and spec.partitions < 1:
        return _as_broker(37, "Number of partitions was set to an invalid non-positive value.")
    return None


def growth_fault(spec: NewPartitions) -> Refusal | None:
    """Refuse growth that cannot be sent as it is."""
    if fault := _text_fault((spec.name,)):
        return client_refusal(CLIENT_INVALID, fault)
    if spec.total < 1:
        return _as_broker(37, f"{spec.total} partitions would not be an increase.")
    return None if spec.assignment is None else _replica_fault(spec.assignment)


def alteration_fault(spec: ConfigAlteration) -> Refusal | None:
    """Refuse an alteration that cannot be sent as it is."""
    if fault := _text_fault((spec.name, *spec.set.keys(), *spec.set.values(), *spec.delete)):
        return client_refusal(CLIENT_INVALID, fault)
    if not spec.name:
        return _as_broker(42, "Default topic resources are not allowed.")
    if spec.set.keys() & set(spec.delete) or len(set(spec.delete)) < len(spec.delete):
        return _as_broker(42, "Error due to duplicate config keys")
    if "" in spec.set or "" in spec.delete:
        return _as_broker(40, "Unknown topic config name: ")
    return None


def _text_fault(texts: Sequence[object]) -> str:
    """Find what is no string of the protocol; confluent-kafka sends None as the word "None"."""
    for text in texts:
        if not isinstance(text, str):
            return f"{text!r} is not a string."
        if "\0" in text:  # the name would end there
            return "A string holds a NUL character."
        try:
            size = len(text.encode())
        except UnicodeEncodeError:
            return "A string holds half of a surrogate pair."
        if size > _MOST_BYTES:
            return f"A string has {size} bytes; the protocol takes at most {_MOST_BYTES}."
    return ""


def _manual_fault(spec: NewTopic) -> Refusal | None:
    both = "A manual partition assignment was specified, but {} was not set to -1."
    if spec.replication_factor is not None:
        return _as_broker(42, both.format("replication factor"))
    if spec.partitions is not None:
        return _as_broker(42, both.format("numPartitions"))
    return None


def _replica_fault(assignment: Assignment) -> Refusal | None:
    if not assignment:
        return client_refusal(CLIENT_INVALID, "The assignment has no partition.")
    if not all(assignment):
        return _as_broker(39, "The manual partition assignment includes an empty replica list.")
    stranger = next((id_ for id_ in _ids(assignment) if not 0 <= id_ <= _MOST_BROKER_ID), None)
    if stranger is None:
        return None
    return _as_broker(
        39,
        f"The manual partition assignment includes broker {stranger}, "
        "but no such broker is registered.",
    )


def _ids(assignment: Assignment) -> Iterable[int]:
    return (id_ for replicas in assignment for id_ in replicas)


def _as_broker(code: int, message: str) -> Refusal:
    found = refusal(code, message)
    return Refusal(found.error, found.code, found.message, origin=Origin.CLIENT)
