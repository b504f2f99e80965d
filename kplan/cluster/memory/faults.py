"""Faults that a test asks of the cluster in memory, and the log of its requests."""

from collections.abc import Callable, Collection
from dataclasses import field
from threading import RLock
from typing import assert_never

from kplan.cluster.errors import CLIENT_TIMED_OUT, ERRORS, client_refusal, refusal
from kplan.cluster.request import AclBinding
from kplan.cluster.settings import ConfigResource, QuotaEntity, ScramUser
from kplan.model.dataclass import dataclass
from kplan.model.errors import Refusal

Item = str | AclBinding | QuotaEntity | ScramUser | ConfigResource
"""What one request item is about: a topic or feature by name, an ACL, or whose setting it is."""

_CALLS_UNDER_QUOTA = frozenset(
    ("preview_topics", "create_topics", "create_partitions", "delete_topics")
)
"""What a controller mutation quota counts, validate-only included (KIP-599, trap 8)."""


@dataclass(frozen=True, slots=True)
class Call:
    """One incoming request; `items` is empty for a request about everything."""

    method: str
    items: tuple[Item, ...] = ()
    validate_only: bool = False
    broker: int | None = None

    @property
    def count(self) -> int:
        """Number of items."""
        return len(self.items)


@dataclass(slots=True)
class CallFaults:
    """What faults make of one call.

    `lost_response` is why no item gets an answer; with `is_applied` the work is done nevertheless.
    """

    refused: dict[Item, Refusal] = field(default_factory=dict)
    unanswered: set[Item] = field(default_factory=set)
    lost_response: Refusal | None = None
    is_applied: bool = True


@dataclass(frozen=True, slots=True)
class _Refuse:
    refusal: Refusal


@dataclass(frozen=True, slots=True)
class _LoseResponse:
    refusal: Refusal
    is_applied: bool


@dataclass(frozen=True, slots=True)
class _OmitItems:
    pass


@dataclass(frozen=True, slots=True)
class _Throttle:
    allowed: int
    refusal: Refusal


_Effect = _Refuse | _LoseResponse | _OmitItems | _Throttle


@dataclass(slots=True)
class _Fault:
    """An effect and the requests it hits; `times` counts the requests still to hit."""

    effect: _Effect
    on: frozenset[Item] | None
    call: str | None
    times: int | None

    def targets(self, call: Call) -> tuple[Item, ...]:
        """Return the items that are struck; a call that names none is struck as ("",)."""
        if self.times == 0 or self.call not in {None, call.method}:
            return ()
        if self.on is None:
            return call.items or ("",)
        return tuple(item for item in call.items if item in self.on)


class Faults:
    """The test's side of a cluster in memory.

    Everywhere, `on` names the items struck (None: all), `call` the method of the port (None: any),
    and `times` how many requests are struck (None: every one from now on).
    """

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self._lock = RLock()
        self._faults: list[_Fault] = []
        self._callbacks: list[tuple[str, Callable[[], object]]] = []

    def refuse(
        self,
        error: str,
        *,
        on: Item | Collection[Item] | None = None,
        call: str | None = None,
        times: int | None = None,
        message: str | None = None,
    ) -> None:
        """Answer items with the error of Kafka's name, without doing anything.

        A refused list of ACLs raises `UnreadableError`.
        """
        faults = refusal(ERRORS[error].code, message)
        self._add(_Refuse(faults), on, call, times)

    def time_out(
        self,
        *,
        on: Item | Collection[Item] | None = None,
        call: str | None = None,
        carried_out: bool = True,
        times: int | None = 1,
        error: str = CLIENT_TIMED_OUT,
    ) -> None:
        """Lose the whole answer of requests with an item of `on`; reads raise `UnreachableError`.

        `carried_out` shows whether the cluster did the work nevertheless. `error` may also be
        CLIENT_DISCONNECTED or REQUEST_TIMED_OUT.
        """
        row = ERRORS[error]
        lost = client_refusal(error) if row.code < -1 else refusal(row.code)
        self._add(_LoseResponse(lost, carried_out), on, call, times)

    def poison(self, on: Item, *, call: str | None = None) -> None:
        """Fail every request that contains the item with -1, without doing anything (P9).

        So do a broker policy with a bug, and an ACL that a broker cannot make sense of.
        """
        self.time_out(on=on, call=call, carried_out=False, times=None, error="UNKNOWN_SERVER_ERROR")

    def omit_items(
        self,
        *,
        on: Item | Collection[Item] | None = None,
        call: str | None = None,
        times: int | None = 1,
    ) -> None:
        """Carry items out but leave them out of the answer."""
        self._add(_OmitItems(), on, call, times)

    def throttle(self, throttle_ms: int, *, allowed: int = 0, times: int | None = 1) -> None:
        """Execute the first `allowed` items of topic writes, answer the rest with code 89."""
        faults = refusal(89, throttle_ms=throttle_ms)
        self._add(_Throttle(allowed, faults), None, None, times)

    def run_before(self, call: str, callback: Callable[[], object]) -> None:
        """Run the callback once, just before the next call of that method is served."""
        with self._lock:
            self._callbacks.append((call, callback))

    def clear_faults(self) -> None:
        """Remove every fault and callback."""
        with self._lock:
            self._faults.clear()
            self._callbacks.clear()

    def count(self, method: str) -> int:
        """Count the requests of one method so far."""
        with self._lock:
            return sum(1 for call in self.calls if call.method == method)

    def _add(
        self,
        effect: _Effect,
        on: Item | Collection[Item] | None,
        call: str | None,
        times: int | None,
    ) -> None:
        items = {on} if isinstance(on, Item) else on
        with self._lock:
            faults = None if items is None else frozenset(items)
            self._faults.append(_Fault(effect, faults, call, times))

    def _record_call(self, call: Call) -> None:
        """Log the call, then let callbacks have their way with the cluster, without the lock."""
        with self._lock:
            self.calls.append(call)
            due = [callback for method, callback in self._callbacks if method == call.method]
            self._callbacks = [each for each in self._callbacks if each[0] != call.method]
        for callback in due:
            callback()

    def _match_faults(self, call: Call) -> CallFaults:
        """Find the fault that hits this call; the caller holds the lock."""
        faults = CallFaults()
        for fault in self._faults:
            targets = fault.targets(call)
            if targets and _apply_effect(fault.effect, call, targets, faults):
                fault.times = fault.times - 1 if fault.times else fault.times
        return faults


def _apply_effect(
    effect: _Effect, call: Call, targets: tuple[Item, ...], faults: CallFaults
) -> bool:
    match effect:
        case _Refuse():
            faults.refused.update(dict.fromkeys(targets, effect.refusal))
        case _LoseResponse():
            faults.lost_response, faults.is_applied = effect.refusal, effect.is_applied
        case _OmitItems():
            faults.unanswered.update(targets)
        case _Throttle():
            if call.method not in _CALLS_UNDER_QUOTA:
                return False
            faults.refused.update(dict.fromkeys(targets[effect.allowed :], effect.refusal))
        case _:
            assert_never(effect)
    return True
