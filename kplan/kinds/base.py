"""The ResourceKind protocol, and helpers that several kinds share."""

import hashlib
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hmac import compare_digest
from secrets import token_hex
from typing import Any, Protocol, runtime_checkable

from kplan.cluster.port import Cluster
from kplan.cluster.protocol import INT32_MAX
from kplan.cluster.request import ItemResult
from kplan.kinds.schema import forget_marks, to_document
from kplan.model.address import Address
from kplan.model.dataclass import dataclass
from kplan.model.errors import Refusal
from kplan.model.plan import Action, Change, Step
from kplan.model.resource import Identity, Path
from kplan.model.state import KindSnapshot, LiveObject, OwnedObject, Snapshot, State


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with a value, or with going from one value to another.

    `code` is one of `model/codes.py`, which has the fixed summary. `is_independent`: what is at
    `path` is wrong whatever the other attributes are.
    """

    code: str
    detail: str
    hint: str = ""
    path: Path = ()
    is_warning: bool = False
    is_independent: bool = False


ResolvedAttributes = Mapping[Path, object]
"""What the broker would fill in for attributes that were left to it; {} is plain consent."""


class ResourceKind(Protocol):
    """One sort of Kafka object. Only methods that take a cluster are not pure.

    Values handed in and out are instances of `schema`.
    """

    @property
    def name(self) -> str:
        """The resource type in HCL, `kafka_topic`."""
        ...

    @property
    def noun(self) -> str:
        """The word for messages, `topic`."""
        ...

    @property
    def schema(self) -> type[Any]:
        """The frozen dataclass whose fields are the HCL attributes."""
        ...

    @property
    def is_replaceable(self) -> bool:
        """Whether deleting and creating again loses nothing but a moment (an ACL, not a topic)."""
        ...

    @property
    def is_deletable(self) -> bool:
        """Whether objects can be deleted; otherwise undeclared ones are forgotten."""
        ...

    @property
    def is_always_read(self) -> bool:
        """Whether it is read although none is declared and none is owned."""
        ...

    @property
    def is_shareable(self) -> bool:
        """Whether equal declarations are one object: an ACL is all that is said of it."""
        ...

    def identify(self, value: Any) -> Identity:  # noqa: ANN401 - each kind has its own value type
        """Name the object that the value means."""
        ...

    def normalize(self, value: Any) -> Any:  # noqa: ANN401
        """Rewrite a declared value in its canonical spelling."""
        ...

    def check(self, value: Any) -> Iterator[Problem]:  # noqa: ANN401
        """Check a declared value without a cluster."""
        ...

    def check_all(
        self, declared: Collection[Identity], live: Collection[Identity] = ()
    ) -> Iterator[tuple[Identity, Problem]]:
        """Check declared objects against each other and against the live ones."""
        ...

    def read(self, cluster: Cluster, wanted: Collection[Identity]) -> KindSnapshot:
        """Read every object of this kind; `wanted` are read by name where listing may hide them.

        Raises:
            UnreadableError: the kind could not be read in full.

        """
        ...

    def fill_from_state(self, live: Any, applied: Any) -> Any:  # noqa: ANN401
        """Add values that Kafka does not return to an owned object, from those last applied."""
        ...

    def align(self, live: Any, desired: Any, ignored: Collection[Path] = ()) -> tuple[Any, Any]:  # noqa: ANN401
        """Rewrite both so that they are equal exactly when there is nothing to do.

        What is not declared, and what `ignored` covers, is taken over from live.
        """
        ...

    def check_change(self, live: LiveObject, desired: Any) -> Iterator[Problem]:  # noqa: ANN401
        """Say why going from live to desired cannot be done, or not without losing data."""
        ...

    def steps(self, change: Change) -> tuple[Step, ...]:
        """List the requests that carry the change, each with its place in the global order."""
        ...

    def record_count(self, step: Step, change: Change) -> int:
        """Count the controller records the change writes in this step (limit: 10,000 a request)."""
        ...

    def apply(
        self, cluster: Cluster, step: Step, changes: Sequence[Change]
    ) -> Mapping[Identity, ItemResult]:
        """Send one request for one step; a change without an entry had no answer."""
        ...

    def validate(
        self, cluster: Cluster, step: Step, changes: Sequence[Change]
    ) -> Mapping[Identity, Refusal | ResolvedAttributes]:
        """Ask the cluster whether it would execute the step; {} where Kafka cannot be asked."""
        ...

    def is_done(self, step: Step, change: Change, reading: KindSnapshot) -> bool:
        """Whether the cluster is where the step would have brought it."""
        ...

    def find_visible(
        self, cluster: Cluster, broker: int, changes: Sequence[Change]
    ) -> Mapping[Identity, str]:
        """Return which of the applied changes this broker serves, with the uid of each object."""
        ...


@runtime_checkable
class NodeKind(ResourceKind, Protocol):
    """A kind whose objects are of one node each, which alone knows them."""

    def node_of(self, change: Change) -> int | None:
        """Return the node whose object a change alters; None where it is not one."""
        ...


@runtime_checkable
class StepwiseKind(ResourceKind, Protocol):
    """A kind whose updates take several steps, of which some may fail after others."""

    def value_after(self, held: Any, after: Any, steps: Collection[str]) -> Any:  # noqa: ANN401
        """Return an applied value with what these steps of an update to another change."""
        ...


@runtime_checkable
class CreateFirstKind(ResourceKind, Protocol):
    """A kind whose replacements may create the new object before the old one is deleted."""

    @property
    def creating_step(self) -> str:
        """The name of the step that creates it."""
        ...


@runtime_checkable
class SecretKind(ResourceKind, Protocol):
    """A kind with secrets: a plan from a file, and a journal, hold only their marks."""

    def has_secrets(self, step: Step, change: Change) -> bool:
        """Whether the secrets that the step sends are the planned ones."""
        ...


Config = Mapping[str, str]


def is_node_id(text: str) -> bool:
    """Whether it is the id of a node as Kafka writes it; of others there is no object."""
    return _NODE_ID.fullmatch(text) is not None and int(text) <= INT32_MAX


_NODE_ID = re.compile("0|[1-9][0-9]{0,9}")


def node_id_problems(number: int | None, attribute: str) -> Iterator[Problem]:
    """Find a declared id that no node can have; None is left out."""
    if number is not None and not is_node_id(str(number)):
        detail = f"{attribute} is {number}; ids of nodes are from 0 to {INT32_MAX:,}."
        yield Problem("KP226", detail, path=(attribute,), is_independent=True)


def merge_config(
    live: Config, declared: Config, ignored: Collection[Path], attribute: str = "config"
) -> Config:
    """Return the target map of an attribute: the declared one without ignored keys."""
    if () in ignored or (attribute,) in ignored:
        return live
    kept = {path[1] for path in ignored if len(path) > 1 and path[0] == attribute}
    merged = {key: value for key, value in declared.items() if key not in kept}
    merged.update({key: live[key] for key in kept if key in live})
    return dict(sorted(merged.items()))


def config_changes(before: Config, after: Config) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the keys to set and the keys to remove on the way from one map to the other."""
    changed = {key: value for key, value in after.items() if before.get(key) != value}
    return changed, tuple(sorted(before.keys() - after.keys()))


