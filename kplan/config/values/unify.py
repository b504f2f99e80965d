"""The one type that several types can be brought to, if there is one."""

from collections.abc import Iterable, Sequence

from kplan.config.values.value import (
    ANY,
    STRING,
    ListType,
    MapType,
    ObjectType,
    PrimitiveType,
    SetType,
    TupleType,
    Type,
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
