"""Validation rules of variables: conditions that the value must meet."""

from kplan.config.declared import Declaration
from kplan.config.evaluation.evaluate import evaluate
from kplan.config.evaluation.scope import Scope
from kplan.config.evaluation.seen import seen
from kplan.config.problem import Failure, error
from kplan.config.syntax import tree as ast
from kplan.config.values.sensitive import bare, has_sensitive, unmark
from kplan.model.diagnostic import Diagnostic


def failed_validations(found: Declaration, scope: Scope, label: str) -> list[Diagnostic]:
    """Hold a variable against every `validation` block; all that fail are told."""
    problems: list[Diagnostic] = []
    for block in found.block.blocks:
        arguments = {each.name: each.value for each in block.attributes}
        if block.type == "validation" and arguments.keys() >= {"condition", "error_message"}:
            problems.extend(_problems(block, arguments, scope, label))
    return problems


def _problems(
    block: ast.Block, arguments: dict[str, ast.Node], scope: Scope, label: str
) -> list[Diagnostic]:
    condition = arguments["condition"]
    try:
        holds, _ = unmark(evaluate(condition, scope))
        if holds is True:
            return []
        message = bare(evaluate(arguments["error_message"], scope))
        is_secret = has_sensitive(evaluate(arguments["error_message"], scope))
    except Failure as failure:
        return list(failure.diagnostics)
    subject = scope.origin.range(condition.start, condition.end)
    if holds is not False:
        told = f"The condition of a validation for {label} must be true or false."
        return [error("KP156", subject, told)]
    rule = scope.origin.range(block.start, block.start + len(block.type))
    text = "(its message holds a sensitive value)" if is_secret else str(message).strip()
    told = f"{text}\n\nThis was checked by the validation rule at {rule}."
    return [error("KP172", subject, told, values=seen(condition, scope, evaluate))]
