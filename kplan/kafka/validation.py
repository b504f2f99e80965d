"""Checks before a call of confluent-kafka: what would crash it or corrupt an item."""

from collections import Counter
from collections.abc import Iterable, Sequence

from kplan.cluster.errors import CLIENT_INVALID, client_refusal, refusal
from kplan.cluster.request import Assignment, ConfigAlteration, NewPartitions, NewTopic
from kplan.model.refusal import Refusal, RefusalOrigin

_MAX_STRING_BYTES = 32_767
"""The longest string of the protocol; librdkafka sends a longer one as null, or breaks off."""

_MAX_BROKER_ID = 2**31 - 1


def duplicate_refusals(names: Iterable[str]) -> dict[str, Refusal]:
    """Refuse what is named more than once: a duplicate ends the whole process (SIGSEGV)."""
    return {
        name: _broker_like_refusal(42, "Duplicate topic name.")
        for name, count in Counter(names).items()
        if count > 1
    }


def topic_refusal(spec: NewTopic) -> Refusal | None:
    """Refuse a topic that cannot be sent as it is."""
    if fault := _string_fault((spec.name, *spec.config.keys(), *spec.config.values())):
        return client_refusal(CLIENT_INVALID, fault)
    if spec.assignment is not None:
        return _assignment_conflict(spec) or _assignment_refusal(spec.assignment)
    if spec.replication_factor is not None and spec.replication_factor < 1:
        return _broker_like_refusal(
            38, "Replication factor must be larger than 0, or -1 to use the default value."
        )
    if spec.partitions is not None and spec.partitions < 1:
        return _broker_like_refusal(
            37, "Number of partitions was set to an invalid non-positive value."
        )
    return None


def partitions_refusal(spec: NewPartitions) -> Refusal | None:
    """Refuse growth that cannot be sent as it is."""
    if fault := _string_fault((spec.name,)):
        return client_refusal(CLIENT_INVALID, fault)
    if spec.total < 1:
        return _broker_like_refusal(37, f"{spec.total} partitions would not be an increase.")
    return None if spec.assignment is None else _assignment_refusal(spec.assignment)


def alteration_refusal(spec: ConfigAlteration) -> Refusal | None:
    """Refuse an alteration that cannot be sent as it is."""
    if fault := _string_fault((spec.name, *spec.set.keys(), *spec.set.values(), *spec.delete)):
        return client_refusal(CLIENT_INVALID, fault)
    if not spec.name:
        return _broker_like_refusal(42, "Default topic resources are not allowed.")
    if spec.set.keys() & set(spec.delete) or len(set(spec.delete)) < len(spec.delete):
        return _broker_like_refusal(42, "Error due to duplicate config keys")
    if "" in spec.set or "" in spec.delete:
        return _broker_like_refusal(40, "Unknown topic config name: ")
    return None


def _string_fault(texts: Sequence[object]) -> str:
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
        if size > _MAX_STRING_BYTES:
            return f"A string has {size} bytes; the protocol takes at most {_MAX_STRING_BYTES}."
    return ""


def _assignment_conflict(spec: NewTopic) -> Refusal | None:
    both = "A manual partition assignment was specified, but {} was not set to -1."
    if spec.replication_factor is not None:
        return _broker_like_refusal(42, both.format("replication factor"))
    if spec.partitions is not None:
        return _broker_like_refusal(42, both.format("numPartitions"))
    return None


def _assignment_refusal(assignment: Assignment) -> Refusal | None:
    if not assignment:
        return client_refusal(CLIENT_INVALID, "The assignment has no partition.")
    if not all(assignment):
        return _broker_like_refusal(
            39, "The manual partition assignment includes an empty replica list."
        )
    stranger = next(
        (id_ for id_ in _broker_ids(assignment) if not 0 <= id_ <= _MAX_BROKER_ID), None
    )
    if stranger is None:
        return None
    return _broker_like_refusal(
        39,
        f"The manual partition assignment includes broker {stranger}, "
        "but no such broker is registered.",
    )


def _broker_ids(assignment: Assignment) -> Iterable[int]:
    return (id_ for replicas in assignment for id_ in replicas)


def _broker_like_refusal(code: int, message: str) -> Refusal:
    found = refusal(code, message)
    return Refusal(found.error, found.code, found.message, origin=RefusalOrigin.CLIENT)
