"""Schemas of the configuration: JSON Schema, provider schema, reference page."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from kplan.kinds.base import ResourceKind
from kplan.kinds.schema import Attribute, SchemaField, schema_fields
from kplan.report.data import Data
from kplan.report.documents.notation import hcl_text
from kplan.report.documents.plan_data import PROVIDER_SOURCE

SCHEMA_DRAFT = "https://json-schema.org/draft/2020-12/schema"
META_ARGUMENTS: Mapping[str, str] = {
    "count": "How many instances there are.",
    "for_each": "A map or a set of strings: one instance for each element.",
    "depends_on": (
        "Addresses of other blocks, without effect here: changes have the order that Kafka needs. "
        "In data and module blocks it decides when data sources are read."
    ),
    "provider": "The provider block to use, by its alias.",
    "lifecycle": "Rules for changes: prevent_destroy, ignore_changes, conditions.",
}
"""What a resource block takes beside the attributes of its kind."""


class BlockShape(Protocol):
    """What the body of a block takes, and how many labels are before it."""

    @property
    def arguments(self) -> tuple[str, ...]:
        """Names of arguments."""
        ...

    @property
    def required(self) -> tuple[str, ...]:
        """Those of them that must be there."""
        ...

    @property
    def blocks(self) -> tuple[str, ...]:
        """Names of nested blocks."""
        ...

    @property
    def label_count(self) -> int:
        """Number of labels."""
        ...

    @property
    def is_open(self) -> bool:
        """Whether any argument may be there."""
        ...


def json_schema(
    kinds: Sequence[ResourceKind],
    provider: Mapping[str, Attribute],
    shapes: Mapping[str, BlockShape],
) -> Data:
    """Describe a `*.tf.json` file: `shapes` are its blocks, but for resources and providers."""
    bodies = {
        **{name: _block_schema(shapes[name]) for name in shapes},
        **{each.name: _kind_schema(each) for each in kinds},
        "provider": _provider_body(provider),
    }
    blocks = {
        **{name: _label_schema(name, shapes[name].label_count) for name in shapes},
        "resource": _one_or_many(
            _object_schema({each.name: _label_schema(each.name) for each in kinds})
        ),
        "provider": _one_or_many(_object_schema({"kafka": _label_schema("provider", 0)})),
    }
    return {
        "$schema": SCHEMA_DRAFT,
        "title": "kplan configuration in JSON syntax (*.tf.json)",
        **_object_schema(blocks),
        "$defs": {**_VALUES, **{name: bodies[name] for name in sorted(bodies)}},
    }


def _kind_schema(kind: ResourceKind) -> Data:
    fields = schema_fields(kind.schema)
    properties: dict[str, Data] = {
        name: {"description": doc} for name, doc in META_ARGUMENTS.items()
    }
    for each in fields:
        found = _attribute_schema(each.attribute)
        if isinstance(each.default, str | int):
            found["default"] = each.default
        properties[each.name] = found
    body = _object_schema(properties, [each.name for each in fields if each.is_required])
    return {"description": (kind.schema.__doc__ or "").partition("\n")[0], **body}


def _provider_body(arguments: Mapping[str, Attribute]) -> Data:
    properties: dict[str, Data] = {name: _attribute_schema(arguments[name]) for name in arguments}
    return _object_schema({**properties, "alias": {"description": "Name of a further cluster."}})


def _attribute_schema(attribute: Attribute) -> dict[str, Data]:
    if attribute.choices:  # in any case of letters, so they are offered and not demanded
        choices: Data = {"enum": list(attribute.choices)}
        return {"description": attribute.doc, "anyOf": [choices, _reference("string")]}
    return {"description": attribute.doc, **_type_schema(attribute.type)}


def _type_schema(text: str) -> dict[str, Data]:
    """Turn a type in HCL's notation, `list(list(number))`, into a schema."""
    outer, _, inner = text.partition("(")
    if not inner:
        return {} if outer == "any" else _reference(outer)
    element = _type_schema(inner.removesuffix(")"))
    if outer == "map":
        return _or_expression({"type": "object", "additionalProperties": element})
    return _or_expression({"type": "array", "items": element})


def _or_expression(schema: Data) -> dict[str, Data]:
    return {"anyOf": [schema, _reference("expression"), {"type": "null"}]}


_TEMPLATE: Mapping[str, Data] = {"type": "string", "pattern": r"[$%]\{"}
_NULL: Data = {"type": "null"}
_NUMERAL = r"^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$"
_VALUES: Mapping[str, Data] = {
    "expression": {"description": "A template whose value has the type.", **_TEMPLATE},
    "string": {"type": ["string", "number", "boolean", "null"]},
    "number": {
        "anyOf": [{"type": "number"}, {"type": "string", "pattern": _NUMERAL}, _TEMPLATE, _NULL]
    },
    "bool": {"anyOf": [{"enum": [True, False, "true", "false"]}, _TEMPLATE, _NULL]},
}


def _reference(name: str) -> dict[str, Data]:
    return {"$ref": f"#/$defs/{name}"}


