"""The JSON syntax of the language (`.tf.json`), with the place of every part."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from kplan.config.diagnostic import error
from kplan.config.syntax import tree as ast
from kplan.config.syntax.grammar import SyntaxProblem
from kplan.config.syntax.parse import (
    EXPRESSION_BASE,
    TEMPLATE_BASE,
    ParsedFile,
    parse_expression,
    parse_template,
)
from kplan.config.syntax.source import MAX_DEPTH, Origin, Source
from kplan.config.syntax.tree_walk import argument_references, map_offsets
from kplan.config.values.number import NumberError, parse_number
from kplan.model.diagnostic import Diagnostic


class Scalar(NamedTuple):
    """null, a bool, a number as its text, or a string with its escapes resolved."""

    start: int
    end: int
    value: bool | str | None
    is_number: bool = False


class Array(NamedTuple):
    """`[...]`."""

    start: int
    end: int
    items: "tuple[Part, ...]"


class Member(NamedTuple):
    """One `"name": value` of an object."""

    name: Scalar
    value: "Part"


class Record(NamedTuple):
    """`{...}`, with names as often as they are there."""

    start: int
    end: int
    members: tuple[Member, ...]


Part: TypeAlias = Scalar | Array | Record

_BLANK = re.compile(r"[ \t\r\n]*+").match
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"').match
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+").match
_WORD = re.compile(r"true|false|null").match
_WORDS = {"true": True, "false": False, "null": None}


def read_json(text: str) -> Part:
    """Read a JSON text as a whole.

    Raises:
        SyntaxProblem: it is no JSON, or is nested too deeply.

    """
    reader = _Reader(text)
    part = reader.part(reader.blank(0), 0)
    behind = reader.blank(part.end)
    if behind < len(text):
        raise _json_problem(text, behind, "Nothing may follow the value")
    return part


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text

    def blank(self, at: int) -> int:
        """Return the offset behind blanks."""
        match = _BLANK(self._text, at)
        return match.end() if match else at

    def part(self, at: int, depth: int) -> Part:
        """Read the value at an offset."""
        if depth > MAX_DEPTH:
            detail = f"Values can be nested {MAX_DEPTH} deep in each other."
            raise SyntaxProblem("KP114", at, at + 1, detail)
        match self._text[at : at + 1]:
            case "{":
                return self._record(at, depth)
            case "[":
                return self._array(at, depth)
            case '"':
                return self._string(at)
            case _:
                return self._word(at)

    def _string(self, at: int) -> Scalar:
        match = _STRING(self._text, at)
        if match is None:
            raise _json_problem(self._text, at, "A string in double quotes is expected")
        return Scalar(at, match.end(), json.loads(match[0]))

    def _word(self, at: int) -> Scalar:
        if match := _NUMBER(self._text, at):
            return Scalar(at, match.end(), match[0], is_number=True)
        if match := _WORD(self._text, at):
            return Scalar(at, match.end(), _WORDS[match[0]])
        raise _json_problem(self._text, at, "A value is expected")

    def _array(self, at: int, depth: int) -> Array:
        items: list[Part] = []
        here = self.blank(at + 1)
        while self._text[here : here + 1] != "]":
            if items:
                here = self._comma(here, "]")
            items.append(self.part(here, depth + 1))
            here = self.blank(items[-1].end)
        return Array(at, here + 1, tuple(items))

    def _record(self, at: int, depth: int) -> Record:
        members: list[Member] = []
        here = self.blank(at + 1)
        while self._text[here : here + 1] != "}":
            if members:
                here = self._comma(here, "}")
            name = self._string(here)
            here = self.blank(name.end)
            if self._text[here : here + 1] != ":":
                raise _json_problem(self._text, here, "A colon is expected")
            members.append(Member(name, self.part(self.blank(here + 1), depth + 1)))
            here = self.blank(members[-1].value.end)
        return Record(at, here + 1, tuple(members))

    def _comma(self, here: int, closer: str) -> int:
        if self._text[here : here + 1] != ",":
            raise _json_problem(self._text, here, f"A comma or {closer} is expected")
        return self.blank(here + 1)


def _json_problem(text: str, at: int, result: str) -> SyntaxProblem:
    found = text[at : at + 1]
    shown = f"found {found}" if found else "found the end of the text"
    return SyntaxProblem("KP119", at, at + 1, f"{result}, {shown}.")


_LABELS: Mapping[str, int] = {
    "resource": 2,
    "data": 2,
    "ephemeral": 2,
    "variable": 1,
    "output": 1,
    "module": 1,
    "provider": 1,
    "check": 1,
    "policy": 1,
}
_CONDITIONS = frozenset({"precondition", "postcondition"})
_INNER: Mapping[str, frozenset[str]] = {
    "resource": frozenset({"lifecycle"}),
    "lifecycle": _CONDITIONS,
    "variable": frozenset({"validation"}),
    "output": frozenset({"precondition"}),
    "check": frozenset({"assert"}),
    "policy": frozenset({"deny", "warn", "advise"}),
    "removed": frozenset({"lifecycle"}),
    "terraform": frozenset({"required_providers", "backend", "cloud", "provider_meta"}),
}
_EXPRESSIONS = frozenset({("variable", "type"), ("moved", "from"), ("moved", "to"),
                          ("removed", "from"), ("import", "to"),
                          ("resource", "provider")})  # fmt: skip


def parse_json(source: Source) -> ParsedFile:
    """Parse a file in JSON syntax. Every problem is reported at the string or value it is in."""
    try:
        whole = read_json(source.text)
    except SyntaxProblem as broken:
        return ParsedFile((), (_diagnostic(source, broken),), has_lost=True)
    reader = _BodyReader(source)
    items: list[ast.Item] = []
    try:
        items.extend(reader.items(whole))
    except SyntaxProblem as broken:
        reader.diagnostics.append(_diagnostic(source, broken))
        return ParsedFile(tuple(items), tuple(reader.diagnostics), has_lost=True)
    return ParsedFile(tuple(items), tuple(reader.diagnostics), bool(reader.diagnostics))


def _diagnostic(source: Source, broken: SyntaxProblem) -> Diagnostic:
    subject = source.range(broken.start, broken.end)
    return error(broken.code, subject, broken.detail, hint=broken.hint)


class _BodyReader:
    """Turns JSON into items. Offsets count from the start of the file."""

    def __init__(self, source: Source) -> None:
        self.diagnostics: list[Diagnostic] = []
        self._source = source
        self._origin = Origin(source, 0)

    # ---- blocks

    def items(self, whole: Part) -> Iterator[ast.Item]:
        """Read the top level."""
        for record in _records(whole):
            for name, value in _members(record):
                of = str(name.value)
                for block in self._read_labels(of, name, value, _LABELS.get(of, 0), ()):
                    yield ast.Item(self._origin, block)

    def _read_labels(
        self, of: str, name: Scalar, value: Part, wanted: int, labels: tuple[ast.Label, ...]
    ) -> Iterator[ast.Block]:
        if len(labels) == wanted:
            for body in _records(value):
                yield self._block(of, name, body, labels)
            return
        for record in _records(value):
            for label, inner in _members(record):
                more = ast.Label(label.start, label.end, str(label.value))
                yield from self._read_labels(of, label, inner, wanted, (*labels, more))

    def _block(
        self, of: str, name: Scalar, body: Record, labels: tuple[ast.Label, ...]
    ) -> ast.Block:
        attributes: dict[str, ast.Attribute] = {}
        blocks: list[ast.Block] = []
        inner = _INNER.get(of, frozenset())
        for member, value in _members(body):
            key = str(member.value)
            if key in inner:
                blocks.extend(self._block(key, member, each, ()) for each in _records(value))
            else:
                self._add(attributes, of, member, value)
        start = labels[0].start if labels else name.start
        return ast.Block(
            start, body.end, of, labels, body.start, tuple(attributes.values()), tuple(blocks)
        )

    def _add(
        self, attributes: dict[str, ast.Attribute], of: str, member: Scalar, value: Part
    ) -> None:
        name = str(member.value)
        if name in attributes:
            first = attributes[name]
            detail = f'The argument "{name}" has been set already. Each argument is set once.'
            related = (("set first", self._source.range(first.start, first.name_end)),)
            subject = self._source.range(member.start, member.end)
            self.diagnostics.append(error("KP113", subject, detail, related=related))
            return
        is_expression = (of, name) in _EXPRESSIONS
        node = (
            self._parse_string(value, parse_expression, EXPRESSION_BASE) if is_expression else None
        )
        node = node or self._node(value)
        attributes[name] = ast.Attribute(
            member.start, value.end, name, member.end, node, argument_references(of, name, node)
        )

    # ---- expressions

    def _node(self, part: Part) -> ast.Node:
        if isinstance(part, Array):
            return ast.Tuple(part.start, part.end, tuple(self._node(each) for each in part.items))
        if isinstance(part, Record):
            pairs = tuple((self._node(each.name), self._node(each.value)) for each in part.members)
            return ast.Object(part.start, part.end, pairs)
        if part.is_number:
            return self._number(part)
        if isinstance(part.value, str) and ("${" in part.value or "%{" in part.value):
            node = self._parse_string(part, parse_template, TEMPLATE_BASE)
            return node or ast.Literal(part.start, part.end, "")
        return ast.Literal(part.start, part.end, part.value)

    def _number(self, part: Scalar) -> ast.Node:
        try:
            return ast.Literal(part.start, part.end, parse_number(str(part.value)))
        except NumberError as fault:
            detail = f"{str(fault).capitalize()}."
            raise SyntaxProblem("KP119", part.start, part.end, detail) from None

    def _parse_string(self, part: Part, parse: "_Parse", base: int) -> ast.Node | None:
        """Parse the text of a string; in one without escapes every part keeps its own place."""
        if not isinstance(part, Scalar) or not isinstance(part.value, str):
            return None
        text, inside = part.value, part.start + 1
        is_plain = self._source.text[inside : part.end - 1] == text
        attribute, problems = parse(Source(self._source.name, text))
        if attribute is None:
            subject = self._source.range(part.start, part.end)
            found = problems[0]
            self.diagnostics.append(error(found.code, subject, found.detail, hint=found.hint))
            return None
        if is_plain:
            return map_offsets(attribute.value, lambda at: at + base + inside)
        return map_offsets(attribute.value, lambda at: part.start if at <= 0 else part.end)


_Parse = Callable[[Source], tuple[ast.Attribute | None, tuple[Diagnostic, ...]]]


def _records(part: Part) -> Iterator[Record]:
    """Return the objects that mean blocks: one, or an array of them."""
    if isinstance(part, Array):
        for each in part.items:
            yield from _records(each)
    elif isinstance(part, Record):
        yield part
    elif part.value is not None:
        detail = "An object is expected here, or an array of objects."
        raise SyntaxProblem("KP119", part.start, part.end, detail)


def _members(record: Record) -> Iterator[Member]:
    """Return the members of the object without comments (named //)."""
    return (each for each in record.members if each.name.value != "//")
