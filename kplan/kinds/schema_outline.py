"""What a schema says, line by line: equal outlines are equal schemas, however they are written."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

Outline = Mapping[str, str]
"""What is declared, as `shop.Order.total`, and how, as `double, default 0`."""

_PRIMITIVES = frozenset(("null", "boolean", "int", "long", "float", "double", "bytes", "string"))
_NAMED = frozenset(("record", "error", "enum", "fixed"))
_WHOLE = "schema"
"""The name of a schema that has none."""


@lru_cache(maxsize=512)
def schema_outline(text: str, schema_type: str = "") -> Outline:
    """Outline a schema; "" as type is found out. Text that is no schema is itself.

    Avro names are completed by their namespaces. Order counts where it does for the reader of a
    record: fields of a record, symbols and branches of a union.
    """
    try:
        parsed = json.loads(text)
    except ValueError:
        return _protobuf_outline(text)
    if schema_type == "AVRO" or (not schema_type and _is_avro(parsed)):
        try:
            return _AvroOutline().read(parsed)
        except (KeyError, TypeError, AttributeError):  # no valid schema: the registry says why
            pass
    return dict(_json_lines(parsed, ()))


def _is_avro(parsed: object) -> bool:
    if isinstance(parsed, str | list):
        return True
    return isinstance(parsed, dict) and (
        (parsed.get("type") in _NAMED and "name" in parsed)
        or (parsed.get("type") == "array" and "items" in parsed and "$schema" not in parsed)
        or (parsed.get("type") == "map" and "values" in parsed)
    )


class _AvroOutline:
    """Walks an Avro schema (1.12, "Schema Declaration") and notes what it declares."""

    def __init__(self) -> None:
        self._lines: dict[str, str] = {}

    def read(self, schema: object) -> Outline:
        found = self._type(schema, "")
        return self._lines if found in self._lines else {**self._lines, _WHOLE: found}

    def _type(self, schema: Any, space: str) -> str:  # noqa: ANN401 - JSON
        if isinstance(schema, str):
            return schema if schema in _PRIMITIVES else _full_name(schema, space)
        if isinstance(schema, list):
            return f"union of {' | '.join(self._type(each, space) for each in schema)}"
        kind = schema["type"]
        if isinstance(kind, str) and kind in _NAMED:
            return self._type_name(kind, schema, space)
        if kind == "array":
            return (
                f"array of ({self._type(schema['items'], space)}){_rest(schema, 'type', 'items')}"
            )
        if kind == "map":
            return (
                f"map of ({self._type(schema['values'], space)}){_rest(schema, 'type', 'values')}"
            )
        return f"{self._type(kind, space)}{_rest(schema, 'type')}"

    def _type_name(self, kind: str, schema: Mapping[str, Any], space: str) -> str:
        name = _full_name(schema["name"], schema.get("namespace", space))
        inner = name.rpartition(".")[0]
        known = ("type", "name", "namespace", "aliases")
        aliases = [_full_name(each, inner) for each in schema.get("aliases", ())]
        also = f", alias {', '.join(aliases)}" if aliases else ""
        if kind == "enum":
            text = f"enum of {', '.join(schema['symbols'])}{_rest(schema, *known, 'symbols')}"
        elif kind == "fixed":
            text = f"fixed of {schema['size']} bytes{_rest(schema, *known, 'size')}"
        else:
            fields = schema["fields"]
            names = ", ".join(each["name"] for each in fields)
            text = f"{kind} of {names or 'nothing'}{_rest(schema, *known, 'fields')}"
            self._lines[name] = ""  # it comes before its fields, which may refer to it
            for each in fields:
                self._lines[f"{name}.{each['name']}"] = self._field(each, inner)
        self._lines[name] = f"{text}{also}"
        return name

    def _field(self, field: Mapping[str, Any], space: str) -> str:
        default = f", default {_plain(field['default'])}" if "default" in field else ""
        order = field.get("order", "ascending")
        ordered = "" if order == "ascending" else f", order {order}"
        rest = _rest(field, "name", "type", "default", "order")
        return f"{self._type(field['type'], space)}{default}{ordered}{rest}"


def _full_name(name: str, space: str) -> str:
    return name if "." in name or not space else f"{space}.{name}"


def _rest(schema: Mapping[str, Any], *known: str) -> str:
    """Write what is said beside what is known: docs, logical types, properties of others."""
    rest = {key: each for key, each in schema.items() if key not in known}
    return "".join(f", {key} {_plain(rest[key])}" for key in sorted(rest))


def _plain(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _json_lines(value: object, path: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Write the leaves of JSON; a list of plain values is one."""
    if isinstance(value, dict) and value:
        for key in sorted(value):
            yield from _json_lines(value[key], (*path, str(key).replace(".", "\\.")))
    elif isinstance(value, list) and any(isinstance(each, dict | list) for each in value):
        for number, each in enumerate(value):
            yield from _json_lines(each, (*path, str(number)))
    else:
        yield ".".join(path) or _WHOLE, _plain(value)


_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[\w.+-]+|[^\s\w])""", re.DOTALL
)
_BLOCKS = frozenset(("message", "enum", "oneof", "service", "rpc", "extend", "group"))


def _protobuf_outline(text: str) -> Outline:
    tokens = [each[1] for each in _TOKEN.finditer(text) if each[1]]
    lines: dict[str, str] = {}
    _read_statements(tokens, 0, (), lines)
    return lines or {_WHOLE: text.strip()}


def _read_statements(
    tokens: Sequence[str], at: int, path: tuple[str, ...], lines: dict[str, str]
) -> int:
    """Note the statements of a block; return the place behind it."""
    words: list[str] = []
    depth = 0  # of braces inside a statement, as of an option
    while at < len(tokens):
        word = tokens[at]
        if word == "}" and path and not depth:
            break
        at += 1
        depth += {"{": 1, "}": -1}.get(word, 0) if words and words[0] not in _BLOCKS else 0
        if word == ";" and not depth:
            _note_statement(words, path, lines)
            words = []
        elif word == "{" and words and words[0] in _BLOCKS:
            name = " ".join(words[1:2]) or words[0]
            lines[".".join((*path, name))] = " ".join([words[0], *words[2:]])
            at = _read_statements(tokens, at, (*path, name), lines)
            words = []
        else:
            words.append(word)
    _note_statement(words, path, lines)
    return at + 1


_UNNAMED = frozenset(("option", "syntax", "package", "import", "reserved", "extensions", "edition"))


def _note_statement(words: Sequence[str], path: tuple[str, ...], lines: dict[str, str]) -> None:
    if not words:
        return
    if words[0] in _UNNAMED or "=" not in words:
        place = words.index("=") if "=" in words else len(words)
        what = " ".join(words[:place])
        value = " ".join(words[place + 1 :])
        lines[".".join((*path, what))] = value or "declared"
        return
    equals = words.index("=")
    *kind, name = words[:equals]
    number = " ".join(words[equals + 1 :])
    lines[".".join((*path, name))] = f"{' '.join(kind)} = {number}".strip()
