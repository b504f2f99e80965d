"""`for` expressions and the `for` of templates."""

from collections.abc import Iterable, Mapping

from kplan.config.evaluation import access, operators
from kplan.config.evaluation.keys import key_text, sorted_by_key
from kplan.config.evaluation.misuse import Misuse
from kplan.config.evaluation.scope import Evaluate, Scope
from kplan.config.evaluation.seen import failure
from kplan.config.problem import Failure
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
    for key, each in collection:
        inner = scope.with_variables(_bound(node, key, each))
        try:
            is_wanted, is_secret = _condition(node.condition, inner, evaluate)
            marked = marked or is_secret
            if is_wanted:
                text, is_secret = _key(node.key, inner, evaluate)
                marked = marked or is_secret
                kept.append((text, evaluate(node.value, inner)))
        except Failure as found:
            if not found.diagnostics:
                raise
            diagnostics.extend(found.diagnostics)
    if diagnostics:
        raise Failure(dict.fromkeys(diagnostics))
    if node.key is None:
        return mark(tuple(value for _, value in kept), sensitive=marked)
    return mark(_object(node, node.key, kept, scope, is_secret=marked), sensitive=marked)


def _pairs(
    node: ast.Node, scope: Scope, evaluate: Evaluate
) -> tuple[Iterable[tuple[Value, Value]], bool]:
    value = evaluate(node, scope)
    try:
        return access.pairs(value)
    except Misuse as fault:
        raise failure(fault, node, scope, evaluate) from None


def _bound(node: ast.For | ast.TemplateFor, key: Value, each: Value) -> Mapping[str, Value]:
    if node.key_name is None:
        return {node.value_name: each}
    return {node.key_name: key, node.value_name: each}


def _condition(node: ast.Node | None, scope: Scope, evaluate: Evaluate) -> tuple[bool, bool]:
    if node is None:
        return True, False
    value = evaluate(node, scope)
    try:
        return operators.truth(value, "condition")
    except Misuse as fault:
        raise failure(Misuse("KP168", fault.detail), node, scope, evaluate) from None


def _key(node: ast.Node | None, scope: Scope, evaluate: Evaluate) -> tuple[str, bool]:
    if node is None:
        return "", False
    return key_text(evaluate(node, scope), node, scope, evaluate)


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
    for key, each in collection:
        inner = scope.with_variables(_bound(node, key, each))
        bare, is_secret = unmark(evaluate(node.body, inner))
        marked = marked or is_secret
        texts.append(str(bare))
    return mark(clean_text("".join(texts)), sensitive=marked)
