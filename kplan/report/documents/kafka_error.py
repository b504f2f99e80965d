"""Errors of Kafka, explained."""

from collections.abc import Iterator, Sequence

from kplan.cluster.errors import KafkaError
from kplan.report.data import Data


def errors_text(rows: Sequence[KafkaError]) -> str:
    """Write a paragraph about each error."""
    return "\n".join("".join(f"{line}\n" for line in _error_lines(each)) for each in rows)


def _error_lines(row: KafkaError) -> Iterator[str]:
    yield f"{row.name} ({row.code})"
    yield ""
    yield row.meaning
    yield f"What kplan does: {row.handling}."
    yield f"Retriable: {'yes' if row.is_retriable else 'no'}."
    if row.may_mean_size_limit:
        yield "If its message is about the size of the request: send smaller requests."
    if row.remedy:
        yield f"Fix: {row.remedy}"


def errors_data(rows: Sequence[KafkaError]) -> Data:
    """Write the same as data."""
    return {
        "errors": [
            {
                "name": each.name,
                "code": each.code,
                "meaning": each.meaning,
                "handling": str(each.handling),
                "retriable": each.is_retriable,
                "size_may_be_why": each.may_mean_size_limit,
                "remedy": each.remedy,
            }
            for each in rows
        ]
    }
