"""References that are checked without evaluation: undeclared names and ephemeral variables."""

from collections.abc import Collection, Iterable, Iterator
from typing import TypeAlias

from kplan.config.declarations.body_schema import MODULE_SCHEMA, body_start_range
from kplan.config.declarations.declaration import Declaration, ModuleDeclarations
from kplan.config.diagnostic import error, suggestion
from kplan.config.evaluation.scope import REFERENCE_ROOTS
from kplan.config.syntax import tree as ast
from kplan.config.syntax.source import Origin
from kplan.config.syntax.tree import Reference
from kplan.config.syntax.tree_walk import children, references
from kplan.model.codes import SUMMARIES
from kplan.model.diagnostic import Diagnostic, SourceRange


def module_argument_problems(
    declaration: Declaration, declared: ModuleDeclarations
) -> Iterator[Diagnostic]:
    """Hold the arguments of a module block against the variables of the module."""
    if declared.is_incomplete:
        return
    for name, attribute in declaration.arguments.items():
        if name not in MODULE_SCHEMA.arguments and name not in declared.variables:
            subject = declaration.origin.range(attribute.start, attribute.name_end)
            detail = f'The module has no input variable "{name}".'
            yield error("KP121", subject, detail, hint=suggestion(name, declared.variables))
    for name, variable in declared.variables.items():
        is_needed = "default" not in variable.arguments and not variable.is_broken
        if is_needed and name not in declaration.arguments:
            detail = (
                f'The module needs its input variable "{name}", declared at {variable.declared_at}.'
            )
            at = body_start_range(declaration.block, declaration.origin)
            yield error("KP122", at, detail)


def undeclared_references(declared: ModuleDeclarations) -> Iterator[Diagnostic]:
    """Find references to undeclared names in the declarations of a folder."""
    for attribute, origin, owner in _checked_attributes(declared):
        if attribute.references:
            found = attribute.references
            if attribute.name in _PROVIDER_ARGUMENTS:
                found = tuple(each for each in found if each.root in REFERENCE_ROOTS)
            # What waits for itself waits for nothing, in Terraform too.
            within = _NO_OWNER if attribute.name == "depends_on" else owner
            yield from reference_problems(found, origin, declared, within)


def block_reference_problems(
    declaration: Declaration, declared: ModuleDeclarations
) -> Iterator[Diagnostic]:
    """Find such references in a block that is not one of a configuration's."""
    for attribute, origin, _ in _block_attributes(declaration, declaration.block):
        yield from reference_problems(attribute.references, origin, declared)


_PROVIDER_ARGUMENTS = frozenset({"provider", "providers"})
"""Arguments that name connections, with keys that are values."""


_Checked: TypeAlias = tuple[ast.Attribute, Origin, tuple[str, str]]
"""An argument, and the resource it is in: its type and name, empty outside of resources."""
_NO_OWNER = "", ""


def _checked_attributes(declared: ModuleDeclarations) -> Iterator[_Checked]:
    """List the arguments whose references must be declared."""
    for local in declared.locals.values():
        yield local.attribute, local.origin, _NO_OWNER
    settings = (*declared.state_blocks, *declared.plan_settings)
    for found in (*declared.outputs.values(), *declared.providers, *settings):
        yield from _block_attributes(found, found.block)
    for owner, found in declared.resources.items():
        yield from _block_attributes(found, found.block, owner)
    for found in (*declared.data.values(), *declared.modules.values()):
        yield from _block_attributes(found, found.block)
    for found in (*declared.variables.values(), *declared.checks.values()):
        for inner in found.block.blocks:
            yield from _block_attributes(found, inner)


def _block_attributes(
    declaration: Declaration, block: ast.Block, owner: tuple[str, str] = _NO_OWNER
) -> Iterator[_Checked]:
    is_rules = block.type == "lifecycle"  # whose own arguments name arguments of the resource
    for attribute in block.attributes if not is_rules else ():
        yield attribute, declaration.origin, owner
    for inner in block.blocks:
        yield from _block_attributes(declaration, inner, owner)


def reference_problems(
    references: Iterable[Reference],
    origin: Origin,
    declared: ModuleDeclarations,
    owner: tuple[str, str] = _NO_OWNER,
) -> Iterator[Diagnostic]:
    """Find references to undeclared names, and those of the resource `owner` to itself."""
    for reference in references:
        if _is_declared(reference, declared):
            continue
        if owner == (reference.root, *reference.steps[:1]) and _is_whole(reference, origin):
            yield _self_reference_error(reference, origin, declared)
        else:
            yield from _undeclared_problems(reference, origin, declared)


def _is_whole(reference: Reference, origin: Origin) -> bool:
    """Whether a reference is to a resource as a whole, and not to one of its instances."""
    return len(reference.steps) > 1 or origin.text(reference.end, reference.end + 1) != "["


