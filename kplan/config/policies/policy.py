"""A policy written in HCL, asked about one operation after another."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from kplan.config.evaluation.evaluate import evaluate
from kplan.config.evaluation.scope import Scope
from kplan.config.evaluation.seen import seen
from kplan.config.policies.facts import Converted, FactNames
from kplan.config.problem import Failure, error
from kplan.config.room import room_to_work
from kplan.config.syntax import tree as ast
from kplan.config.values.convert import ConversionError, convert
from kplan.config.values.sensitive import bare, has_sensitive, unmark
from kplan.config.values.value import STRING, Value, is_null
from kplan.model.diagnostic import Diagnostic
from kplan.model.policy import Effect, Finding, PolicyHead, Question


@dataclass(frozen=True, slots=True)
class Rule:
    """One `deny`, `warn` or `advise` block."""

    effect: Effect
    condition: ast.Node
    message: ast.Node
    fix: ast.Node | None = None


@dataclass(frozen=True, slots=True)
class HclPolicy:
    """A `policy` block. A rule strikes where its condition is true.

    What has no value is a finding that denies: silence of a policy is no consent.
    """

    head: PolicyHead
    rules: tuple[Rule, ...]
    scope: Scope
    converted: Converted
    when: ast.Node | None = None

    def findings(self, question: Question) -> Iterator[Finding]:
        """Judge one operation."""
        names = FactNames(question, self.scope.names, self.converted)
        scope = replace(self.scope, names=names, variables=self.converted.facts(question))
        with room_to_work():
            found = self._found(scope)
        yield from found

    def close(self) -> None:
        """Do nothing: nothing is held."""

    def _found(self, scope: Scope) -> list[Finding]:
        try:
            if self.when is not None and not _truth(self.when, scope, "when"):
                return []
        except Failure as failure:
            return [_unknown(failure, scope, self.when)]
        return [each for rule in self.rules if (each := _struck(rule, scope)) is not None]


def _struck(rule: Rule, scope: Scope) -> Finding | None:
    try:
        if not _truth(rule.condition, scope, "condition"):
            return None
        message = _text(evaluate(rule.message, scope)) or "(the policy gives no message)"
        fix = "" if rule.fix is None else _text(evaluate(rule.fix, scope))
    except Failure as failure:
        return _unknown(failure, scope, rule.condition)
    node = rule.condition
    subject = scope.origin.range(node.start, node.end)
    values = seen(node, scope, evaluate)
    return Finding(rule.effect, message, fix, subject, values)


def _truth(node: ast.Node, scope: Scope, what: str) -> bool:
    value, _ = unmark(evaluate(node, scope))
    if isinstance(value, bool):
        return value
    subject = scope.origin.range(node.start, node.end)
    raise Failure([error("KP156", subject, f'"{what}" must be true or false.')])


def _text(value: Value) -> str:
    if has_sensitive(value):
        return "(the message holds a sensitive value)"
    try:
        text = convert(bare(value), STRING)
        return "" if is_null(text) else str(text)
    except ConversionError:
        return "(the message of the policy is no text)"


def _unknown(failure: Failure, scope: Scope, node: ast.Node | None) -> Finding:
    """Deny for want of an answer, and say why there is none."""
    told: tuple[Diagnostic, ...] = failure.diagnostics
    first = told[0] if told else None
    at = scope.origin.range(node.start, node.end) if node is not None else None
    why = "; ".join(f"{each.summary}: {each.detail}" for each in told) or _MUTE
    return Finding(
        Effect.DENY,
        f"the policy has no answer. {why}",
        first.hint if first else "",
        (first.subject if first else None) or at,
        first.values if first else (),
        is_failure=True,
    )


_MUTE = "What it refers to has no value."
