"""References in test files: allowed names in expressions, and `expect_failures`."""

from collections.abc import Collection, Iterable, Iterator

from kplan.config.declarations.declaration import Declaration, ModuleDeclarations
from kplan.config.declarations.reference import reference_problems
from kplan.config.diagnostic import error, suggestion, warning
from kplan.config.syntax import tree as ast
from kplan.config.syntax.source import Origin
from kplan.model.address import Address, instance_key
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, SourceRange

_CONDITION_CODES = {"KP172": "var", "KP198": "output", "KP199": "check"}
"""Failed conditions by the sort of object whose they are; those of resources have an address."""


@dataclass(frozen=True, slots=True)
class ExpectedFailure:
    """One object that shall fail: `var.size`, `check.sound`, `kafka_topic.orders["eu"]`."""

    name: str
    subject: SourceRange


def parse_expected_failures(
    attribute: ast.Attribute, origin: Origin, declared: ModuleDeclarations
) -> tuple[tuple[ExpectedFailure, ...], tuple[Diagnostic, ...]]:
    """Read the list, with diagnostics."""
    found: list[ExpectedFailure] = []
    problems: list[Diagnostic] = []
    value = attribute.value
    for node in value.items if isinstance(value, ast.Tuple) else (value,):
        subject = origin.range(node.start, node.end)
        name = reference_name(node)
        if not name or not isinstance(value, ast.Tuple):
            detail = "A list of references is needed: objects with conditions that shall fail."
            problems.append(error("KP704", subject, detail, hint=_FORM_HINT))
        elif not _is_declared(name, declared):
            detail = f"{name} is not a variable, output, check or resource of the configuration."
            problems.append(error("KP704", subject, detail, hint=_FORM_HINT))
        else:
            found.append(ExpectedFailure(name, subject))
    return tuple(found), tuple(problems)


_FORM_HINT = "Write expect_failures = [var.NAME, output.NAME, check.NAME, kafka_topic.NAME]."


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


def _is_declared(name: str, declared: ModuleDeclarations) -> bool:
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


def split_expected(
    diagnostics: Iterable[Diagnostic],
    wanted: Iterable[ExpectedFailure],
    declared: ModuleDeclarations,
) -> tuple[list[Diagnostic], frozenset[str]]:
    """Remove the expected problems: return the remaining ones and the names that did fail."""
    names = {each.name for each in wanted}
    rest: list[Diagnostic] = []
    met: set[str] = set()
    for each in diagnostics:
        failed = names.intersection(_failed_names(each, declared))
        met |= failed
        if not failed:
            rest.append(each)
    return rest, frozenset(met)


def _failed_names(diagnostic: Diagnostic, declared: ModuleDeclarations) -> Iterator[str]:
    """Name the object that a problem is about: an instance of a resource, and its block."""
    if diagnostic.address is not None and diagnostic.is_error:
        yield str(diagnostic.address)
        yield diagnostic.address.block_address
    sort = _CONDITION_CODES.get(diagnostic.code)
    if sort is not None and diagnostic.subject is not None:
        blocks = {
            "var": declared.variables,
            "output": declared.outputs,
            "check": declared.checks,
        }[sort]
        for name, found in blocks.items():
            if _contains(found, diagnostic.subject):
                yield f"{sort}.{name}"


def _contains(declaration: Declaration, subject: SourceRange) -> bool:
    whole = declaration.origin.range(declaration.block.start, declaration.block.end)
    return (
        whole.file == subject.file
        and (whole.line, whole.column) <= (subject.line, subject.column)
        and (subject.line, subject.column) < (whole.end_line, whole.end_column)
    )


RESULT_ROOTS = frozenset({"output", "run", "plan", "cluster"})
"""What assertions may speak of beside what every expression of the module may."""


def assertion_problems(
    attribute: ast.Attribute, origin: Origin, declared: ModuleDeclarations, earlier: Collection[str]
) -> Iterator[Diagnostic]:
    """Find references to missing names; `earlier` names the previous runs."""
    for reference in attribute.references:
        if reference.root not in RESULT_ROOTS:
            yield from reference_problems([reference], origin, declared)
        elif found := _result_problem(reference, declared, earlier):
            yield error("KP116", origin.range(reference.start, reference.end), found)


def variable_problems(
    attribute: ast.Attribute,
    origin: Origin,
    declared: ModuleDeclarations,
    earlier: Collection[str] | None,
) -> Iterator[Diagnostic]:
    """Check the value of a variable: values of a whole file contain no references."""
    if attribute.name not in declared.variables:
        subject = origin.range(attribute.start, attribute.name_end)
        detail = f'A value is set for "{attribute.name}", but this variable is not declared.'
        yield warning("KP174", subject, detail, hint=suggestion(attribute.name, declared.variables))
    for reference in attribute.references:
        subject = origin.range(reference.start, reference.end)
        if earlier is None:
            detail = "Values for all runs are constant; only those of one run may refer to others."
            yield error("KP180", subject, detail)
        elif reference.root == "run":
            if fault := _result_problem(reference, declared, earlier):
                yield error("KP116", subject, fault)
        elif reference.root == "var":
            yield from reference_problems([reference], origin, declared)
        else:
            detail = f'"{reference.root}" is not known here: values refer to var and run only.'
            yield error("KP180", subject, detail)


def _result_problem(
    reference: ast.Reference, declared: ModuleDeclarations, earlier: Collection[str]
) -> str:
    """Say why a result cannot be referred to, or nothing."""
    root = reference.root
    if not reference.steps:
        return f'"{root}" is not a value; use one of its attributes: {root}.NAME.'
    name = reference.steps[0]
    if root == "output" and name not in declared.outputs and not declared.is_incomplete:
        hint = suggestion(name, declared.outputs)
        return f'The configuration has no output "{name}". {hint}'.strip()
    if root == "run" and name not in earlier:
        return f'No run "{name}" comes before this one. {suggestion(name, earlier)}'.strip()
    return ""