def _self_reference_error(
    reference: Reference, origin: Origin, declared: ModuleDeclarations
) -> Diagnostic:
    kind, name = reference.root, reference.steps[0]
    declared.self_references.add((kind, name))
    detail = f"{kind}.{name} refers to itself, so it would have to exist before it is created."
    summary = "Self-referential block"
    return error("KP145", _reference_range(reference, origin), detail, summary=summary)


def _is_declared(reference: Reference, declared: ModuleDeclarations) -> bool:
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


def _undeclared_problems(
    reference: Reference, origin: Origin, declared: ModuleDeclarations
) -> Iterator[Diagnostic]:
    root = reference.root
    if not reference.steps:
        yield _bare_root_problem(root, declared, origin, reference)
    elif root in _NAMED_ROOTS:
        yield from _name_problems(reference, origin, declared)
    elif root == "data":
        yield from _data_problems(reference, origin, declared)
    elif root == "ephemeral":
        yield from _ephemeral_block_problems(reference, origin, declared)
    elif root not in REFERENCE_ROOTS:
        yield from _resource_problems(reference, origin, declared)


_NAMED_ROOTS = {
    "var": ("KP140", "input variable"),
    "local": ("KP141", "local value"),
    "module": ("KP143", "module call"),
}


def _name_problems(
    reference: Reference, origin: Origin, declared: ModuleDeclarations
) -> Iterator[Diagnostic]:
    root, name = reference.root, reference.steps[0]
    code, what = _NAMED_ROOTS[root]
    known: Collection[str] = {
        "var": declared.variables.keys(),
        "local": declared.locals.keys(),
        "module": declared.modules.keys(),
    }[root]
    if name not in known and not declared.is_incomplete:
        detail = f'{_with_article(what)} named "{name}" has not been declared.'
        hint = suggestion(name, known) or _declaration_hint(root, name)
        yield error(code, _reference_range(reference, origin), detail, hint=hint)


def _reference_range(reference: Reference, origin: Origin) -> SourceRange:
    return origin.range(reference.start, reference.end)


def _with_article(what: str) -> str:
    return f"An {what}" if what[0] in "aeiou" else f"A {what}"


def _declaration_hint(root: str, name: str) -> str:
    if root == "var":
        return f'Declare it with a block: variable "{name}" {{}}'
    if root == "local":
        return f"Define it in a block: locals {{ {name} = ... }}"
    return ""


def _data_problems(
    reference: Reference, origin: Origin, declared: ModuleDeclarations
) -> Iterator[Diagnostic]:
    kind, *names = reference.steps
    subject = _reference_range(reference, origin)
    if (f"data.{kind}", *names[:1]) in declared.skipped:
        return  # whoever needs its value says that it has none
    if names and (kind, names[0]) not in declared.data and not declared.is_incomplete:
        detail = f"A data source data.{kind}.{names[0]} has not been declared."
        near = suggestion(f"{kind}.{names[0]}", (".".join(each) for each in declared.data))
        summary = SUMMARIES["KP142"]
        yield error("KP146", subject, detail, hint=near, summary=summary)


def _ephemeral_block_problems(
    reference: Reference, origin: Origin, declared: ModuleDeclarations
) -> Iterator[Diagnostic]:
    kind, *names = reference.steps
    if names and (kind, names[0]) not in declared.ephemeral and not declared.is_incomplete:
        detail = f"An ephemeral resource {kind}.{names[0]} has not been declared."
        near = suggestion(f"{kind}.{names[0]}", map(".".join, declared.ephemeral))
        yield error("KP142", _reference_range(reference, origin), detail, hint=near)


def _resource_problems(
    reference: Reference, origin: Origin, declared: ModuleDeclarations
) -> Iterator[Diagnostic]:
    kind, name = reference.root, reference.steps[0]
    if (kind, name) in declared.skipped:
        return  # as above
    if (kind, name) in declared.resources or declared.is_incomplete:
        return
    subject = _reference_range(reference, origin)
    kinds = {each for each, _ in declared.resources}
    detail = f"A resource {kind}.{name} has not been declared."
    if kind in kinds:
        near = suggestion(name, (each for of, each in declared.resources if of == kind))
    else:
        near = suggestion(kind, {*kinds, *REFERENCE_ROOTS})
    yield error("KP142", subject, detail, hint=near)


def _bare_root_problem(
    root: str, declared: ModuleDeclarations, origin: Origin, reference: Reference
) -> Diagnostic:
    subject = _reference_range(reference, origin)
    if root in REFERENCE_ROOTS:
        detail = f'"{root}" is not a value; use one of its attributes: {root}.NAME.'
        return error("KP116", subject, detail)
    kinds = {each for each, _ in declared.resources}
    if root in kinds:
        detail = f"After the resource type {root} there must be the name of a resource."
        return error("KP116", subject, detail)
    detail = f'"{root}" is neither a reference nor a value.'
    for prefix, names in (("var", declared.variables), ("local", declared.locals)):
        if root in names:
            return error("KP116", subject, detail, hint=f'Did you mean "{prefix}.{root}"?')
    return error("KP116", subject, detail, hint=f'Text is written in quotes: "{root}".')


_Name: TypeAlias = tuple[str, str]

