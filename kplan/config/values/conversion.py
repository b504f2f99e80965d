"""Conversion and unification of types, with Terraform's messages for mismatches."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from kplan.config.values.equality import make_set
from kplan.config.values.number import NumberError, number_text, parse_number
from kplan.config.values.value import (
    ANY,
    BOOL,
    NUMBER,
    PLAIN_TYPES,
    STRING,
    AnyType,
    ListType,
    MapType,
    Null,
    ObjectType,
    PrimitiveType,
    Sensitive,
    SetType,
    TList,
    TMap,
    TSet,
    TupleType,
    Type,
    Value,
    concrete,
    constraint_name,
    fill_open_type,
    has_any,
    is_null,
    is_number,
    null_of,
    type_of,
)


def unify(types: Iterable[Type]) -> Type | None:
    """Find the type that every one of the types converts to; None when there is none.

    Equal types stay; numbers and bools become strings only beside a string; tuples of one length
    and objects of the same attributes are unified part by part, others as list and map. A null
    (`ANY`) agrees with everything.
    """
    distinct: list[Type] = []
    for each in types:
        if each != ANY and each not in distinct:
            distinct.append(each)
    if len(distinct) <= 1:
        return distinct[0] if distinct else ANY
    if all(isinstance(each, PrimitiveType) for each in distinct):
        return STRING if STRING in distinct else None
    return _sequences(distinct) or _mappings(distinct)


def _sequences(types: Sequence[Type]) -> Type | None:
    tuples = [each for each in types if isinstance(each, TupleType)]
    lists = [each for each in types if isinstance(each, ListType)]
    sets = [each for each in types if isinstance(each, SetType)]
    if len(tuples) + len(lists) + len(sets) < len(types):
        return None
    if len(tuples) == len(types) and len({len(each.elements) for each in tuples}) == 1:
        return _tuple(tuples)
    elements = [each.element for each in lists] + [each.element for each in sets]
    elements += [element for each in tuples for element in each.elements]
    element = unify(elements)
    if element is None:
        return None
    return SetType(element) if sets and not lists else ListType(element)


def _tuple(tuples: Sequence[TupleType]) -> TupleType | None:
    parts = [unify(column) for column in zip(*(each.elements for each in tuples), strict=True)]
    known = tuple(part for part in parts if part is not None)
    return TupleType(known) if len(known) == len(parts) else None


def _mappings(types: Sequence[Type]) -> Type | None:
    objects = [each for each in types if isinstance(each, ObjectType)]
    maps = [each for each in types if isinstance(each, MapType)]
    if len(objects) + len(maps) < len(types):
        return None
    if not maps and len({frozenset(each.attributes) for each in objects}) == 1:
        return _object(objects)
    elements = [each.element for each in maps]
    elements += [element for each in objects for element in each.attributes.values()]
    element = unify(elements)
    return None if element is None else MapType(element)


def _object(objects: Sequence[ObjectType]) -> ObjectType | None:
    parts = {
        name: unify(each.attributes[name] for each in objects) for name in objects[0].attributes
    }
    known = {name: part for name, part in parts.items() if part is not None}
    return ObjectType(known) if len(known) == len(parts) else None


Collection = ListType | SetType | MapType


def mismatch(got: Type, wanted: Type) -> str | None:
    """Explain why no value of type `got` converts to `wanted`; None if some do."""
    if ANY in (got, wanted):
        return None
    match wanted:
        case PrimitiveType():
            return None if _is_castable(got, wanted) else f"{wanted.value} required"
        case ListType() | SetType():
            return _sequence_mismatch(got, wanted)
        case MapType():
            return _map_mismatch(got, wanted)
        case TupleType():
            return None if _fits_tuple(got, wanted) else "tuple required"
        case ObjectType():
            return _object_mismatch(got, wanted)
        case AnyType():
            return None


def _is_castable(got: Type, wanted: PrimitiveType) -> bool:
    return isinstance(got, PrimitiveType) and (got == wanted or STRING in (got, wanted))


def _sequence_mismatch(got: Type, wanted: ListType | SetType) -> str | None:
    match got:
        case ListType() | SetType():
            return _element_mismatch(got, wanted)
        case TupleType(elements):
            for place, element in enumerate(elements):
                if reason := mismatch(element, wanted.element):
                    return f"element {place}: {reason}"
            return _disunity(elements, wanted)
        case _:
            return f"{constraint_name(wanted)} required"


def _map_mismatch(got: Type, wanted: MapType) -> str | None:
    match got:
        case MapType():
            return _element_mismatch(got, wanted)
        case ObjectType():
            for name in sorted(got.attributes):
                if reason := mismatch(got.attributes[name], wanted.element):
                    return f'element "{name}": {reason}'
            return _disunity(tuple(got.attributes.values()), wanted)
        case _:
            return f"{constraint_name(wanted)} required"


def _element_mismatch(got: Collection, wanted: Collection) -> str | None:
    reason = mismatch(got.element, wanted.element)
    return reason and f"incorrect {_kind(wanted)} element type: {reason}"


def _disunity(elements: tuple[Type, ...], wanted: Collection) -> str | None:
    """With open element types the elements must still agree among themselves."""
    if wanted.element == ANY and unify(elements) is None:
        return f"all {_kind(wanted)} elements must have the same type"
    return None


def _kind(wanted: Collection) -> str:
    return constraint_name(wanted).partition(" ")[0]


def _fits_tuple(got: Type, wanted: TupleType) -> bool:
    return (
        isinstance(got, TupleType)
        and len(got.elements) == len(wanted.elements)
        and not any(map(mismatch, got.elements, wanted.elements))
    )


def _object_mismatch(got: Type, wanted: ObjectType) -> str | None:
    match got:
        case ObjectType():
            return _missing_attributes(got, wanted) or _attribute_mismatch(got, wanted)
        case MapType():
            reasons = (mismatch(got.element, of) for of in wanted.attributes.values())
            reason = next(filter(None, reasons), None)
            return reason and f"map element type is incompatible with attribute: {reason}"
        case _:
            return "object required"


def _missing_attributes(got: ObjectType, wanted: ObjectType) -> str | None:
    needed = wanted.attributes.keys() - wanted.optional - got.attributes.keys()
    names = [f'"{name}"' for name in sorted(needed)]
    match names:
        case []:
            return None
        case [name]:
            return f"attribute {name} is required"
        case [first, second]:
            return f"attributes {first} and {second} are required"
        case _:
            return f"attributes {', '.join(names[:-1])}, and {names[-1]} are required"


def _attribute_mismatch(got: ObjectType, wanted: ObjectType) -> str | None:
    for name in sorted(wanted.attributes.keys() & got.attributes.keys()):
        if reason := mismatch(got.attributes[name], wanted.attributes[name]):
            return f'attribute "{name}": {reason}'
    return None


Path: TypeAlias = tuple[str | int, ...]


class ConversionError(ValueError):
    """A value does not fit a type.

    `path` leads from the value to the part at fault (attribute names, keys and places), and
    `part_reason` is about that part alone: it names nothing of the value. `reason` is about the
    whole, without the path where the type would fit; the text has the path too. None of them ends
    in a full stop.
    """

    def __init__(self, path: Path, part_reason: str, reason: str, text: str) -> None:
        super().__init__(text)
        self.path = path
        self.part_reason = part_reason
        self.reason = reason


class _Misfit(Exception):  # noqa: N818 - never leaves this module
    """The part at fault; `steps` grows from the innermost outwards, each as (key, as written)."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.steps: list[tuple[str | int, str]] = []


