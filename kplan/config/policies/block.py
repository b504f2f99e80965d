"""`policy` blocks of a configuration, of the modules it calls, and of separate folders."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from datetime import date
from functools import partial
from pathlib import Path

from kplan.config.declarations.declaration import Declaration, ModuleDeclarations
from kplan.config.declarations.reference import reference_problems
from kplan.config.diagnostic import EvaluationError, error, suggestion
from kplan.config.evaluation.evaluate import deep_recursion, evaluate
from kplan.config.evaluation.scope import Deferred, Scope
from kplan.config.evaluation.type_constraint import parse_type_name
from kplan.config.inputs import Inputs
from kplan.config.modules.data_source import BlockKindNode
from kplan.config.modules.module import Module
from kplan.config.modules.result_cache import ResultCache
from kplan.config.modules.root_module import open_folder
from kplan.config.policies.argument import ArgumentReader
from kplan.config.policies.policy import (
    CLUSTER,
    FACT_MEMBERS,
    FACT_ROOTS,
    OBJECTS,
    TOPIC_STATE_ATTRIBUTES,
    FactCache,
    HclPolicy,
    PolicyRule,
)
from kplan.config.syntax import tree as ast
from kplan.config.syntax.source import Origin, Spot
from kplan.config.values.conversion import ConversionError, convert
from kplan.config.values.sensitive import bare
from kplan.config.values.value import STRING, ListType, ObjectType, Type, Value, is_null, is_number
from kplan.config.values.value_text import Json, to_json_value
from kplan.kinds.base import ResourceKind
from kplan.kinds.schema import schema_fields
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, SourceRange, sort_diagnostics
from kplan.model.policy import Level, Operation, Policy, PolicyHeader, RuleEffect, Waiver

KindsByName = Mapping[str, ResourceKind]

_STRINGS = parse_type_name("list(string)")
_WAIVERS: Type = ListType(
    ObjectType({"owner": STRING, "reason": STRING, "expires": STRING, "applies_to": _STRINGS})
)
_STATIC_ARGUMENTS = frozenset({"description", "on", "kind", "level", "order", "waivers"})
"""Arguments that say the same of every change, so that they cannot speak of one."""


def policy_problems(declared: ModuleDeclarations, kinds: KindsByName) -> Iterator[Diagnostic]:
    """Check the text of policies, whatever operation they will judge."""
    for found in declared.policies.values():
        if not found.is_broken:
            yield from _problems(found, declared, kinds)
    for found in declared.policy_settings:
        for attribute in found.block.attributes:
            yield from _references(attribute, found.origin, declared, None)


def _problems(
    declaration: Declaration, declared: ModuleDeclarations, kinds: KindsByName
) -> Iterator[Diagnostic]:
    rules = [each for each in declaration.block.blocks if each.type in set(RuleEffect)]
    if not rules:
        detail = "A policy has at least one deny, warn or advise block; this one decides nothing."
        yield error("KP137", declaration.declared_at, detail)
    for attribute in declaration.block.attributes:
        of_change = None if attribute.name in _STATIC_ARGUMENTS else kinds
        yield from _references(attribute, declaration.origin, declared, of_change)
    for rule in rules:
        for attribute in rule.attributes:
            yield from _references(attribute, declaration.origin, declared, kinds)


def _references(
    attribute: ast.Attribute,
    origin: Origin,
    declared: ModuleDeclarations,
    kinds: KindsByName | None,
) -> Iterator[Diagnostic]:
    """Check references against the declared names; without kinds, facts of a change are unknown."""
    for reference in attribute.references:
        if reference.root not in FACT_ROOTS or (reference.root, *reference.steps[:1]) in (
            declared.resources
        ):
            yield from reference_problems([reference], origin, declared)
            continue
        subject = origin.range(reference.start, reference.end)
        if kinds is None:
            detail = f'"{reference.root}" is known in when, condition, message and fix only.'
            yield error("KP180", subject, detail)
        elif reference.steps:
            yield from _member_problems(reference, subject, kinds)
        elif reference.root == CLUSTER:
            detail = '"cluster" is not a value; use one of its attributes: cluster.NAME.'
            yield error("KP116", subject, detail)


def _member_problems(
    reference: ast.Reference, subject: SourceRange, kinds: KindsByName
) -> Iterator[Diagnostic]:
    root, name = reference.root, reference.steps[0]
    known = set(FACT_MEMBERS.get(root, ()))
    if root == CLUSTER:
        known |= kinds.keys()
    elif root in OBJECTS:
        known |= {each.name for kind in kinds.values() for each in schema_fields(kind.schema)}
        known |= set(TOPIC_STATE_ATTRIBUTES)
    elif root == "principal":
        detail = '"principal" is a string, as "User:name", or null.'
        yield error("KP144", subject, detail)
        return
    if name not in known:
        detail = f'"{root}" has no attribute "{name}".'
        hint = suggestion(name, known) or f"There is {', '.join(sorted(known))}."
        yield error("KP144", subject, detail, hint=hint)


def evaluate_policy(
    declaration: Declaration, scope: Scope, kinds: KindsByName, source: str, converted: FactCache
) -> HclPolicy:
    """Compute a policy block.

    Raises:
        EvaluationError: one of its arguments is not what it must be.

    """
    if "on" not in declaration.arguments:
        raise EvaluationError  # told when the text was checked
    read = ArgumentReader(declaration, scope)
    head = PolicyHeader(
        declaration.name,
        frozenset(read.attempt(_read_operations, read) or ()),
        frozenset(read.attempt(read.choices, "kind", sorted(kinds), "a kind") or ()),
        read.attempt(_read_level, read) or Level.HARD,
        read.attempt(_read_order, read) or 0,
        tuple(_read_waivers(read)),
        source,
        declaration.declared_at,
        str(read.attempt(read.value, "description", STRING, "a string") or ""),
    )
    if read.problems:
        raise EvaluationError(read.problems)
    when = declaration.arguments.get("when")
    rules = tuple(
        _parse_rule(each) for each in declaration.block.blocks if each.type in set(RuleEffect)
    )
    return HclPolicy(head, rules, scope, converted, None if when is None else when.value)


def _parse_rule(block: ast.Block) -> PolicyRule:
    arguments = {each.name: each.value for each in block.attributes}
    if not {"condition", "message"} <= arguments.keys():
        raise EvaluationError  # told when the text was checked
    return PolicyRule(
        RuleEffect(block.type), arguments["condition"], arguments["message"], arguments.get("fix")
    )


def _read_operations(read: ArgumentReader) -> frozenset[Operation]:
    operations = read.choices("on", [each.value for each in Operation], "an operation")
    if not operations:
        raise read.argument_error(
            "on", '"on" names no operation, so the policy would never be evaluated.'
        )
    return frozenset(Operation(each) for each in operations)


def _read_level(read: ArgumentReader) -> Level:
    level = read.choices("level", [each.value for each in Level], "a level")
    return Level(level[0]) if len(level) == 1 else Level.HARD


def _read_order(read: ArgumentReader) -> int:
    order = read.value("order", parse_type_name("number"), "a number")
    if order is None:
        return 0
    if not (is_number(order) and isinstance(order, int)):
        raise read.argument_error(
            "order", '"order" must be a whole number; the lowest is evaluated first.'
        )
    return order


def _read_waivers(read: ArgumentReader) -> Iterator[Waiver]:
    shape = "a list of { owner, reason, expires, applies_to }"
    given = read.attempt(read.value, "waivers", _WAIVERS, shape)
    if not isinstance(given, tuple):
        return
    nodes = read.declaration.arguments["waivers"].value
    places = nodes.items if isinstance(nodes, ast.Tuple) else ()
    for number, each in enumerate(given):
        node = places[number] if len(places) == len(given) else nodes
        if (waiver := read.attempt(_read_waiver, read, each, node)) is not None:
            yield waiver


def _read_waiver(read: ArgumentReader, given: Value, node: ast.Node) -> Waiver:
    assert isinstance(given, dict)  # noqa: S101 - the type it was brought to
    place = read.scope.origin.range(node.start, node.end)
    for name in ("owner", "reason"):
        if not str(given[name] or "").strip():
            raise EvaluationError([error("KP137", place, f"A waiver names its {name}.")])
    patterns = given["applies_to"]
    if not isinstance(patterns, tuple) or not patterns:
        detail = "A waiver requires applies_to with names or patterns with *."
        raise EvaluationError([error("KP137", place, detail)])
    try:
        until = date.fromisoformat(str(given["expires"]))
    except ValueError:
        detail = f'"{given["expires"]}" is not a date. Write it as expires = "2027-01-31".'
        raise EvaluationError([error("KP137", place, detail)]) from None
    return Waiver(
        str(given["owner"]), str(given["reason"]), until, tuple(map(str, patterns)), place
    )


POLICY_MODES = ("item", "all")


@dataclass(frozen=True, slots=True)
class PolicySettings:
    """The `policies` block: further policy folders, enforcement of the whole plan, settings.

    `paths` are files and folders, from the folder of the configuration, or names of installed
    policies; `mode` is "" where nothing is said. `allow_as` lets an apply evaluate policies for
    another principal than the one connected (`-as`). `trusted_paths` are whole, and of a checkout
    that is trusted.
    """

    paths: tuple[str, ...] = ()
    mode: str = ""
    settings: Mapping[str, Json] = field(default_factory=dict, repr=False)
    allow_as: bool = False
    trusted_paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PolicyFolder:
    """The policies of a folder, with diagnostics and the text of its files."""

    policies: tuple[Policy, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict, repr=False)


def evaluate_policies(
    module: Module, results: ResultCache, kinds: Mapping[str, ResourceKind], source: str = ""
) -> tuple[Policy, ...]:
    """Compute the policy blocks of a module and of those it calls, in order of their text."""
    found: list[Policy] = []
    converted = FactCache()
    for child in module.modules():
        declared = child.declarations
        results.report(policy_problems(declared, kinds))
        for block in declared.policies.values():
            if not block.is_broken:
                scope = child.scope(block.origin)
                each = results.attempt(
                    partial(evaluate_policy, block, scope, kinds, source, converted)
                )
                found += [] if each is None else [each]
        if child.path and declared.policy_settings:
            detail = "Settings of the whole plan belong in the root module."
            results.report([error("KP138", declared.policy_settings[0].declared_at, detail)])
    return tuple(found)


def compute_references(module: Module) -> None:
    """Compute what the rules of policies refer to: they may be asked in another process."""
    for child in module.modules():
        for policy in child.declarations.policies.values():
            scope = child.scope(policy.origin)
            for block in (policy.block, *policy.block.blocks):
                for reference in (one for each in block.attributes for one in each.references):
                    _compute_reference(reference, scope)


def _compute_reference(reference: ast.Reference, scope: Scope) -> None:
    """Compute a value that the results keep. Facts of a change have none yet."""
    place = Spot(scope.origin, reference.start, reference.end)
    with suppress(EvaluationError):
        name, *rest = reference.steps or ("",)
        found = scope.names.resolve(reference.root, name, place)
        if isinstance(found, BlockKindNode) and rest:
            found = found.attribute(rest[0], place)
        if isinstance(found, Deferred):
            found.value(place)


def evaluate_policy_settings(module: Module, results: ResultCache) -> PolicySettings:
    """Compute the `policies` block of the root module."""
    if not module.declarations.policy_settings:
        return PolicySettings()
    found = module.declarations.policy_settings[0]
    read = partial(evaluate_argument, module, found)
    paths = results.attempt(partial(read, "paths", "list(string)"))
    mode = results.attempt(partial(read, "mode", "string"))
    settings = results.attempt(partial(read, "settings", ""))
    allow_as = results.attempt(partial(read, "allow_as", "bool"))
    if mode is not None and mode not in POLICY_MODES:
        each, whole = POLICY_MODES
        detail = f'The mode is "{each}" (each change by itself) or "{whole}" (all or none).'
        results.report([error("KP137", found.value_range("mode"), detail)])
    if settings is not None and not isinstance(settings, dict):
        detail = "Settings must be an object; every Python policy receives it."
        results.report([error("KP137", found.value_range("settings"), detail)])
        settings = None
    plain = to_json_value(bare(settings)) if settings is not None else {}
    return PolicySettings(
        tuple(map(str, paths)) if isinstance(paths, tuple) else (),
        str(mode or ""),
        plain if isinstance(plain, Mapping) else {},
        allow_as is True,
    )


def evaluate_argument(module: Module, declaration: Declaration, name: str, wanted: str) -> Value:
    """Evaluate an argument as a type, as any type where `wanted` is ""; None if it is absent.

    Raises:
        EvaluationError: it has no value, or one of another type.

    """
    if name not in declaration.arguments:
        return None
    value = evaluate(declaration.arguments[name].value, module.scope(declaration.origin))
    if is_null(value):
        return None
    if not wanted:
        return value
    try:
        return convert(bare(value), parse_type_name(wanted))
    except ConversionError as fault:
        detail = f'"{name}" must be a {wanted}: {fault}.'
        raise EvaluationError([error("KP137", declaration.value_range(name), detail)]) from None


def load_policy_folder(folder: Path, kinds: Sequence[ResourceKind], shown: str) -> PolicyFolder:
    """Load the policies of a folder of their own; variables have their defaults or its tfvars.

    `shown` is the folder as it is named in messages.
    """
    with deep_recursion():
        root = open_folder(folder, Inputs(), kinds, shown)
        module, results = root.module, root.context.results
        module.evaluate_all()
        found = evaluate_policies(module, results, root.context.kinds, shown)
        if module.declarations.resources:
            first = next(iter(module.declarations.resources.values()))
            detail = "A folder of policies declares no resources; they would never be planned."
            results.report([error("KP137", first.declared_at, detail)])
    return PolicyFolder(found, sort_diagnostics(results.diagnostics), root.sources)