def setting_steps(
    change: Change, set_: Step, swap: tuple[Step, Step], remove: Step
) -> tuple[Step, ...]:
    """List the steps of a change; a replacement is `swap`, first out and then in."""
    match change.action:
        case Action.CREATE | Action.UPDATE:
            return (set_,)
        case Action.REPLACE:
            return swap
        case Action.DELETE:
            return (remove,)
        case _:
            return ()


def fill_snapshot_from_state(
    kinds: Sequence[ResourceKind], snapshot: Snapshot, state: State
) -> Snapshot:
    """Complete every owned object of the snapshot from its last applied value.

    An id that is not told, as controllers tell none, is the one that the state knows.
    """
    by_name = {kind.name: kind for kind in kinds}
    completed: dict[str, dict[Identity, LiveObject]] = defaultdict(dict)
    for owned in state.owned.values():
        name = owned.address.kind
        reading = snapshot.readings.get(name)
        live = reading.objects.get(owned.identity) if reading else None
        if live is None:
            continue
        value = by_name[name].fill_from_state(live.value, owned.value)
        uid = live.uid or owned.uid
        if value is not live.value or uid != live.uid:
            completed[name][owned.identity] = replace(live, value=value, uid=uid)
    if not completed:
        return snapshot
    readings = {
        name: replace(reading, objects={**reading.objects, **completed[name]})
        if name in completed
        else reading
        for name, reading in snapshot.readings.items()
    }
    return replace(snapshot, readings=readings)


