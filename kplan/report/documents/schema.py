"""What the blocks of a configuration take: for tools that know Terraform's schemas, and to read."""

from collections.abc import Mapping, Sequence

from kplan.kinds.base import ResourceKind
from kplan.kinds.schema import Attribute, SchemaField, schema_fields
from kplan.report.data import Data
from kplan.report.documents.json_schema import META
from kplan.report.documents.notation import hcl
from kplan.report.documents.terraform import PROVIDER

FORMAT_VERSION = "1.0"
"""Of `terraform providers schema -json`."""


def provider_schema(kinds: Sequence[ResourceKind], provider: Mapping[str, Attribute]) -> Data:
    """Write what `terraform providers schema -json` writes; `id` is what every object has."""
    resources = {each.name: _resource(each) for each in sorted(kinds, key=lambda kind: kind.name)}
    arguments = {name: _attribute(provider[name]) for name in sorted(provider)}
    return {
        "format_version": FORMAT_VERSION,
        "provider_schemas": {
            PROVIDER: {
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
    return {"version": 0, "block": _block({**attributes, "id": identity}, _doc(kind))}


def _block(attributes: Mapping[str, Data], description: str) -> Data:
    told = {"description": description} if description else {}
    return {"attributes": dict(sorted(attributes.items())), **told, "description_kind": "plain"}


def _attribute(attribute: Attribute, *, is_required: bool = False) -> Data:
    return {
        "type": _type(attribute.type),
        "description": _told(attribute),
        "description_kind": "plain",
        "required" if is_required else "optional": True,
        **({"sensitive": True} if attribute.is_sensitive else {}),
    }


def _type(text: str) -> Data:
    """Turn a type in HCL's notation, `list(list(number))`, into Terraform's JSON."""
    outer, _, inner = text.partition("(")
    if not inner:
        return "dynamic" if outer == "any" else outer
    return [outer, _type(inner.removesuffix(")"))]


def _told(attribute: Attribute) -> str:
    if not attribute.choices:
        return attribute.doc
    return f"{attribute.doc} One of {', '.join(attribute.choices)}."


def _doc(kind: ResourceKind) -> str:
    return " ".join((kind.schema.__doc__ or "").split())


_Row = tuple[str, str, str, str]
_HEAD: _Row = ("Attribute", "Type", "Default", "Description")


def reference(kinds: Sequence[ResourceKind], provider: Mapping[str, Attribute]) -> str:
    """Write a Markdown page with a table of attributes for every kind and for the provider."""
    parts = ["# Blocks and their attributes"]
    for kind in sorted(kinds, key=lambda each: each.name):
        rows = [_field_row(each) for each in schema_fields(kind.schema)]
        parts += [f'## `resource "{kind.name}"`', _doc(kind), _table(rows)]
    meta = [(name, "", "", doc) for name, doc in META.items()]
    parts += ["## In every resource block", _table(meta)]
    arguments = [
        (name, provider[name].type, "", _told(provider[name])) for name in sorted(provider)
    ]
    parts += ['## `provider "kafka"`', _table(arguments)]
    return "\n\n".join(parts) + "\n"


def _field_row(each: SchemaField) -> _Row:
    default = "required" if each.is_required else ""
    if isinstance(each.default, str | int):
        default = f"`{hcl(each.default)}`"
    return each.name, each.attribute.type, default, _told(each.attribute)


def _table(rows: Sequence[_Row]) -> str:
    lines = [_HEAD, ("---",) * 4, *((f"`{row[0]}`", *row[1:]) for row in rows)]
    return "\n".join(_line(each) for each in lines)


def _line(cells: _Row) -> str:
    escaped = [each.replace("|", "\\|") for each in cells]
    return f"| {' | '.join(escaped)} |"
