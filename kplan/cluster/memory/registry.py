"""A schema registry in memory, beside the cluster in memory."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kplan.cluster.errors import (
    ERRORS,
    SCHEMA_INCOMPATIBLE,
    SCHEMA_INVALID,
    SCHEMA_IS_OLD,
    SCHEMA_REFERENCED,
    refusal,
)
from kplan.cluster.memory.faults import Call
from kplan.cluster.memory.store import Contents, MemoryConnection, Response, apply_faults
from kplan.cluster.registry import (
    NewSchema,
    RegisteredSchema,
    SchemaRegistry,
    SubjectGraph,
    reference_waves,
    schema_graph,
)
from kplan.cluster.request import ItemResult
from kplan.model.errors import Refusal, UnreadableError

_GLOBAL_LEVEL = "BACKWARD"
"""What a subject without a level of its own is checked by, as in Confluent's registry."""

Versions = tuple[RegisteredSchema, ...]


class RegistryRequests(MemoryConnection):
    """Gives a cluster in memory its registry."""

    def schema_registry(self) -> SchemaRegistry | None:
        """Give access to the schema registry."""
        return _MemoryRegistry(self._read, self._write)


class _MemoryRegistry:
    """Subjects are part of the contents of the cluster, so that faults and reads are the same."""

    def __init__(self, read: Callable[..., Any], write: Callable[..., Response[str]]) -> None:
        self._read = read
        self._write = write

    def subjects(self) -> frozenset[str]:
        """Name all subjects; raises UnreadableError."""
        return frozenset(self._contents(Call("subjects")).schemas)

    def latest_schemas(
        self, subjects: Collection[str] | None = None
    ) -> Mapping[str, RegisteredSchema | Refusal]:
        """Read the latest version of the subjects; raises UnreadableError."""
        call = Call("latest_schemas", tuple(sorted(subjects or ())))
        contents, faults = self._read(call)
        if refused := faults.refused.get(""):
            raise UnreadableError(f"Subjects cannot be read: {refused}")
        names = sorted(contents.schemas) if subjects is None else sorted(subjects)
        found = {
            name: replace(contents.schemas[name][-1], level=contents.levels.get(name, ""))
            for name in names
            if name in contents.schemas
        }
        answers: Mapping[str, RegisteredSchema | Refusal] = apply_faults(found, faults)
        return answers

    def check_schemas(self, specs: Sequence[NewSchema]) -> Mapping[str, ItemResult]:
        """Ask whether the schemas could be registered now."""
        return self._send("check_schemas", specs, validate_only=True)

    def register_schemas(self, specs: Sequence[NewSchema]) -> Mapping[str, ItemResult]:
        """Register schemas, those first that others of the call refer to."""
        return self._send("register_schemas", specs, validate_only=False)

    def set_compatibility(self, levels: Mapping[str, str]) -> Mapping[str, ItemResult]:
        """Set the compatibility level of subjects."""
        call = Call("set_compatibility", tuple(sorted(levels)))

        def request(contents: Contents, names: Sequence[str]) -> Response[str]:
            held = {**contents.levels, **{name: levels[name] for name in names}}
            return Response(replace(contents, levels=held), dict.fromkeys(names))

        return self._write(call, [(name, name) for name in sorted(levels)], request).results

    def delete_subjects(
        self, subjects: SubjectGraph, *, validate_only: bool = False
    ) -> Mapping[str, ItemResult]:
        """Delete subjects softly, with their level."""
        order = [name for wave in reversed(reference_waves(subjects)) for name in wave]
        call = Call("delete_subjects", tuple(order), validate_only)
        return self._write(call, [(name, name) for name in order], _delete_subjects).results

    def close(self) -> None:
        """Do nothing: there is nothing to free."""

    def _contents(self, call: Call) -> Contents:
        contents, faults = self._read(call)
        if refused := faults.refused.get(""):
            raise UnreadableError(f"Subjects cannot be read: {refused}")
        found: Contents = contents
        return found

    def _send(
        self, method: str, specs: Sequence[NewSchema], *, validate_only: bool
    ) -> Mapping[str, ItemResult]:
        by_subject = {each.subject: each for each in specs}
        order = [name for wave in reference_waves(schema_graph(specs)) for name in wave]
        call = Call(method, tuple(order), validate_only)

        def request(contents: Contents, given: Sequence[NewSchema]) -> Response[str]:
            return _register(contents, given, validate_only=validate_only)

        return self._write(call, [(name, by_subject[name]) for name in order], request).results


