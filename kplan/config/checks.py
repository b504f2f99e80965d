"""What is wrong with references whatever their values: told once per place in a file."""

from collections.abc import Collection, Iterable, Iterator

from kplan.config.declared import MODULE, Declaration, Declared
from kplan.config.evaluation.misuse import meant
from kplan.config.names import ROOTS
from kplan.config.problem import error
from kplan.config.syntax import tree as ast
from kplan.config.syntax.source import Origin
from kplan.config.syntax.tree import Reference
from kplan.model.diagnostic import Diagnostic
from kplan.model.source import SourceRange


def argument_problems(found: Declaration, declared: Declared) -> Iterator[Diagnostic]:
    """Hold the arguments of a module block against the variables of the module."""
    if declared.has_lost:
        return
    for name, attribute in found.arguments.items():
        if name not in MODULE.arguments and name not in declared.variables:
            subject = found.origin.range(attribute.start, attribute.name_end)
            told = f'The module has no input variable "{name}".'
            yield error("KP121", subject, told, hint=meant(name, declared.variables))
    for name, variable in declared.variables.items():
        is_needed = "default" not in variable.arguments and not variable.is_broken
        if is_needed and name not in found.arguments:
            told = f'The module needs its input variable "{name}", declared at {variable.place}.'
            yield error("KP122", found.place, told)


def undeclared(declared: Declared) -> Iterator[Diagnostic]:
    """Find references to what is not declared in everything that a folder declares."""
    for attribute, origin in _attributes(declared):
        if attribute.references:
            found = attribute.references
            if attribute.name in _OF_PROVIDERS:
                found = tuple(each for each in found if each.root in ROOTS)
            yield from reference_problems(found, origin, declared)


def undeclared_in(found: Declaration, declared: Declared) -> Iterator[Diagnostic]:
    """Find such references in a block that is none of a configuration's."""
    for attribute, origin in _attributes_of(found, found.block, ()):
        yield from reference_problems(attribute.references, origin, declared)


_OF_PROVIDERS = frozenset({"provider", "providers"})
"""Arguments that name connections, with keys that are values."""


def _attributes(declared: Declared) -> Iterator[tuple[ast.Attribute, Origin]]:
    """List the arguments whose references must be declared."""
    for local in declared.locals.values():
        yield local.attribute, local.origin
    for found in (*declared.outputs.values(), *declared.providers, *declared.states):
        yield from _attributes_of(found, found.block, ("depends_on",))
    for found in (*declared.resources.values(), *declared.data.values()):
        yield from _attributes_of(
            found, found.block, ("depends_on",) * (found.block.type == "data")
        )
    for found in declared.modules.values():
        yield from _attributes_of(found, found.block, ("depends_on",))
    for found in (*declared.variables.values(), *declared.checks.values()):
        for inner in found.block.blocks:
            yield from _attributes_of(found, inner, ())


def _attributes_of(
    found: Declaration, block: ast.Block, left_out: tuple[str, ...]
) -> Iterator[tuple[ast.Attribute, Origin]]:
    is_rules = block.type == "lifecycle"  # whose own arguments name arguments of the resource
    for attribute in block.attributes:
        if attribute.name not in left_out and not is_rules:
            yield attribute, found.origin
    for inner in block.blocks:
        yield from _attributes_of(found, inner, left_out)


def reference_problems(
    references: Iterable[Reference], origin: Origin, declared: Declared
) -> Iterator[Diagnostic]:
    """Find references to what is not declared."""
    for reference in references:
        if not _is_declared(reference, declared):
            yield from _problems(reference, origin, declared)


def _is_declared(reference: Reference, declared: Declared) -> bool:
    """Tell, for the two sorts that nearly all references are, whether all is well."""
    if not reference.steps:
        return False
    match reference.root:
        case "var":
            return reference.steps[0] in declared.variables
        case "local":
            return reference.steps[0] in declared.locals
        case _:
            return False


