"""A policy written in HCL: its rules and the facts that they can refer to."""

from collections.abc import Iterator, Mapping
from dataclasses import field, replace

from kplan.config.diagnostic import EvaluationError, error, suggestion
from kplan.config.evaluation.call import reference_values
from kplan.config.evaluation.evaluate import deep_recursion, evaluate
from kplan.config.evaluation.scope import Names, ReferenceValue, Scope
from kplan.config.syntax import tree as ast
from kplan.config.syntax.source import Spot
from kplan.config.values.conversion import ConversionError, convert
from kplan.config.values.sensitive import bare, has_sensitive, mark, unmark
from kplan.config.values.value import STRING, Value, is_null
from kplan.config.values.value_text import Json, from_json_value
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic
from kplan.model.policy import (
    Finding,
    Policy,
    PolicyHeader,
    Question,
    RuleEffect,
    RuleReference,
    UnknownFactError,
)
from kplan.model.resource import Path

CLUSTER = "cluster"
OBJECTS = ("requested", "current")
FACT_ROOTS = frozenset({*OBJECTS, CLUSTER, "change", "principal", "ci", "plan"})

FACT_MEMBERS: Mapping[str, tuple[str, ...]] = {
    CLUSTER: (
        "acls", "brokers", "planned", "platform", "racks", "size", "so_far", "topics", "totals",
    ),
    "change": (
        "address", "attributes", "file", "identity", "kind", "line", "offsets", "operation",
        "reason", "risk",
    ),
    "ci": ("actor", "branch", "commit", "name", "pull_request", "run"),
    "plan": ("replay",),
}  # fmt: skip
"""The members of what has the same ones always; `cluster` has every kind by its name too."""

TOPIC_STATE_ATTRIBUTES = ("assignments", "generated_replica_assignments", "internal", "topic_id")
"""What topics have beside their attributes (KIP-201's TopicState)."""


@dataclass(slots=True)
class FactCache:
    """Facts as values, turned into them once for all policies that are asked the same.

    Members of `cluster` may be large: they are kept from question to question.
    """

    values: dict[str, tuple[object, Value]] = field(default_factory=dict)
    last: tuple[Question, Mapping[str, Value]] | None = None

    def facts(self, question: Question) -> Mapping[str, Value]:
        """Return the names that have a value of their own."""
        if self.last is None or self.last[0] is not question:
            self.last = (question, fact_values(question))
        return self.last[1]

    def value(self, name: str, found: object) -> Value:
        """Return the value of a member."""
        held = self.values.get(name)
        if held is None or held[0] is not found:
            held = (found, _to_value(found))
            self.values[name] = held
        return held[1]


@dataclass(frozen=True, slots=True)
class FactNames:
    """Names in a policy: `cluster` by its members, and those of the module around it."""

    question: Question
    module: Names
    cache: FactCache

    def resolve(self, root: str, name: str, subject: Spot) -> ReferenceValue:
        """Return the value of `root.name`."""
        if root != CLUSTER:
            return self.module.resolve(root, name, subject)
        try:
            return self.cache.value(name, self.question.cluster[name])
        except KeyError:
            known = sorted(self.question.cluster)
            detail = f'"cluster" has no attribute "{name}".'
            hint = suggestion(name, known) or f"There is {', '.join(known)}."
            raise EvaluationError([error("KP144", subject.range(), detail, hint=hint)]) from None
        except UnknownFactError as why:
            raise EvaluationError(
                [error("KP147", subject.range(), str(why))], is_final=True
            ) from None

    def unresolved_error(self, root: str, subject: Spot) -> Exception:
        """Report that `cluster` has no value of its own, or the module's report."""
        if root != CLUSTER:
            return self.module.unresolved_error(root, subject)
        detail = '"cluster" is not a value; use one of its attributes: cluster.NAME.'
        return EvaluationError([error("KP116", subject.range(), detail)])


def fact_values(question: Question) -> Mapping[str, Value]:
    """Return the facts that have a value each; secrets in `requested` are marked."""
    requested = _to_value(question.requested)
    for path in question.sensitive:
        requested = _mark_path(requested, path)
    change = {**question.change, "offsets": {str(p): at for p, at in question.offsets.items()}}
    ci = None if question.ci is None else {**dict.fromkeys(FACT_MEMBERS["ci"]), **question.ci}
    return {
        "requested": requested,
        "current": _to_value(question.current),
        "change": _to_value(change),
        "principal": question.principal,
        "ci": _to_value(ci),
        "plan": _to_value({"replay": question.replay}),
    }


