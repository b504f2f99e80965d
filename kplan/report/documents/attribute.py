"""Attributes for people: named values before and after, with the lines they take."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, cast

from kplan.kinds.base import HIDDEN_VALUE
from kplan.model.dataclass import dataclass
from kplan.report.document import Line, Mark, Row, Span, Tone, faint_span, line
from kplan.report.documents.notation import count_text, hcl_text, quote_hcl, unit_meaning


@dataclass(frozen=True, slots=True)
class Verbatim:
    """A value that is reported in words. Two of another `side` differ even with equal words."""

    text: str
    side: str = ""

    def __str__(self) -> str:
        """Return the words, unquoted."""
        return self.text


SENSITIVE: Final = HIDDEN_VALUE
KNOWN_AFTER_APPLY: Final = Verbatim("(known after apply)")


class Absent:
    """The value of an absent object; null is a value."""


ABSENT: Final = Absent()


@dataclass(frozen=True, slots=True)
class AttributeEntry:
    """One named value, before and after.

    `key` decides the unit of a number; `comment` is at the end of the line.
    """

    name: str
    before: object
    after: object
    key: str = ""
    comment: str = ""

    @property
    def mark(self) -> Mark:
        """What becomes of the value."""
        if self.before is ABSENT:
            return Mark.ADD
        if self.after is ABSENT:
            return Mark.REMOVE
        return Mark.NONE if self.before == self.after else Mark.CHANGE


def attribute_rows(entries: Sequence[AttributeEntry], column: int) -> Iterator[Row]:
    """Write named values, their equals signs aligned."""
    width = max((len(each.name) for each in entries), default=0)
    for each in entries:
        yield from _entry_rows(each, f"{each.name:<{width}} = ", column)


def _entry_rows(each: AttributeEntry, lead: str, column: int) -> Iterator[Row]:
    values = [value for value in (each.before, each.after) if value is not ABSENT]
    if all(isinstance(value, Mapping) for value in values) and any(values):
        yield from _collection_rows(each, lead, column, "{}", _map_rows(each, column + 4))
    elif all(isinstance(value, list | tuple) for value in values) and any(values):
        yield from _collection_rows(each, lead, column, "[]", _list_rows(each, column + 4))
    else:
        yield _scalar_row(each, column, lead, _scalar_text(each))


def _scalar_text(each: AttributeEntry) -> str:
    match each.mark:
        case Mark.CHANGE:
            before, after = hcl_text(each.before), hcl_text(each.after)
            return f"{before} -> {after}" if before != after else after
        case Mark.REMOVE:
            return f"{hcl_text(each.before)} -> null"
        case _:
            return hcl_text(each.after)


def _scalar_row(each: AttributeEntry, column: int, lead: str, said: str) -> Row:
    return Row(line(lead, said, *_annotations(each)), each.mark, column)


def _annotations(each: AttributeEntry) -> Iterator[Span]:
    """Explain raw numbers and the consequences of the change."""
    if meant := _meaning_text(each):
        yield faint_span(f"  ({meant})")
    if each.comment:
        tone = Tone.REMOVE if each.comment == "forces replacement" else Tone.FAINT
        yield Span(f"  # {each.comment}", tone)


def _meaning_text(each: AttributeEntry) -> str:
    if each.before is ABSENT or each.mark is Mark.NONE:
        return unit_meaning(each.key, each.after)
    before = unit_meaning(each.key, each.before)
    if each.after is ABSENT:
        return f"{before} -> default" if before else ""
    after = unit_meaning(each.key, each.after)
    return f"{before or each.before} -> {after or each.after}" if before or after else ""


def _collection_rows(
    each: AttributeEntry, lead: str, column: int, brackets: str, inner: Iterable[Row]
) -> Iterator[Row]:
    yield Row(line(lead, brackets[0], *_annotations(each)), each.mark, column)
    yield from inner
    closing = f"{brackets[1]} -> null" if each.mark is Mark.REMOVE else brackets[1]
    yield Row(line(closing), column=column)


def _map_rows(each: AttributeEntry, column: int) -> Iterator[Row]:
    before, after = (
        cast("Mapping[str, object]", {} if value is ABSENT else value)
        for value in (each.before, each.after)
    )
    entries = [
        AttributeEntry(quote_hcl(key), before.get(key, ABSENT), after.get(key, ABSENT), key)
        for key in sorted(before.keys() | after.keys())
    ]
    changed = [entry for entry in entries if entry.mark is not Mark.NONE]
    # Inside something that goes or comes as a whole a lone "-> null" on each line says nothing.
    if each.mark is Mark.REMOVE:
        width = max(len(entry.name) for entry in changed)
        for entry in changed:
            said = f"{entry.name:<{width}} = {hcl_text(entry.before)}"
            yield Row(line(said, *_unit_note(entry.key, entry.before)), Mark.REMOVE, column)
    else:
        yield from attribute_rows(changed, column)
    yield from unchanged_row(len(entries) - len(changed), "element", column)


def _unit_note(key: str, value: object) -> Line:
    meant = unit_meaning(key, value)
    return line(faint_span(f"  ({meant})")) if meant else ()


def _list_rows(each: AttributeEntry, column: int) -> Iterator[Row]:
    before, after = (
        cast("Sequence[object]", () if value is ABSENT else value)
        for value in (each.before, each.after)
    )
    same = 0
    for index in range(max(len(before), len(after))):
        old = before[index] if index < len(before) else ABSENT
        new = after[index] if index < len(after) else ABSENT
        match AttributeEntry("", old, new).mark:
            case Mark.NONE:
                same += 1
            case Mark.CHANGE:
                yield Row(line(f"{hcl_text(old)} -> {hcl_text(new)},"), Mark.CHANGE, column)
            case Mark.REMOVE:
                yield Row(line(f"{hcl_text(old)},"), Mark.REMOVE, column)
            case _:
                yield Row(line(f"{hcl_text(new)},"), Mark.ADD, column)
    yield from unchanged_row(same, "element", column)


def unchanged_row(count: int, noun: str, column: int) -> Iterator[Row]:
    """Say how much was left out because it stays as it is."""
    if count:
        yield Row(
            line(faint_span(f"# ({count_text(count, f'unchanged {noun}')} hidden)")), column=column
        )
