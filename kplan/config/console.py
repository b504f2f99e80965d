"""Evaluate single expressions against a folder, for `kplan console`."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import NoReturn

from kplan.config.declarations.file import NO_FILES
from kplan.config.declarations.reference import reference_problems
from kplan.config.diagnostic import EvaluationError, error
from kplan.config.evaluation.evaluate import deep_recursion, evaluate
from kplan.config.inputs import Inputs
from kplan.config.modules.data_source import NoClusterError
from kplan.config.modules.root_module import RootModule, open_folder, type_json
from kplan.config.syntax import tree as ast
from kplan.config.syntax.parse import EXPRESSION_BASE, parse_expression
from kplan.config.syntax.source import Origin, Source
from kplan.config.values.sensitive import has_sensitive
from kplan.config.values.value import Sensitive, Value, type_of, type_text
from kplan.config.values.value_text import SENSITIVE, json_text, value_text
from kplan.kinds.base import ResourceKind
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, has_errors, sort_diagnostics

CONSOLE_FILE = "<console>"
"""The file that problems of a typed expression name."""

MAX_DEPTH = 200
MAX_PARTS = 1_000_000
MAX_CHARACTERS = 64 * 2**20
"""Bounds of a value that is shown. Values share their parts in memory, so a few short local values
can come to more than any screen or pipe could take."""

_NO_CLUSTER_HINT = "kplan plan reads it."
_TYPE_FUNCTION = "type"
_INCOMPLETE_CODES = frozenset({"KP105", "KP107"})


@dataclass(frozen=True, slots=True)
class ConsoleResult:
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
        with deep_recursion():
            return value_text(self.value)

    @property
    def json(self) -> str:
        """The value with its type as one line of JSON, every digit of its numbers there.

        `{"ok":true,"type":"string","value":"a"}`; where a part is sensitive, `(sensitive value)`
        means it and `"sensitive":true` beside.
        """
        with deep_recursion():
            of = json.dumps(type_json(type_of(self.value)), separators=(",", ":"))
            secret = '"sensitive":true,' if has_sensitive(self.value) else ""
            value = _escape_non_ascii(json_text(_mask_sensitive(self.value)))
            return f'{{"ok":true,{secret}"type":{of},"value":{value}}}'


def _escape_non_ascii(text: str) -> str:
    """Escape non-ASCII characters in JSON: some readers treat some of them as line ends."""
    if text.isascii():
        return text
    return "".join([each if each.isascii() else json.dumps(each)[1:-1] for each in text])


def _mask_sensitive(value: Value) -> Value:
    match value:
        case Sensitive():
            return SENSITIVE
        case tuple():
            return tuple([_mask_sensitive(each) for each in value])
        case dict():
            return {key: _mask_sensitive(each) for key, each in value.items()}
        case _:
            return value


class _NoClusterReader:
    """A reference to a data source that cannot be read reports the reason."""

    def describe(self, provider: str) -> NoReturn:
        """Refuse."""
        del provider
        raise NoClusterError(_NO_CLUSTER_HINT)

    def read(self, provider: str, kind: str, names: object) -> NoReturn:
        """Refuse."""
        del provider, kind, names
        raise NoClusterError(_NO_CLUSTER_HINT)


class Console:
    """The root module of a folder, for expressions to be evaluated in.

    What it names is computed on demand: problems come with the expression that meets them.
    `diagnostics` holds those that were there before. A folder without files is an empty module.
    """

    def __init__(self, folder: Path, inputs: Inputs, kinds: Sequence[ResourceKind]) -> None:
        self._root = open_folder(folder, inputs, kinds).with_reader(_NoClusterReader())
        found = (each for each in self._root.problems if each.code != NO_FILES)
        self.diagnostics = sort_diagnostics(found)

    @property
    def sources(self) -> Mapping[str, str]:
        """Text of every file read so far, by the name it is shown under."""
        return self._root.sources

    def is_incomplete(self, text: str) -> bool:
        """Return whether a bracket or heredoc is open at the end, so that more may follow."""
        _, problems = parse_expression(Source(CONSOLE_FILE, text, is_file=False))
        return any(each.code in _INCOMPLETE_CODES for each in problems)

    def evaluate_text(self, text: str) -> ConsoleResult:
        """Evaluate one expression."""
        with deep_recursion():
            return self._evaluate_source(Source(CONSOLE_FILE, text, is_file=False))

    def _evaluate_source(self, source: Source) -> ConsoleResult:
        attribute, problems = parse_expression(source)
        if attribute is None:
            return ConsoleResult(None, problems)
        origin = Origin(source, EXPRESSION_BASE)
        declared = self._root.module.declarations
        static = tuple(reference_problems(attribute.references, origin, declared))
        if static:
            return ConsoleResult(None, sort_diagnostics(static))
        node = _type_call_argument(attribute.value)
        value, each = _evaluate_node(self._root, node or attribute.value, origin)
        if value is _NO_VALUE and not has_errors(each):
            # It failed before, and was reported then: now it is reported once more.
            value, each = _evaluate_node(self._root.fresh_copy(), node or attribute.value, origin)
        if isinstance(value, _NoValue):
            return ConsoleResult(
                None, sort_diagnostics(each) if has_errors(each) else self._file_errors(origin)
            )
        if problem := _size_problem(value, origin):
            return ConsoleResult(None, (problem,))
        if node is not None:
            return ConsoleResult(type_text(type_of(value)), sort_diagnostics(each), is_type=True)
        return ConsoleResult(value, sort_diagnostics(each))

    def _file_errors(self, origin: Origin) -> tuple[Diagnostic, ...]:
        """Say why there is no value where evaluation says nothing: a file has an error."""
        subject = origin.range(-EXPRESSION_BASE, -EXPRESSION_BASE)
        detail = "The value it refers to has an error."
        return (
            error("KP147", subject, detail),
            *(each for each in self.diagnostics if each.is_error),
        )


class _NoValue:
    """The absence of a value, distinct from null."""


_NO_VALUE = _NoValue()


def _type_call_argument(node: ast.Node) -> ast.Node | None:
    """Return `x` of an expression `type(x)`, which no function can do: a type is no value."""
    while isinstance(node, ast.Group):
        node = node.inner
    if isinstance(node, ast.Call) and node.name == _TYPE_FUNCTION and not node.is_expanding:
        return node.arguments[0] if len(node.arguments) == 1 else None
    return None


def _evaluate_node(
    root: RootModule, node: ast.Node, origin: Origin
) -> tuple[Value | _NoValue, list[Diagnostic]]:
    """Evaluate, with every problem that was met on the way."""
    results = root.context.results
    before = len(results.diagnostics)
    diagnostics: list[Diagnostic] = []
    value: Value | _NoValue = _NO_VALUE
    try:
        value = evaluate(node, root.module.scope(origin))
    except EvaluationError as failure:
        diagnostics.extend(failure.diagnostics)
    except RecursionError:
        subject = origin.range(node.start, node.end)
        diagnostics.append(error("KP114", subject, "The expression is nested too deeply."))
    diagnostics.extend(results.diagnostics[before:])
    if has_errors(diagnostics):
        value = _NO_VALUE
    return value, diagnostics


def _size_problem(value: Value, origin: Origin) -> Diagnostic | None:
    """Say why a value cannot be shown, if it cannot: walking it must not take any depth."""
    subject = origin.range(-EXPRESSION_BASE, -EXPRESSION_BASE)
    level: list[Value] = [value]
    parts = characters = 0
    for _ in range(MAX_DEPTH):
        parts += len(level)
        characters += sum([len(each) for each in level if isinstance(each, str)])
        if parts > MAX_PARTS or characters > MAX_CHARACTERS:
            return error("KP114", subject, "The value is too large to be shown.")
        level = _nested_values(level)
        if not level:
            return None
    return error("KP114", subject, f"The value nests more than {MAX_DEPTH} levels deep.")


def _nested_values(level: Sequence[Value]) -> list[Value]:
    found: list[Value] = []
    for each in level:
        found.extend(_value_parts(each))
        if len(found) > MAX_PARTS:
            break
    return found


def _value_parts(value: Value) -> Iterator[Value]:
    match value:
        case tuple():
            yield from value
        case dict():
            yield from value.values()
        case _:
            return