def _to_value(found: object) -> Value:
    """Turn plain data into values; there is much of it, and nearly all of it is plain indeed."""
    match found:
        case None | str() | int():
            return found
        case Mapping():
            return {key: _to_value(found[key]) for key in sorted(found)}
        case list() | tuple():
            return tuple(map(_to_value, found))
        case _:
            other: Json = found  # type: ignore[assignment] # questions hold plain data
            return from_json_value(other)


def _mark_path(value: Value, path: Path) -> Value:
    if not path:
        return mark(value)
    if isinstance(value, dict) and path[0] in value:
        return {**value, path[0]: _mark_path(value[path[0]], path[1:])}
    return value


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """One `deny`, `warn` or `advise` block."""

    effect: RuleEffect
    condition: ast.Node
    message: ast.Node
    fix: ast.Node | None = None


@dataclass(frozen=True, slots=True)
class HclPolicy:
    """A `policy` block. A rule strikes where its condition is true.

    What has no value is a finding that denies: silence of a policy is no consent.
    """

    header: PolicyHeader
    rules: tuple[PolicyRule, ...]
    scope: Scope
    cache: FactCache
    when: ast.Node | None = None

    def evaluate(self, question: Question) -> Iterator[Finding]:
        """Judge one operation."""
        names = FactNames(question, self.scope.names, self.cache)
        scope = replace(self.scope, names=names, variables=self.cache.facts(question))
        with deep_recursion():
            found = self._evaluate_rules(scope)
        yield from found

    def list_rules(self) -> tuple[RuleReference, ...]:
        """Name its rules by the place of each condition."""
        origin = self.scope.origin
        return tuple(
            RuleReference(
                self.header.name,
                f"{each.effect.value} at {place.file}:{place.line}",
                place,
            )
            for each in self.rules
            for place in (origin.range(each.condition.start, each.condition.end),)
        )

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def _evaluate_rules(self, scope: Scope) -> list[Finding]:
        try:
            if self.when is not None and not _evaluate_bool(self.when, scope, "when"):
                return []
        except EvaluationError as failure:
            return [_failure_finding(failure, scope, self.when)]
        return [each for rule in self.rules if (each := _evaluate_rule(rule, scope)) is not None]


def rules_text(policy: Policy) -> tuple[str, ...]:
    """Return what the rules of a policy in HCL say, wherever in a file they are."""
    if not isinstance(policy, HclPolicy):
        return ()
    text = policy.scope.origin.text
    nodes = [(each.condition, each.message, each.fix) for each in policy.rules]
    return (
        *(each.effect.value for each in policy.rules),
        *(text(each.start, each.end) for each in (policy.when,) if each is not None),
        *(text(each.start, each.end) for rule in nodes for each in rule if each is not None),
    )


def _evaluate_rule(rule: PolicyRule, scope: Scope) -> Finding | None:
    try:
        if not _evaluate_bool(rule.condition, scope, "condition"):
            return None
        message = _message_text(evaluate(rule.message, scope)) or "(the policy gives no message)"
        fix = "" if rule.fix is None else _message_text(evaluate(rule.fix, scope))
    except EvaluationError as failure:
        return _failure_finding(failure, scope, rule.condition)
    node = rule.condition
    subject = scope.origin.range(node.start, node.end)
    values = reference_values(node, scope, evaluate)
    return Finding(rule.effect, message, fix, subject, values)


def _evaluate_bool(node: ast.Node, scope: Scope, what: str) -> bool:
    value, _ = unmark(evaluate(node, scope))
    if isinstance(value, bool):
        return value
    subject = scope.origin.range(node.start, node.end)
    raise EvaluationError([error("KP156", subject, f'"{what}" must be true or false.')])


def _message_text(value: Value) -> str:
    if has_sensitive(value):
        return "(the message holds a sensitive value)"
    try:
        text = convert(bare(value), STRING)
        return "" if is_null(text) else str(text)
    except ConversionError:
        return "(the message of the policy is not text)"


def _failure_finding(failure: EvaluationError, scope: Scope, node: ast.Node | None) -> Finding:
    """Deny for want of an answer, and say why there is none."""
    diagnostics: tuple[Diagnostic, ...] = failure.diagnostics
    first = diagnostics[0] if diagnostics else None
    at = scope.origin.range(node.start, node.end) if node is not None else None
    why = "; ".join(f"{each.summary}: {each.detail}" for each in diagnostics) or _NO_VALUE_DETAIL
    return Finding(
        RuleEffect.DENY,
        f"the policy has no answer. {why}",
        first.hint if first else "",
        (first.subject if first else None) or at,
        first.values if first else (),
        is_failure=True,
    )


_NO_VALUE_DETAIL = "What it refers to has no value."
