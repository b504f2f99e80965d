"""What is wrong with blocks that only hold values, such as `terraform_data`, before evaluation."""

from collections.abc import Iterator, Mapping

from kplan.config.declarations.body_schema import META_ARGUMENTS, BodySchema, body_problems
from kplan.config.declarations.declaration import Declaration, ModuleDeclarations
from kplan.config.declarations.rule import lifecycle_problems
from kplan.config.diagnostic import error
from kplan.config.syntax import tree as ast
from kplan.config.syntax.source import Origin
from kplan.model.diagnostic import Diagnostic

_BLOCKS = ("lifecycle", "provisioner", "connection")
VALUE_BLOCK_SCHEMAS: Mapping[tuple[str, str], BodySchema] = {
    ("resource", "terraform_data"): BodySchema(
        ("input", "triggers_replace", *META_ARGUMENTS), blocks=_BLOCKS
    ),
    ("resource", "null_resource"): BodySchema(("triggers", *META_ARGUMENTS), blocks=_BLOCKS),
    ("data", "terraform_remote_state"): BodySchema(
        ("backend", "config", "workspace", "defaults", *META_ARGUMENTS), ("backend",), _BLOCKS[:1]
    ),
}
_COMPUTED = frozenset({"id", "output"})


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
            yield from _problems(found, schema)


def _problems(declaration: Declaration, schema: BodySchema) -> Iterator[Diagnostic]:
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
