"""`kafka_schema`: the latest version of a subject in a schema registry."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated

from kplan.cluster.errors import CLIENT_INVALID, SCHEMA_INCOMPATIBLE, client_refusal
from kplan.cluster.port import Cluster
from kplan.cluster.registry import (
    COMPATIBILITY_LEVELS,
    NO_REGISTRY,
    NO_REGISTRY_HINT,
    SCHEMA_TYPES,
    NewSchema,
    RegisteredSchema,
    SchemaReference,
    SchemaRegistry,
)
from kplan.cluster.request import ItemResult
from kplan.kinds.base import Problem, ResolvedAttributes, setting_steps
from kplan.kinds.schema import Attribute
from kplan.kinds.schema_outline import schema_outline
from kplan.model.dataclass import dataclass
from kplan.model.errors import Refusal, UnreadableError
from kplan.model.plan import Change, Step
from kplan.model.resource import Identity, Path
from kplan.model.state import KindSnapshot, LiveObject

REGISTER = Step(64, "register_schemas")
REPLACE_REGISTER = Step(65, "register_schemas")
REPLACE_DELETE = Step(66, "delete_subjects")
DELETE = Step(88, "delete_subjects")

TOPIC_SUFFIXES = ("-value", "-key")
"""What a subject is called after its topic, by TopicNameStrategy, the default of serializers."""

Reference = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SchemaSubject:
    """A schema in the words of Terraform's providers for schema registries."""

    subject: Annotated[str, Attribute("Name of the subject.", forces_replacement=True)]
    schema: Annotated[
        str,
        Attribute('The schema as text, or file("order.avsc").', outline=schema_outline),
    ]
    schema_type: Annotated[
        str, Attribute("Language of the schema. Default: AVRO.", choices=SCHEMA_TYPES)
    ] = "AVRO"
    references: Annotated[
        tuple[Reference, ...],
        Attribute(
            "Schemas that it uses: name, subject and version; without version the latest.",
            "list(map(string))",
        ),
    ] = ()
    compatibility_level: Annotated[
        str | None,
        Attribute(
            "What a new version has to be compatible with; left out, it stays as it is.",
            choices=COMPATIBILITY_LEVELS,
        ),
    ] = None