def _object_schema(properties: Mapping[str, Data], required: Sequence[str] = ()) -> dict[str, Data]:
    comment: Data = {"description": "A comment."}
    return {
        "type": "object",
        "properties": {"//": comment, **{name: properties[name] for name in sorted(properties)}},
        **({"required": sorted(required)} if required else {}),
        "additionalProperties": False,
    }


def _block_schema(shape: BlockShape) -> Data:
    found = _object_schema({name: {} for name in (*shape.arguments, *shape.blocks)}, shape.required)
    return {**found, "additionalProperties": True} if shape.is_open else found


def _label_schema(name: str, labels: int = 1) -> Data:
    """Put a body behind its labels; at every level one may mean many."""
    found = _one_or_many(_reference(name))
    for _ in range(labels):
        found = _one_or_many({"type": "object", "additionalProperties": found})
    return found


def _one_or_many(schema: Data) -> Data:
    return {"anyOf": [schema, {"type": "array", "items": schema}]}


FORMAT_VERSION = "1.0"
"""Of `terraform providers schema -json`."""


def provider_schema(kinds: Sequence[ResourceKind], provider: Mapping[str, Attribute]) -> Data:
    """Write the output of `terraform providers schema -json`; every object has an `id`."""
    resources = {each.name: _resource(each) for each in sorted(kinds, key=lambda kind: kind.name)}
    arguments = {name: _attribute(provider[name]) for name in sorted(provider)}
    return {
        "format_version": FORMAT_VERSION,
        "provider_schemas": {
            PROVIDER_SOURCE: {
                "provider": {"version": 0, "block": _block(arguments, "")},
                "resource_schemas": resources,
            }
        },
    }


def _resource(kind: ResourceKind) -> Data:
    fields = {each.name: each for each in schema_fields(kind.schema)}
    attributes = {
        name: _attribute(fields[name].attribute, is_required=fields[name].is_required)
        for name in sorted(fields)
    }
    identity: Data = {"type": "string", "description_kind": "plain", "computed": True}
    return {"version": 0, "block": _block({**attributes, "id": identity}, _kind_description(kind))}


def _block(attributes: Mapping[str, Data], description: str) -> Data:
    values = {"description": description} if description else {}
    return {"attributes": dict(sorted(attributes.items())), **values, "description_kind": "plain"}


def _attribute(attribute: Attribute, *, is_required: bool = False) -> Data:
    return {
        "type": _terraform_type(attribute.type),
        "description": _attribute_description(attribute),
        "description_kind": "plain",
        "required" if is_required else "optional": True,
        **({"sensitive": True} if attribute.is_sensitive else {}),
    }


def _terraform_type(text: str) -> Data:
    """Turn a type in HCL's notation, `list(list(number))`, into Terraform's JSON."""
    outer, _, inner = text.partition("(")
    if not inner:
        return "dynamic" if outer == "any" else outer
    return [outer, _terraform_type(inner.removesuffix(")"))]


def _attribute_description(attribute: Attribute) -> str:
    if not attribute.choices:
        return attribute.doc
    return f"{attribute.doc} One of {', '.join(attribute.choices)}."


def _kind_description(kind: ResourceKind) -> str:
    return " ".join((kind.schema.__doc__ or "").split())


_Row = tuple[str, str, str, str]
_HEAD: _Row = ("Attribute", "Type", "Default", "Description")


def reference_page(
    kinds: Sequence[ResourceKind],
    provider: Mapping[str, Attribute],
    state: Mapping[str, Attribute],
) -> str:
    """Write a Markdown page with a table of attributes for every kind, the provider and state."""
    parts = ["# Blocks and their attributes"]
    for kind in sorted(kinds, key=lambda each: each.name):
        rows = [_field_row(each) for each in schema_fields(kind.schema)]
        parts += [f'## `resource "{kind.name}"`', _kind_description(kind), _table(rows)]
    meta = [(name, "", "", doc) for name, doc in META_ARGUMENTS.items()]
    parts += ["## In every resource block", _table(meta)]
    for title, arguments in (('provider "kafka"', provider), ("state", state)):
        rows = [
            (name, arguments[name].type, "", _attribute_description(arguments[name]))
            for name in sorted(arguments)
        ]
        parts += [f"## `{title}`", _table(rows)]
    return "\n\n".join(parts) + "\n"


def _field_row(each: SchemaField) -> _Row:
    default = "required" if each.is_required else ""
    if isinstance(each.default, str | int):
        default = f"`{hcl_text(each.default)}`"
    return each.name, each.attribute.type, default, _attribute_description(each.attribute)


def _table(rows: Sequence[_Row]) -> str:
    lines = [_HEAD, ("---",) * 4, *((f"`{row[0]}`", *row[1:]) for row in rows)]
    return "\n".join(_line(each) for each in lines)


def _line(cells: _Row) -> str:
    escaped = [each.replace("|", "\\|") for each in cells]
    return f"| {' | '.join(escaped)} |"
