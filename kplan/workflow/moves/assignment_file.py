"""Files of assignments, in the JSON of kafka-reassign-partitions.sh: read and written."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from kplan.cluster.protocol import INT32_MAX
from kplan.cluster.topology import Replicas
from kplan.cluster.usage import TopicPartition
from kplan.model.errors import UsageError

_EXPORT_HINT = "See kplan reassign export for the form."


def read_assignment(path: Path) -> dict[TopicPartition, Replicas]:
    """Read a file as kafka-reassign-partitions.sh takes it; folders of logs are not read.

    Raises:
        UsageError: it cannot be read, or names a partition twice, or no replicas.

    """
    found: dict[TopicPartition, Replicas] = {}
    for at, key, row in _read_rows(path):
        replicas = row.get("replicas")
        if not isinstance(replicas, list) or not replicas or not all(map(_is_number, replicas)):
            raise UsageError(f"{at} has no list of broker ids as its replicas.", hint=_EXPORT_HINT)
        if len(set(replicas)) < len(replicas):
            raise UsageError(f"{at} names a broker twice: {replicas}.")
        found[key] = tuple(replicas)
    return found


def read_partitions(path: Path) -> tuple[TopicPartition, ...]:
    """Read the partitions of a file for kafka-leader-election.sh; raises UsageError.

    A file of an assignment does too.
    """
    return tuple(key for _, key, _ in _read_rows(path))


def format_assignment(assignment: Mapping[TopicPartition, Replicas]) -> str:
    """Write an assignment as kafka-reassign-partitions.sh reads it."""
    rows = [
        {
            "topic": name,
            "partition": number,
            "replicas": list(replicas),
            "log_dirs": ["any"] * len(replicas),
        }
        for (name, number), replicas in sorted(assignment.items())
    ]
    return json.dumps({"version": 1, "partitions": rows}, indent=2) + "\n"


def _read_rows(path: Path) -> Iterator[tuple[str, TopicPartition, Mapping[str, object]]]:
    met: set[TopicPartition] = set()
    for place, row in enumerate(_read_list(path), 1):
        at = f"{path}: partition {place} of the list"
        if not isinstance(row, dict):
            raise UsageError(f"{at} is not an object.", hint=_EXPORT_HINT)
        name, number = row.get("topic"), row.get("partition")
        if not isinstance(name, str) or not name or not _is_number(number):
            raise UsageError(f"{at} has no topic, or no number.", hint=_EXPORT_HINT)
        key = (name, int(str(number)))
        if key in met:
            raise UsageError(f"{path} names partition {number} of {name} twice.")
        met.add(key)
        yield at, key, row


def _read_list(path: Path) -> list[object]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as failure:
        raise UsageError(f"{path} cannot be read: {failure.strerror}.") from None
    except (ValueError, RecursionError) as failure:
        raise UsageError(f"{path} is not valid JSON: {failure}.") from None
    rows = document.get("partitions") if isinstance(document, dict) else None
    if not isinstance(rows, list):
        raise UsageError(f'{path} has no list "partitions".', hint=_EXPORT_HINT)
    if not rows:
        raise UsageError(f'The list "partitions" of {path} is empty.', hint=_EXPORT_HINT)
    return rows


def _is_number(found: object) -> bool:
    return isinstance(found, int) and not isinstance(found, bool) and 0 <= found <= INT32_MAX
