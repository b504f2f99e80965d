"""JSON, CSV and YAML documents to values and back."""

import re
from collections.abc import Iterator
from dataclasses import field
from typing import Final

from kplan.config.functions.function import Function, Parameter, Refusal, check_elements, check_text
from kplan.config.values.number import clean_text, number_text
from kplan.config.values.value import STRING, ObjectType, TList, Value, is_null, is_number
from kplan.config.values.value_text import json_loads, json_text
from kplan.model.dataclass import dataclass

_STEP: Final = 2
_WIDTH: Final = 80
_LONGEST_SIMPLE_KEY: Final = 128
_BREAKS: Final = "\n\r\x85\u2028\u2029"
_SHORT: Final = {
    "\0": "0",
    "\a": "a",
    "\b": "b",
    "\t": "t",
    "\n": "n",
    "\v": "v",
    "\f": "f",
    "\r": "r",
    "\x1b": "e",
    '"': '"',
    "\\": "\\",
    "\x85": "N",
    "\u2028": "L",
    "\u2029": "P",
}


def write(value: Value) -> str:
    """Write a value without marks as one document."""
    writer = _Writer()
    writer.node(value, 0, is_inline=True)
    is_plain = not isinstance(value, str | dict | tuple)
    return f"{writer.text}\n{'...' if is_plain else ''}".removesuffix("\n") + "\n"


@dataclass(slots=True)
class _Writer:
    """Text written so far. A node that is inline starts where the text ends."""

    parts: list[str] = field(default_factory=list)
    column: int = 0

    @property
    def text(self) -> str:
        return "".join(self.parts)

    def put(self, text: str) -> None:
        self.parts.append(text)
        self.column += len(text)

    def line(self, indent: int) -> None:
        self.parts.append("\n" + " " * indent)
        self.column = indent

    def node(self, value: Value, indent: int, *, is_inline: bool) -> None:
        if isinstance(value, dict) and value:
            self._mapping(value, indent, is_inline=is_inline)
        elif isinstance(value, tuple) and value:
            self._sequence(value, indent, is_inline=is_inline)
        else:
            self._scalar(value, indent + _STEP)

    def _mapping(self, value: dict[str, Value], indent: int, *, is_inline: bool) -> None:
        for place, key in enumerate(sorted(value)):
            if place or not is_inline:
                self.line(indent)
            if "\n" not in key and len(key.encode()) <= _LONGEST_SIMPLE_KEY:
                self._quoted_text(key, None)
                self.put(":")
                self._below_key(value[key], indent)
            else:
                self.put("? ")
                self._scalar(key, indent + _STEP)
                self.line(indent)
                self.put(": ")
                self.node(value[key], indent + _STEP, is_inline=True)

    def _below_key(self, value: Value, indent: int) -> None:
        if isinstance(value, dict) and value:
            self.node(value, indent + _STEP, is_inline=False)
        elif isinstance(value, tuple) and value:
            self.node(value, indent, is_inline=False)
        else:
            self.put(" ")
            self._scalar(value, indent + _STEP)

    def _sequence(self, value: tuple[Value, ...], indent: int, *, is_inline: bool) -> None:
        for place, each in enumerate(value):
            if place or not is_inline:
                self.line(indent)
            self.put("- ")
            if isinstance(each, dict | tuple):
                self.node(each, indent + _STEP, is_inline=True)
            else:
                self._scalar(each, indent + _STEP)

    def _scalar(self, value: Value, indent: int) -> None:
        match value:
            case str() if "\n" in value and _fits_block(value):
                self._block(value, indent)
            case str():
                self._quoted_text(value, indent)
            case dict():
                self.put("{}")
            case tuple():
                self.put("[]")
            case _:
                self.put(_plain(value))

    def _block(self, text: str, indent: int) -> None:
        hint = str(_STEP) if text[0] in " \n" else ""
        chomp = "-" if text[-1] != "\n" else "+" if text[:-1] == "" or text[-2] == "\n" else ""
        self.put(f"|{hint}{chomp}")
        body = text.removesuffix("\n")
        for each in body.split("\n"):
            if each:
                self.line(indent)
                self.put(each)
            else:
                self.parts.append("\n")
                self.column = 0

    def _quoted_text(self, text: str, indent: int | None) -> None:
        """Write in double quotes; without an indent, as for keys, on one line."""
        self.put('"')
        after_space = False
        last = len(text) - 1
        for place, each in enumerate(text):
            if each != " ":
                self.put(_escape_character(each))
            elif indent is None or after_space or self.column <= _WIDTH or not 0 < place < last:
                self.put(each)
            else:
                self.line(indent)
                if text[place + 1] == " ":
                    self.put("\\")
            after_space = each == " "
        self.put('"')


def _escape_character(character: str) -> str:
    if character in _SHORT:
        return f"\\{_SHORT[character]}"
    if _is_printable(character):
        return character
    code = ord(character)
    if code <= 0xFF:  # noqa: PLR2004 - two digits
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"  # noqa: PLR2004 - four digits


def _is_printable(character: str) -> bool:
    return " " <= character <= "~" or ("\xa0" <= character <= "\ufffd" and character != "\ufeff")


def _fits_block(text: str) -> bool:
    """Give whether a block keeps the text: no space at a line's end, nothing that needs escapes."""
    plain = all(each == "\n" or (_is_printable(each) and each not in _BREAKS) for each in text)
    return plain and not text.endswith(" ") and " \n" not in text


def _plain(value: Value) -> str:
    if is_number(value):
        return number_text(value)
    return "null" if is_null(value) else "true" if value else "false"


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
    """Value that JSON text means: arrays are tuples, objects are objects."""
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
    text = write(value)
    check_text(len(text))
    return text


def yaml_decode(text: str) -> Value:
    """Value that a YAML document means, with the scalars of YAML 1.1."""
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
