"""How a cluster in memory serves a request: rights, faults and lag; one store for all."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import RLock
from typing import TypeVar

from kplan.cluster.contents import Answer, BrokerDefaults, Contents, Key, Site, registered
from kplan.cluster.delegation import DelegationToken
from kplan.cluster.errors import CLIENT_DISCONNECTED, client_refusal, refusal
from kplan.cluster.faults import Call, Faults, Item, Struck
from kplan.cluster.groups import GroupDescription
from kplan.cluster.lag import Lag
from kplan.cluster.rights import RIGHTS, missing_right
from kplan.cluster.setting_specs import Lack
from kplan.cluster.specs import Verdict
from kplan.cluster.usage import TopicUse
from kplan.model.errors import Unreachable
from kplan.model.refusal import Refusal
from kplan.model.snapshot import Broker

T = TypeVar("T")

CLUSTER_NAME = "kafka-cluster"
"""The name of the one resource of type CLUSTER."""


@dataclass(slots=True)
class Store:
    """The cluster itself, which several connections may share."""

    site: Site
    contents: Contents = field(default_factory=Contents)
    has_authorizer: bool = True
    lags: list[Lag] = field(default_factory=list)
    used: dict[str, TopicUse] = field(default_factory=dict)
    move_lists: int = 1
    groups: set[str] = field(default_factory=set)
    joined: dict[str, GroupDescription] = field(default_factory=dict)
    voters: tuple[int, ...] = (101,)
    waiting: tuple[int, ...] = ()
    silent: frozenset[int] = frozenset()
    tokens: dict[str, DelegationToken] = field(default_factory=dict)
    has_tokens: bool = True
    lock: RLock = field(default_factory=RLock)


class Serving(Faults):
    """One administrator's connection to a store, before it can be asked anything."""

    def __init__(
        self,
        brokers: int | Sequence[Broker] = 3,
        *,
        defaults: BrokerDefaults | None = None,
        cluster_id: str = "bWVtb3J5LWNsdXN0ZXItMQ",
        principal: str = "User:kplan",
        store: Store | None = None,
    ) -> None:
        super().__init__()
        nodes = registered(brokers) if isinstance(brokers, int) else tuple(brokers)
        site = Site(cluster_id, nodes, defaults or BrokerDefaults())
        self._store = store or Store(site)
        self._principal = principal
        self._denied: set[tuple[str, str, str]] = set()
        self._hidden: set[str] = set()
        self._lag: Lag | None = None
        self._lacking: dict[str, Lack] = {}
        self.is_closed = False

    def _read(self, call: Call) -> tuple[Contents, Struck]:
        self._enter(call)
        with self._store.lock:
            broker = self._serving(call.broker)
            struck = self._meet(call)
            if struck.lost is not None:
                raise Unreachable(str(struck.lost))
            contents = self._store.contents
            return self._lag.seen_by(broker, contents) if self._lag else contents, struck

    def _serving(self, broker: int | None) -> int:
        site = self._store.site
        up = [each.id for each in site.brokers if each.id not in site.fenced]
        if not up or (broker is not None and broker not in up):
            whom = "The cluster" if broker is None else f"Broker {broker}"
            raise Unreachable(f"{whom} does not answer.")
        return up[0] if broker is None else broker

    def _write(
        self,
        call: Call,
        keyed: Sequence[tuple[Key, T]],
        request: Callable[[Contents, Sequence[T]], Answer[Key]],
    ) -> Answer[Key]:
        self._enter(call)
        with self._store.lock:
            before = self._store.contents
            if len(self._store.site.fenced) == len(self._store.site.brokers):
                lost = client_refusal(CLIENT_DISCONNECTED)
                return Answer(before, {key: lost for key, _ in keyed})
            struck = self._meet(call)
            barred: dict[Item, Refusal] = dict(struck.refused)
            barred.update((key, found) for key, _ in keyed if (found := self._barred(call, key)))
            fine = [item for key, item in keyed if key not in barred]
            answer = request(before, fine)
            if struck.is_carried_out and not call.validate_only:
                self._commit(answer.contents)
            verdicts: dict[Key, Verdict] = {
                key: struck.lost or barred.get(key) or answer.verdicts[key]
                for key, _ in keyed
                if key not in struck.unanswered
            }
            return Answer(answer.contents, verdicts)

    def _commit(self, contents: Contents) -> None:
        self._store.contents = contents
        for lag in self._store.lags:
            lag.written(contents)

    def _barred(self, call: Call, item: Item) -> Refusal | None:
        operation, resource_type = RIGHTS[call.method]
        if resource_type == "TOPIC":
            rights = {(operation, "TOPIC", "*"), (operation, "TOPIC", str(item))}
            is_barred = item in self._hidden or bool(rights & self._denied)
            return refusal(29, self._missing(call, item)) if is_barred else None
        if not self._store.has_authorizer:
            return refusal(54, "No Authorizer is configured.")
        if (operation, "CLUSTER", "*") in self._denied:
            return refusal(31, self._missing(call, item))
        return None

    def _missing(self, call: Call, item: Item) -> str:
        return missing_right(self._principal, call.method, item)


def answered(found: Mapping[Key, T | Refusal], struck: Struck) -> Mapping[Key, T | Refusal]:
    """Lay the faults over an answer; a fault that names no item strikes all of them."""
    whole = struck.refused.get("")
    return {
        name: struck.refused.get(name) or whole or each
        for name, each in found.items()
        if name not in struck.unanswered and "" not in struck.unanswered
    }
