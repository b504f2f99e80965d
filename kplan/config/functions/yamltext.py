"""YAML documents, read as Terraform reads them: PyYAML's events, with scalars understood here."""

from collections.abc import Iterator
from dataclasses import field
from typing import Final, cast

import yaml  # noqa: TID253 - this module is itself imported by the functions that need it
from yaml import events  # noqa: TID253 - as above

from kplan.config.functions.limits import MAX_ELEMENTS
from kplan.config.functions.yamlscalar import ScalarError, scalar_value
from kplan.config.values.convert import ConversionError, convert
from kplan.config.values.text import clean_text
from kplan.config.values.types import type_name, type_of
from kplan.config.values.value import STRING, Value
from kplan.model.dataclass import dataclass

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
        raise YamlError(_told(error)) from None
    except yaml.YAMLError as error:
        raise YamlError(str(error).partition("\n")[0]) from None
    except RecursionError:
        raise YamlError("the document is nested too deeply") from None


def _told(error: yaml.MarkedYAMLError) -> str:
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
            told = f'cannot refer to anchor "{name}" from inside its own definition'
            raise YamlError(f"{_place(event)}{told}")
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
            found |= _merged(value, event) if key == _MERGE else {key: value}
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


def _merged(value: Value, event: events.Event) -> dict[str, Value]:
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
