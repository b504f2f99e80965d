"""What is wrong with the declarations of a module before anything is evaluated."""

from collections.abc import Iterable, Iterator, Mapping

from kplan.config.declarations.body_schema import (
    DATA_SCHEMAS,
    META_ARGUMENTS,
    BodySchema,
    body_problems,
)
from kplan.config.declarations.declaration import Declaration, ModuleDeclarations
from kplan.config.declarations.reference import undeclared_references
from kplan.config.declarations.rule import lifecycle_problems
from kplan.config.diagnostic import EvaluationError, error
from kplan.config.modules.connection import misplaced_providers
from kplan.config.modules.resource_block import resource_problems
from kplan.config.syntax import tree as ast
from kplan.config.syntax.source import Origin
from kplan.config.syntax.tree_walk import QUOTED_REFERENCE
from kplan.kinds.base import ResourceKind
from kplan.model.codes import SUMMARIES
from kplan.model.diagnostic import Diagnostic

_DEPENDS_ON_SUMMARY = SUMMARIES["KP101"]
_DEPENDS_ON_HINT = "Name resources and modules: depends_on = [kafka_topic.NAME, module.NAME]."
_VALUE_BLOCKS = ("lifecycle", "provisioner", "connection")
VALUE_BLOCK_SCHEMAS: Mapping[tuple[str, str], BodySchema] = {
    ("resource", "terraform_data"): BodySchema(
        ("input", "triggers_replace", *META_ARGUMENTS), blocks=_VALUE_BLOCKS
    ),
    ("resource", "null_resource"): BodySchema(("triggers", *META_ARGUMENTS), blocks=_VALUE_BLOCKS),
    ("data", "terraform_remote_state"): BodySchema(
        ("backend", "config", "workspace", "defaults", *META_ARGUMENTS),
        ("backend",),
        _VALUE_BLOCKS[:1],
    ),
}
_COMPUTED = frozenset({"id", "output"})


def static_problems(
    declared: ModuleDeclarations, kinds: Mapping[str, ResourceKind], path: tuple[str, ...]
) -> Iterator[Diagnostic]:
    """Find arguments that do not belong, undeclared names, and providers in a called module."""
    for (kind, _), found in declared.resources.items():
        if kind in kinds and not found.is_broken:
            yield from resource_problems(kinds[kind], found)
    for (kind, _), found in declared.data.items():
        if kind in DATA_SCHEMAS and not found.is_broken:
            yield from body_problems(found.block, found.origin, DATA_SCHEMAS[kind])
    yield from value_block_problems(declared)
    yield from depends_on_problems(declared)
    yield from undeclared_references(declared)
    if path:
        yield from misplaced_providers(declared.providers)


def missing_value_error(declaration: Declaration, found: Iterable[Diagnostic]) -> EvaluationError:
    """Make the error that a variable has no value; empty if its block is wrong anyway."""
    if _is_wrong(declaration, found):
        return EvaluationError()
    name = declaration.name
    detail = f'The variable "{name}" has no default, and no value is given for it.'
    hint = f"Give one with -var '{name}=...', in a .tfvars file or as TF_VAR_{name}."
    return EvaluationError([error("KP170", declaration.declared_at, detail, hint=hint)])


def _is_wrong(declaration: Declaration, found: Iterable[Diagnostic]) -> bool:
    """Whether an error of a block has been reported, of which another may be a consequence."""
    block, origin = declaration.block, declaration.origin
    whole = origin.range(block.start, block.end)
    places = (
        at
        for each in found
        if each.is_error
        for at in (each.subject, *(place for _, place in each.related))
    )
    return any(
        at is not None
        and at.file == whole.file
        and (whole.line, whole.column) <= (at.line, at.column)
        and (at.line, at.column) < (whole.end_line, whole.end_column)
        for at in places
    )


# ---- depends_on


