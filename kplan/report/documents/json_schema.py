"""The configuration in JSON syntax as a JSON Schema, for editors and for generators of files.

JSON Schema draft 2020-12. A value may be a template, and converts as in HCL, so strings stand
beside every other type.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from kplan.kinds.base import ResourceKind
from kplan.kinds.schema import Attribute, schema_fields
from kplan.report.data import Data

DRAFT = "https://json-schema.org/draft/2020-12/schema"
META: Mapping[str, str] = {
    "count": "How many instances there are.",
    "for_each": "A map or a set of strings: one instance for each element.",
    "depends_on": "Addresses of what is to be carried out before.",
    "provider": "The provider block to use, by its alias.",
    "lifecycle": "Rules for changes: prevent_destroy, ignore_changes, conditions.",
}
"""What a resource block takes beside the attributes of its kind."""


class Shape(Protocol):
    """What the body of a block takes, and how many labels stand before it."""

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
    def labels(self) -> int:
        """Number of labels."""
        ...

    @property
    def is_open(self) -> bool:
        """Whether any argument may stand there."""
        ...


def json_schema(
    kinds: Sequence[ResourceKind], provider: Mapping[str, Attribute], shapes: Mapping[str, Shape]
) -> Data:
    """Describe a `*.tf.json` file: `shapes` are its blocks, but for resources and providers."""
    blocks = {name: _labelled(_shaped(shapes[name]), shapes[name].labels) for name in shapes}
    blocks["provider"] = _object({"kafka": _one_or_many(_reference("provider"))})
    blocks["resource"] = _object({each.name: _labelled(_reference(each.name)) for each in kinds})
    return {
        "$schema": DRAFT,
        "title": "kplan configuration in JSON syntax (*.tf.json)",
        **_object({"//": _COMMENT, **{name: blocks[name] for name in sorted(blocks)}}),
        "$defs": {
            **_VALUES,
            "provider": _body(provider, (), {"alias": Attribute("Name of a further cluster.")}),
            **{each.name: _kind(each) for each in sorted(kinds, key=lambda kind: kind.name)},
        },
    }


def _kind(kind: ResourceKind) -> Data:
    fields = schema_fields(kind.schema)
    body = _body(
        {each.name: each.attribute for each in fields},
        [each.name for each in fields if each.is_required],
        {},
    )
    defaults = {each.name: each.default for each in fields if isinstance(each.default, str | int)}
    properties = {
        name: {**each, **({"default": defaults[name]} if name in defaults else {})}
        for name, each in body["properties"].items()
    }
    meta = {name: {"description": doc} for name, doc in META.items()}
    first = (kind.schema.__doc__ or "").partition("\n")[0]
    return {"description": first, **body, "properties": {**properties, **meta}}


def _body(
    attributes: Mapping[str, Attribute], required: Iterable[str], more: Mapping[str, Attribute]
) -> dict[str, Data]:
    found = {**more, **attributes}
    properties = {name: _property(found[name]) for name in sorted(found)}
    return _object({"//": _COMMENT, **properties}, required)


def _property(attribute: Attribute) -> dict[str, Data]:
    if attribute.choices:  # in any case of letters, so they are offered and not demanded
        return {
            "description": attribute.doc,
            "anyOf": [{"enum": list(attribute.choices)}, _reference("string")],
        }
    return {"description": attribute.doc, **_typed(attribute.type)}


def _typed(text: str) -> dict[str, Data]:
    """Turn a type in HCL's notation, `list(list(number))`, into a schema."""
    outer, _, inner = text.partition("(")
    if not inner:
        return {} if outer == "any" else _reference(outer)
    element = _typed(inner.removesuffix(")"))
    if outer == "map":
        return _or_expression({"type": "object", "additionalProperties": element})
    return _or_expression({"type": "array", "items": element})


def _or_expression(schema: Data) -> dict[str, Data]:
    return {"anyOf": [schema, _reference("expression"), {"type": "null"}]}


_COMMENT: Data = {"description": "A comment."}
_TEMPLATE: Data = {"type": "string", "pattern": r"[$%]\{"}
_NULL: Data = {"type": "null"}
_NUMERAL = r"^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$"
_VALUES: Mapping[str, Data] = {
    "expression": {"description": "A template whose value has the type.", **dict(_TEMPLATE)},  # type: ignore[arg-type]
    "string": {"type": ["string", "number", "boolean", "null"]},
    "number": {
        "anyOf": [{"type": "number"}, {"type": "string", "pattern": _NUMERAL}, _TEMPLATE, _NULL]
    },
    "bool": {"anyOf": [{"enum": [True, False, "true", "false"]}, _TEMPLATE, _NULL]},
}


def _reference(name: str) -> dict[str, Data]:
    return {"$ref": f"#/$defs/{name}"}


def _object(properties: Mapping[str, Data], required: Iterable[str] = ()) -> dict[str, Data]:
    needed = list(required)
    return {
        "type": "object",
        "properties": dict(properties),
        **({"required": needed} if needed else {}),
        "additionalProperties": False,
    }


def _shaped(shape: Shape) -> Data:
    names = ("//", *shape.arguments, *shape.blocks)
    found = _object({name: {} for name in names}, shape.required)
    return {**found, "additionalProperties": True} if shape.is_open else found


def _labelled(body: Data, labels: int = 1) -> Data:
    """Put a body behind its labels; at every level one may stand for many."""
    found = _one_or_many(body)
    for _ in range(labels):
        found = _one_or_many({"type": "object", "additionalProperties": found})
    return found


def _one_or_many(schema: Data) -> Data:
    return {"anyOf": [schema, {"type": "array", "items": schema}]}
