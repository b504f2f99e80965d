"""Working out everything that has a name once, on demand, and finding circles."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar, cast

from kplan.config.problem import Failure, error
from kplan.model.diagnostic import Diagnostic
from kplan.model.source import SourceRange

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Hop:
    """Something being worked out: its name as references write it, and where it is declared."""

    key: Hashable
    label: str
    place: SourceRange


class _Lost:
    """Stands in the memory for what has no value."""


_LOST = _Lost()


@dataclass(slots=True)
class Ledger:
    """Remembers results, and gathers every problem found on the way.

    Whatever depends on something that failed fails without another word.
    """

    diagnostics: list[Diagnostic] = field(default_factory=list)
    _results: dict[Hashable, object] = field(default_factory=dict)
    _running: dict[Hashable, Hop] = field(default_factory=dict)

    def once(self, hop: Hop, compute: Callable[[], T]) -> T:
        """Work something out, or give what it came to before.

        Raises:
            Failure: it has no value; why has been written down, so the failure itself is mute.

        """
        if hop.key in self._results:
            return self._known(hop.key)
        if hop.key in self._running:
            raise Failure([self._cycle(hop)], is_final=True)
        self._running[hop.key] = hop
        try:
            result = compute()
        except Failure as failure:
            self._results[hop.key] = _LOST
            self.report(failure.diagnostics)
            raise Failure from None
        finally:
            del self._running[hop.key]
        self._results[hop.key] = result
        return result

    def _known(self, key: Hashable) -> T:  # type: ignore[type-var] # the key determines the type
        found = self._results[key]
        if found is _LOST:
            raise Failure
        return cast("T", found)

    def lose(self, key: Hashable) -> None:
        """Let everything that depends on the key fail from now on."""
        self._results[key] = _LOST

    def report(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Write problems down."""
        self.diagnostics.extend(diagnostics)

    def attempt(self, compute: Callable[[], T]) -> T | None:
        """Compute, and write the problems down if it fails."""
        try:
            return compute()
        except Failure as failure:
            self.report(failure.diagnostics)
            return None

    def _cycle(self, hop: Hop) -> Diagnostic:
        hops = list(self._running.values())
        hops = hops[[each.key for each in hops].index(hop.key) :]
        first = min(range(len(hops)), key=lambda at: hops[at].place)
        hops = hops[first:] + hops[:first]
        chain = " -> ".join(f"{each.label} ({each.place.file}:{each.place.line})" for each in hops)
        told = f"These depend on each other in a circle: {chain} -> {hops[0].label}."
        if len(hops) == 1:
            told = f"{hops[0].label} ({hops[0].place.file}:{hops[0].place.line}) refers to itself."
        related = tuple((each.label, each.place) for each in hops[1:])
        return error("KP145", hops[0].place, told, related=related)
