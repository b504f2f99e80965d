"""Results computed once by name, with detection of reference cycles and of oversized values."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import field
from typing import Generic, NamedTuple, TypeVar, cast

from kplan.config.diagnostic import EvaluationError, error
from kplan.config.values.sensitive import unmark
from kplan.config.values.value import Value
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, SourceRange

T = TypeVar("T")


class ResultName(NamedTuple):
    """Something being computed: its name as references write it, and where it is declared."""

    label: str
    declared_at: SourceRange


class _Result(Generic[T]):
    """A result, which may itself be None."""

    __slots__ = ("value",)

    def __init__(self, value: T) -> None:
        self.value = value


_FAILED = _Result(None)


class _UnknownResult:
    """A result that is not known in this run, and why."""

    __slots__ = ("reasons",)

    def __init__(self, reasons: tuple[Diagnostic, ...]) -> None:
        self.reasons = reasons


@dataclass(slots=True)
class ResultCache:
    """Remembers results, and gathers every problem found on the way.

    Whatever depends on something that failed fails without another word.
    """

    diagnostics: list[Diagnostic] = field(default_factory=list)
    _results: dict[Hashable, object] = field(default_factory=dict)
    _running: dict[Hashable, Callable[[], ResultName]] = field(default_factory=dict)

    def get_or_compute(
        self, key: Hashable, hop: Callable[[], ResultName], compute: Callable[[], T]
    ) -> T:
        """Compute a value, or return the cached one.

        Raises:
            EvaluationError: it has no value; why has been written down, so the error is empty. Of a
                value that is not known the reasons are in the error, and have not been written.

        """
        found = self._results.get(key)
        if found is not None:
            if found is _FAILED:
                raise EvaluationError
            if isinstance(found, _UnknownResult):
                raise EvaluationError(found.reasons, is_final=True)
            return cast("_Result[T]", found).value
        if key in self._running:
            raise EvaluationError([self._cycle_error(key)], is_final=True)
        self._running[key] = hop
        try:
            result = compute()
        except EvaluationError as failure:
            if failure.is_unknown:
                self._results[key] = _UnknownResult(failure.diagnostics)
                raise EvaluationError(failure.diagnostics, is_final=True) from None
            self._results[key] = _FAILED
            self.report(failure.diagnostics)
            raise EvaluationError from None
        except RecursionError:
            self._results[key] = _FAILED
            self.report([_nesting_error(hop())])
            raise EvaluationError from None
        finally:
            del self._running[key]
        self._results[key] = _Result(result)
        return result

    def mark_failed(self, key: Hashable) -> None:
        """Let everything that depends on the key fail from now on."""
        self._results[key] = _FAILED

    def report(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Write problems down."""
        self.diagnostics.extend(diagnostics)

    def attempt(self, compute: Callable[[], T]) -> T | None:
        """Compute, and write the problems down if it fails."""
        try:
            return compute()
        except EvaluationError as failure:
            self.report(failure.diagnostics)
            return None

    def _cycle_error(self, key: Hashable) -> Diagnostic:
        keys = list(self._running)
        hops = [self._running[each]() for each in keys[keys.index(key) :]]
        first = min(range(len(hops)), key=lambda at: hops[at].declared_at)
        hops = hops[first:] + hops[:first]
        chain = " -> ".join(
            f"{each.label} ({each.declared_at.file}:{each.declared_at.line})" for each in hops
        )
        detail = f"These depend on each other in a circle: {chain} -> {hops[0].label}."
        if len(hops) == 1:
            where = f"{hops[0].declared_at.file}:{hops[0].declared_at.line}"
            detail = f"{hops[0].label} ({where}) refers to itself."
        related = tuple((each.label, each.declared_at) for each in hops[1:])
        return error("KP145", hops[0].declared_at, detail, related=related)


def _nesting_error(hop: ResultName) -> Diagnostic:
    detail = f"What {hop.label} depends on, or how it is written, is nested too deeply."
    return error("KP114", hop.declared_at, detail)


MAX_VALUE_PARTS = 2_000_000
"""Parts that a named value may have. A few short local values that each hold the one before twice
would come to more than any memory, as soon as anything goes through them."""


class SizeCounter:
    """Counts parts, going through each collection once.

    Collections are known by identity, and kept with their count so that none can take the
    identity of another.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, Value]] = {}

    def count(self, value: Value) -> int:
        """Count the value itself and all parts of it."""
        bare, _ = unmark(value)
        if not isinstance(bare, tuple | dict):
            return 1
        known = self._known.get(id(bare))
        if known is None:
            parts = bare.values() if isinstance(bare, dict) else bare
            known = 1 + sum(map(self.count, parts)), bare
            self._known[id(bare)] = known
        return known[0]