_NON_REVEALING = frozenset({"can", "issensitive"})
"""Functions whose result tells too little of their argument to be ephemeral itself."""
_AS_NULL = "ephemeralasnull"
_IGNORED_ARGUMENTS = frozenset({"provider", "providers", "depends_on"})


def is_ephemeral(declaration: Declaration) -> bool:
    """Whether a variable or output is declared to be ephemeral."""
    flag = declaration.arguments.get("ephemeral")
    return flag is not None and isinstance(flag.value, ast.Literal) and flag.value.value is True


def ephemeral_problems(declared: ModuleDeclarations, *, is_root: bool) -> Iterator[Diagnostic]:
    """Find arguments that would store an ephemeral value."""
    names = _ephemeral_names(declared)
    for found in declared.outputs.values():
        if is_root and is_ephemeral(found):
            detail = "Outputs of the root module are stored in the state."
            yield error(
                "KP148", found.declared_at, detail, hint="Only other modules may have such."
            )
        elif names and not is_ephemeral(found):
            yield from _block_problems(found, names, "An output", _OUTPUT_HINT)
    if names:
        yield from _ephemeral_resource_problems(declared, names)


def _ephemeral_resource_problems(
    declared: ModuleDeclarations, names: frozenset[_Name]
) -> Iterator[Diagnostic]:
    for found in declared.resources.values():
        yield from _block_problems(found, names, "A resource", _RESOURCE_HINT)
    for found in declared.modules.values():
        repetition = [
            found.arguments[each] for each in _INSTANCE_ARGUMENTS if each in found.arguments
        ]
        for attribute in repetition:
            yield from _attribute_problems(
                attribute, found.origin, names, "The keys of instances", ""
            )


_WRITE_ONLY_END = "_wo"
"""How the names of arguments end that nothing stores, as in Terraform."""
_INSTANCE_ARGUMENTS = ("for_each", "count")
_AS_NULL_HINT = "ephemeralasnull(...) has null in the place of such a value."
_RESOURCE_HINT = f"A write-only argument, such as password_wo, takes it. {_AS_NULL_HINT}"
_OUTPUT_HINT = f"In a module other than the root, add ephemeral = true; or {_AS_NULL_HINT}"


def ephemeral_argument_problems(
    declaration: Declaration, own: ModuleDeclarations, called: ModuleDeclarations
) -> Iterator[Diagnostic]:
    """Find ephemeral values given to variables of a module that are not ephemeral themselves."""
    names = _ephemeral_names(own)
    for name, attribute in declaration.arguments.items() if names else ():
        variable = called.variables.get(name)
        if name not in MODULE_SCHEMA.arguments and variable and not is_ephemeral(variable):
            hint = f'Add ephemeral = true to the variable "{name}" of the module.'
            yield from _attribute_problems(
                attribute, declaration.origin, names, "The variable", hint
            )


def _ephemeral_names(declared: ModuleDeclarations) -> frozenset[_Name]:
    """Name the ephemeral variables and resources, and the local values derived from them."""
    names = {("var", name) for name, found in declared.variables.items() if is_ephemeral(found)}
    names |= {("ephemeral", kind) for kind, _ in declared.ephemeral}
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
    declaration: Declaration, names: frozenset[_Name], what: str, hint: str
) -> Iterator[Diagnostic]:
    for attribute in declaration.block.attributes:
        is_write_only = declaration.block.type == "resource" and attribute.name.endswith(
            _WRITE_ONLY_END
        )
        if attribute.name not in _IGNORED_ARGUMENTS and not is_write_only:
            yield from _attribute_problems(attribute, declaration.origin, names, what, hint)


def _attribute_problems(
    attribute: ast.Attribute, origin: Origin, names: frozenset[_Name], what: str, hint: str
) -> Iterator[Diagnostic]:
    if all((each.root, *each.steps[:1]) not in names for each in attribute.references):
        return
    for reference in _ephemeral_references(attribute.value, names):
        detail = f"{what} would store the value, which is ephemeral."
        yield error("KP148", origin.range(reference.start, reference.end), detail, hint=hint)


def _ephemeral_references(
    node: ast.Node, names: frozenset[_Name] | set[_Name]
) -> Iterator[ast.Reference]:
    """List references whose value the result of the expression may reveal."""
    if isinstance(node, ast.Call) and (node.name in _NON_REVEALING or _is_null_call(node)):
        return
    if isinstance(node, ast.Name | ast.GetAttr):
        yield from (each for each in references(node) if (each.root, *each.steps[:1]) in names)
        return
    for child in children(node):
        yield from _ephemeral_references(child, names)


def _is_null_call(node: ast.Call) -> bool:
    """Whether a call is `ephemeralasnull(var.name)`, whose result may be stored."""
    if node.name != _AS_NULL or len(node.arguments) != 1:
        return False
    inner = node.arguments[0]
    while isinstance(inner, ast.GetAttr | ast.Index):
        inner = inner.target
    return isinstance(inner, ast.Name) and inner.name == "var"