HIDDEN_VALUE = "(sensitive value)"

_ROUNDS = 4096
_SALT_BYTES = 8
_MARK_BYTES = 2
_OLD_MARK_BYTES = 8


def secret_mark(secret: str) -> str:
    """Return a random mark that distinguishes a secret from another without revealing it.

    The state keeps it to see a change. The salt is random, so that nothing can be computed ahead
    and equal secrets look different, and 16 bits leave whoever reads it with one in 65,536 of all
    guesses: no guess can be checked.
    """
    salt = token_hex(_SALT_BYTES)
    return f"{salt}${_stretch(secret, salt, _MARK_BYTES)}"


def is_marked(mark: str, secret: str, name: str) -> bool:
    """Whether a mark is that of the secret.

    Marks in states of earlier versions have no salt of their own, but the `name` of what the
    secret is for.
    """
    salt, dollar, each = mark.partition("$")
    if not dollar:
        return _is_same(mark, _stretch(secret, f"kplan {name}", _OLD_MARK_BYTES))
    return _is_same(each, _stretch(secret, salt, _MARK_BYTES))


def _is_same(one: str, other: str) -> bool:
    return compare_digest(one.encode(), other.encode())


def _stretch(secret: str, salt: str, length: int) -> str:
    return hashlib.pbkdf2_hmac("sha256", secret.encode(), salt.encode(), _ROUNDS)[:length].hex()


def forget_secrets(
    owned: Mapping[Address, OwnedObject], doubtful: Iterable[Change]
) -> dict[Address, OwnedObject]:
    """Return owned objects without the marks of secrets that these changes have perhaps set.

    Kafka returns no secret, so that whether it is as declared is unknown: it is set again.
    """
    sent = {each.key: each.after for each in doubtful if each.after is not None}
    return {
        at: replace(each, value=forget_marks(each.value, sent[each.key]))
        if each.key in sent
        else each
        for at, each in owned.items()
    }


def redact_refusal(refused: Refusal, change: Change) -> Refusal:
    """Remove the values at the change's sensitive paths from the broker's message."""
    if not change.sensitive:
        return refused
    message = refused.message
    for secret in sorted(set(_secret_texts(change)), key=len, reverse=True):
        message = message.replace(secret, HIDDEN_VALUE)
    return replace(refused, message=message)


def _secret_texts(change: Change) -> Iterator[str]:
    for value in (change.before, change.after):
        if value is not None and change.sensitive:
            yield from texts_at(to_document(value), change.sensitive)


def texts_at(document: Mapping[str, object], paths: Iterable[Path]) -> Iterator[str]:
    """List the texts at paths, also those of all items of a list or a map."""
    for path in paths:
        found: object = document
        for step in path:
            found = found.get(step) if isinstance(found, Mapping) else None
        yield from _leaf_texts(found)


def _leaf_texts(value: object) -> Iterator[str]:
    match value:
        case None | "":
            return
        case Mapping():
            for each in value.values():
                yield from _leaf_texts(each)
        case list() | tuple():
            for each in value:
                yield from _leaf_texts(each)
        case _:
            yield str(value)
