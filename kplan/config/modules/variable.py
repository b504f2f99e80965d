"""Input variables: type constraints, defaults, and the sources of their values."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import field, replace
from pathlib import Path

from kplan.config.declarations.declaration import Declaration
from kplan.config.declarations.file import FolderFiles, is_absent, is_file_to_read, read_text
from kplan.config.diagnostic import EvaluationError, error, suggestion, warning
from kplan.config.evaluation.evaluate import evaluate
from kplan.config.evaluation.scope import NoNames, Scope
from kplan.config.evaluation.type_constraint import parse_type_constraint
from kplan.config.functions.function import Host
from kplan.config.inputs import Inputs, VariableConstant, VariableText
from kplan.config.modules.condition import VALIDATION, failed_conditions
from kplan.config.syntax import tree as ast
from kplan.config.syntax.parse import EXPRESSION_BASE, parse_expression, parse_file
from kplan.config.syntax.source import Origin, Source
from kplan.config.syntax.tree_walk import calls, content_start, part
from kplan.config.values.conversion import ConversionError, convert
from kplan.config.values.number import clean_text
from kplan.config.values.sensitive import mark, mark_ephemeral, unmark
from kplan.config.values.value import ANY, Type, Value, is_null, type_name, type_of
from kplan.config.values.value_text import Json, describe_value, from_json_value, json_loads
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, SourceRange


@dataclass(frozen=True, slots=True)
class InputValue:
    """A value given to a variable from outside: an expression in its scope, or a value as it is.

    `source` names its origin for messages: `-var`, `terraform.tfvars`.
    """

    source: str
    expression: tuple[ast.Node, Scope] | None = None
    constant: Value = field(default=None, repr=False)

    def subject(self, path: tuple[str | int, ...] = ()) -> SourceRange | None:
        """Say where the value, or the part of it at a path, is written, if in a file."""
        if self.expression is None or not self.expression[1].origin.source.is_file:
            return None
        node, scope = part(self.expression[0], path), self.expression[1]
        return scope.origin.range(node.start, node.end)

    def value(self) -> Value:
        """Evaluate it; raises `EvaluationError`."""
        return self.constant if self.expression is None else evaluate(*self.expression)


@dataclass(frozen=True, slots=True)
class VariableConstraint:
    """What a variable block says of the value."""

    type: Type
    is_nullable: bool
    is_sensitive: bool
    is_ephemeral: bool

    @property
    def is_secret(self) -> bool:
        """Whether the value is never to be shown."""
        return self.is_sensitive or self.is_ephemeral

    def mark_value(self, value: Value) -> Value:
        """Mark a value as the block has it."""
        if self.is_ephemeral:
            return mark_ephemeral(value)
        return mark(value, sensitive=self.is_sensitive)


def evaluate_constraint(declaration: Declaration, scope: Scope) -> VariableConstraint:
    """Read type, nullable and sensitive of a variable block.

    Raises:
        EvaluationError: one of them is no constant of its type.

    """
    arguments = declaration.arguments
    wanted: Type = ANY
    if "type" in arguments:
        wanted = parse_type_constraint(arguments["type"].value, scope)
    return VariableConstraint(
        wanted,
        evaluate_flag(arguments, "nullable", scope, default=True),
        evaluate_flag(arguments, "sensitive", scope, default=False),
        evaluate_flag(arguments, "ephemeral", scope, default=False),
    )


def evaluate_flag(
    arguments: Mapping[str, ast.Attribute], name: str, scope: Scope, *, default: bool
) -> bool:
    """Read an argument that is true or false.

    Raises:
        EvaluationError: it is neither.

    """
    if name not in arguments:
        return default
    node = arguments[name].value
    value, _ = unmark(evaluate(node, scope))
    if not isinstance(value, bool):
        subject = scope.origin.range(content_start(node, scope.origin), node.end)
        detail = f'"{name}" is true or false, but this value {describe_value(value)}.'
        raise EvaluationError([error("KP178", subject, detail, summary="Unsuitable value type")])
    return value


def evaluate_default(declaration: Declaration, wanted: VariableConstraint, scope: Scope) -> Value:
    """Evaluate the default of a variable.

    Raises:
        EvaluationError: it does not fit the type.

    """
    node = declaration.arguments["default"].value
    value = evaluate(node, scope)
    subject = scope.origin.range(node.start, node.end)
    if is_null(value) and not wanted.is_nullable:
        raise EvaluationError(
            [error("KP173", subject, "The default is null, and nullable is false.")]
        )
    try:
        return convert(value, wanted.type)
    except ConversionError as fault:
        inner = part(node, fault.path)
        subject = scope.origin.range(inner.start, inner.end)
        detail = (
            f'The default of "{declaration.name}" does not fit its type: {fault}'
            f"{got_phrase(value, fault, is_secret=wanted.is_secret)}."
        )
        raise EvaluationError([error("KP173", subject, detail)]) from None


def evaluate_input_value(
    declaration: Declaration,
    wanted: VariableConstraint,
    input_value: InputValue,
    label: str,
    default: Value,
) -> Value:
    """Evaluate the value given to a variable; a null that may not be becomes the default.

    Raises:
        EvaluationError: it has no value, or it does not fit the type.

    """
    value = input_value.value()
    if unmark(value)[0] is None and not wanted.is_nullable:
        if "default" in declaration.arguments:
            return default
        detail = f"{label}, declared at {declaration.declared_at}, must not be null."
        at = input_value.subject() or declaration.declared_at
        diagnostic = error("KP171", at, detail, summary="Required variable not set")
        raise EvaluationError([diagnostic])
    try:
        return wanted.mark_value(convert(value, wanted.type))
    except ConversionError as fault:
        shown = got_phrase(value, fault, is_secret=wanted.is_secret)
        subject = input_value.subject(fault.path)
        source = "" if subject else f" from {input_value.source}"
        place = f"{label}, declared at {declaration.declared_at}"
        detail = f"The value{source} does not suit {place}: {fault}{shown}."
        raise EvaluationError(
            [error("KP171", subject or declaration.declared_at, detail)]
        ) from None


def validation_problems(
    declaration: Declaration,
    scope: Scope,
    label: str,
    given: InputValue | None,
    called_at: SourceRange | None,
) -> list[Diagnostic]:
    """Check a variable against its validation rules; failures are shown where the value is set.

    That is the argument of the module call or, where it has none, the call (`called_at`); in the
    root module it is the variable, as in Terraform. The rule is shown below it.
    """
    written_at = None if given is None else given.subject()
    found: list[Diagnostic] = []
    for each in failed_conditions(declaration.block, VALIDATION, scope):
        if each.code != VALIDATION.code or each.subject is None:
            found.append(each)
            continue
        related, detail = [("the rule", each.subject)], each.detail
        if called_at is not None:
            subject = written_at or called_at
            detail = f"{detail} The value is that of {label}."
        else:
            subject = declaration.declared_at
            related = [*([("the value", written_at)] if written_at else []), *related]
        found.append(replace(each, subject=subject, related=tuple(related), detail=detail))
    return found


def got_phrase(value: Value, fault: ConversionError, *, is_secret: bool) -> str:
    """Describe the value that failed to convert: `, got string "twelve"`; nothing of secrets."""
    if fault.part_reason.startswith("attribute "):  # one is missing: the rest does not matter
        return ""
    part, was_marked = unmark(value)
    for step in fault.path:
        if was_marked or is_secret:
            return ""
        inner = part[step] if isinstance(part, dict | tuple) else None  # type: ignore[index] # the path leads through the value
        part, was_marked = unmark(inner)
    if was_marked or is_secret or part is None:
        return ""
    if isinstance(part, str):
        return f', got string "{part}"'
    return f", got {type_name(type_of(part))}"


def takes_plain_text(declaration: Declaration) -> bool:
    """Return whether text from the command line or environment is the value as it is.

    As in Terraform: it is for variables without a type and for primitive types; for others the
    text is an expression.
    """
    if "type" not in declaration.arguments:
        return True
    match declaration.arguments["type"].value:
        case ast.Name(_, _, word) | ast.Literal(_, _, word):
            return word in {"string", "number", "bool"}
        case _:
            return False


ENVIRONMENT_PREFIXES = ("TF_VAR_", "KPLAN_VAR_")


class _Collector:
    """Collects values in order of precedence: later sources replace earlier ones."""

    def __init__(self, variables: Mapping[str, Declaration], host: Host) -> None:
        self.given: dict[str, InputValue] = {}
        self.sources: dict[str, str] = {}
        self.diagnostics: list[Diagnostic] = []
        self._variables = variables
        self._host = host

    def _scope(self, origin: Origin) -> Scope:
        return Scope(NoNames(), origin, {}, self._host, {})

    def add_environment(self, environ: Mapping[str, str]) -> None:
        """Take `TF_VAR_name`, then `KPLAN_VAR_name`; undeclared names are ignored."""
        for prefix in ENVIRONMENT_PREFIXES:
            for key in sorted(environ):
                name = key.removeprefix(prefix)
                if key.startswith(prefix) and name in self._variables:
                    self._add_text(name, environ[key], key)

    def add_plan_values(self, values: Mapping[str, Json]) -> None:
        """Take the values that a plan was made with."""
        for name in sorted(values.keys() & self._variables.keys()):
            self.given[name] = InputValue("the saved plan", constant=from_json_value(values[name]))

    def add_option(self, given: VariableText | VariableConstant) -> None:
        """Take one `-var`, or a value of a program."""
        name, value, each = given
        if name in self._variables:
            if isinstance(given, VariableText):
                self._add_text(name, given.raw, each)
            else:
                self.given[name] = InputValue(each, constant=from_json_value(value))
            return
        detail = f'{each} gives a value for "{name}", but this variable is not declared.'
        hint = suggestion(name, self._variables)
        self.diagnostics.append(error("KP174", None, detail, hint=hint))

    def _add_text(self, name: str, raw: str, text: str) -> None:
        if takes_plain_text(self._variables[name]):
            self.given[name] = InputValue(text, constant=clean_text(raw))
            return
        source = Source(text, raw, is_file=False)
        attribute, problems = parse_expression(source)
        self.diagnostics.extend(problems)
        if attribute is not None:
            scope = self._scope(Origin(source, EXPRESSION_BASE))
            self.given[name] = InputValue(text, (attribute.value, scope))

    def add_file(self, path: Path, found: str, option: str = "") -> None:
        """Take a variables file, HCL or JSON; `option` names it where it was not looked for."""
        text = read_text(path, found)
        if isinstance(text, Diagnostic):
            detail = f"{option}: there is no such file."
            self.diagnostics.append(
                error("KP118", None, detail) if option and is_absent(path) else text
            )
            return
        self.sources[found] = text
        if path.name.endswith(".json"):
            self._add_json(text, found)
        else:
            self._add_hcl(Source(found, text))

    def _add_hcl(self, source: Source) -> None:
        parsed = parse_file(source, is_body=True)
        self.diagnostics.extend(parsed.diagnostics)
        seen: dict[str, SourceRange] = {}
        for item in parsed.items:
            content, origin = item.content, item.origin
            if isinstance(content, ast.Block):
                subject = origin.range(content.start, content.start + len(content.type))
                detail = "A variables file holds arguments only, no blocks."
                self.diagnostics.append(error("KP120", subject, detail))
                continue
            place = origin.range(content.start, content.name_end)
            if content.name in seen:
                detail = f'The variable "{content.name}" has been set already in this file.'
                related = (("set first", seen[content.name]),)
                self.diagnostics.append(error("KP113", place, detail, related=related))
                continue
            seen[content.name] = place
            self._add_value(content, origin, place)

    def _add_value(self, content: ast.Attribute, origin: Origin, place: SourceRange) -> None:
        for call in calls(content.value):
            subject = origin.range(call.start, call.name_end)
            detail = "A variables file holds constant values only, no function calls."
            self.diagnostics.append(error("KP180", subject, detail))
            return
        if content.name not in self._variables:
            self._report_undeclared(content.name, place)
            return
        self.given[content.name] = InputValue(
            origin.source.name, (content.value, self._scope(origin))
        )

    def _report_undeclared(self, name: str, place: SourceRange) -> None:
        detail = f'A value is set for "{name}", but this variable is not declared.'
        hint = suggestion(name, self._variables)
        self.diagnostics.append(warning("KP174", place, detail, hint=hint))

    def _add_json(self, text: str, result: str) -> None:
        start = SourceRange(result, 1, 1, 1, 1)
        try:
            found = json_loads(text)
        except json.JSONDecodeError as fault:
            subject = SourceRange(result, fault.lineno, fault.colno, fault.lineno, fault.colno + 1)
            self.diagnostics.append(
                error("KP119", subject, f"{result} is not valid JSON: {fault.msg}.")
            )
            return
        except (ValueError, RecursionError) as fault:
            self.diagnostics.append(error("KP119", start, f"{result} is not valid JSON: {fault}."))
            return
        if not isinstance(found, dict):
            detail = "A variables file in JSON is an object of variable names and values."
            self.diagnostics.append(error("KP119", start, detail))
            return
        for name, value in found.items():
            if name in self._variables:
                self.given[name] = InputValue(result, constant=value)
            else:
                self._report_undeclared(name, start)


def collect_input_values(
    folder: Path, inputs: Inputs, variables: Mapping[str, Declaration], host: Host
) -> tuple[Mapping[str, InputValue], FolderFiles]:
    """Gather the values given to the root module's variables, in Terraform's precedence."""
    collector = _Collector(variables, host)
    collector.add_environment(inputs.environ)
    for path, shown in _automatic_files(folder):
        collector.add_file(path, shown)
    collector.add_plan_values(inputs.values)
    for each in inputs.variables:
        if isinstance(each, Path):
            collector.add_file(each, str(each), f"-var-file={each}")
        else:
            collector.add_option(each)
    files = FolderFiles(sources=collector.sources, diagnostics=tuple(collector.diagnostics))
    return collector.given, files


def variable_files(folder: Path, inputs: Inputs) -> Iterator[tuple[Path, str]]:
    """List the variables files, each with the name it is shown under."""
    yield from _automatic_files(folder)
    yield from ((each, str(each)) for each in inputs.variables if isinstance(each, Path))


def _automatic_files(folder: Path) -> Iterator[tuple[Path, str]]:
    for name in ("terraform.tfvars", "terraform.tfvars.json"):
        if (folder / name).is_file():
            yield folder / name, name
    with suppress(OSError):  # a folder that cannot be listed: told when its files are read
        found = sorted(
            each
            for each in folder.iterdir()
            if each.name.endswith((".auto.tfvars", ".auto.tfvars.json")) and is_file_to_read(each)
        )
        yield from ((each, each.name) for each in found)
