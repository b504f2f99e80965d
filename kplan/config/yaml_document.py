"""YAML documents with source ranges, to read other tools' files."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import Final, cast

import yaml  # noqa: TID253 - this module is itself imported by the verb that needs it

from kplan.config.diagnostic import EvaluationError, error
from kplan.config.functions.function import MAX_ELEMENTS
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, SourceRange

MAX_DEPTH: Final = 100
"""Levels that a document may nest."""

_LOADER: Final = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
_NULL: Final = "tag:yaml.org,2002:null"
_MERGE: Final = "tag:yaml.org,2002:merge"


@dataclass(frozen=True, slots=True)
class YamlNode:
    """A part of a document: a text as it is written, None, a list or a mapping in order.

    What does not exist is None at the place of the mapping, with `missing` for its key. All methods
    raise EvaluationError where something of another sort is there. A mapping remembers which of its
    keys were asked for, so that what nobody read can be named; `key_range` is the place of its own
    key.
    """

    content: "str | tuple[YamlNode, ...] | Mapping[str, YamlNode] | None"
    source_range: SourceRange
    missing_key: str = ""
    key_range: SourceRange | None = field(default=None, compare=False, repr=False)
    read_keys: set[str] = field(default_factory=set, compare=False, repr=False)

    @property
    def declared_at(self) -> SourceRange:
        """The place of the key, or of the node itself where it has none."""
        return self.key_range or self.source_range

    def get(self, *names: str) -> "YamlNode":
        """Go into mappings, by one key after the other."""
        found = self
        for name in names:
            found.read_keys.add(name)
            found = found.peek(name)
        return found

    def peek(self, name: str) -> "YamlNode":
        """Return a member without reading it."""
        return self._mapping().get(name) or YamlNode(None, self.source_range, name)

    @property
    def key_names(self) -> tuple[str, ...]:
        """The keys of a mapping in order; asking for them reads none."""
        return tuple(self._mapping())

    def members(self) -> Mapping[str, "YamlNode"]:
        """Return the members of a mapping, all read now; None has none."""
        found = self._mapping()
        self.read_keys.update(found)
        return found

    def _mapping(self) -> Mapping[str, "YamlNode"]:
        if self.content is None or isinstance(self.content, Mapping):
            return self.content or {}
        raise self._failure("a mapping")

    def items(self) -> tuple["YamlNode", ...]:
        """Return the items of a list; None has none."""
        if self.content is None or isinstance(self.content, tuple):
            return self.content or ()
        raise self._failure("a list")

    def text(self, default: str | None = None) -> str:
        """Return a text; None is the default, if there is one."""
        if isinstance(self.content, str):
            return self.content
        if self.content is None and default is not None:
            return default
        raise self._failure("a text")

    def texts(self) -> tuple[str, ...]:
        """Return a list of texts."""
        return tuple(each.text() for each in self.items())

    def number(self) -> int | None:
        """Return a whole number, or None."""
        if self.content is None:
            return None
        try:
            return int(self.text())
        except ValueError:
            raise self._failure("a whole number") from None

    def mark_read(self) -> None:
        """Count everything in the node as read."""
        if isinstance(self.content, Mapping):
            self.read_keys.update(self.content)
        for each in self._children():
            each.mark_read()

    def unread_members(self, path: str = "") -> Iterator[tuple[str, "YamlNode"]]:
        """Return the keys that were never read, by path: `topics.orders.owner`."""
        if isinstance(self.content, Mapping):
            for key, part in self.content.items():
                inner = f"{path}.{key}" if path else key
                if key in self.read_keys:
                    yield from part.unread_members(inner)
                else:
                    yield inner, part
        elif isinstance(self.content, tuple):
            for number, part in enumerate(self.content):
                yield from part.unread_members(f"{path}[{number}]")

    def _children(self) -> Iterable["YamlNode"]:
        if isinstance(self.content, Mapping):
            return self.content.values()
        return self.content if isinstance(self.content, tuple) else ()

    def _failure(self, wanted: str) -> EvaluationError:
        if self.missing_key:
            detail = f'"{self.missing_key}" is missing here; it is {wanted}.'
            return EvaluationError([error("KP181", self.source_range, detail)])
        match self.content:
            case None:
                has = "nothing"
            case str():
                has = f'"{self.content}"'
            case tuple():
                has = "a list"
            case _:
                has = "a mapping"
        return EvaluationError(
            [error("KP181", self.source_range, f"Here belongs {wanted}, and there is {has}.")]
        )


def read_yaml(text: str, file: str) -> tuple[YamlNode, ...] | Diagnostic:
    """Read the non-empty documents of a file, or return the problem."""
    try:
        _check_depth(text, file)
        found = _NodeReader(file).all(yaml.compose_all(text, Loader=_LOADER))
    except yaml.MarkedYAMLError as failure:
        result = failure.problem or failure.context or "this is not valid YAML"
        last = max(1, len(text.splitlines()))
        line = min(failure.problem_mark.line + 1, last) if failure.problem_mark else 1
        return error("KP149", _line_range(file, line), _sentence(result))
    except yaml.reader.ReaderError as failure:
        line = text.encode()[: failure.position].count(b"\n") + 1
        return error("KP149", _line_range(file, line), _sentence(failure.reason))
    except EvaluationError as failure:
        return failure.diagnostics[0]
    return tuple(each for each in found if each.content is not None)


def _check_depth(text: str, file: str) -> None:
    """Refuse deep nesting before composing: libyaml's composer would crash."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            mark = cast("yaml.Mark", event.start_mark)
            at = _node_range(file, mark, mark)
            raise EvaluationError(
                [error("KP149", at, f"Nested more than {MAX_DEPTH} levels deep.")]
            )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _line_range(file: str, line: int) -> SourceRange:
    return SourceRange(file, line, 1, line, 1)


