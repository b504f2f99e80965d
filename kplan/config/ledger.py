"""Working out everything that has a name once, on demand, and finding circles."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar, cast

from kplan.config.problem import Failure, error
from kplan.model.diagnostic import Diagnostic
from kplan.model.source import SourceRange

T = TypeVar("T")


class Hop(NamedTuple):
    """Something being worked out: its name as references write it, and where it is declared."""

    label: str
    place: SourceRange


class _Known(Generic[T]):
    """A result, which may itself be None."""

    __slots__ = ("value",)

    def __init__(self, value: T) -> None:
        self.value = value


_LOST = _Known(None)


@dataclass(slots=True)
class Ledger:
    """Remembers results, and gathers every problem found on the way.

    Whatever depends on something that failed fails without another word.
    """

    diagnostics: list[Diagnostic] = field(default_factory=list)
    _results: dict[Hashable, object] = field(default_factory=dict)
    _running: dict[Hashable, Callable[[], Hop]] = field(default_factory=dict)

    def once(self, key: Hashable, hop: Callable[[], Hop], compute: Callable[[], T]) -> T:
        """Work something out, or give what it came to before.

        Raises:
            Failure: it has no value; why has been written down, so the failure itself is mute.

        """
        found = self._results.get(key)
        if found is not None:
            if found is _LOST:
                raise Failure
            return cast("_Known[T]", found).value
        if key in self._running:
            raise Failure([self._cycle(key)], is_final=True)
        self._running[key] = hop
        try:
            result = compute()
        except Failure as failure:
            self._results[key] = _LOST
            self.report(failure.diagnostics)
            raise Failure from None
        except RecursionError:
            self._results[key] = _LOST
            self.report([_too_deep(hop())])
            raise Failure from None
        finally:
            del self._running[key]
        self._results[key] = _Known(result)
        return result

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

    def _cycle(self, key: Hashable) -> Diagnostic:
        keys = list(self._running)
        hops = [self._running[each]() for each in keys[keys.index(key) :]]
        first = min(range(len(hops)), key=lambda at: hops[at].place)
        hops = hops[first:] + hops[:first]
        chain = " -> ".join(f"{each.label} ({each.place.file}:{each.place.line})" for each in hops)
        told = f"These depend on each other in a circle: {chain} -> {hops[0].label}."
        if len(hops) == 1:
            told = f"{hops[0].label} ({hops[0].place.file}:{hops[0].place.line}) refers to itself."
        related = tuple((each.label, each.place) for each in hops[1:])
        return error("KP145", hops[0].place, told, related=related)


def _too_deep(hop: Hop) -> Diagnostic:
    told = f"What {hop.label} depends on, or how it is written, is nested too deeply."
    return error("KP114", hop.place, told)
