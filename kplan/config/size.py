"""How large values are when written out: parts that several places share count in each of them."""

from kplan.config.values.sensitive import unmark
from kplan.config.values.value import Value

MAX_PARTS = 2_000_000
"""Parts that a named value may have. A few short local values that each hold the one before twice
would come to more than any memory, as soon as anything goes through them."""


class Sizes:
    """Counts parts, going through each collection once.

    Collections are known by identity, and kept with their count so that none can take the
    identity of another.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, Value]] = {}

    def of(self, value: Value) -> int:
        """Count the value itself and all parts of it."""
        bare, _ = unmark(value)
        if not isinstance(bare, tuple | dict):
            return 1
        known = self._known.get(id(bare))
        if known is None:
            parts = bare.values() if isinstance(bare, dict) else bare
            known = 1 + sum(map(self.of, parts)), bare
            self._known[id(bare)] = known
        return known[0]
