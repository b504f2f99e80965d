"""Ephemeral variables: their values are for providers and conditions, and are kept nowhere.

Told by the text: whatever refers to one, through local values too, may not go where a plan, a state
or an output would keep it. Source: Terraform's documentation of ephemeral values.
"""

from collections.abc import Iterator
from typing import TypeAlias

from kplan.config.declarations.block_schema import MODULE_SCHEMA
from kplan.config.declarations.declaration import Declaration, ModuleDeclarations
from kplan.config.diagnostic import error
from kplan.config.syntax import tree as ast
from kplan.config.syntax.source import Origin
from kplan.config.syntax.tree_walk import children, references
from kplan.model.diagnostic import Diagnostic

_Name: TypeAlias = tuple[str, str]

_NON_REVEALING = frozenset({"can", "issensitive"})
"""Functions whose result tells too little of their argument to be ephemeral itself."""
_AS_NULL = "ephemeralasnull"
_IGNORED_ARGUMENTS = frozenset({"provider", "providers", "depends_on"})


def is_ephemeral(found: Declaration) -> bool:
    """Whether a variable or output is declared to be ephemeral."""
    flag = found.arguments.get("ephemeral")
    return flag is not None and isinstance(flag.value, ast.Literal) and flag.value.value is True


def ephemeral_problems(declared: ModuleDeclarations, *, is_root: bool) -> Iterator[Diagnostic]:
    """Find what would keep an ephemeral value."""
    names = _ephemeral_names(declared)
    for found in declared.outputs.values():
        if is_root and is_ephemeral(found):
            told = "The outputs of the root module are kept in the state."
            yield error("KP148", found.declared_at, told, hint="Only other modules may have such.")
        elif names and not is_ephemeral(found):
            yield from _block_problems(found, names, "An output", _OUTPUT_HINT)
    if names:
        yield from _resource_problems(declared, names)


def _resource_problems(
    declared: ModuleDeclarations, names: frozenset[_Name]
) -> Iterator[Diagnostic]:
    for found in declared.resources.values():
        yield from _block_problems(found, names, "A resource", _AS_NULL_HINT)
    for found in declared.modules.values():
        repetition = [
            found.arguments[each] for each in _INSTANCE_ARGUMENTS if each in found.arguments
        ]
        for attribute in repetition:
            yield from _attribute_problems(
                attribute, found.origin, names, "The keys of instances", ""
            )


_INSTANCE_ARGUMENTS = ("for_each", "count")
_AS_NULL_HINT = "ephemeralasnull(...) has null in the place of such a value."
_OUTPUT_HINT = f"In a module other than the root, add ephemeral = true; or {_AS_NULL_HINT}"


def ephemeral_argument_problems(
    found: Declaration, own: ModuleDeclarations, called: ModuleDeclarations
) -> Iterator[Diagnostic]:
    """Find ephemeral values given to variables of a module that are not ephemeral themselves."""
    names = _ephemeral_names(own)
    for name, attribute in found.arguments.items() if names else ():
        variable = called.variables.get(name)
        if name not in MODULE_SCHEMA.arguments and variable and not is_ephemeral(variable):
            hint = f'Add ephemeral = true to the variable "{name}" of the module.'
            yield from _attribute_problems(attribute, found.origin, names, "The variable", hint)


def _ephemeral_names(declared: ModuleDeclarations) -> frozenset[_Name]:
    """Name the variables that are ephemeral, and the local values that come of them."""
    names = {("var", name) for name, found in declared.variables.items() if is_ephemeral(found)}
    while names:
        more = {
            ("local", name)
            for name, found in declared.locals.items()
            if ("local", name) not in names
            and any(_ephemeral_references(found.attribute.value, names))
        }
        if not more:
            break
        names |= more
    return frozenset(names)


def _block_problems(
    found: Declaration, names: frozenset[_Name], what: str, hint: str
) -> Iterator[Diagnostic]:
    for attribute in found.block.attributes:
        if attribute.name not in _IGNORED_ARGUMENTS:
            yield from _attribute_problems(attribute, found.origin, names, what, hint)


def _attribute_problems(
    attribute: ast.Attribute, origin: Origin, names: frozenset[_Name], what: str, hint: str
) -> Iterator[Diagnostic]:
    if all((each.root, *each.steps[:1]) not in names for each in attribute.references):
        return
    for reference in _ephemeral_references(attribute.value, names):
        told = f"{what} would keep the value, and it comes of an ephemeral variable."
        yield error("KP148", origin.range(reference.start, reference.end), told, hint=hint)


def _ephemeral_references(
    node: ast.Node, names: frozenset[_Name] | set[_Name]
) -> Iterator[ast.Reference]:
    """List references whose value the value of the expression may tell."""
    if isinstance(node, ast.Call) and (node.name in _NON_REVEALING or _is_null_call(node)):
        return
    if isinstance(node, ast.Name | ast.GetAttr):
        yield from (each for each in references(node) if (each.root, *each.steps[:1]) in names)
        return
    for child in children(node):
        yield from _ephemeral_references(child, names)


def _is_null_call(node: ast.Call) -> bool:
    """Whether a call is `ephemeralasnull(var.name)`: of what is made of it, the rest is kept."""
    if node.name != _AS_NULL or len(node.arguments) != 1:
        return False
    inner = node.arguments[0]
    while isinstance(inner, ast.GetAttr | ast.Index):
        inner = inner.target
    return isinstance(inner, ast.Name) and inner.name == "var"
