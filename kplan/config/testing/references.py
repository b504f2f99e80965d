"""What the expressions of a test file may refer to."""

from collections.abc import Collection, Iterator

from kplan.config.checks import reference_problems
from kplan.config.declared import Declared
from kplan.config.evaluation.misuse import meant
from kplan.config.problem import error, warning
from kplan.config.syntax import tree as ast
from kplan.config.syntax.source import Origin
from kplan.model.diagnostic import Diagnostic

RESULTS = frozenset({"output", "run", "plan", "cluster"})
"""What assertions may speak of beside what every expression of the module may."""


def assertion_problems(
    attribute: ast.Attribute, origin: Origin, declared: Declared, earlier: Collection[str]
) -> Iterator[Diagnostic]:
    """Find references to what is not there; `earlier` names the runs before this one."""
    for reference in attribute.references:
        if reference.root not in RESULTS:
            yield from reference_problems([reference], origin, declared)
        elif told := _fault(reference, declared, earlier):
            yield error("KP116", origin.range(reference.start, reference.end), told)


def value_problems(
    attribute: ast.Attribute,
    origin: Origin,
    declared: Declared,
    earlier: Collection[str] | None,
) -> Iterator[Diagnostic]:
    """Find what is wrong with a value of a variable: those of a whole file refer to nothing."""
    if attribute.name not in declared.variables:
        subject = origin.range(attribute.start, attribute.name_end)
        told = f'A value is given for "{attribute.name}", but no such variable is declared.'
        yield warning("KP174", subject, told, hint=meant(attribute.name, declared.variables))
    for reference in attribute.references:
        subject = origin.range(reference.start, reference.end)
        if earlier is None:
            told = "Values for all runs are constant; only those of one run may refer to others."
            yield error("KP180", subject, told)
        elif reference.root == "run":
            if fault := _fault(reference, declared, earlier):
                yield error("KP116", subject, fault)
        elif reference.root == "var":
            yield from reference_problems([reference], origin, declared)
        else:
            told = f'"{reference.root}" is not known here: values refer to var and run only.'
            yield error("KP180", subject, told)


def _fault(reference: ast.Reference, declared: Declared, earlier: Collection[str]) -> str:
    """Say why a result cannot be referred to, or nothing."""
    root = reference.root
    if not reference.steps:
        return f'"{root}" has no value of its own; take one of its attributes: {root}.NAME.'
    name = reference.steps[0]
    if root == "output" and name not in declared.outputs and not declared.has_lost:
        return f'The configuration has no output "{name}". {meant(name, declared.outputs)}'.strip()
    if root == "run" and name not in earlier:
        return f'No run "{name}" comes before this one. {meant(name, earlier)}'.strip()
    return ""
