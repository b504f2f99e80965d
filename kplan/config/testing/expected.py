"""`expect_failures`: what a run is meant to find wrong, and which problems these are."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kplan.config.declared import Declaration, Declared
from kplan.config.problem import error
from kplan.config.syntax import tree as ast
from kplan.config.syntax.source import Origin
from kplan.model.address import Address, instance_key
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
    steps: list[str] = []
    while not isinstance(node, ast.Name):
        match node:
            case ast.GetAttr():
                steps.append(f".{node.name}")
            case ast.Index(_, _, _, ast.Literal(_, _, str() | int() as key)):
                steps.append(instance_key(key))
            case _:
                return ""
        node = node.target
    return node.name + "".join(reversed(steps))


def _is_declared(name: str, declared: Declared) -> bool:
    root, _, rest = name.partition(".")
    known = {
        "var": declared.variables,
        "output": declared.outputs,
        "check": declared.checks,
    }.get(root)
    if known is not None:
        return rest in known
    try:
        address = Address.parse(name)
    except ValueError:
        return False
    if address.module:
        return address.module[0].partition("[")[0] in declared.modules
    return (address.kind, address.name) in declared.resources


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
