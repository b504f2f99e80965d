"""Evaluating single expressions against a folder, as `kplan console` does."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from kplan.config.checks import reference_problems
from kplan.config.data import NotHere
from kplan.config.evaluation.evaluate import evaluate
from kplan.config.inputs import Inputs
from kplan.config.opening import Root, open_folder
from kplan.config.outputs import type_json
from kplan.config.problem import Failure, error
from kplan.config.room import room_to_work
from kplan.config.syntax import tree as ast
from kplan.config.syntax.parse import EXPRESSION_BASE, parse_expression
from kplan.config.syntax.source import Origin, Source
from kplan.config.values.jsonvalue import json_text
from kplan.config.values.sensitive import has_sensitive
from kplan.config.values.types import type_of, type_text
from kplan.config.values.value import Sensitive, Value
from kplan.config.values.written import SENSITIVE, value_text
from kplan.kinds.base import ResourceKind
from kplan.model.diagnostic import Diagnostic, has_errors, in_order

NAME = "<console>"
"""The file that problems of a typed expression name."""

MAX_DEPTH = 200
MAX_PARTS = 1_000_000
MAX_CHARACTERS = 64 * 2**20
"""Bounds of a value that is shown. Values share their parts in memory, so a few short local values
can come to more than any screen or pipe could take."""

_READ_BY = "kplan plan reads it."
_TYPE = "type"
_UNFINISHED = frozenset({"KP105", "KP107"})
_NO_FILES = "KP127"


@dataclass(frozen=True, slots=True)
class Answer:
    """What an expression came to. With errors among the diagnostics the value means nothing.

    `is_type` says that the expression was `type(...)`; the value is then the text of the type.
    """

    value: Value = field(repr=False)
    diagnostics: tuple[Diagnostic, ...] = ()
    is_type: bool = False

    @property
    def is_value(self) -> bool:
        """Whether there is a value."""
        return not has_errors(self.diagnostics)

    @property
    def text(self) -> str:
        """The value as `terraform console` prints it; secrets are `(sensitive value)`."""
        if self.is_type and isinstance(self.value, str):
            return self.value
        with room_to_work():
            return value_text(self.value)

    @property
    def json(self) -> str:
        """The value with its type as one line of JSON, every digit of its numbers there.

        `{"ok":true,"type":"string","value":"a"}`; where a part is sensitive, `(sensitive value)`
        stands for it and `"sensitive":true` beside.
        """
        with room_to_work():
            of = json.dumps(type_json(type_of(self.value)), separators=(",", ":"))
            secret = '"sensitive":true,' if has_sensitive(self.value) else ""
            value = _ascii(json_text(_masked(self.value)))
            return f'{{"ok":true,{secret}"type":{of},"value":{value}}}'


def _ascii(text: str) -> str:
    """Escape what is not ASCII in JSON: some of it ends a line for some readers."""
    if text.isascii():
        return text
    return "".join([each if each.isascii() else json.dumps(each)[1:-1] for each in text])


def _masked(value: Value) -> Value:
    match value:
        case Sensitive():
            return SENSITIVE
        case tuple():
            return tuple([_masked(each) for each in value])
        case dict():
            return {key: _masked(each) for key, each in value.items()}
        case _:
            return value


class _NoCluster:
    """Whoever asks for a data source is told why there is none."""

    def describe(self, provider: str) -> NoReturn:
        """Refuse."""
        del provider
        raise NotHere(_READ_BY)

    def read(self, provider: str, kind: str, names: object) -> NoReturn:
        """Refuse."""
        del provider, kind, names
        raise NotHere(_READ_BY)


class Console:
    """The root module of a folder, for expressions to be evaluated in.

    What it names is worked out on demand: problems come with the expression that meets them.
    `diagnostics` holds those that were there before. A folder without files is an empty module.
    """

    def __init__(self, folder: Path, inputs: Inputs, kinds: Sequence[ResourceKind]) -> None:
        self._root = open_folder(folder, inputs, kinds).reading(_NoCluster())
        found = (each for each in self._root.problems if each.code != _NO_FILES)
        self.diagnostics = in_order(found)

    @property
    def sources(self) -> Mapping[str, str]:
        """Text of every file read so far, by the name it is shown under."""
        return self._root.sources

    def is_unfinished(self, text: str) -> bool:
        """Tell whether a bracket or heredoc is open at the end, so that more may follow."""
        _, problems = parse_expression(Source(NAME, text, is_file=False))
        return any(each.code in _UNFINISHED for each in problems)

    def evaluate_text(self, text: str) -> Answer:
        """Evaluate one expression."""
        with room_to_work():
            return self._answer(Source(NAME, text, is_file=False))

    def _answer(self, source: Source) -> Answer:
        attribute, problems = parse_expression(source)
        if attribute is None:
            return Answer(None, problems)
        origin = Origin(source, EXPRESSION_BASE)
        declared = self._root.module.declared
        static = tuple(reference_problems(attribute.references, origin, declared))
        if static:
            return Answer(None, in_order(static))
        node = _asked_type(attribute.value)
        value, told = _evaluated(self._root, node or attribute.value, origin)
        if value is _NOTHING and not has_errors(told):
            # It failed before, and was told then: with nothing worked out it is told once more.
            value, told = _evaluated(self._root.anew(), node or attribute.value, origin)
        if isinstance(value, _Nothing):
            return Answer(None, in_order(told) if has_errors(told) else self._reasons(origin))
        if problem := _unshowable(value, origin):
            return Answer(None, (problem,))
        if node is not None:
            return Answer(type_text(type_of(value)), in_order(told), is_type=True)
        return Answer(value, in_order(told))

    def _reasons(self, origin: Origin) -> tuple[Diagnostic, ...]:
        """Say why there is no value where evaluation says nothing: a file has an error."""
        subject = origin.range(-EXPRESSION_BASE, -EXPRESSION_BASE)
        told = "What it refers to has an error of its own."
        return (
            error("KP147", subject, told),
            *(each for each in self.diagnostics if each.is_error),
        )


class _Nothing:
    """No value, which is something else than null."""


_NOTHING = _Nothing()


def _asked_type(node: ast.Node) -> ast.Node | None:
    """Give `x` of an expression `type(x)`, which no function can do: a type is no value."""
    while isinstance(node, ast.Group):
        node = node.inner
    if isinstance(node, ast.Call) and node.name == _TYPE and not node.is_expanding:
        return node.arguments[0] if len(node.arguments) == 1 else None
    return None


def _evaluated(
    root: Root, node: ast.Node, origin: Origin
) -> tuple[Value | _Nothing, list[Diagnostic]]:
    """Evaluate, with every problem that was met on the way."""
    ledger = root.run.ledger
    before = len(ledger.diagnostics)
    told: list[Diagnostic] = []
    value: Value | _Nothing = _NOTHING
    try:
        value = evaluate(node, root.module.scope(origin))
    except Failure as failure:
        told.extend(failure.diagnostics)
    except RecursionError:
        subject = origin.range(node.start, node.end)
        told.append(error("KP114", subject, "The expression is nested too deeply."))
    told.extend(ledger.diagnostics[before:])
    if has_errors(told):
        value = _NOTHING
    return value, told


def _unshowable(value: Value, origin: Origin) -> Diagnostic | None:
    """Say why a value cannot be shown, if it cannot: walking it must not take any depth."""
    subject = origin.range(-EXPRESSION_BASE, -EXPRESSION_BASE)
    level: list[Value] = [value]
    parts = characters = 0
    for _ in range(MAX_DEPTH):
        parts += len(level)
        characters += sum([len(each) for each in level if isinstance(each, str)])
        if parts > MAX_PARTS or characters > MAX_CHARACTERS:
            return error("KP114", subject, "The value is too large to be shown.")
        level = _inner(level)
        if not level:
            return None
    return error("KP114", subject, f"The value nests more than {MAX_DEPTH} levels deep.")


def _inner(level: Sequence[Value]) -> list[Value]:
    found: list[Value] = []
    for each in level:
        found.extend(_parts(each))
        if len(found) > MAX_PARTS:
            break
    return found


def _parts(value: Value) -> Iterator[Value]:
    match value:
        case tuple():
            yield from value
        case dict():
            yield from value.values()
        case _:
            return
