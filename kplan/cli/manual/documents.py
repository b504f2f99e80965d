"""The page of the documents that kplan writes for programs, made of their JSON Schemas."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from kplan.report.contract import DOCUMENTS, document_schema

_Json = Mapping[str, Any]
_ADDITIONS = (
    "Additions may come with any version of kplan: skip keys and values that you do not know."
)

_HEAD = """# Documents

`kplan schema -document=NAME` writes the JSON Schema (draft 2020-12) of each document below, for
check-jsonschema and libraries. The tables list the keys of the top level; the schemas describe all.

Within a major version schemas are only added to: new keys and values may come with any version, so
programs must skip those that they do not know. `kplan help versions` lists what is stable.
"""
_NOTES: Mapping[str, str] = {
    "policy": "No command writes this document: policies are given it. A policy in Python has the "
    "same facts as objects: `kplan help python-policies`.",
    "stream": "Each type of message has more keys of its own.",
    "state": "A state that was moved has `moved_to` and no resources.",
    "tables": "A row has the columns of one table. `kplan help fleet-tables` describes the stored "
    "ones.",
}
"""What is to be known of a document besides its schema."""


def documents_page() -> str:
    """Return the page of all documents in Markdown."""
    return "\n".join([_HEAD, *(line for name in DOCUMENTS for line in _document_lines(name))])


def _document_lines(name: str) -> Iterator[str]:
    schema = json.loads(document_schema(name))
    said = schema["description"].removesuffix(_ADDITIONS).strip()
    yield from (f"## {name}", "", said, "")
    if name in _NOTES:
        yield from (_NOTES[name], "")
    if name == "tables":
        yield from _table_lines(schema)
    else:
        yield from _key_lines(schema)
    yield ""


def _table_lines(schema: _Json) -> Iterator[str]:
    yield from ("| Table | Columns | Row |", "|---|---|---|")
    for name, table in schema["$defs"].items():
        columns = ", ".join(f"`{each}`" for each in table["properties"])
        yield f"| `{name}` | {columns} | {table['description']} |"


def _key_lines(schema: _Json) -> Iterator[str]:
    yield from ("| Key | Type | Meaning |", "|---|---|---|")
    forms = schema.get("anyOf", [schema])
    shared = set.intersection(*(set(each.get("required", ())) for each in forms))
    keys: dict[str, _Json] = {}
    for form in forms:
        keys |= {key: each for key, each in form["properties"].items() if key not in keys}
    for key, value in keys.items():
        types = " or ".join(_types(value, schema)) + ("" if key in shared else ", optional")
        yield f"| `{key}` | {types} | {value['description']} |"


def _types(value: _Json, schema: _Json) -> list[str]:
    """Name the types that a value may have."""
    if "$ref" in value:
        return _types(schema["$defs"][value["$ref"].rpartition("/")[2]], schema)
    if "anyOf" in value:
        return [name for each in value["anyOf"] for name in _types(each, schema)]
    found = value.get("type")
    if found is None:
        return sorted({_type_name(each) for each in value.get("enum", [value.get("const")])})
    return [found] if isinstance(found, str) else list(found)


def _type_name(value: object) -> str:
    return "integer" if isinstance(value, int) else "string"
