"""Templates: text with the values of expressions in it."""

from kplan.config.evaluation import operators
from kplan.config.evaluation.misuse import Misuse
from kplan.config.evaluation.scope import Evaluate, Scope
from kplan.config.evaluation.seen import failure
from kplan.config.syntax import tree as ast
from kplan.config.values.convert import ConversionError, convert
from kplan.config.values.sensitive import mark, unmark
from kplan.config.values.text import clean_text
from kplan.config.values.types import type_name, type_of
from kplan.config.values.value import STRING, Value

MAX_TEXT = 64 * 2**20
"""Characters that a template may come to: what doubles again and again ends here."""


def joined(node: ast.Template, values: list[Value], scope: Scope, evaluate: Evaluate) -> Value:
    """Join the values of a template's parts.

    Raises:
        Failure: a part has no text.

    """
    marked = False
    size = 0
    texts: list[str] = []
    for value, part in zip(values, node.parts, strict=True):
        if type(value) is str:
            size += len(value)
            texts.append(value)
            continue
        bare, is_secret = unmark(value)
        marked = marked or is_secret
        try:
            texts.append(_text(bare))
        except Misuse as fault:
            raise failure(fault, part, scope, evaluate) from None
    if size > MAX_TEXT:
        told = f"The text would have {size} characters; at most {MAX_TEXT} are supported."
        raise failure(Misuse("KP158", told), node, scope.quiet(), evaluate)
    return mark(clean_text("".join(texts)), sensitive=marked)


def _text(value: Value) -> str:
    if value is None:
        raise Misuse("KP158", "The expression is null, which has no text to put into a template.")
    try:
        return str(convert(value, STRING))
    except ConversionError:
        told = f"A template takes strings, numbers and bools, got {type_name(type_of(value))}."
        raise Misuse("KP158", told, "Write it as text with join() or jsonencode().") from None


def template_if(node: ast.TemplateIf, scope: Scope, evaluate: Evaluate) -> Value:
    """Evaluate `%{ if }` to the text of the branch that the condition chooses.

    Raises:
        Failure: the condition is neither true nor false, or the branch has no text.

    """
    decided, marked = condition(node.condition, scope, evaluate)
    return mark(evaluate(node.then if decided else node.otherwise, scope), sensitive=marked)


def condition(node: ast.Node, scope: Scope, evaluate: Evaluate) -> tuple[bool, bool]:
    """Evaluate a condition, and tell whether it is sensitive.

    Raises:
        Failure: it is neither true nor false.

    """
    value = evaluate(node, scope)
    try:
        return operators.truth(value, "condition")
    except Misuse as fault:
        raise failure(Misuse("KP156", fault.detail), node, scope, evaluate) from None
