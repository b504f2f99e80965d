"""`moved`, `removed` and `import` blocks, and the addresses in them."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from kplan.config.block_address import (
    Target,
    TargetKey,
    instance_key_problem,
    literal_key,
    parse_target,
)
from kplan.config.declarations.body_schema import BodySchema, body_problems
from kplan.config.declarations.declaration import Declaration
from kplan.config.declarations.reference import reference_problems
from kplan.config.diagnostic import EvaluationError, error
from kplan.config.evaluation.evaluate import evaluate
from kplan.config.evaluation.scope import Scope
from kplan.config.modules.foreign import is_foreign_target
from kplan.config.modules.instance import evaluate_instances
from kplan.config.modules.module_call import ChildModule
from kplan.config.modules.result_cache import ResultCache
from kplan.config.modules.variable import evaluate_flag
from kplan.config.syntax import tree as ast
from kplan.config.values.conversion import ConversionError, convert
from kplan.config.values.sensitive import has_sensitive
from kplan.config.values.value import STRING
from kplan.config.values.value_text import describe_value
from kplan.model.address import Address
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, SourceRange
from kplan.model.resource import Identity, ImportBlock, Refactorings, Resource

_LIFECYCLE = BodySchema(("destroy",))
_REQUIRED_ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "moved": ("from", "to"),
    "removed": ("from",),
    "import": ("to", "id"),
}


@dataclass(frozen=True, slots=True)
class _DeclaredAddresses:
    """What is declared: blocks, and addresses of instances unless some could not be reported.

    `blocks` has the place of each by its address.
    """

    blocks: Mapping[str, SourceRange]
    instances: frozenset[str] | None

    def contains(self, target: Target) -> bool:
        """Whether the address is declared, as far as that can be reported."""
        if target.text == target.block:
            return target.text in self.blocks
        return self.instances is not None and target.text in self.instances

    def is_missing(self, target: Target) -> bool:
        """Whether the address is not declared for certain."""
        if target.block not in self.blocks:
            return True
        return self.instances is not None and target.text not in self.instances


@dataclass(frozen=True, slots=True)
class _Move:
    old: Target
    new: Target
    declared_at: SourceRange


def evaluate_refactorings(
    root: ChildModule,
    resources: Sequence[Resource],
    results: ResultCache,
    *,
    lacks_data: bool = False,
) -> Refactorings:
    """Evaluate all refactoring blocks; problems go to the results.

    `resources` are those of the configuration that could be evaluated.
    """
    is_whole = not (lacks_data or any(each.is_error for each in results.diagnostics))
    known = _declared_addresses(root, resources, is_whole=is_whole)
    moves: list[_Move] = []
    removed: list[str] = []
    imports: list[ImportBlock] = []
    for module in root.modules():
        for found in module.declarations.refactorings:
            if found.is_broken or any(
                name not in found.arguments for name in _required_arguments(found)
            ):
                continue  # which was reported when the text was checked
            match found.block.type:
                case "moved":
                    moves += results.attempt(partial(_evaluate_moved, found, module, known)) or ()
                case "removed":
                    removed += (
                        results.attempt(partial(_evaluate_removed, found, module, known)) or ()
                    )
                case _:
                    imports += (
                        results.attempt(partial(_evaluate_imports, found, module, results, known))
                        or ()
                    )
    results.report(_contradictions(moves))
    results.report(_duplicate_imports(imports, {each.address: each.provider for each in resources}))
    return Refactorings(
        tuple((each.old.text, each.new.text) for each in moves), tuple(removed), tuple(imports)
    )


def _required_arguments(declaration: Declaration) -> tuple[str, ...]:
    return _REQUIRED_ARGUMENTS[declaration.block.type]


def _declared_addresses(
    root: ChildModule, resources: Sequence[Resource], *, is_whole: bool
) -> _DeclaredAddresses:
    blocks: dict[str, SourceRange] = {}
    for module in root.modules():
        for (kind, name), found in module.declarations.resources.items():
            blocks[module.label(f"{kind}.{name}")] = found.declared_at
        for name, call in module.declarations.modules.items():
            blocks[module.label(f"module.{name}")] = call.declared_at
    instances = {str(each.address) for each in resources}
    for path in {each.address.module for each in resources}:
        steps = [f"module.{step}" for step in path]
        instances.update(".".join(steps[: depth + 1]) for depth in range(len(steps)))
    return _DeclaredAddresses(blocks, frozenset(instances) if is_whole else None)


def _parse_argument(declaration: Declaration, name: str, module: ChildModule) -> Target:
    node = declaration.arguments[name].value
    return parse_target(node, declaration.origin, literal_key(declaration.origin), module.label(""))


# ---- moved


def _evaluate_moved(
    declaration: Declaration, module: ChildModule, known: _DeclaredAddresses
) -> tuple[_Move, ...]:
    old, new = (
        _parse_argument(declaration, "from", module),
        _parse_argument(declaration, "to", module),
    )
    if old.kind != new.kind:
        detail = (
            f"{old.text} is {_kind_phrase(old)} and {new.text} {_kind_phrase(new)}; "
            "an object cannot change its type."
        )
        is_mixed = not (old.kind and new.kind)
        summary = 'Invalid "moved" addresses' if is_mixed else ""
        raise EvaluationError([error("KP133", declaration.declared_at, detail, summary=summary)])
    if old.text == new.text:
        detail = f"{old.text} moves to itself."
        diagnostic = error(
            "KP184",
            declaration.declared_at,
            detail,
            hint="Remove the moved block.",
            summary="Redundant move statement",
        )
        raise EvaluationError([diagnostic])
    gains_key = old.text == old.block == new.block
    if known.contains(old) and not gains_key:
        detail = f"{old.text} moves to {new.text}, and is still declared."
        hint = f"Remove or rename {old.text}, or remove the moved block."
        raise EvaluationError([error("KP186", declaration.declared_at, detail, hint=hint)])
    return (_Move(old, new, declaration.declared_at),)


def _kind_phrase(of: Target) -> str:
    return f"a {of.kind}" if of.kind else "a module"


def _contradictions(moves: Sequence[_Move]) -> Iterator[Diagnostic]:
    by_old: dict[str, _Move] = {}
    by_new: dict[str, _Move] = {}
    for each in moves:
        first = by_old.setdefault(each.old.text, each)
        if first.new.text != each.new.text:
            detail = f"{each.old.text} moved to {first.new.text}, and here to {each.new.text}."
            yield _ambiguity_error(detail, each, first)
        first = by_new.setdefault(each.new.text, each)
        if first.old.text != each.old.text:
            detail = f"{first.old.text} moved to {each.new.text}, and here {each.old.text} as well."
            yield _ambiguity_error(detail, each, first)
    yield from _move_cycles(by_old)


def _ambiguity_error(text: str, each: _Move, first: _Move) -> Diagnostic:
    related = (("first move", first.declared_at),)
    return error("KP184", each.declared_at, text, related=related)


def _move_cycles(by_old: Mapping[str, _Move]) -> Iterator[Diagnostic]:
    items: set[str] = set()
    for start in by_old:
        chain, at = [start], by_old[start].new.text
        while at in by_old and at not in chain:
            chain.append(at)
            at = by_old[at].new.text
        if at == start and start not in items:
            items.update(chain)
            way = " -> ".join([*chain, at])
            yield error("KP185", by_old[start].declared_at, f"These lead in a circle: {way}.")


# ---- removed


def _evaluate_removed(
    declaration: Declaration, module: ChildModule, known: _DeclaredAddresses
) -> tuple[str, ...]:
    gone = _parse_argument(declaration, "from", module)
    address = declaration.arguments["from"].value
    if keyed := instance_key_problem(address, declaration.origin):
        raise EvaluationError([keyed])
    if known.contains(gone):
        detail = f"{gone.text} has a removed block and is still declared."
        diagnostic = error(
            "KP187",
            known.blocks[gone.block],
            detail,
            hint=f"Remove {gone.text}, or the removed block.",
            related=(("the removed block", declaration.declared_at),),
            summary="" if gone.kind else "Removed module still exists",
        )
        raise EvaluationError([diagnostic])
    scope = module.scope(declaration.origin)
    problems: list[Diagnostic] = []
    is_destroyed = True
    for block in declaration.block.blocks:
        if block.type == "lifecycle":
            problems += body_problems(block, declaration.origin, _LIFECYCLE)
            arguments = {each.name: each for each in block.attributes}
            is_destroyed = evaluate_flag(arguments, "destroy", scope, default=True)
    if problems:
        raise EvaluationError(problems)
    return () if is_destroyed else (gone.text,)


# ---- import


def _evaluate_imports(
    declaration: Declaration, module: ChildModule, results: ResultCache, known: _DeclaredAddresses
) -> tuple[ImportBlock, ...]:
    if module.path:
        detail = "Objects are imported in the root module only; a module may be used many times."
        raise EvaluationError([error("KP120", declaration.declared_at, detail)])
    if is_foreign_target(declaration, module):
        return ()
    results.report(_reference_problems(declaration, module))
    imports: list[ImportBlock] = []
    for each in evaluate_instances(declaration, module.scope(declaration.origin)).values():
        one = results.attempt(
            partial(_evaluate_import, declaration, module.scope(declaration.origin, each), known)
        )
        imports += [] if one is None else [one]
    return tuple(imports)


def _reference_problems(declaration: Declaration, module: ChildModule) -> Iterator[Diagnostic]:
    for name, attribute in declaration.arguments.items():
        if name != "provider":
            references = [
                each
                for each in attribute.references
                if name != "to" or each.start != attribute.value.start  # the address itself
            ]
            yield from reference_problems(references, declaration.origin, module.declarations)


def _evaluate_import(
    declaration: Declaration, scope: Scope, known: _DeclaredAddresses
) -> ImportBlock:
    def key_of(node: ast.Node) -> TargetKey:
        value = evaluate(node, scope)
        if isinstance(value, str | int) and not isinstance(value, bool):
            return value
        text = f"A key is a string or a whole number, but this value {describe_value(value)}."
        raise EvaluationError(
            [error("KP132", declaration.origin.range(node.start, node.end), text)]
        )

    to = parse_target(declaration.arguments["to"].value, declaration.origin, key_of)
    if not to.kind:
        text = f"{to.text} is a module; an object is imported to a resource."
        raise EvaluationError([error("KP132", declaration.value_range("to"), text)])
    if known.is_missing(to):
        text = f"An object is to be imported to {to.text}, which is not declared."
        hint = "Write the resource block; kplan import -all -generate-config=FILE writes many."
        raise EvaluationError([error("KP188", declaration.value_range("to"), text, hint=hint)])
    return ImportBlock(
        Address.parse(to.text), _evaluate_identity(declaration, scope), declaration.declared_at
    )


def _evaluate_identity(declaration: Declaration, scope: Scope) -> Identity:
    value = evaluate(declaration.arguments["id"].value, scope)
    subject = declaration.value_range("id")
    if has_sensitive(value):
        detail = "The value is sensitive, and names of objects are shown everywhere."
        raise EvaluationError([error("KP189", subject, detail)])
    try:
        text = convert(value, STRING)
    except ConversionError:
        text = None
    if not isinstance(text, str) or not text:
        given = describe_value(value)
        detail = f"The name of an object on the cluster is needed, but the value {given}."
        raise EvaluationError([error("KP189", subject, detail)])
    return Identity(text)


def _duplicate_imports(
    imports: Sequence[ImportBlock], connections: Mapping[Address, str]
) -> Iterator[Diagnostic]:
    by_address: dict[Address, ImportBlock] = {}
    by_name: dict[tuple[str, str, Identity], ImportBlock] = {}
    for each in imports:
        kept = by_address.setdefault(each.address, each)
        cluster = connections.get(each.address, "")
        same = by_name.setdefault((cluster, each.address.kind, each.identity), each)
        for first in {id(kept): kept, id(same): same}.values():
            if first is not each:
                detail = f'"{each.identity}" is imported to {each.address}, and before '
                detail += f'"{first.identity}" to {first.address}.'
                related = (("imported first", first.declared_at),)
                yield error("KP134", each.declared_at, detail, related=related)