def convert(value: Value, wanted: Type) -> Value:
    """Bring a value to a type. Null stays null, marks stay where they are.

    Raises:
        ConversionError: some part of the value does not fit.

    """
    try:
        return _convert_known(value, wanted)
    except _Misfit as misfit:
        steps = misfit.steps[::-1]
        path = tuple(key for key, _ in steps)
        part = misfit.reason
        written = "".join(text for _, text in steps)
        whole = mismatch(type_of(value), wanted)
        text = whole or (f"{written}: {part}" if written else part)
        raise ConversionError(path, part, whole or part, text) from None


def _convert_known(value: Value, wanted: Type) -> Value:
    if PLAIN_TYPES.get(type(value)) is wanted:
        return value
    if isinstance(value, Sensitive):
        inner = _convert_known(value.value, wanted)
        return inner if isinstance(inner, Sensitive) else type(value)(inner)
    return _null(value, wanted) if is_null(value) else _convert_element(value, wanted)


def _convert_element(value: Value, wanted: Type) -> Value:
    match wanted:
        case AnyType():
            return value
        case PrimitiveType():
            return _primitive(value, wanted)
        case ListType() | SetType():
            return _sequence(value, wanted)
        case MapType():
            return _map(value, wanted)
        case TupleType():
            return _convert_to_tuple(value, wanted)
        case ObjectType():
            return _convert_to_object(value, wanted)


