"""`moved`, `removed` and `import` blocks, evaluated and held against what is declared."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from kplan.config.checks import reference_problems
from kplan.config.declared import Declaration
from kplan.config.evaluation.evaluate import evaluate
from kplan.config.evaluation.scope import Scope
from kplan.config.ledger import Ledger
from kplan.config.problem import Failure, error
from kplan.config.repetition import instances
from kplan.config.shape import Shape, body_problems
from kplan.config.submodules import Child
from kplan.config.syntax import tree as ast
from kplan.config.targets import Key, Target, literal_key, target
from kplan.config.values.convert import ConversionError, convert
from kplan.config.values.describe import describe
from kplan.config.values.sensitive import has_sensitive
from kplan.config.values.value import STRING
from kplan.config.variables import flag
from kplan.model.address import Address
from kplan.model.diagnostic import Diagnostic
from kplan.model.refactoring import Import, Refactorings
from kplan.model.resource import Identity, Resource
from kplan.model.source import SourceRange

_LIFECYCLE = Shape(("destroy",))
_NEEDED: Mapping[str, tuple[str, ...]] = {
    "moved": ("from", "to"),
    "removed": ("from",),
    "import": ("to", "id"),
}


@dataclass(frozen=True, slots=True)
class _Known:
    """What is declared: addresses of blocks, and of instances unless some could not be told."""

    blocks: frozenset[str]
    instances: frozenset[str] | None

    def has(self, found: Target) -> bool:
        """Whether the address is declared, as far as that can be told."""
        if found.text == found.block:
            return found.text in self.blocks
        return self.instances is not None and found.text in self.instances

    def lacks(self, found: Target) -> bool:
        """Whether the address is not declared for certain."""
        if found.block not in self.blocks:
            return True
        return self.instances is not None and found.text not in self.instances


@dataclass(frozen=True, slots=True)
class _Move:
    old: Target
    new: Target
    place: SourceRange


def refactorings(
    root: Child, resources: Sequence[Resource], ledger: Ledger, *, lacks_data: bool = False
) -> Refactorings:
    """Evaluate all refactoring blocks; what is wrong with them ends up in the ledger.

    `resources` are those of the configuration that could be evaluated.
    """
    is_whole = not (lacks_data or any(each.is_error for each in ledger.diagnostics))
    known = _known(root, resources, is_whole=is_whole)
    moves: list[_Move] = []
    removed: list[str] = []
    imports: list[Import] = []
    for module in root.modules():
        for found in module.declared.refactorings:
            if found.is_broken or any(name not in found.arguments for name in _needed(found)):
                continue  # which was told when the text was checked
            match found.block.type:
                case "moved":
                    moves += ledger.attempt(partial(_moved, found, module, known)) or ()
                case "removed":
                    removed += ledger.attempt(partial(_removed, found, module, known)) or ()
                case _:
                    imports += ledger.attempt(partial(_imports, found, module, ledger, known)) or ()
    ledger.report(_contradictions(moves))
    ledger.report(_twice(imports, {each.address: each.provider for each in resources}))
    return Refactorings(
        tuple((each.old.text, each.new.text) for each in moves), tuple(removed), tuple(imports)
    )


def _needed(found: Declaration) -> tuple[str, ...]:
    return _NEEDED[found.block.type]


def _known(root: Child, resources: Sequence[Resource], *, is_whole: bool) -> _Known:
    blocks: set[str] = set()
    for module in root.modules():
        blocks.update(module.label(f"{kind}.{name}") for kind, name in module.declared.resources)
        blocks.update(module.label(f"module.{name}") for name in module.declared.modules)
    found = {str(each.address) for each in resources}
    for path in {each.address.module for each in resources}:
        steps = [f"module.{step}" for step in path]
        found.update(".".join(steps[: depth + 1]) for depth in range(len(steps)))
    return _Known(frozenset(blocks), frozenset(found) if is_whole else None)


def _target(found: Declaration, name: str, module: Child) -> Target:
    node = found.arguments[name].value
    return target(node, found.origin, literal_key(found.origin), module.label(""))


# ---- moved


def _moved(found: Declaration, module: Child, known: _Known) -> tuple[_Move, ...]:
    old, new = _target(found, "from", module), _target(found, "to", module)
    if old.kind != new.kind:
        told = (
            f"{old.text} is {_sort(old)} and {new.text} {_sort(new)}; "
            "an object stays of the sort that it is."
        )
        raise Failure([error("KP133", found.place, told)])
    if old.text == new.text:
        told = f"{old.text} is said to have moved to itself."
        raise Failure([error("KP184", found.place, told, hint="Remove the moved block.")])
    gains_key = old.text == old.block == new.block
    if known.has(old) and not gains_key:
        told = f"{old.text} is said to have moved to {new.text}, and is still declared."
        hint = f"Remove or rename {old.text}, or remove the moved block."
        raise Failure([error("KP186", found.place, told, hint=hint)])
    return (_Move(old, new, found.place),)


def _sort(of: Target) -> str:
    return f"a {of.kind}" if of.kind else "a module"


def _contradictions(moves: Sequence[_Move]) -> Iterator[Diagnostic]:
    by_old: dict[str, _Move] = {}
    by_new: dict[str, _Move] = {}
    for each in moves:
        first = by_old.setdefault(each.old.text, each)
        if first.new.text != each.new.text:
            told = f"{each.old.text} moved to {first.new.text}, and here to {each.new.text}."
            yield _ambiguous(told, each, first)
        first = by_new.setdefault(each.new.text, each)
        if first.old.text != each.old.text:
            told = f"{first.old.text} moved to {each.new.text}, and here {each.old.text} as well."
            yield _ambiguous(told, each, first)
    yield from _circles(by_old)


def _ambiguous(told: str, each: _Move, first: _Move) -> Diagnostic:
    related = (("said first", first.place),)
    return error("KP184", each.place, told, related=related)


def _circles(by_old: Mapping[str, _Move]) -> Iterator[Diagnostic]:
    told: set[str] = set()
    for start in by_old:
        chain, at = [start], by_old[start].new.text
        while at in by_old and at not in chain:
            chain.append(at)
            at = by_old[at].new.text
        if at == start and start not in told:
            told.update(chain)
            way = " -> ".join([*chain, at])
            yield error("KP185", by_old[start].place, f"These lead in a circle: {way}.")


# ---- removed


def _removed(found: Declaration, module: Child, known: _Known) -> tuple[str, ...]:
    gone = _target(found, "from", module)
    if known.has(gone):
        told = f"{gone.text} is said to be removed, and is still declared."
        hint = f"Remove {gone.text}, or the removed block."
        raise Failure([error("KP187", found.place, told, hint=hint)])
    scope = module.scope(found.origin)
    problems: list[Diagnostic] = []
    is_destroyed = True
    for block in found.block.blocks:
        if block.type == "lifecycle":
            problems += body_problems(block, found.origin, _LIFECYCLE)
            arguments = {each.name: each for each in block.attributes}
            is_destroyed = flag(arguments, "destroy", scope, default=True)
    if problems:
        raise Failure(problems)
    return () if is_destroyed else (gone.text,)


# ---- import


def _imports(
    found: Declaration, module: Child, ledger: Ledger, known: _Known
) -> tuple[Import, ...]:
    if module.path:
        told = "Objects are imported in the root module only; a module may be used many times."
        raise Failure([error("KP120", found.place, told)])
    ledger.report(_reference_problems(found, module))
    imports: list[Import] = []
    for each in instances(found, module.scope(found.origin)).values():
        one = ledger.attempt(partial(_import, found, module.scope(found.origin, each), known))
        imports += [] if one is None else [one]
    return tuple(imports)


def _reference_problems(found: Declaration, module: Child) -> Iterator[Diagnostic]:
    for name, attribute in found.arguments.items():
        if name != "provider":
            references = [
                each
                for each in attribute.references
                if name != "to" or each.start != attribute.value.start  # the address itself
            ]
            yield from reference_problems(references, found.origin, module.declared)


def _import(found: Declaration, scope: Scope, known: _Known) -> Import:
    def key_of(node: ast.Node) -> Key:
        value = evaluate(node, scope)
        if isinstance(value, str | int) and not isinstance(value, bool):
            return value
        told = f"A key is a string or a whole number, but this value {describe(value)}."
        raise Failure([error("KP132", found.origin.range(node.start, node.end), told)])

    to = target(found.arguments["to"].value, found.origin, key_of)
    if not to.kind:
        told = f"{to.text} is a module; an object is imported to a resource."
        raise Failure([error("KP132", found.value_range("to"), told)])
    if known.lacks(to):
        told = f"An object is to be imported to {to.text}, which is not declared."
        hint = "Write the resource block; kplan import -all -generate-config=FILE writes many."
        raise Failure([error("KP188", found.value_range("to"), told, hint=hint)])
    return Import(Address.parse(to.text), _identity(found, scope), found.place)


def _identity(found: Declaration, scope: Scope) -> Identity:
    value = evaluate(found.arguments["id"].value, scope)
    subject = found.value_range("id")
    if has_sensitive(value):
        told = "The value is sensitive, and names of objects are shown everywhere."
        raise Failure([error("KP189", subject, told)])
    try:
        text = convert(value, STRING)
    except ConversionError:
        text = None
    if not isinstance(text, str) or not text:
        told = f"The name of an object on the cluster is needed, but the value {describe(value)}."
        raise Failure([error("KP189", subject, told)])
    return Identity(text)


def _twice(imports: Sequence[Import], connections: Mapping[Address, str]) -> Iterator[Diagnostic]:
    by_address: dict[Address, Import] = {}
    by_name: dict[tuple[str, str, Identity], Import] = {}
    for each in imports:
        kept = by_address.setdefault(each.address, each)
        cluster = connections.get(each.address, "")
        same = by_name.setdefault((cluster, each.address.kind, each.identity), each)
        for first in {id(kept): kept, id(same): same}.values():
            if first is not each:
                told = f'"{each.identity}" is imported to {each.address}, and before '
                told += f'"{first.identity}" to {first.address}.'
                related = (("imported first", first.declared_at),)
                yield error("KP134", each.declared_at, told, related=related)