def _register(
    contents: Contents, specs: Sequence[NewSchema], *, validate_only: bool
) -> Response[str]:
    schemas = dict(contents.schemas)
    made = contents.schema_count
    results: dict[str, ItemResult] = {}
    for spec in specs:
        held = schemas.get(spec.subject, ())
        level = contents.levels.get(spec.subject, _GLOBAL_LEVEL)
        found = next((each for each in held if _is_same(each, spec)), None)
        results[spec.subject] = _fault(spec, held, schemas, level, validate_only=validate_only)
        if found is not None or results[spec.subject] is not None:
            continue
        made += 1
        references = tuple(
            replace(each, version=each.version or schemas[each.subject][-1].version)
            for each in spec.references
        )
        version = (
            held[-1].version + 1 if held else contents.deleted_versions.get(spec.subject, 0) + 1
        )
        schemas[spec.subject] = (
            *held,
            RegisteredSchema(
                spec.subject, version, made, spec.schema_type, spec.schema, references
            ),
        )
    return Response(replace(contents, schemas=schemas, schema_count=made), results)


def _fault(
    spec: NewSchema,
    held: Versions,
    schemas: Mapping[str, Versions],
    level: str,
    *,
    validate_only: bool,
) -> ItemResult:
    """Say why a schema is not taken; an older version is, but does not become the latest."""
    if found := next((each for each in held if _is_same(each, spec)), None):
        is_old = found.version != held[-1].version
        text = f"It is version {found.version} of {spec.subject}."
        return _refuse(SCHEMA_IS_OLD, text) if is_old and validate_only else None
    for each in spec.references:
        if each.subject not in schemas:
            return _refuse(SCHEMA_INVALID, f"It refers to subject {each.subject}: not found")
    if spec.schema_type != "PROTOBUF":
        try:
            json.loads(spec.schema)
        except ValueError as fault:
            return _refuse(SCHEMA_INVALID, str(fault))
    if held and (clash := next(_clashes(held, spec, level), "")):
        return _refuse(SCHEMA_INCOMPATIBLE, clash)
    return None


def _clashes(held: Versions, spec: NewSchema, level: str) -> Iterator[str]:
    """Compare the fields of Avro records, which is what most changes are about."""
    compared = held if level.endswith("_TRANSITIVE") else held[-1:]
    kind = level.removesuffix("_TRANSITIVE")
    if spec.schema_type != "AVRO":
        return
    new = _fields(spec.schema)
    for each in compared:
        old = _fields(each.schema)
        if kind in {"BACKWARD", "FULL"}:
            yield from _unreadable(new, old)
        if kind in {"FORWARD", "FULL"}:
            yield from _unreadable(old, new)


def _unreadable(reader: Mapping[str, Any], writer: Mapping[str, Any]) -> Iterator[str]:
    for name, field in sorted(reader.items()):
        if name not in writer and "default" not in field:
            yield f"The field {name} has no default and is missing in the other schema."
        elif name in writer and writer[name]["type"] != field["type"]:
            yield f"The field {name} has another type."


def _fields(schema: str) -> Mapping[str, Any]:
    parsed = json.loads(schema)
    listed = parsed.get("fields", ()) if isinstance(parsed, dict) else ()
    return {each["name"]: each for each in listed}


def _is_same(held: RegisteredSchema, spec: NewSchema) -> bool:
    if held.schema_type != spec.schema_type:
        return False
    if spec.schema_type == "PROTOBUF":
        return held.schema.split() == spec.schema.split()
    try:
        return bool(json.loads(held.schema) == json.loads(spec.schema))
    except ValueError:
        return False


def _delete_subjects(contents: Contents, names: Sequence[str]) -> Response[str]:
    schemas, levels = dict(contents.schemas), dict(contents.levels)
    deleted = dict(contents.deleted_versions)
    results: dict[str, ItemResult] = {}
    for name in names:
        users = sorted(
            other
            for other, versions in schemas.items()
            if other != name
            and any(one.subject == name for each in versions for one in each.references)
        )
        if users:
            results[name] = _refuse(SCHEMA_REFERENCED, f"{name} is used by {', '.join(users)}.")
            continue
        if gone := schemas.pop(name, ()):
            deleted[name] = gone[-1].version
        levels.pop(name, None)
        results[name] = None
    return Response(
        replace(contents, schemas=schemas, levels=levels, deleted_versions=deleted), results
    )


def _refuse(name: str, message: str) -> Refusal:
    return refusal(ERRORS[name].code, message)
