"""Functions that build new lists, maps and tuples from others."""

from collections.abc import Iterator, Sequence
from typing import Final, cast

from kplan.config.functions.collection import LIST_OF_ANY, LIST_OF_STRING
from kplan.config.functions.function import Function, Parameter, Refusal, check_elements
from kplan.config.functions.numeric import whole_number
from kplan.config.values.conversion import convert, unify
from kplan.config.values.equality import Distinct
from kplan.config.values.number import add
from kplan.config.values.sensitive import has_sensitive, mark, unmark
from kplan.config.values.value import (
    NUMBER,
    STRING,
    ListType,
    MapType,
    Number,
    TList,
    TMap,
    TSet,
    Value,
    type_name,
    type_of,
)

_MAX_RANGE: Final = 1024
_TO_ONE_BELOW: Final = "end must be less than start when step is negative"
_TO_ONE_ABOVE: Final = "end must be greater than start when step is positive"


def chunklist(items: Value, size: Number) -> Value:
    """List cut into lists of at most `size` elements; 0 makes one of all."""
    found, marked = unmark(items)
    step = whole_number(size, prefix="invalid size: ")
    if step < 0:
        raise Refusal("the size argument must be positive")
    whole = cast("TList", found)
    step = step or max(1, len(whole))
    chunks = [
        TList(whole[start : start + step], whole.element) for start in range(0, len(whole), step)
    ]
    return mark(TList(chunks, ListType(whole.element)), sensitive=marked)


def concat(*sequences: Value) -> Value:
    """Elements of all the sequences: a list if all are lists, else a tuple."""
    if not sequences:
        raise Refusal("at least one argument is required")
    found = [unmark(each) for each in sequences]
    for place, (each, _) in enumerate(found):
        if not isinstance(each, tuple) or isinstance(each, TSet):
            got = type_name(type_of(each))
            raise Refusal(f"all arguments must be lists or tuples; got {got}", argument=place)
    marked = any(each for _, each in found)
    parts = [each for each, _ in found if isinstance(each, tuple)]
    check_elements(sum(map(len, parts)))
    joined = tuple(item for each in parts for item in each)
    return mark(_as_list(parts, joined), sensitive=marked)


def _as_list(parts: Sequence[tuple[Value, ...]], joined: tuple[Value, ...]) -> Value:
    lists = [each for each in parts if isinstance(each, TList)]
    if len(lists) < len(parts):
        return joined
    element = unify(each.element for each in lists)
    return joined if element is None else convert(joined, ListType(element))


def distinct(items: TList) -> Value:
    """Elements without those that equal an earlier one."""
    return TList(Distinct(items).items, items.element)


def flatten(items: Value) -> Value:
    """Elements of a sequence and of the sequences in it, at any depth, as a tuple."""
    found, marked = unmark(items)
    if not isinstance(found, tuple):
        raise Refusal("can only flatten lists, sets and tuples")
    flat = tuple(_leaves(found))
    hidden = marked or _hides_sequence(found)
    return mark(flat, sensitive=hidden)


def _leaves(items: tuple[Value, ...]) -> Iterator[Value]:
    for each in items:
        inner, _ = unmark(each)
        if isinstance(inner, tuple):
            yield from _leaves(inner)
        else:
            yield each


def _hides_sequence(items: tuple[Value, ...]) -> bool:
    """Return whether a sequence inside is marked, which makes the number of leaves a secret."""
    for each in items:
        inner, marked = unmark(each)
        if isinstance(inner, tuple) and (marked or _hides_sequence(inner)):
            return True
    return False


def merge(*mappings: Value) -> Value:
    """One map or object with the entries of all; later ones win, nulls are passed over."""
    found = [unmark(each) for each in mappings]
    for each, _ in found:
        if each is not None and not isinstance(each, dict):
            got = type_name(type_of(each))
            raise Refusal(f'arguments must be maps or objects, got "{got}"')
    marked = any(each for _, each in found)
    parts = [each for each, _ in found if isinstance(each, dict)]
    merged: dict[str, Value] = {}
    for each in parts:
        merged |= each
    maps = [each for each in parts if isinstance(each, TMap)]
    if maps and len(maps) == len(parts) and all(m.element == maps[0].element for m in maps):
        return mark(TMap(merged, maps[0].element), sensitive=marked)
    return mark({key: merged[key] for key in sorted(merged)}, sensitive=marked)


def make_range(*numbers: Number) -> Value:
    """Numbers from a start to before an end, by a step."""
    if not 1 <= len(numbers) <= len(("start", "end", "step")):
        raise Refusal("must have one, two, or three arguments")
    start = numbers[0] if len(numbers) > 1 else 0
    end = numbers[1] if len(numbers) > 1 else numbers[0]
    step = numbers[-1] if len(numbers) > 2 else 1 if end >= start else -1  # noqa: PLR2004 - the third argument
    if step < 0 and end > start:
        raise Refusal(_TO_ONE_BELOW, argument=1)
    if step >= 0 and end < start:
        raise Refusal(_TO_ONE_ABOVE, argument=1)
    made: list[Value] = []
    while (start < end) if step >= 0 else (start > end):
        if len(made) == _MAX_RANGE:
            raise Refusal(
                f"more than {_MAX_RANGE} values were generated; either decrease the "
                "difference between start and end or use a smaller step"
            )
        made.append(start)
        start = add(start, step)
    return TList(made, NUMBER)


