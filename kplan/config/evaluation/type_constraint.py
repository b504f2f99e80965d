"""Type constraints: `list(object({name = string, size = optional(number, 1)}))`."""

from collections.abc import Callable, Mapping

from kplan.config.diagnostic import EvaluationError, error, suggestion
from kplan.config.evaluation.evaluate import evaluate
from kplan.config.evaluation.scope import Scope
from kplan.config.syntax import tree as ast
from kplan.config.values.conversion import ConversionError, convert
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

_SIMPLE_TYPES: dict[str, Type] = {"string": STRING, "number": NUMBER, "bool": BOOL, "any": ANY}
_COLLECTIONS: Mapping[str, Callable[[Type], Type]] = {
    "list": ListType,
    "set": SetType,
    "map": MapType,
}
_STRUCTURES = ("object", "tuple")


def parse_type_constraint(node: ast.Node, scope: Scope) -> Type:
    """Read the expression of a type; `scope` evaluates the defaults of optional attributes.

    Raises:
        EvaluationError: it is not a type.

    """
    match node:
        case ast.Name(_, _, name) if name in _SIMPLE_TYPES:
            return _SIMPLE_TYPES[name]
        case ast.Name(_, _, name) if name in _COLLECTIONS:
            return _COLLECTIONS[name](ANY)
        case ast.Literal(_, _, str() as text):
            raise _quoted_type_error(node, text, scope)
        case ast.Call() if node.name in _COLLECTIONS:
            return _COLLECTIONS[node.name](
                parse_type_constraint(_single_argument(node, scope), scope)
            )
        case ast.Call(name="object"):
            return _object_type(_single_argument(node, scope), scope)
        case ast.Call(name="tuple"):
            return _tuple_type(_single_argument(node, scope), scope)
        case _:
            raise _unknown_type_error(node, scope)


def _unknown_type_error(node: ast.Node, scope: Scope) -> EvaluationError:
    known = [*_SIMPLE_TYPES, *_COLLECTIONS, *_STRUCTURES]
    name = node.name if isinstance(node, ast.Name | ast.Call) else ""
    if name in _STRUCTURES:
        return _type_error(node, scope, f'The type "{name}" needs its parts in parentheses.')
    if name == "optional":
        return _type_error(
            node, scope, "optional(...) is allowed only for an attribute of an object type."
        )
    text = scope.origin.text(node.start, node.end)
    return _type_error(node, scope, f"{text} is not a type.", suggestion(name, known))


def _quoted_type_error(node: ast.Node, text: str, scope: Scope) -> EvaluationError:
    """Refuse the forms of Terraform before 0.12, as Terraform does."""
    plain = f"{text}(string)" if text in _COLLECTIONS else text
    is_type = text in _SIMPLE_TYPES or text in _COLLECTIONS
    hint = f"Write type = {plain}." if is_type else "Write the type without quotes."
    subject = scope.origin.range(node.start, node.end)
    detail = f'"{text}" is a string; a type is written without quotes since Terraform 0.12.'
    summary = "" if is_type else "Invalid legacy variable type hint"
    return EvaluationError([error("KP343", subject, detail, hint=hint, summary=summary)])


def _type_error(node: ast.Node, scope: Scope, detail: str, hint: str = "") -> EvaluationError:
    subject = scope.origin.range(node.start, node.end)
    return EvaluationError([error("KP130", subject, detail, hint=hint)])


def _single_argument(node: ast.Call, scope: Scope) -> ast.Node:
    if len(node.arguments) != 1:
        raise _type_error(
            node, scope, f"{node.name}(...) takes one argument, got {len(node.arguments)}."
        )
    return node.arguments[0]


def _tuple_type(node: ast.Node, scope: Scope) -> Type:
    if not isinstance(node, ast.Tuple):
        raise _type_error(
            node, scope, "A tuple type lists the types of its elements: tuple([string, bool])."
        )
    return TupleType(tuple(parse_type_constraint(each, scope) for each in node.items))


def _object_type(node: ast.Node, scope: Scope) -> Type:
    if not isinstance(node, ast.Object):
        raise _type_error(
            node, scope, "An object type lists its attributes: object({name = string})."
        )
    attributes: dict[str, Type] = {}
    optional: set[str] = set()
    defaults: dict[str, Value] = {}
    for key, value in node.items:
        if not (isinstance(key, ast.Literal) and isinstance(key.value, str)):
            raise _type_error(
                key, scope, "The name of an attribute in an object type is a plain word."
            )
        name, of = key.value, value
        if isinstance(value, ast.Call) and value.name == "optional":
            of = _optional_type(value, scope)
            optional.add(name)
        attributes[name] = parse_type_constraint(of, scope)
        if isinstance(value, ast.Call) and value.name == "optional" and len(value.arguments) > 1:
            defaults[name] = _attribute_default(value.arguments[1], attributes[name], scope)
    return ObjectType(attributes, frozenset(optional), defaults)


def _optional_type(node: ast.Call, scope: Scope) -> ast.Node:
    if not 1 <= len(node.arguments) <= 2:  # noqa: PLR2004 - type and default
        raise _type_error(node, scope, "optional(...) takes a type and, if wanted, a default.")
    return node.arguments[0]


def _attribute_default(node: ast.Node, wanted: Type, scope: Scope) -> Value:
    try:
        return convert(evaluate(node, scope), wanted)
    except ConversionError as fault:
        subject = scope.origin.range(node.start, node.end)
        detail = f"This default does not fit the attribute's type: {fault}."
        raise EvaluationError([error("KP130", subject, detail)]) from None


def parse_type_name(text: str) -> Type:
    """Read a type in the notation of `kinds/schema.py`: `string`, `list(list(number))`."""
    if text in _SIMPLE_TYPES:
        return _SIMPLE_TYPES[text]
    outer, _, inner = text.partition("(")
    return _COLLECTIONS[outer](parse_type_name(inner.removesuffix(")")))