class SchemaKind:
    """Schemas: registering adds a version, deleting is soft (ids still resolve)."""

    name = "kafka_schema"
    noun = "schema"
    schema = SchemaSubject
    is_replaceable = True
    is_deletable = True
    is_always_read = False
    is_shareable = False
    creating_step = REPLACE_REGISTER.name

    def identify(self, value: SchemaSubject) -> Identity:
        """Name it by its subject."""
        return Identity(value.subject)

    def normalize(self, value: SchemaSubject) -> SchemaSubject:
        """Spell words in capitals; the schema stays as it is written."""
        level = value.compatibility_level
        return replace(
            value,
            schema_type=value.schema_type.upper(),
            references=tuple(dict(sorted(each.items())) for each in value.references),
            compatibility_level=level.upper() if level else None,
        )

    def check(self, value: SchemaSubject) -> Iterator[Problem]:
        """Hold the schema against what registries take, as far as that is known without one."""
        if not value.subject:
            yield Problem("KP520", "A subject has a name.", path=("subject",))
        if value.schema_type not in SCHEMA_TYPES:
            yield Problem(
                "KP520",
                f'There is no schema type "{value.schema_type}".',
                f"schema_type is one of {', '.join(SCHEMA_TYPES)}.",
                ("schema_type",),
                is_independent=True,
            )
        if value.compatibility_level not in {None, *COMPATIBILITY_LEVELS}:
            yield Problem(
                "KP520",
                f'There is no compatibility level "{value.compatibility_level}".',
                f"compatibility_level is one of {', '.join(COMPATIBILITY_LEVELS)}.",
                ("compatibility_level",),
                is_independent=True,
            )
        yield from _schema_problems(value)
        for each in value.references:
            yield from _reference_problems(value, each)

    def check_all(
        self,
        declared: Collection[Identity],  # noqa: ARG002 - subjects are beside each other
        live: Collection[Identity] = (),  # noqa: ARG002
    ) -> Iterator[tuple[Identity, Problem]]:
        """Find nothing: subjects do not get in each other's way."""
        return iter(())

    def read(self, cluster: Cluster, wanted: Collection[Identity]) -> KindSnapshot:
        """Read what is asked for; without names all there is, where there is a registry."""
        registry = cluster.schema_registry()
        if registry is None:
            if not wanted:
                return KindSnapshot({})
            raise UnreadableError(f"{NO_REGISTRY} {NO_REGISTRY_HINT}")
        found = registry.latest_schemas(wanted or None)
        return KindSnapshot(
            {
                Identity(name): LiveObject(_live_value(each))
                for name, each in found.items()
                if not isinstance(each, Refusal)
            },
            {Identity(name): each for name, each in found.items() if isinstance(each, Refusal)},
        )

    def fill_from_state(self, live: SchemaSubject, applied: SchemaSubject) -> SchemaSubject:  # noqa: ARG002 - see docstring
        """Keep what is live: a registry returns all of it."""
        return live

    def align(
        self, live: SchemaSubject, desired: SchemaSubject, ignored: Collection[Path] = ()
    ) -> tuple[SchemaSubject, SchemaSubject]:
        """Compare what schemas say, not how they are written.

        A level that is not declared is left alone, and so is the version of a reference.
        """
        gone = {path[0] for path in ignored if path}
        if () in ignored:
            return live, live
        kept = {name: getattr(live, name) for name in gone}
        level = desired.compatibility_level or live.compatibility_level
        merged = {"references": _with_live_versions(live, desired), "compatibility_level": level}
        after = replace(desired, **{**merged, **kept})
        return live, replace(after, schema=live.schema) if _says_the_same(live, after) else after

    def check_change(self, live: LiveObject, desired: SchemaSubject) -> Iterator[Problem]:  # noqa: ARG002 - the registry says it
        """Refuse nothing: what is compatible is for the registry to say."""
        return iter(())

    def steps(self, change: Change) -> tuple[Step, ...]:
        """Register once the topic is there; delete while it still is: a schema can come back."""
        return setting_steps(change, REGISTER, (REPLACE_REGISTER, REPLACE_DELETE), DELETE)

    def record_count(self, step: Step, change: Change) -> int:  # noqa: ARG002 - no controller writes it
        """Count one each."""
        return 1

    def apply(
        self, cluster: Cluster, step: Step, changes: Sequence[Change]
    ) -> Mapping[Identity, ItemResult]:
        """Register, after the level under which it is checked; or delete."""
        registry = cluster.schema_registry()
        if registry is None:
            refused = client_refusal(CLIENT_INVALID, NO_REGISTRY)
            return {change.identity: refused for change in changes}
        if _is_removal(step):
            return _delete(registry, changes, validate_only=False)
        levels = {
            str(change.identity): level for change in changes if (level := _new_level(step, change))
        }
        set_levels = registry.set_compatibility(levels) if levels else {}
        failed = {name: each for name, each in set_levels.items() if each is not None}
        lost = levels.keys() - set_levels.keys()
        specs = [
            _new_schema(change)
            for change in changes
            if _is_new_schema(step, change) and str(change.identity) not in {*failed, *lost}
        ]
        registered = registry.register_schemas(specs) if specs else {}
        sent = {spec.subject for spec in specs}
        return {
            change.identity: failed.get(str(change.identity), registered.get(str(change.identity)))
            for change in changes
            if str(change.identity) not in lost
            and (str(change.identity) not in sent or str(change.identity) in registered)
        }

    def validate(
        self, cluster: Cluster, step: Step, changes: Sequence[Change]
    ) -> Mapping[Identity, Refusal | ResolvedAttributes]:
        """Have the registry check compatibility; it registers and deletes nothing for that."""
        registry = cluster.schema_registry()
        if registry is None:
            return {}
        if _is_removal(step):
            answers = _delete(registry, changes, validate_only=True)
            return {name: answer or {} for name, answer in answers.items()}
        by_name = {str(each.identity): each for each in changes if _is_new_schema(step, each)}
        checked = registry.check_schemas([_new_schema(each) for each in by_name.values()])
        return {
            by_name[name].identity: _result(step, by_name[name], answer)
            for name, answer in checked.items()
        }

    def is_done(self, step: Step, change: Change, reading: KindSnapshot) -> bool:
        """Look at the latest version."""
        if _is_removal(step):
            return self.identify(change.before) not in reading.objects  # type: ignore[arg-type] # a schema
        live = reading.objects.get(change.identity)
        if live is None:
            return False
        before, after = self.align(live.value, change.after)  # type: ignore[arg-type] # schemas
        return before == after

    def find_visible(
        self,
        cluster: Cluster,
        broker: int,  # noqa: ARG002 - brokers do not serve schemas
        changes: Sequence[Change],
    ) -> Mapping[Identity, str]:
        """Ask the registry, which serves them all."""
        names = {change.identity for change in changes}
        names |= {self.identify(each.before) for each in changes if each.before is not None}  # type: ignore[arg-type] # a schema
        reading = self.read(cluster, names)
        return {
            change.identity: ""
            for change in changes
            if all(self.is_done(step, change, reading) for step in self.steps(change))
        }


def topic_of_subject(subject: str) -> str:
    """Return the topic that a subject is named after, "" where it is not."""
    stem = next((subject.removesuffix(end) for end in TOPIC_SUFFIXES if subject.endswith(end)), "")
    return stem.rpartition(":")[2]  # a context comes first, as in :.staging:orders-value


