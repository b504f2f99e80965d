"""`expect_failures`: what a run is meant to find wrong, and which problems these are."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kplan.config.declared import Declaration, Declared
from kplan.config.problem import error
from kplan.config.syntax import tree as ast
from kplan.config.syntax.source import Origin
from kplan.model.address import instance_key
from kplan.model.diagnostic import Diagnostic
from kplan.model.source import SourceRange

_CODES = {"KP172": "var", "KP198": "output", "KP199": "check"}
"""Failed conditions by the sort of object whose they are; those of resources have an address."""


@dataclass(frozen=True, slots=True)
class Expected:
    """One object that shall fail: `var.size`, `check.sound`, `kafka_topic.orders["eu"]`."""

    name: str
    subject: SourceRange


def expected(
    attribute: ast.Attribute, origin: Origin, declared: Declared
) -> tuple[tuple[Expected, ...], tuple[Diagnostic, ...]]:
    """Read the list, with what is wrong with it."""
    found: list[Expected] = []
    problems: list[Diagnostic] = []
    value = attribute.value
    for node in value.items if isinstance(value, ast.Tuple) else (value,):
        subject = origin.range(node.start, node.end)
        name = reference_name(node)
        if not name or not isinstance(value, ast.Tuple):
            told = "A list of references is needed: objects with conditions that shall fail."
            problems.append(error("KP704", subject, told, hint=_FORMS))
        elif not _is_declared(name, declared):
            told = f"{name} is no variable, output, check or resource of the configuration."
            problems.append(error("KP704", subject, told, hint=_FORMS))
        else:
            found.append(Expected(name, subject))
    return tuple(found), tuple(problems)


_FORMS = "Write expect_failures = [var.NAME, output.NAME, check.NAME, kafka_topic.NAME]."


def reference_name(node: ast.Node) -> str:
    """Write a reference as addresses are written; "" where it is none."""
    match node:
        case ast.Name():
            return node.name
        case ast.GetAttr():
            target = reference_name(node.target)
            return f"{target}.{node.name}" if target else ""
        case ast.Index(_, _, _, ast.Literal(_, _, str() | int() as key)):
            target = reference_name(node.target)
            return f"{target}{instance_key(key)}" if target else ""
        case _:
            return ""


def _is_declared(name: str, declared: Declared) -> bool:
    root, _, rest = name.partition(".")
    first = rest.partition(".")[0].partition("[")[0]
    match root:
        case "var":
            return rest in declared.variables
        case "output":
            return rest in declared.outputs
        case "check":
            return rest in declared.checks
        case "module":
            return first in declared.modules
        case _:
            return (root, first) in declared.resources and rest.count(".") == 0


def sorted_out(
    diagnostics: Iterable[Diagnostic], wanted: Iterable[Expected], declared: Declared
) -> tuple[list[Diagnostic], frozenset[str]]:
    """Set aside what was expected: the problems that remain, and the names that did fail."""
    names = {each.name for each in wanted}
    rest: list[Diagnostic] = []
    met: set[str] = set()
    for each in diagnostics:
        failed = names.intersection(_objects(each, declared))
        met |= failed
        if not failed:
            rest.append(each)
    return rest, frozenset(met)


def _objects(diagnostic: Diagnostic, declared: Declared) -> Iterator[str]:
    """Name the object that a problem speaks of: an instance of a resource, and its block."""
    if diagnostic.address is not None and diagnostic.is_error:
        yield str(diagnostic.address)
        yield diagnostic.address.block
    sort = _CODES.get(diagnostic.code)
    if sort is not None and diagnostic.subject is not None:
        blocks = {
            "var": declared.variables,
            "output": declared.outputs,
            "check": declared.checks,
        }[sort]
        for name, found in blocks.items():
            if _holds(found, diagnostic.subject):
                yield f"{sort}.{name}"


def _holds(found: Declaration, subject: SourceRange) -> bool:
    whole = found.origin.range(found.block.start, found.block.end)
    return (
        whole.file == subject.file
        and (whole.line, whole.column) <= (subject.line, subject.column)
        and (subject.line, subject.column) < (whole.end_line, whole.end_column)
    )