def depends_on_problems(declared: ModuleDeclarations) -> Iterator[Diagnostic]:
    """Find a `depends_on` that is no list of references."""
    blocks: tuple[Declaration, ...] = (
        *declared.outputs.values(),
        *declared.resources.values(),
        *declared.data.values(),
        *declared.modules.values(),
    )
    for found in blocks:
        attribute = found.arguments.get("depends_on")
        if attribute is not None:
            yield from _list_problems(attribute.value, found.origin)


def _list_problems(node: ast.Node, origin: Origin) -> Iterator[Diagnostic]:
    if not isinstance(node, ast.Tuple):
        detail = "depends_on is a list of references."
        subject = origin.range(node.start, node.end)
        yield error("KP116", subject, detail, hint=_DEPENDS_ON_HINT, summary=_DEPENDS_ON_SUMMARY)
        return
    for each in node.items:
        if isinstance(each, ast.Literal) and isinstance(each.value, str):
            yield from _quoted_problems(each, each.value, origin)
        elif not _is_reference(each):
            detail = "depends_on takes references, not expressions."
            subject = origin.range(each.start, each.end)
            yield error(
                "KP116", subject, detail, hint=_DEPENDS_ON_HINT, summary=_DEPENDS_ON_SUMMARY
            )


def _is_reference(node: ast.Node) -> bool:
    while isinstance(node, ast.GetAttr | ast.Index):
        node = node.target
    return isinstance(node, ast.Name)


def _quoted_problems(node: ast.Literal, text: str, origin: Origin) -> Iterator[Diagnostic]:
    """Find what is no reference in one that is quoted, as before Terraform 0.12."""
    read = QUOTED_REFERENCE.match(text)
    end = read.end() if read else 0
    if end < len(text):
        start = node.start + 1 + end
        detail = "A reference ends here: it has names and dots, and keys in brackets."
        summary = SUMMARIES["KP110"]
        yield error(
            "KP116", origin.range(start, start + 1), detail, hint=_DEPENDS_ON_HINT, summary=summary
        )


# ---- blocks that only hold values, such as terraform_data


def value_block_problems(declared: ModuleDeclarations) -> Iterator[Diagnostic]:
    """Hold the bodies of such blocks against their schemas."""
    for kind, name in sorted(declared.skipped):
        block_type, type_name = "resource", kind
        if kind.startswith("data."):
            block_type, type_name = "data", kind.removeprefix("data.")
        schema = VALUE_BLOCK_SCHEMAS.get((block_type, type_name))
        found = (declared.data if block_type == "data" else declared.resources).get(
            (type_name, name)
        )
        if schema is not None and found is not None and not found.is_broken:
            yield from _block_problems(found, schema)


def _block_problems(declaration: Declaration, schema: BodySchema) -> Iterator[Diagnostic]:
    block, origin = declaration.block, declaration.origin
    yield from body_problems(block, origin, schema)
    yield from lifecycle_problems(block, origin)
    for inner in block.blocks:
        for each in inner.attributes if inner.type == "lifecycle" else ():
            if each.name in {"prevent_destroy", "create_before_destroy"}:
                yield from _variable_problems(each, origin)
            elif each.name == "ignore_changes" and isinstance(each.value, ast.Tuple):
                yield from _ignored_problems(each.value, origin, schema)


def _variable_problems(attribute: ast.Attribute, origin: Origin) -> Iterator[Diagnostic]:
    for each in attribute.references[:1]:
        detail = f'"{attribute.name}" of this block is a constant: true or false.'
        yield error("KP180", origin.range(each.start, each.end), detail)


def _ignored_problems(names: ast.Tuple, origin: Origin, schema: BodySchema) -> Iterator[Diagnostic]:
    for each in names.items:
        name = each
        while isinstance(name, ast.GetAttr | ast.Index):
            name = name.target
        known = {*schema.arguments, *_COMPUTED}.difference(META_ARGUMENTS)
        if isinstance(name, ast.Name) and name.name not in known:
            detail = f'The block has no argument "{name.name}".'
            yield error("KP144", origin.range(name.start, name.end), detail)