def _problems(reference: Reference, origin: Origin, declared: Declared) -> Iterator[Diagnostic]:
    root = reference.root
    if not reference.steps:
        yield _bare(root, declared, origin, reference)
    elif root in _NAMED:
        yield from _name_problems(reference, origin, declared)
    elif root == "data":
        yield from _data_problems(reference, origin, declared)
    elif root not in ROOTS:
        yield from _resource_problems(reference, origin, declared)


_NAMED = {
    "var": ("KP140", "input variable"),
    "local": ("KP141", "local value"),
    "module": ("KP143", "module call"),
}


def _name_problems(
    reference: Reference, origin: Origin, declared: Declared
) -> Iterator[Diagnostic]:
    root, name = reference.root, reference.steps[0]
    code, what = _NAMED[root]
    known: Collection[str] = {
        "var": declared.variables.keys(),
        "local": declared.locals.keys(),
        "module": declared.modules.keys(),
    }[root]
    if name not in known and not declared.has_lost:
        told = f'{_article(what)} named "{name}" has not been declared.'
        hint = meant(name, known) or _how_to_declare(root, name)
        yield error(code, _place(reference, origin), told, hint=hint)


def _place(reference: Reference, origin: Origin) -> SourceRange:
    return origin.range(reference.start, reference.end)


def _article(what: str) -> str:
    return f"An {what}" if what[0] in "aeiou" else f"A {what}"


def _how_to_declare(root: str, name: str) -> str:
    if root == "var":
        return f'Declare it with a block: variable "{name}" {{}}'
    if root == "local":
        return f"Define it in a block: locals {{ {name} = ... }}"
    return ""


def _data_problems(
    reference: Reference, origin: Origin, declared: Declared
) -> Iterator[Diagnostic]:
    kind, *names = reference.steps
    subject = _place(reference, origin)
    if (f"data.{kind}", *names[:1]) in declared.left_out:
        told = f"data.{kind}.{names[0]} belongs to another provider and was left out."
        yield error("KP146", subject, told)
    elif names and (kind, names[0]) not in declared.data and not declared.has_lost:
        told = f"A data source data.{kind}.{names[0]} has not been declared."
        near = meant(f"{kind}.{names[0]}", (".".join(each) for each in declared.data))
        yield error("KP146", subject, told, hint=near)


def _resource_problems(
    reference: Reference, origin: Origin, declared: Declared
) -> Iterator[Diagnostic]:
    kind, name = reference.root, reference.steps[0]
    if (kind, name) in declared.left_out:
        told = f"{kind}.{name} belongs to another provider and was left out, so it has no value."
        yield error("KP142", _place(reference, origin), told)
        return
    if (kind, name) in declared.resources or declared.has_lost:
        return
    subject = _place(reference, origin)
    kinds = {each for each, _ in declared.resources}
    told = f"A resource {kind}.{name} has not been declared."
    if kind in kinds:
        near = meant(name, (each for of, each in declared.resources if of == kind))
    else:
        near = meant(kind, {*kinds, *ROOTS})
    yield error("KP142", subject, told, hint=near)


def _bare(root: str, declared: Declared, origin: Origin, reference: Reference) -> Diagnostic:
    subject = _place(reference, origin)
    if root in ROOTS:
        told = f'"{root}" has no value of its own; take one of its attributes: {root}.NAME.'
        return error("KP116", subject, told)
    kinds = {each for each, _ in declared.resources}
    if root in kinds:
        told = f"After the resource type {root} there must be the name of a resource."
        return error("KP116", subject, told)
    told = f'"{root}" is neither a reference nor a value.'
    for prefix, names in (("var", declared.variables), ("local", declared.locals)):
        if root in names:
            return error("KP116", subject, told, hint=f'Did you mean "{prefix}.{root}"?')
    return error("KP116", subject, told, hint=f'Text is written in quotes: "{root}".')
