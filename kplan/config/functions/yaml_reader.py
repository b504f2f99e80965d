"""YAML documents read as Terraform reads them, with the scalars of YAML 1.1 and 1.2."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Final, cast

import yaml  # noqa: TID253 - this module is itself imported by the functions that need it
from yaml import events  # noqa: TID253 - as above

from kplan.config.functions.date import TimestampError, calendar_text
from kplan.config.functions.encoding import decoded_base64
from kplan.config.functions.function import MAX_ELEMENTS
from kplan.config.values.conversion import ConversionError, convert
from kplan.config.values.number import NumberError, clean_text, parse_number
from kplan.config.values.value import STRING, Value, type_name, type_of
from kplan.model.dataclass import dataclass

_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE_WORDS: Final = ("y", "yes", "on", "true")
_FALSE_WORDS: Final = ("n", "no", "off", "false")
_BOOLS: Final[Mapping[str, bool]] = {
    spelt: meaning
    for words, meaning in ((_TRUE_WORDS, True), (_FALSE_WORDS, False))
    for word in words
    for spelt in (word, word.capitalize(), word.upper())
}
_NUMBER: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_BASED: Final = re.compile(r"0x(?P<hexadecimal>[0-9a-fA-F]+)|0o(?P<octal>[0-7]+)")
_INFINITE: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_TIMESTAMP: Final = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})"
    r"(?:([Tt ])(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.\d*)?(Z|[-+]\d{2}:\d{2})?)?"
)
_LONGEST: Final = 4000


class ScalarError(Exception):
    """A scalar that does not match its tag, or that no value can represent."""


def scalar_value(text: str, tag: str | None, *, is_quoted: bool) -> Value:
    """Read a scalar: by its tag, or without one by its look. In quotes it stays a string.

    Raises:
        ScalarError: the tag is unknown or does not fit, or the number is infinite.

    """
    if tag is None:
        return text if is_quoted else _implicit(text)
    if tag not in _TAGGED:
        full = tag if tag.startswith(("!", "tag:")) else f"tag:yaml.org,2002:{tag}"
        raise ScalarError(f'unsupported tag "{full}"')
    return text if is_quoted and tag != "binary" else _TAGGED[tag](text)


def _implicit(text: str) -> Value:
    if text in _NULLS:
        return None
    if text in _BOOLS:
        return _BOOLS[text]
    number = _number(text)
    if number is not None:
        return number
    time = _time(text)
    return text if time is None else time


def _number(text: str) -> Value:
    if not text.isascii() or len(text) > _LONGEST:
        return None
    if _INFINITE.fullmatch(text):
        raise ScalarError("numbers that are not finite are not supported")
    if based := _BASED.fullmatch(text):
        digits, radix = (based[1], 16) if based[1] else (based[2], 8)
        return int(digits, radix)
    if _NUMBER.fullmatch(text):
        try:
            return parse_number(text)
        except NumberError as error:
            raise ScalarError(str(error)) from None
    return None


def _time(text: str) -> str | None:
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return None
    year, month, day, introducer, *clock, zone = match.groups()
    if introducer is not None and (introducer == " ") is (zone is not None):
        return None
    hour, minute, second = (int(each or 0) for each in clock)
    try:
        return calendar_text((int(year), int(month), int(day), hour, minute, second), zone or "Z")
    except TimestampError:
        return None


def _tagged_number(name: str) -> Callable[[str], Value]:
    def read(text: str) -> Value:
        number = _number(text)
        if number is None:
            raise _unfit(text, name)
        return number

    return read


def _tagged_bool(text: str) -> Value:
    if text not in _BOOLS:
        raise _unfit(text, "bool")
    return _BOOLS[text]


def _tagged_time(text: str) -> Value:
    time = _time(text)
    if time is None:
        raise _unfit(text, "timestamp")
    return time


def _tagged_binary(text: str) -> Value:
    if decoded_base64(text) is None:
        raise ScalarError(f'cannot parse "{text}" as tag:yaml.org,2002:binary: not valid base64')
    return text


def _unfit(text: str, name: str) -> ScalarError:
    return ScalarError(f'cannot parse "{text}" as tag:yaml.org,2002:{name}')


_TAGGED: Final[Mapping[str, Callable[[str], Value]]] = {
    "binary": _tagged_binary,
    "bool": _tagged_bool,
    "float": _tagged_number("float"),
    "int": _tagged_number("int"),
    "null": lambda _: None,
    "str": lambda text: text,
    "timestamp": _tagged_time,
}


MAX_DEPTH: Final = 100
"""Levels that a document may nest."""

_LOADER: Final = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
_TAG: Final = "tag:yaml.org,2002:"
_MERGE: Final = "<<"


class YamlError(Exception):
    """A text that is not one YAML document, or that cannot be a value."""


def read(text: str) -> Value:
    """Read one document.

    Raises:
        YamlError: it is none, uses what no value can hold, or unfolds beyond `MAX_ELEMENTS` parts.

    """
    try:
        return _document(_Reader(yaml.parse(text, Loader=_LOADER)))
    except yaml.MarkedYAMLError as error:
        raise YamlError(_error_text(error)) from None
    except yaml.YAMLError as error:
        raise YamlError(str(error).partition("\n")[0]) from None
    except RecursionError:
        raise YamlError("the document is nested too deeply") from None


def _error_text(error: yaml.MarkedYAMLError) -> str:
    problem = error.problem or error.context or "not YAML"
    return problem if error.problem_mark is None else f"{_at(error.problem_mark)}{problem}"


def _at(mark: yaml.Mark) -> str:
    return f"on line {mark.line + 1}, column {mark.column + 1}: "


def _document(reader: "_Reader") -> Value:
    next(reader.stream)
    if isinstance(next(reader.stream), events.StreamEndEvent):
        raise YamlError("on line 1, column 1: missing start of document")
    value, _ = reader.node(next(reader.stream), 0)
    next(reader.stream)
    following = next(reader.stream)
    if not isinstance(following, events.StreamEndEvent):
        raise YamlError(f"{_place(following)}unexpected extra content after value")
    return value


def _place(event: events.Event) -> str:
    return _at(cast("yaml.Mark", event.start_mark))


@dataclass(slots=True)
class _Reader:
    """Builds values from events. `anchors` has a value and its size in parts, None while open."""

    stream: Iterator[events.Event]
    anchors: dict[str, tuple[Value, int] | None] = field(default_factory=dict)

    def node(self, event: events.Event, depth: int) -> tuple[Value, int]:
        """Read the node that starts with the event, and count its parts."""
        if depth > MAX_DEPTH:
            raise YamlError(f"{_place(event)}nested more than {MAX_DEPTH} levels deep")
        if isinstance(event, events.AliasEvent):
            return self._alias(event)
        anchor = cast("events.NodeEvent", event).anchor
        if anchor:
            self.anchors[anchor] = None
        if isinstance(event, events.ScalarEvent):
            found: tuple[Value, int] = (_scalar(event), 1)
        elif isinstance(event, events.SequenceStartEvent):
            found = self._sequence(event, depth)
        else:
            found = self._mapping(cast("events.MappingStartEvent", event), depth)
        if found[1] > MAX_ELEMENTS:
            raise YamlError(f"{_place(event)}more than {MAX_ELEMENTS} parts")
        if anchor:
            self.anchors[anchor] = found
        return found

    def _alias(self, event: events.AliasEvent) -> tuple[Value, int]:
        if event.anchor not in self.anchors:
            raise YamlError(f'{_place(event)}reference to undefined anchor "{event.anchor}"')
        found = self.anchors[event.anchor]
        if found is None:
            name = event.anchor
            detail = f'cannot refer to anchor "{name}" from inside its own definition'
            raise YamlError(f"{_place(event)}{detail}")
        return found

    def _sequence(self, start: events.SequenceStartEvent, depth: int) -> tuple[Value, int]:
        if start.tag not in (None, "!", f"{_TAG}seq"):
            raise YamlError(f"{_place(start)}can't interpret sequence as {start.tag}")
        items: list[Value] = []
        size = 1
        while not isinstance(event := next(self.stream), events.SequenceEndEvent):
            item, parts = self.node(event, depth + 1)
            items.append(item)
            size += parts
        return tuple(items), size

    def _mapping(self, start: events.MappingStartEvent, depth: int) -> tuple[Value, int]:
        if start.tag not in (None, "!", f"{_TAG}map"):
            raise YamlError(f"{_place(start)}can't interpret mapping as {start.tag}")
        found: dict[str, Value] = {}
        size = 1
        while not isinstance(event := next(self.stream), events.MappingEndEvent):
            key = self._key(event, depth)
            value, parts = self.node(next(self.stream), depth + 1)
            size += parts
            found |= _merge_value(value, event) if key == _MERGE else {key: value}
        return {key: found[key] for key in sorted(found)}, size

    def _key(self, event: events.Event, depth: int) -> str:
        if not isinstance(event, events.ScalarEvent):
            raise YamlError(f"{_place(event)}only strings are allowed as mapping keys")
        value, _ = self.node(event, depth + 1)
        try:
            key = convert(value, STRING)
        except ConversionError:
            key = None
        if not isinstance(key, str):
            raise YamlError(f"{_place(event)}mapping key cannot be null")
        return key


def _merge_value(value: Value, event: events.Event) -> dict[str, Value]:
    if not isinstance(value, dict):
        raise YamlError(f"{_place(event)}cannot merge {type_name(type_of(value))} into mapping")
    return value


def _scalar(event: events.ScalarEvent) -> Value:
    tag = event.tag and event.tag.removeprefix(_TAG)
    try:
        value = scalar_value(clean_text(event.value), tag, is_quoted=event.style in ("'", '"'))
    except ScalarError as error:
        raise YamlError(f"{_place(event)}{error}") from None
    return convert(value, STRING) if event.style in ("|", ">") and tag is None else value
