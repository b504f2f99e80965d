"""`for` expressions and the `for` of templates."""

from collections.abc import Iterable

from kplan.config.evaluation import access, operators
from kplan.config.evaluation.keys import key_text, sorted_by_key
from kplan.config.evaluation.misuse import Misuse
from kplan.config.evaluation.scope import MAX_ROUNDS, Evaluate, Scope
from kplan.config.evaluation.seen import failure
from kplan.config.problem import Failure, error
from kplan.config.syntax import tree as ast
from kplan.config.values.sensitive import mark, unmark
from kplan.config.values.text import clean_text
from kplan.config.values.value import Value
from kplan.model.diagnostic import Diagnostic


def for_expression(node: ast.For, scope: Scope, evaluate: Evaluate) -> Value:
    """Evaluate a `for`; an error for one element does not hide those for others.

    Raises:
        Failure: the collection is none, or an element has no result.

    """
    collection, marked = _pairs(node.collection, scope, evaluate)
    kept: list[tuple[str, Value]] = []
    diagnostics: list[Diagnostic] = []
    inner, variables = scope.inside()
    for key, each in collection:
        _bind(node, key, each, variables)
        try:
            is_wanted, is_secret, pair = _round(node, inner, evaluate)
        except Failure as found:
            diagnostics.extend(found.diagnostics)
            if found.is_final:
                raise Failure(diagnostics, is_final=True) from None
            continue
        marked = marked or is_secret
        if is_wanted:
            kept.append(pair)
    if diagnostics:
        raise Failure(dict.fromkeys(diagnostics))
    if node.key is None:
        return mark(tuple([value for _, value in kept]), sensitive=marked)
    return mark(_object(node, node.key, kept, scope, is_secret=marked), sensitive=marked)


_UNWANTED = ("", None)


def _round(node: ast.For, scope: Scope, evaluate: Evaluate) -> tuple[bool, bool, tuple[str, Value]]:
    """Tell whether the element is wanted, whether what decides is secret; give key and value."""
    is_secret = False
    if node.condition is not None:
        is_wanted, is_secret = _condition(node.condition, scope, evaluate)
        if not is_wanted:
            return False, is_secret, _UNWANTED
    if node.key is None:
        return True, is_secret, ("", evaluate(node.value, scope))
    text, is_secret_key = key_text(evaluate(node.key, scope), node.key, scope, evaluate)
    return True, is_secret or is_secret_key, (text, evaluate(node.value, scope))


def _pairs(
    node: ast.Node, scope: Scope, evaluate: Evaluate
) -> tuple[Iterable[tuple[Value, Value]], bool]:
    value = evaluate(node, scope)
    try:
        found = access.pairs(value)
    except Misuse as fault:
        raise failure(fault, node, scope, evaluate) from None
    bare, _ = unmark(value)
    scope.rounds.left -= len(bare) if isinstance(bare, tuple | dict) else 0
    if scope.rounds.left < 0:
        subject = scope.origin.range(node.start, node.end)
        told = f'All "for" together go round more than {MAX_ROUNDS} times.'
        hint = "Where one looks for the elements of another, make an object by key and look there."
        raise Failure([error("KP169", subject, told, hint=hint)], is_final=True)
    return found


def _bind(
    node: ast.For | ast.TemplateFor, key: Value, each: Value, variables: dict[str, Value]
) -> None:
    if node.key_name is not None:
        variables[node.key_name] = key
    variables[node.value_name] = each


def _condition(node: ast.Node, scope: Scope, evaluate: Evaluate) -> tuple[bool, bool]:
    value = evaluate(node, scope)
    try:
        return operators.truth(value, "condition")
    except Misuse as fault:
        raise failure(Misuse("KP168", fault.detail), node, scope, evaluate) from None


def _object(
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
        return sorted_by_key({key: tuple(values) for key, values in groups.items()})
    result: dict[str, Value] = {}
    for key, value in kept:
        if key in result:
            same = "same key" if is_secret else f'key "{key}"'
            told = f'Two items of this "for" expression have the {same}.'
            hint = "If that is meant, group the values by key: write ... behind the value."
            fault = Misuse("KP160", told, hint)
            raise failure(fault, key_node, scope.quiet(), lambda *_: None)
        result[key] = value
    return sorted_by_key(result)


def template_for(node: ast.TemplateFor, scope: Scope, evaluate: Evaluate) -> Value:
    """Evaluate `%{ for }` to the text of all its rounds.

    Raises:
        Failure: the collection is none, or a round has no text.

    """
    collection, marked = _pairs(node.collection, scope, evaluate)
    texts: list[str] = []
    inner, variables = scope.inside()
    for key, each in collection:
        _bind(node, key, each, variables)
        bare, is_secret = unmark(evaluate(node.body, inner))
        marked = marked or is_secret
        texts.append(str(bare))
    return mark(clean_text("".join(texts)), sensitive=marked)
