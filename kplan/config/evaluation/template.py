"""Templates, `for` expressions and `%{ for }` directives."""

from collections.abc import Iterable

from kplan.config.diagnostic import EvaluationError, OperandError, error
from kplan.config.evaluation import operator
from kplan.config.evaluation.call import evaluation_error
from kplan.config.evaluation.operator import key_text, sort_by_key
from kplan.config.evaluation.scope import MAX_ITERATIONS, Evaluator, Scope
from kplan.config.syntax import tree as ast
from kplan.config.values.conversion import ConversionError, convert
from kplan.config.values.number import clean_text, number_text
from kplan.config.values.sensitive import mark, unmark
from kplan.config.values.value import STRING, Value, type_name, type_of
from kplan.model.diagnostic import Diagnostic

MAX_TEXT = 64 * 2**20
"""Characters that a template may come to: what doubles again and again ends here."""


def join_parts(node: ast.Template, values: list[Value], scope: Scope, evaluate: Evaluator) -> Value:
    """Join the values of a template's parts.

    Raises:
        EvaluationError: a part has no text.

    """
    marked = False
    size = 0
    texts: list[str] = []
    for value, part in zip(values, node.parts, strict=True):
        if type(value) is str:
            size += len(value)
            texts.append(value)
            continue
        if type(value) is int:  # most that are no text are numbers
            texts.append(number_text(value))
            continue
        bare, is_secret = unmark(value)
        marked = marked or is_secret
        try:
            texts.append(_part_text(bare))
        except OperandError as fault:
            raise evaluation_error(fault, part, scope, evaluate) from None
    if size > MAX_TEXT:
        detail = f"The text would have {size} characters; at most {MAX_TEXT} are supported."
        raise evaluation_error(OperandError("KP158", detail), node, scope.quiet_scope(), evaluate)
    return mark(clean_text("".join(texts)), sensitive=marked)


def _part_text(value: Value) -> str:
    if value is None:
        raise OperandError(
            "KP158", "The expression is null, which has no text to put into a template."
        )
    try:
        return str(convert(value, STRING))
    except ConversionError:
        detail = f"A template takes strings, numbers and bools, got {type_name(type_of(value))}."
        raise OperandError(
            "KP158", detail, "Write it as text with join() or jsonencode()."
        ) from None


def evaluate_template_if(node: ast.TemplateIf, scope: Scope, evaluate: Evaluator) -> Value:
    """Evaluate `%{ if }` to the text of the branch that the condition chooses.

    Raises:
        EvaluationError: the condition is neither true nor false, or the branch has no text.

    """
    decided, marked = evaluate_condition(node.condition, scope, evaluate)
    return mark(evaluate(node.then if decided else node.otherwise, scope), sensitive=marked)


def evaluate_condition(node: ast.Node, scope: Scope, evaluate: Evaluator) -> tuple[bool, bool]:
    """Evaluate a condition, and show whether it is sensitive.

    Raises:
        EvaluationError: it is neither true nor false.

    """
    value = evaluate(node, scope)
    try:
        return operator.to_bool(value, "condition")
    except OperandError as fault:
        failure = OperandError("KP156", fault.detail, summary=fault.summary)
        raise evaluation_error(failure, node, scope, evaluate) from None


def evaluate_for(node: ast.For, scope: Scope, evaluate: Evaluator) -> Value:
    """Evaluate a `for`; an error for one element does not hide those for others.

    Raises:
        EvaluationError: the collection is none, or an element has no result.

    """
    collection, marked = _collection_pairs(node.collection, scope, evaluate)
    kept: list[tuple[str, Value]] = []
    diagnostics: list[Diagnostic] = []
    inner, variables = scope.loop_scope()
    for key, each in collection:
        _bind_variables(node, key, each, variables)
        try:
            is_wanted, is_secret, pair = _evaluate_iteration(node, inner, evaluate)
        except EvaluationError as found:
            diagnostics.extend(found.diagnostics)
            if found.is_final:
                raise EvaluationError(diagnostics, is_final=True) from None
            continue
        marked = marked or is_secret
        if is_wanted:
            kept.append(pair)
    if diagnostics:
        raise EvaluationError(dict.fromkeys(diagnostics))
    if node.key is None:
        return mark(tuple([value for _, value in kept]), sensitive=marked)
    return mark(_build_object(node, node.key, kept, scope, is_secret=marked), sensitive=marked)


