"""Reading of `policy` blocks: everything about them that does not depend on a change."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from kplan.config.checks import reference_problems
from kplan.config.declared import Declaration, Declared
from kplan.config.evaluation.evaluate import evaluate
from kplan.config.evaluation.misuse import meant
from kplan.config.evaluation.scope import Scope
from kplan.config.policies.facts import (
    CLUSTER,
    MEMBERS,
    OBJECTS,
    ROOTS,
    TOPIC_STATE,
    Converted,
)
from kplan.config.policies.policy import HclPolicy, Rule
from kplan.config.problem import Failure, error
from kplan.config.syntax import tree as ast
from kplan.config.syntax.source import Origin
from kplan.config.types import type_named
from kplan.config.values.convert import ConversionError, convert
from kplan.config.values.sensitive import bare
from kplan.config.values.value import STRING, ListType, ObjectType, Type, Value, is_null, is_number
from kplan.kinds.base import ResourceKind
from kplan.kinds.schema import schema_fields
from kplan.model.diagnostic import Diagnostic
from kplan.model.policy import Effect, Level, Operation, PolicyHead, Waiver
from kplan.model.source import SourceRange

Kinds = Mapping[str, ResourceKind]

_STRINGS = type_named("list(string)")
_WAIVERS: Type = ListType(
    ObjectType({"owner": STRING, "reason": STRING, "expires": STRING, "applies_to": _STRINGS})
)
_STATIC = frozenset({"description", "on", "kind", "level", "order", "waivers"})
"""Arguments that say the same of every change, so that they cannot speak of one."""


def policy_problems(declared: Declared, kinds: Kinds) -> Iterator[Diagnostic]:
    """Find what is wrong with the text of policies, whatever they are asked."""
    for found in declared.policies.values():
        if not found.is_broken:
            yield from _problems(found, declared, kinds)
    for found in declared.policy_settings:
        for attribute in found.block.attributes:
            yield from _references(attribute, found.origin, declared, None)


def _problems(found: Declaration, declared: Declared, kinds: Kinds) -> Iterator[Diagnostic]:
    rules = [each for each in found.block.blocks if each.type in set(Effect)]
    if not rules:
        told = "A policy has at least one deny, warn or advise block; this one decides nothing."
        yield error("KP137", found.place, told)
    for attribute in found.block.attributes:
        of_change = None if attribute.name in _STATIC else kinds
        yield from _references(attribute, found.origin, declared, of_change)
    for rule in rules:
        for attribute in rule.attributes:
            yield from _references(attribute, found.origin, declared, kinds)


def _references(
    attribute: ast.Attribute, origin: Origin, declared: Declared, kinds: Kinds | None
) -> Iterator[Diagnostic]:
    """Hold references against what there is; without kinds facts of a change are none of it."""
    for reference in attribute.references:
        if reference.root not in ROOTS or (reference.root, *reference.steps[:1]) in (
            declared.resources
        ):
            yield from reference_problems([reference], origin, declared)
            continue
        subject = origin.range(reference.start, reference.end)
        if kinds is None:
            told = f'"{reference.root}" is known in when, condition, message and fix only.'
            yield error("KP180", subject, told)
        elif reference.steps:
            yield from _member_problems(reference, subject, kinds)
        elif reference.root == CLUSTER:
            told = '"cluster" has no value of its own; take one of its attributes: cluster.NAME.'
            yield error("KP116", subject, told)


def _member_problems(
    reference: ast.Reference, subject: SourceRange, kinds: Kinds
) -> Iterator[Diagnostic]:
    root, name = reference.root, reference.steps[0]
    known = set(MEMBERS.get(root, ()))
    if root == CLUSTER:
        known |= kinds.keys()
    elif root in OBJECTS:
        known |= {each.name for kind in kinds.values() for each in schema_fields(kind.schema)}
        known |= set(TOPIC_STATE)
    elif root == "principal":
        told = '"principal" is a string, as "User:name", or null.'
        yield error("KP144", subject, told)
        return
    if name not in known:
        told = f'"{root}" has no attribute "{name}".'
        hint = meant(name, known) or f"There is {', '.join(sorted(known))}."
        yield error("KP144", subject, told, hint=hint)


@dataclass(frozen=True, slots=True)
class _Reader:
    """The arguments of one block, brought to the types they should have."""

    found: Declaration
    scope: Scope

    def value(self, name: str, wanted: Type, what: str) -> Value:
        """Evaluate an argument; null where it is left out. Raises Failure."""
        if name not in self.found.arguments:
            return None
        value = bare(evaluate(self.found.arguments[name].value, self.scope))
        if is_null(value):
            return None
        try:
            return convert(value, wanted)
        except ConversionError as fault:
            raise self.fault(name, f'"{name}" is {what}: {fault}.') from None

    def fault(self, name: str, told: str, hint: str = "") -> Failure:
        """Make the failure of an argument."""
        return Failure([error("KP137", self.found.value_range(name), told, hint=hint)])

    def words(self, name: str, known: Sequence[str], what: str) -> tuple[str, ...]:
        """Read a word, or a list of them, out of those that are known."""
        if name not in self.found.arguments:
            return ()
        value = bare(evaluate(self.found.arguments[name].value, self.scope))
        given = (value,) if isinstance(value, str) else value
        if not isinstance(given, tuple) or not all(isinstance(each, str) for each in given):
            raise self.fault(name, f'"{name}" is {what}, or a list of them.')
        texts = tuple(str(each) for each in given)
        for each in texts:
            if each not in known:
                hint = meant(each, known) or f"There is {', '.join(known)}."
                raise self.fault(name, f'"{each}" is no {what.removeprefix("a ")}.', hint)
        return texts


def policy(
    found: Declaration, scope: Scope, kinds: Kinds, source: str, converted: Converted
) -> HclPolicy:
    """Work out a policy block.

    Raises:
        Failure: one of its arguments is not what it must be.

    """
    if "on" not in found.arguments:
        raise Failure  # told when the text was checked
    read = _Reader(found, scope)
    operations = read.words("on", [each.value for each in Operation], "an operation")
    if not operations:
        raise read.fault("on", '"on" names no operation, so the policy would never be asked.')
    head = PolicyHead(
        found.name,
        frozenset(Operation(each) for each in operations),
        frozenset(read.words("kind", sorted(kinds), "a kind")),
        _level(read),
        _order(read),
        tuple(_waivers(read)),
        source,
        found.place,
        str(read.value("description", STRING, "a string") or ""),
    )
    when = found.arguments.get("when")
    rules = tuple(_rule(each) for each in found.block.blocks if each.type in set(Effect))
    return HclPolicy(head, rules, scope, converted, None if when is None else when.value)


def _rule(block: ast.Block) -> Rule:
    arguments = {each.name: each.value for each in block.attributes}
    if not {"condition", "message"} <= arguments.keys():
        raise Failure  # told when the text was checked
    return Rule(
        Effect(block.type), arguments["condition"], arguments["message"], arguments.get("fix")
    )


def _level(read: _Reader) -> Level:
    level = read.words("level", [each.value for each in Level], "a level")
    return Level(level[0]) if len(level) == 1 else Level.HARD


def _order(read: _Reader) -> int:
    order = read.value("order", type_named("number"), "a number")
    if order is None:
        return 0
    if not (is_number(order) and isinstance(order, int)):
        raise read.fault("order", '"order" is a whole number; the lowest is asked first.')
    return order


def _waivers(read: _Reader) -> Iterator[Waiver]:
    shape = "a list of { owner, reason, expires, applies_to }"
    given = read.value("waivers", _WAIVERS, shape)
    if not isinstance(given, tuple):
        return
    nodes = read.found.arguments["waivers"].value
    places = nodes.items if isinstance(nodes, ast.Tuple) else ()
    for number, each in enumerate(given):
        node = places[number] if len(places) == len(given) else nodes
        yield _waiver(read, each, node)


def _waiver(read: _Reader, given: Value, node: ast.Node) -> Waiver:
    assert isinstance(given, dict)  # noqa: S101 - the type it was brought to
    place = read.scope.origin.range(node.start, node.end)
    for name in ("owner", "reason"):
        if not str(given[name] or "").strip():
            raise Failure([error("KP137", place, f"A waiver names its {name}.")])
    patterns = given["applies_to"]
    if not isinstance(patterns, tuple) or not patterns:
        told = "A waiver says what it applies to, as names or patterns with *."
        raise Failure([error("KP137", place, told)])
    try:
        until = date.fromisoformat(str(given["expires"]))
    except ValueError:
        told = f'"{given["expires"]}" is no day. A waiver ends with a day: expires = "2027-01-31".'
        raise Failure([error("KP137", place, told)]) from None
    return Waiver(
        str(given["owner"]), str(given["reason"]), until, tuple(map(str, patterns)), place
    )
