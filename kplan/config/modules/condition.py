"""Conditions: validation, precondition, postcondition and check assertions."""

from dataclasses import replace

from kplan.config.declarations.rule import is_constant
from kplan.config.diagnostic import EvaluationError, error
from kplan.config.evaluation.call import reference_values
from kplan.config.evaluation.evaluate import evaluate
from kplan.config.evaluation.scope import Scope
from kplan.config.syntax import tree as ast
from kplan.config.values.sensitive import bare, has_sensitive, unmark
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, Severity


@dataclass(frozen=True, slots=True)
class ConditionRule:
    """One sort of condition: the block it is in, and the code of its failure."""

    block_type: str
    code: str
    is_warning: bool = False


VALIDATION = ConditionRule("validation", "KP172")
PRECONDITION = ConditionRule("precondition", "KP196")
POSTCONDITION = ConditionRule("postcondition", "KP197")
OUTPUT_PRECONDITION = ConditionRule("precondition", "KP198")
ASSERTION = ConditionRule("assert", "KP199", is_warning=True)


def failed_conditions(holder: ast.Block, rule: ConditionRule, scope: Scope) -> list[Diagnostic]:
    """Check the subject of `holder` against every block of the rule; all failures are reported."""
    problems: list[Diagnostic] = []
    for block in holder.blocks:
        if block.type != rule.block_type:
            continue
        found = {each.name: each for each in block.attributes}
        if found.keys() >= {"condition", "error_message"} and not is_constant(found["condition"]):
            arguments = {name: each.value for name, each in found.items()}
            problems.extend(_condition_problems(block, arguments, rule, scope))
    if rule.is_warning:
        return [replace(each, severity=Severity.WARNING) for each in problems]
    return problems


def _condition_problems(
    block: ast.Block, arguments: dict[str, ast.Node], rule: ConditionRule, scope: Scope
) -> list[Diagnostic]:
    condition = arguments["condition"]
    try:
        holds, _ = unmark(evaluate(condition, scope))
        if holds is True:
            return []
        message = evaluate(arguments["error_message"], scope)
    except EvaluationError as failure:
        may_wait = failure.is_unknown and rule is not PRECONDITION and rule is not POSTCONDITION
        return [] if may_wait else list(failure.diagnostics)
    subject = scope.origin.range(condition.start, condition.end)
    if holds is not False:
        detail = f"The condition of a {block.type} must be true or false."
        summary = "Invalid variable validation result" if rule is VALIDATION else ""
        return [error("KP156", subject, detail, summary=summary or "Invalid condition result")]
    place = scope.origin.range(block.start, block.start + len(block.type))
    text = str(bare(message)).strip()
    if has_sensitive(message):
        text = "(its message holds a sensitive value)"
    rule_name = "validation rule" if rule is VALIDATION else block.type
    detail = f"{text}\n\nThis was checked by the {rule_name} at {place}."
    return [error(rule.code, subject, detail, values=reference_values(condition, scope, evaluate))]
