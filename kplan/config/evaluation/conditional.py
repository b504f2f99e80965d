"""Conditionals: the common type of both results, of which one may have no value."""

from collections.abc import Sequence

from kplan.config.diagnostic import EvaluationError, OperandError
from kplan.config.evaluation.call import evaluation_error
from kplan.config.evaluation.scope import Evaluator, Scope
from kplan.config.evaluation.template import evaluate_condition
from kplan.config.syntax import tree as ast
from kplan.config.values.conversion import convert, unify
from kplan.config.values.sensitive import mark, unmark
from kplan.config.values.value import (
    ANY,
    PLAIN_TYPES,
    ListType,
    MapType,
    ObjectType,
    PrimitiveType,
    SetType,
    TupleType,
    Type,
    Value,
    type_name,
    type_of,
)


def evaluate_conditional(node: ast.Conditional, scope: Scope, evaluate: Evaluator) -> Value:
    """Evaluate the chosen result, brought to the type that both results have in common.

    Raises:
        EvaluationError: the condition or the chosen result has no value, or the types differ.

    """
    results = (node.then, node.otherwise)
    try:
        decided, marked = evaluate_condition(node.condition, scope, evaluate)
    except EvaluationError as failure:
        types = [_result_type(each, scope, evaluate) for each in results]
        failure.set_type(node, unify(types) or ANY)
        raise
    chosen, other = results if decided else results[::-1]
    try:
        value = evaluate(chosen, scope)
    except EvaluationError as failure:
        types = [failed_type(chosen, failure), _result_type(other, scope, evaluate)]
        failure.set_type(node, unify(types) or ANY)
        raise
    return mark(_convert_to_common_type(node, value, other, scope, evaluate), sensitive=marked)


def failed_type(node: ast.Node, failure: EvaluationError) -> Type:
    """Return the type that an expression would have had; ANY if that does not show.

    An operator has one whatever its operands are, and so has a text; of a list or object each
    part has one.
    """
    while isinstance(node, ast.Group | ast.Wrapped):
        node = node.inner
    found: Type = failure.type_of(node, ANY)
    return found


def failed_collection_type(
    node: ast.Tuple | ast.Object, values: Sequence[Value], types: Sequence[Type]
) -> Type:
    """Return the type of a list or object with parts that failed: these have no value in `values`.

    Of an object keys and values alternate.
    """
    if isinstance(node, ast.Tuple):
        return TupleType(tuple(types))
    found: dict[str, Type] = {}
    for key, each in zip(values[::2], types[1::2], strict=True):
        if type(key) is not str:
            return ANY
        found[key] = each
    return ObjectType(dict(sorted(found.items())))


def _result_type(node: ast.Node, scope: Scope, evaluate: Evaluator) -> Type:
    try:
        return type_of(evaluate(node, scope))
    except EvaluationError as failure:
        return failed_type(node, failure)


def _convert_to_common_type(
    node: ast.Conditional, value: Value, other: ast.Node, scope: Scope, evaluate: Evaluator
) -> Value:
    """Bring the chosen result to the type that both results have in common."""
    marked = False
    try:
        unchosen = evaluate(other, scope)
        if type(value) is type(unchosen) and type(value) in PLAIN_TYPES:
            return value
        foreign, marked = type_of(unchosen), unmark(unchosen)[1]
    except EvaluationError as failure:
        foreign = failed_type(other, failure)
        if foreign == ANY:
            return value  # its type is not known, so it does not constrain
    own = type_of(value)
    if own == foreign or _has_open_element_type(own, foreign):
        return mark(value, sensitive=marked)
    common = unify((own, foreign))
    if common is None:
        names = type_name(own), type_name(foreign)
        first, second = names if other is node.otherwise else names[::-1]
        detail = f"The results are of different types: {first} if true, {second} if false."
        at = node.then.start, node.otherwise.end
        raise evaluation_error(OperandError("KP155", detail), node, scope, evaluate, at) from None
    return mark(convert(value, common), sensitive=marked)


def _has_open_element_type(own: Type, foreign: Type) -> bool:
    """Whether an empty collection adopts no element type from one with structured elements."""
    collections = (ListType, SetType, MapType)
    return (
        isinstance(own, collections)
        and own.element == ANY
        and isinstance(foreign, collections)
        and not isinstance(foreign.element, PrimitiveType)
    )