def reverse(items: Value) -> Value:
    """Sequence from its end to its start; a set becomes a list."""
    found, marked = unmark(items)
    if not isinstance(found, tuple):
        got = type_name(type_of(found))
        raise Refusal(f"can only reverse list or tuple values, not {got}", argument=0)
    turned = found[::-1]
    if isinstance(found, TList | TSet):
        return mark(TList(turned, found.element), sensitive=marked)
    return mark(turned, sensitive=marked)


def cut(items: Value, start: Number, end: Number) -> Value:
    """Elements from a start index to before an end index."""
    found, marked = unmark(items)
    if isinstance(found, TSet):
        raise Refusal(
            "cannot slice a set, because its elements do not have indices; explicitly convert "
            "to a list if the ordering of the result is not important",
            argument=0,
        )
    if not isinstance(found, tuple):
        raise Refusal("must be a list or tuple value", argument=0)
    first = _place(start, len(found), 1, "start")
    last = _place(end, len(found), 2, "end")
    if first > last:
        raise Refusal("start index must not be greater than end index", argument=1)
    part = found[first:last]
    made = TList(part, found.element) if isinstance(found, TList) else part
    return mark(made, sensitive=marked)


def _place(index: Number, count: int, argument: int, name: str) -> int:
    place = whole_number(index, argument=argument, prefix=f"invalid {name} index: ")
    if place < 0:
        raise Refusal(f"{name} index must not be less than zero", argument=argument)
    if place > count:
        reason = f"{name} index must not be greater than the length of the list"
        raise Refusal(reason, argument=argument)
    return place


def sort(items: TList) -> Value:
    """Strings in the order of their characters."""
    texts: list[str] = []
    for place, each in enumerate(items):
        if not isinstance(each, str):
            raise Refusal(f"given list element {place} is null; a null string cannot be sorted")
        texts.append(each)
    return TList(sorted(texts), STRING)


def transpose(mapping: TMap) -> Value:
    """Map of lists of strings turned round: each string to the keys that have it."""
    turned: dict[str, list[Value]] = {}
    for key, names in mapping.items():
        if not isinstance(names, tuple):
            raise Refusal("input must not contain null list")
        for name in names:
            if not isinstance(name, str):
                raise Refusal("input list must not contain null string")
            turned.setdefault(name, []).append(key)
    lists: dict[str, Value] = {name: TList(found, STRING) for name, found in turned.items()}
    return TMap(lists, LIST_OF_STRING)


def zipmap(names: Value, items: Value) -> Value:
    """Object, or map if the values are a list, from names and values side by side."""
    found_names, names_marked = unmark(names)
    found, marked = unmark(items)
    if not isinstance(found, tuple) or isinstance(found, TSet):
        raise Refusal("values argument must be a list or tuple value")
    keys = cast("TList", found_names)
    if len(keys) != len(found):
        counts = f"({len(keys)}) does not match number of values ({len(found)})"
        raise Refusal(f"number of keys {counts}")
    hidden = names_marked or marked or has_sensitive(keys)
    pairs = {
        _key(name, place): value
        for place, (name, value) in enumerate(zip(keys, found, strict=True))
    }
    made = TMap(pairs, found.element) if isinstance(found, TList) else dict(sorted(pairs.items()))
    return mark(made, sensitive=hidden)


def _key(name: Value, place: int) -> str:
    bare, _ = unmark(name)
    if not isinstance(bare, str):
        raise Refusal(f"keys list has null value at index {place}")
    return bare


_LIST: Final = Parameter("list", marked=True)

BUILDERS: Final = (
    Function(
        "chunklist",
        (Parameter("list", LIST_OF_ANY, marked=True), Parameter("size", NUMBER)),
        chunklist,
    ),
    Function("concat", (), concat, Parameter("seqs", marked=True)),
    Function("distinct", (Parameter("list", LIST_OF_ANY),), distinct),
    Function("flatten", (_LIST,), flatten),
    Function("merge", (), merge, Parameter("maps", nullable=True, marked=True)),
    Function("range", (), make_range, Parameter("params", NUMBER)),
    Function("reverse", (_LIST,), reverse),
    Function(
        "slice", (_LIST, Parameter("start_index", NUMBER), Parameter("end_index", NUMBER)), cut
    ),
    Function("sort", (Parameter("list", LIST_OF_STRING),), sort),
    Function("transpose", (Parameter("values", MapType(LIST_OF_STRING)),), transpose),
    Function(
        "zipmap",
        (Parameter("keys", LIST_OF_STRING, marked=True), Parameter("values", marked=True)),
        zipmap,
    ),
)
