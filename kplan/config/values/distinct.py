"""Finding equal values among many without comparing each with each."""

from collections.abc import Iterable

from kplan.config.values.equality import SortKey, equal, sort_key
from kplan.config.values.value import Value


class Distinct:
    """Values without repetition, in the order in which they came."""

    def __init__(self, items: Iterable[Value] = ()) -> None:
        self.items: list[Value] = []
        self._buckets: dict[tuple[type, SortKey], list[Value]] = {}
        for each in items:
            self.add(each)

    def add(self, value: Value) -> None:
        """Take a value in, unless one that equals it is there."""
        bucket = self._buckets.setdefault(_bucket(value), [])
        if not any(equal(value, each) for each in bucket):
            bucket.append(value)
            self.items.append(value)

    def __contains__(self, value: Value) -> bool:
        """Tell whether a value that equals this one is there."""
        return any(equal(value, each) for each in self._buckets.get(_bucket(value), ()))


def _bucket(value: Value) -> tuple[type, SortKey]:
    """Key that equal values share; the type keeps True and 1 apart."""
    key = sort_key(value)
    return type(key[1]), key