_SKIPPED = ("", None)


def _evaluate_iteration(
    node: ast.For, scope: Scope, evaluate: Evaluator
) -> tuple[bool, bool, tuple[str, Value]]:
    """Return whether the element is included, whether the condition is sensitive, key and value."""
    is_secret = False
    if node.condition is not None:
        is_wanted, is_secret = _evaluate_filter(node.condition, scope, evaluate)
        if not is_wanted:
            return False, is_secret, _SKIPPED
    if node.key is None:
        return True, is_secret, ("", evaluate(node.value, scope))
    text, is_secret_key = key_text(evaluate(node.key, scope), node.key, scope, evaluate)
    return True, is_secret or is_secret_key, (text, evaluate(node.value, scope))


def _collection_pairs(
    node: ast.Node, scope: Scope, evaluate: Evaluator
) -> tuple[Iterable[tuple[Value, Value]], bool]:
    value = evaluate(node, scope)
    try:
        found = operator.element_pairs(value)
    except OperandError as fault:
        raise evaluation_error(fault, node, scope, evaluate) from None
    bare, _ = unmark(value)
    scope.iterations.remaining -= len(bare) if isinstance(bare, tuple | dict) else 0
    if scope.iterations.remaining < 0:
        subject = scope.origin.range(node.start, node.end)
        detail = f'All "for" together go round more than {MAX_ITERATIONS} times.'
        hint = "To look up elements of one collection in another, build an object by key first."
        raise EvaluationError([error("KP169", subject, detail, hint=hint)], is_final=True)
    return found


def _bind_variables(
    node: ast.For | ast.TemplateFor, key: Value, each: Value, variables: dict[str, Value]
) -> None:
    if node.key_name is not None:
        variables[node.key_name] = key
    variables[node.value_name] = each


def _evaluate_filter(node: ast.Node, scope: Scope, evaluate: Evaluator) -> tuple[bool, bool]:
    value = evaluate(node, scope)
    try:
        return operator.to_bool(value, "condition")
    except OperandError as fault:
        summary = "Condition is null" if fault.summary else ""
        failure = OperandError("KP168", fault.detail, summary=summary)
        raise evaluation_error(failure, node, scope, evaluate) from None


def _build_object(
    node: ast.For,
    key_node: ast.Node,
    kept: list[tuple[str, Value]],
    scope: Scope,
    *,
    is_secret: bool,
) -> dict[str, Value]:
    if node.is_grouping:
        groups: dict[str, list[Value]] = {}
        for key, value in kept:
            groups.setdefault(key, []).append(value)
        return sort_by_key({key: tuple(values) for key, values in groups.items()})
    result: dict[str, Value] = {}
    for key, value in kept:
        if key in result:
            same = "same key" if is_secret else f'key "{key}"'
            detail = f'Two items of this "for" expression have the {same}.'
            hint = "If that is meant, group the values by key: write ... behind the value."
            fault = OperandError("KP160", detail, hint)
            raise evaluation_error(fault, key_node, scope.quiet_scope(), lambda *_: None)
        result[key] = value
    return sort_by_key(result)


def evaluate_template_for(node: ast.TemplateFor, scope: Scope, evaluate: Evaluator) -> Value:
    """Evaluate `%{ for }` to the text of all its rounds.

    Raises:
        EvaluationError: the collection is none, or a round has no text.

    """
    collection, marked = _collection_pairs(node.collection, scope, evaluate)
    texts: list[str] = []
    inner, variables = scope.loop_scope()
    for key, each in collection:
        _bind_variables(node, key, each, variables)
        bare, is_secret = unmark(evaluate(node.body, inner))
        marked = marked or is_secret
        texts.append(str(bare))
    return mark(clean_text("".join(texts)), sensitive=marked)
