"""JSON, CSV and YAML documents to values and back."""

import re
from collections.abc import Iterator
from typing import Final

from kplan.config.functions import yaml_writer
from kplan.config.functions.function import Function, Parameter, Refusal, check_elements, check_text
from kplan.config.values.json_value import json_loads, json_text
from kplan.config.values.number import clean_text
from kplan.config.values.value import STRING, ObjectType, TList, Value

_QUOTED: Final = re.compile(r'"((?:[^"]|"")*)"(?=,|\n|\Z)')
_PLAIN: Final = re.compile(r'[^",\n]*(?=,|\n|\Z)')


class CsvError(Exception):
    """Text that is not CSV."""


def read(text: str) -> tuple[list[str], list[list[str]]]:
    """Read the names of the header line and the rows below it; empty lines do not count.

    Raises:
        CsvError: a stray quote, a row of another width, two columns of one name, or no header.

    """
    lines = list(_records(text.replace("\r\n", "\n")))
    if not lines:
        raise CsvError("missing header line")
    names = lines[0][1]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise CsvError(f'duplicate column name "{name}"')
    for number, row in lines[1:]:
        if len(row) != len(names):
            raise CsvError(f"CSV parse error on line {number}: wrong number of fields")
    return names, [row for _, row in lines[1:]]


def _records(text: str) -> Iterator[tuple[int, list[str]]]:
    position, number = 0, 1
    while position < len(text):
        if text[position] == "\n":
            position, number = position + 1, number + 1
            continue
        row, end = _record(text, position, number)
        yield number, row
        number += text.count("\n", position, end)
        position = end


def _record(text: str, start: int, number: int) -> tuple[list[str], int]:
    row: list[str] = []
    position = start
    while True:
        pattern = _QUOTED if text.startswith('"', position) else _PLAIN
        match = pattern.match(text, position)
        if match is None:
            fault = (
                'extraneous or missing " in quoted-field'
                if pattern is _QUOTED
                else 'bare " in non-quoted-field'
            )
            line = number + text.count("\n", start, position)
            raise CsvError(f"CSV parse error on line {line}: {fault}")
        row.append(match[1].replace('""', '"') if pattern is _QUOTED else match[0])
        position = match.end()
        if not text.startswith(",", position):
            return row, position + 1
        position += 1


_ESCAPES: Final = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)


def safe_json_text(value: Value) -> str:
    """Write a value without marks as compact JSON; the escaped characters occur in strings only."""
    return json_text(value).translate(_ESCAPES)


def json_encode(value: Value) -> str:
    """Value as compact JSON."""
    text = safe_json_text(value)
    check_text(len(text))
    return text


def json_decode(text: str) -> Value:
    """Value that JSON text stands for: arrays are tuples, objects are objects."""
    try:
        return json_loads(text)
    except RecursionError:
        raise Refusal("the document is nested too deeply") from None
    except ValueError as error:
        raise Refusal("{}", str(error)) from None


def csv_decode(text: str) -> Value:
    """Rows of CSV text as a list of objects with the names of the header line."""
    try:
        names, rows = read(clean_text(text))
    except CsvError as error:
        raise Refusal("{}", str(error)) from None
    check_elements(len(rows) * len(names))
    order = sorted(range(len(names)), key=names.__getitem__)
    objects: list[Value] = [{names[at]: row[at] for at in order} for row in rows]
    return TList(objects, ObjectType({names[at]: STRING for at in order}))


def yaml_encode(value: Value) -> str:
    """Value as YAML."""
    text = yaml_writer.write(value)
    check_text(len(text))
    return text


def yaml_decode(text: str) -> Value:
    """Value that a YAML document stands for, with the scalars of YAML 1.1."""
    from kplan.config.functions import yaml_reader  # noqa: PLC0415 - brings PyYAML

    try:
        return yaml_reader.read(text)
    except yaml_reader.YamlError as error:
        raise Refusal("{}", str(error)) from None


DOCUMENTS: Final = (
    Function("csvdecode", (Parameter("str", STRING),), csv_decode),
    Function("jsondecode", (Parameter("str", STRING),), json_decode),
    Function("jsonencode", (Parameter("val", nullable=True),), json_encode),
    Function("yamldecode", (Parameter("src", STRING),), yaml_decode),
    Function("yamlencode", (Parameter("value", nullable=True),), yaml_encode),
)