def _node_range(file: str, start: yaml.Mark, end: yaml.Mark) -> SourceRange:
    """Return the place of a node, or of its first line if it spans several."""
    line, column = start.line + 1, start.column + 1
    last = end.column + 1 if end.line == start.line else column
    return SourceRange(file, line, column, line, last)


@dataclass(slots=True)
class _NodeReader:
    """Makes parts of nodes; `count` says how many, as aliases can unfold without end."""

    file: str
    count: int = 0

    def all(self, nodes: Iterable[yaml.Node]) -> list[YamlNode]:
        return [self.part(each, 0) for each in nodes]

    def part(self, node: yaml.Node, depth: int) -> YamlNode:
        at = _node_range(self.file, node.start_mark, node.end_mark)
        self.count += 1
        if depth > MAX_DEPTH or self.count > MAX_ELEMENTS:
            detail = f"More than {MAX_DEPTH} levels or {MAX_ELEMENTS:,} parts."
            raise EvaluationError([error("KP149", at, detail)])
        if isinstance(node, yaml.ScalarNode):
            return YamlNode(None if node.tag == _NULL else node.value, at)
        if isinstance(node, yaml.SequenceNode):
            return YamlNode(tuple(self.part(each, depth + 1) for each in node.value), at)
        return YamlNode(self._members(node, depth), at)

    def _members(self, node: yaml.Node, depth: int) -> Mapping[str, YamlNode]:
        merged: dict[str, YamlNode] = {}
        own: dict[str, YamlNode] = {}
        for key, value in node.value:
            part = self.part(value, depth + 1)
            if key.tag == _MERGE:
                sources = part.items() if isinstance(part.content, tuple) else (part,)
                for each in sources:
                    merged = {**each.members(), **merged}
                continue
            at = _node_range(self.file, key.start_mark, key.end_mark)
            if not isinstance(key, yaml.ScalarNode):
                raise EvaluationError([error("KP149", at, "A key has to be a text.")])
            if key.value in own:
                raise EvaluationError([error("KP149", at, f'The key "{key.value}" is set twice.')])
            own[key.value] = replace(part, key_range=at)
        return {**merged, **own}
