"""What kplan asks of a schema registry, in the words of its REST API."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from typing import Protocol

from kplan.cluster.request import ItemResult
from kplan.model.dataclass import dataclass
from kplan.model.errors import Refusal

SCHEMA_TYPES = ("AVRO", "JSON", "PROTOBUF")
COMPATIBILITY_LEVELS = (
    "BACKWARD",
    "BACKWARD_TRANSITIVE",
    "FORWARD",
    "FORWARD_TRANSITIVE",
    "FULL",
    "FULL_TRANSITIVE",
    "NONE",
)

NO_REGISTRY = "No schema registry is configured."
NO_REGISTRY_HINT = 'Set schema_registry_url in provider "kafka", or KPLAN_SCHEMA_REGISTRY_URL.'


@dataclass(frozen=True, slots=True, order=True)
class SchemaReference:
    """A schema that another one uses under a name. `version` 0 is the latest of the subject."""

    name: str
    subject: str
    version: int = 0


@dataclass(frozen=True, slots=True)
class NewSchema:
    """A schema to be the latest version of a subject."""

    subject: str
    schema_type: str
    schema: str
    references: tuple[SchemaReference, ...] = ()


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """The latest version of a subject. `level` is its compatibility level, "" for the global one.

    Some registries return the global level where a subject has none of its own.
    """

    subject: str
    version: int
    id: int
    schema_type: str
    schema: str
    references: tuple[SchemaReference, ...] = field(default=())
    level: str = ""


SubjectGraph = Mapping[str, Collection[str]]
"""Subjects, each with those that it refers to."""


class SchemaRegistry(Protocol):
    """A schema registry.

    Reads raise `UnreadableError` when a list as a whole was refused or the registry cannot be
    asked: the cluster can be all the same. Writes never raise: an item without an answer is refused
    as in doubt. Requests for many items are in flight together, a few at a time.
    """

    def subjects(self) -> frozenset[str]:
        """Name all subjects; those that are deleted softly are left out.

        Raises:
            UnreadableError: no right to list them.

        """
        ...

    def latest_schemas(
        self, subjects: Collection[str] | None = None
    ) -> Mapping[str, RegisteredSchema | Refusal]:
        """Read the latest version of the subjects, None for all; one that is not there is left out.

        Raises:
            UnreadableError: no right to list them.

        """
        ...

    def check_schemas(self, specs: Sequence[NewSchema]) -> Mapping[str, ItemResult]:
        """Ask whether the schemas could be registered now: valid, compatible, and not old ones.

        Nothing is registered. A subject that is not there yet takes any valid schema.
        """
        ...

    def register_schemas(self, specs: Sequence[NewSchema]) -> Mapping[str, ItemResult]:
        """Register schemas, those first that others of the call refer to."""
        ...

    def set_compatibility(self, levels: Mapping[str, str]) -> Mapping[str, ItemResult]:
        """Set the compatibility level of subjects."""
        ...

    def delete_subjects(
        self, subjects: SubjectGraph, *, validate_only: bool = False
    ) -> Mapping[str, ItemResult]:
        """Delete subjects softly, with their level; ids of their schemas still resolve.

        Those go first that refer to others of the call. One that another schema refers to is
        refused, one that is not there is a success.
        """
        ...

    def close(self) -> None:
        """Free sockets."""
        ...


def reference_waves(graph: SubjectGraph) -> tuple[tuple[str, ...], ...]:
    """Sort subjects into waves: what a subject refers to is in an earlier wave than itself.

    Subjects that refer to each other in a circle are in the last one: registries refuse them.
    """
    left = dict(graph)
    waves: list[tuple[str, ...]] = []
    while left:
        ready = [
            name
            for name, used in left.items()
            if not any(each in left for each in set(used) - {name})
        ]
        waves.append(tuple(sorted(ready or left)))
        for name in waves[-1]:
            del left[name]
    return tuple(waves)


def schema_graph(specs: Sequence[NewSchema]) -> SubjectGraph:
    """Say to which subjects the schemas refer."""
    return {each.subject: tuple(one.subject for one in each.references) for each in specs}