def _schema_problems(value: SchemaSubject) -> Iterator[Problem]:
    path = ("schema",)
    if not value.schema.strip():
        yield Problem("KP520", "The schema is empty.", path=path)
    elif value.schema_type in {"AVRO", "JSON"}:
        try:
            json.loads(value.schema)
        except ValueError as fault:
            detail = f"The schema is not JSON, as {value.schema_type} schemas are: {fault}."
            hint = 'A path is not read by itself: schema = file("order.avsc").'
            is_path = "\n" not in value.schema and "{" not in value.schema
            yield Problem("KP520", detail, hint if is_path else "", path)


def _reference_problems(value: SchemaSubject, reference: Reference) -> Iterator[Problem]:
    path = ("references",)
    unknown = sorted(reference.keys() - {"name", "subject", "version"})
    if unknown:
        detail = f'A reference has no "{unknown[0]}".'
        yield Problem("KP520", detail, "It has name, subject and version.", path)
    for each in ("name", "subject"):
        if not reference.get(each):
            yield Problem("KP520", f"A reference of {value.subject} has no {each}.", path=path)
    version = reference.get("version", "1")
    if not version.isdigit() or int(version) < 1:
        yield Problem(
            "KP520",
            f'The version of a reference is "{version}"; versions are numbers from 1.',
            "Leave it out for the latest.",
            path,
        )


def _live_value(found: RegisteredSchema) -> SchemaSubject:
    references = (
        {"name": each.name, "subject": each.subject, "version": str(each.version)}
        for each in found.references
    )
    return SchemaSubject(
        found.subject, found.schema, found.schema_type, tuple(references), found.level or None
    )


def _reference_key(reference: Reference) -> tuple[str, str]:
    return reference["name"], reference["subject"]


def _with_live_versions(live: SchemaSubject, desired: SchemaSubject) -> tuple[Reference, ...]:
    """Take over versions that are not declared, and the order of the live ones if they are equal.

    A version that is left out means the latest when it is registered, not forever. Nor has what
    the state holds of such a reference a version.
    """
    known = {_reference_key(each): each["version"] for each in live.references if "version" in each}
    found = [
        each if "version" in each or _reference_key(each) not in known
        else {**each, "version": known[_reference_key(each)]}
        for each in desired.references
    ]  # fmt: skip
    ordered = sorted(found, key=_reference_key)
    is_same = ordered == sorted(live.references, key=_reference_key)
    return live.references if is_same else tuple(found)


def _says_the_same(one: SchemaSubject, other: SchemaSubject) -> bool:
    if one.schema_type != other.schema_type:
        return False
    kind = one.schema_type
    return one.schema == other.schema or schema_outline(one.schema, kind) == schema_outline(
        other.schema, kind
    )


def _is_removal(step: Step) -> bool:
    return step in {REPLACE_DELETE, DELETE}


def _schemas(step: Step, change: Change) -> tuple[SchemaSubject | None, SchemaSubject]:
    """Return what is there of the subject before the step, and what is to be."""
    after: SchemaSubject = change.after  # type: ignore[assignment] # a step that registers
    before: SchemaSubject | None = change.before  # type: ignore[assignment]
    return None if step == REPLACE_REGISTER else before, after


def _is_new_schema(step: Step, change: Change) -> bool:
    before, after = _schemas(step, change)
    return (
        before is None or not _says_the_same(before, after) or before.references != after.references
    )


def _new_level(step: Step, change: Change) -> str:
    before, after = _schemas(step, change)
    is_held = before is not None and before.compatibility_level == after.compatibility_level
    return "" if is_held else after.compatibility_level or ""


def _new_schema(change: Change) -> NewSchema:
    value: SchemaSubject = change.after  # type: ignore[assignment] # a step that registers
    references = tuple(
        SchemaReference(each["name"], each["subject"], int(each.get("version", 0)))
        for each in value.references
    )
    return NewSchema(value.subject, value.schema_type, value.schema, references)


def _delete(
    registry: SchemaRegistry, changes: Sequence[Change], *, validate_only: bool
) -> Mapping[Identity, ItemResult]:
    values: dict[Identity, SchemaSubject] = {each.identity: each.before for each in changes}  # type: ignore[misc] # deletes have one
    graph = {
        value.subject: tuple(each["subject"] for each in value.references)
        for value in values.values()
    }
    answers = registry.delete_subjects(graph, validate_only=validate_only)
    return {
        name: answers[value.subject] for name, value in values.items() if value.subject in answers
    }


def _result(step: Step, change: Change, answer: ItemResult) -> Refusal | ResolvedAttributes:
    """Leave out a result under a level that is about to be another one."""
    if answer is None:
        return {}
    if answer.error != SCHEMA_INCOMPATIBLE or not _new_level(step, change):
        return answer
    return {}
