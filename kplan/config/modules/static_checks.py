"""What is wrong with the declarations of a module before anything is evaluated."""

from collections.abc import Iterable, Iterator, Mapping

from kplan.config.declarations.body_schema import DATA_SCHEMAS, body_problems
from kplan.config.declarations.declaration import Declaration, ModuleDeclarations
from kplan.config.declarations.depends_on import depends_on_problems
from kplan.config.declarations.reference import undeclared_references
from kplan.config.declarations.value_block_schema import value_block_problems
from kplan.config.diagnostic import EvaluationError, error
from kplan.config.modules.connection import misplaced_providers
from kplan.config.modules.resource_block import resource_problems
from kplan.kinds.base import ResourceKind
from kplan.model.diagnostic import Diagnostic


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
    """Make the error that a variable has no value; it is mute if its block is wrong anyway."""
    if _is_wrong(declaration, found):
        return EvaluationError()
    name = declaration.name
    detail = f'The variable "{name}" has no default, and no value is given for it.'
    hint = f"Give one with -var '{name}=...', in a .tfvars file or as KPLAN_VAR_{name}."
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
