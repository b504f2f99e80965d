"""Use case: the names that a project has, from its files alone."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from kplan.config.load import Configuration
from kplan.config.trusted import load_restricted
from kplan.kinds import KINDS
from kplan.kinds.acl import Acl
from kplan.kinds.scram import ScramCredential
from kplan.kinds.topic_rules import Topic
from kplan.model.dataclass import dataclass
from kplan.model.errors import KplanError
from kplan.model.state import State
from kplan.workflow.ports import Project

_MAX_SOURCE_BYTES = 1_000_000
"""A configuration of more bytes takes longer to evaluate than a person waits for a completion."""
_PATTERNS = ("*.tf", "*.hcl", "*.tf.json")


@dataclass(frozen=True, slots=True)
class NamedObject:
    """An address of an object, its name on the cluster and its value."""

    address: str
    identity: str
    value: object


@dataclass(frozen=True, slots=True)
class ProjectNames:
    """What a configuration declares and what a state on this machine owns.

    `declared` is empty where the configuration is too large to evaluate at once.
    """

    declared: tuple[NamedObject, ...]
    owned: tuple[NamedObject, ...]
    outputs: tuple[str, ...]
    variables: tuple[str, ...]
    providers: tuple[str, ...]

    @property
    def objects(self) -> tuple[NamedObject, ...]:
        """List what is declared, then what is only owned."""
        known = {each.address for each in self.declared}
        return (*self.declared, *(each for each in self.owned if each.address not in known))

    @property
    def topics(self) -> tuple[str, ...]:
        """List the names of topics."""
        found = (each.identity for each in self.objects if isinstance(each.value, Topic))
        return tuple(sorted(set(found)))

    @property
    def principals(self) -> tuple[str, ...]:
        """List the principals of ACLs and of SCRAM users."""
        return tuple(sorted(set(_principals(self.objects))))


def read_names(project: Project) -> ProjectNames:
    """Read the names of a project. No cluster or bucket is asked; what cannot be read is left out.

    A state in a topic or bucket is left out, too.
    """
    configuration: Configuration | None = None
    state: State | None = None
    with suppress(KplanError, OSError):
        if _source_bytes(project.folder) <= _MAX_SOURCE_BYTES:
            configuration = load_restricted(project.folder, project.inputs, KINDS)
    with suppress(KplanError, OSError):
        state = project.file_store.read()
    owned = () if state is None else tuple(_owned_objects(state))
    stored = set() if state is None else set(state.outputs)
    if configuration is None:
        return ProjectNames((), owned, tuple(sorted(stored)), (), ())
    return ProjectNames(
        declared=tuple(
            NamedObject(str(address), str(each.identity), each.value)
            for each in configuration.resources
            for address in each.addresses
        ),
        owned=owned,
        outputs=tuple(sorted(stored | {each.name for each in configuration.outputs})),
        variables=tuple(sorted(configuration.variables)),
        providers=tuple(each.key for each in configuration.providers if each.key),
    )


def _source_bytes(folder: Path) -> int:
    return sum(each.stat().st_size for pattern in _PATTERNS for each in folder.glob(pattern))


def _owned_objects(state: State) -> Iterator[NamedObject]:
    for owned in state.owned.values():
        for address in owned.addresses:
            yield NamedObject(str(address), str(owned.identity), owned.value)


def _principals(objects: Iterable[NamedObject]) -> Iterator[str]:
    for each in objects:
        if isinstance(each.value, Acl):
            yield each.value.acl_principal
        elif isinstance(each.value, ScramCredential):
            yield f"User:{each.value.username}"
