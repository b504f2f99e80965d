"""Type constraints: `list(object({name = string, size = optional(number, 1)}))`."""

from collections.abc import Callable, Mapping

from kplan.config.evaluation.evaluate import evaluate
from kplan.config.evaluation.misuse import meant
from kplan.config.evaluation.scope import Scope
from kplan.config.problem import Failure, error
from kplan.config.syntax import tree as ast
from kplan.config.values.convert import ConversionError, convert
from kplan.config.values.value import (
    ANY,
    BOOL,
    NUMBER,
    STRING,
    ListType,
    MapType,
    ObjectType,
    SetType,
    TupleType,
    Type,
    Value,
)

_WORDS: dict[str, Type] = {"string": STRING, "number": NUMBER, "bool": BOOL, "any": ANY}
_COLLECTIONS: Mapping[str, Callable[[Type], Type]] = {
    "list": ListType,
    "set": SetType,
    "map": MapType,
}
_STRUCTURES = ("object", "tuple")


def type_constraint(node: ast.Node, scope: Scope) -> Type:
    """Read the expression of a type; `scope` evaluates the defaults of optional attributes.

    Raises:
        Failure: it is no type.

    """
    match node:
        case ast.Name(_, _, name) if name in _WORDS:
            return _WORDS[name]
        case ast.Name(_, _, name) if name in _COLLECTIONS:
            return _COLLECTIONS[name](ANY)
        case ast.Literal(_, _, str() as text) if text in _WORDS:
            return _WORDS[text]
        case ast.Call() if node.name in _COLLECTIONS:
            return _COLLECTIONS[node.name](type_constraint(_only(node, scope), scope))
        case ast.Call(name="object"):
            return _object(_only(node, scope), scope)
        case ast.Call(name="tuple"):
            return _tuple(_only(node, scope), scope)
        case _:
            raise _unknown(node, scope)


def _unknown(node: ast.Node, scope: Scope) -> Failure:
    known = [*_WORDS, *_COLLECTIONS, *_STRUCTURES]
    name = node.name if isinstance(node, ast.Name | ast.Call) else ""
    if name in _STRUCTURES:
        return _refusal(node, scope, f'The type "{name}" needs its parts in parentheses.')
    if name == "optional":
        return _refusal(node, scope, "optional(...) stands only at an attribute of an object type.")
    text = scope.origin.text(node.start, node.end)
    return _refusal(node, scope, f"{text} is no type.", meant(name, known))


def _refusal(node: ast.Node, scope: Scope, detail: str, hint: str = "") -> Failure:
    subject = scope.origin.range(node.start, node.end)
    return Failure([error("KP130", subject, detail, hint=hint)])


def _only(node: ast.Call, scope: Scope) -> ast.Node:
    if len(node.arguments) != 1:
        raise _refusal(
            node, scope, f"{node.name}(...) takes one argument, got {len(node.arguments)}."
        )
    return node.arguments[0]


def _tuple(node: ast.Node, scope: Scope) -> Type:
    if not isinstance(node, ast.Tuple):
        raise _refusal(
            node, scope, "A tuple type lists the types of its elements: tuple([string, bool])."
        )
    return TupleType(tuple(type_constraint(each, scope) for each in node.items))


def _object(node: ast.Node, scope: Scope) -> Type:
    if not isinstance(node, ast.Object):
        raise _refusal(node, scope, "An object type lists its attributes: object({name = string}).")
    attributes: dict[str, Type] = {}
    optional: set[str] = set()
    defaults: dict[str, Value] = {}
    for key, value in node.items:
        if not (isinstance(key, ast.Literal) and isinstance(key.value, str)):
            raise _refusal(
                key, scope, "The name of an attribute in an object type is a plain word."
            )
        name, of = key.value, value
        if isinstance(value, ast.Call) and value.name == "optional":
            of = _optional(value, scope)
            optional.add(name)
        attributes[name] = type_constraint(of, scope)
        if isinstance(value, ast.Call) and value.name == "optional" and len(value.arguments) > 1:
            defaults[name] = _default(value.arguments[1], attributes[name], scope)
    return ObjectType(attributes, frozenset(optional), defaults)


def _optional(node: ast.Call, scope: Scope) -> ast.Node:
    if not 1 <= len(node.arguments) <= 2:  # noqa: PLR2004 - type and default
        raise _refusal(node, scope, "optional(...) takes a type and, if wanted, a default.")
    return node.arguments[0]


def _default(node: ast.Node, wanted: Type, scope: Scope) -> Value:
    try:
        return convert(evaluate(node, scope), wanted)
    except ConversionError as fault:
        subject = scope.origin.range(node.start, node.end)
        told = f"This default does not fit the attribute's type: {fault}."
        raise Failure([error("KP130", subject, told)]) from None


def type_named(text: str) -> Type:
    """Read a type in the notation of `kinds/schema.py`: `string`, `list(list(number))`."""
    if text in _WORDS:
        return _WORDS[text]
    outer, _, inner = text.partition("(")
    return _COLLECTIONS[outer](type_named(inner.removesuffix(")")))