def _null(value: Null | None, wanted: Type) -> Value:
    """Return a null the type, if it may have it; None may have any."""
    if value is not None and (reason := mismatch(value.type, wanted)):
        raise _Misfit(reason)
    return null_of(concrete(wanted) if value is None else fill_open_type(wanted, value.type))


def _primitive(value: Value, wanted: PrimitiveType) -> Value:
    if isinstance(value, str):
        return value if wanted == STRING else _parse_primitive(value, wanted)
    if isinstance(value, bool) and wanted != NUMBER:
        return value if wanted == BOOL else ("true" if value else "false")
    if is_number(value) and wanted != BOOL:
        return value if wanted == NUMBER else number_text(value)
    raise _Misfit(f"{wanted.value} required")


def _parse_primitive(text: str, wanted: PrimitiveType) -> Value:
    if wanted == NUMBER:
        try:
            return parse_number(text)
        except NumberError as error:
            raise _Misfit(str(error)) from None
    match text:
        case "true" | "1":
            return True
        case "false" | "0":
            return False
        case _ if text.lower() in ("true", "false"):
            lower = text.lower()
            raise _Misfit(f'a bool is required; to convert from string, use lowercase "{lower}"')
        case _:
            raise _Misfit("a bool is required")


def _sequence(value: Value, wanted: ListType | SetType) -> Value:
    if not isinstance(value, tuple):
        raise _Misfit(f"{constraint_name(wanted)} required")
    parts = [_part(place, f"[{place}]", each, wanted.element) for place, each in enumerate(value)]
    own = value.element if isinstance(value, TList | TSet) else None
    items, element = _unify_parts(parts, wanted.element, range(len(parts)), own)
    return TList(items, element) if isinstance(wanted, ListType) else make_set(items, element)


def _map(value: Value, wanted: MapType) -> Value:
    if not isinstance(value, dict):
        raise _Misfit(f"{constraint_name(wanted)} required")
    parts = [_part(key, f'["{key}"]', value[key], wanted.element) for key in value]
    own = value.element if isinstance(value, TMap) else None
    items, element = _unify_parts(parts, wanted.element, list(value), own)
    return TMap(dict(zip(value, items, strict=True)), element)


def _unify_parts(
    parts: list[Value], wanted: Type, keys: Sequence[str | int], own: Type | None
) -> tuple[list[Value], Type]:
    """Convert elements of unspecified type to one common type, as a collection requires.

    `own` is the type that the elements of a list, set or map have already, were it empty.
    """
    if not has_any(wanted):
        return parts, concrete(wanted)
    if not parts and own is not None:
        return parts, fill_open_type(wanted, own)
    types = [type_of(each) for each in parts]
    element = concrete(wanted) if all(each == ANY for each in types) else unify(types)
    if element is None:
        raise _disagreement(types, keys)
    return [
        each if of == element else _convert_known(each, element)
        for each, of in zip(parts, types, strict=True)
    ], element


def _disagreement(types: list[Type], keys: Sequence[str | int]) -> _Misfit:
    """Blame the first part that does not go with those before it."""
    misfit = _Misfit("cannot find a common base type for all elements")
    place = next(at for at in range(len(types)) if unify(types[: at + 1]) is None)
    key = keys[place]
    misfit.steps.append((key, f"[{key}]" if isinstance(key, int) else f'["{key}"]'))
    return misfit


def _convert_to_tuple(value: Value, wanted: TupleType) -> Value:
    if type(value) is not tuple or len(value) != len(wanted.elements):
        raise _Misfit("tuple required")
    pairs = zip(value, wanted.elements, strict=True)
    return tuple(_part(place, f"[{place}]", each, of) for place, (each, of) in enumerate(pairs))


def _convert_to_object(value: Value, wanted: ObjectType) -> Value:
    if not isinstance(value, dict):
        raise _Misfit("object required")
    step = '["{}"]' if isinstance(value, TMap) else ".{}"
    result: dict[str, Value] = {}
    for name in sorted(wanted.attributes):
        if name not in value and name not in wanted.optional:
            raise _Misfit(f'attribute "{name}" is required')
        part = _part(name, step.format(name), value.get(name), wanted.attributes[name])
        result[name] = _default(wanted, name, part) if is_null(part) else part
    return result


def _default(wanted: ObjectType, name: str, null: Null | None) -> Value:
    return wanted.defaults.get(name, null)


def _part(key: str | int, written: str, value: Value, wanted: Type) -> Value:
    try:
        return _convert_known(value, wanted)
    except _Misfit as misfit:
        misfit.steps.append((key, written))
        raise
