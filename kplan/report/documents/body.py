"""Bodies and diffs: attributes before and after, as rows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, cast

from kplan.kinds.secret import HIDDEN_VALUE
from kplan.model.dataclass import dataclass
from kplan.report.document import Line, Mark, Row, Span, Tone, faint, line
from kplan.report.documents.notation import hcl, quoted
from kplan.report.documents.units import counted, meaning


@dataclass(frozen=True, slots=True)
class Verbatim:
    """A value that is told in words. Two of another `side` differ even with equal words."""

    words: str
    side: str = ""

    def __str__(self) -> str:
        """Give the words, unquoted."""
        return self.words


SENSITIVE: Final = HIDDEN_VALUE
KNOWN_LATER: Final = Verbatim("(known after apply)")


class Absent:
    """The value of what is not there; null is a value."""


ABSENT: Final = Absent()


@dataclass(frozen=True, slots=True)
class Entry:
    """One named value, before and after.

    `key` decides the unit of a number; `comment` stands at the end of the line.
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


def rows(entries: Sequence[Entry], column: int) -> Iterator[Row]:
    """Write named values, their equals signs aligned."""
    width = max((len(each.name) for each in entries), default=0)
    for each in entries:
        yield from _entry(each, f"{each.name:<{width}} = ", column)


def _entry(each: Entry, lead: str, column: int) -> Iterator[Row]:
    values = [value for value in (each.before, each.after) if value is not ABSENT]
    if all(isinstance(value, Mapping) for value in values) and any(values):
        yield from _enclosed(each, lead, column, "{}", _keys(each, column + 4))
    elif all(isinstance(value, list | tuple) for value in values) and any(values):
        yield from _enclosed(each, lead, column, "[]", _elements(each, column + 4))
    else:
        yield _row(each, column, lead, _scalar(each))


def _scalar(each: Entry) -> str:
    match each.mark:
        case Mark.CHANGE:
            before, after = hcl(each.before), hcl(each.after)
            return f"{before} -> {after}" if before != after else after
        case Mark.REMOVE:
            return f"{hcl(each.before)} -> null"
        case _:
            return hcl(each.after)


def _row(each: Entry, column: int, lead: str, said: str) -> Row:
    return Row(line(lead, said, *_asides(each)), each.mark, column)


def _asides(each: Entry) -> Iterator[Span]:
    """Say what raw numbers mean, and what the change entails."""
    if meant := _meant(each):
        yield faint(f"  ({meant})")
    if each.comment:
        tone = Tone.REMOVE if each.comment == "forces replacement" else Tone.FAINT
        yield Span(f"  # {each.comment}", tone)


def _meant(each: Entry) -> str:
    if each.before is ABSENT or each.mark is Mark.NONE:
        return meaning(each.key, each.after)
    before = meaning(each.key, each.before)
    if each.after is ABSENT:
        return f"{before} -> default" if before else ""
    after = meaning(each.key, each.after)
    return f"{before or each.before} -> {after or each.after}" if before or after else ""


def _enclosed(
    each: Entry, lead: str, column: int, brackets: str, inner: Iterable[Row]
) -> Iterator[Row]:
    yield Row(line(lead, brackets[0], *_asides(each)), each.mark, column)
    yield from inner
    closing = f"{brackets[1]} -> null" if each.mark is Mark.REMOVE else brackets[1]
    yield Row(line(closing), column=column)


def _keys(each: Entry, column: int) -> Iterator[Row]:
    before, after = (
        cast("Mapping[str, object]", {} if value is ABSENT else value)
        for value in (each.before, each.after)
    )
    entries = [
        Entry(quoted(key), before.get(key, ABSENT), after.get(key, ABSENT), key)
        for key in sorted(before.keys() | after.keys())
    ]
    changed = [entry for entry in entries if entry.mark is not Mark.NONE]
    # Inside something that goes or comes as a whole a lone "-> null" on each line says nothing.
    if each.mark is Mark.REMOVE:
        width = max(len(entry.name) for entry in changed)
        for entry in changed:
            said = f"{entry.name:<{width}} = {hcl(entry.before)}"
            yield Row(line(said, *_unit(entry.key, entry.before)), Mark.REMOVE, column)
    else:
        yield from rows(changed, column)
    yield from unchanged(len(entries) - len(changed), "element", column)


def _unit(key: str, value: object) -> Line:
    meant = meaning(key, value)
    return line(faint(f"  ({meant})")) if meant else ()


def _elements(each: Entry, column: int) -> Iterator[Row]:
    before, after = (
        cast("Sequence[object]", () if value is ABSENT else value)
        for value in (each.before, each.after)
    )
    same = 0
    for index in range(max(len(before), len(after))):
        old = before[index] if index < len(before) else ABSENT
        new = after[index] if index < len(after) else ABSENT
        match Entry("", old, new).mark:
            case Mark.NONE:
                same += 1
            case Mark.CHANGE:
                yield Row(line(f"{hcl(old)} -> {hcl(new)},"), Mark.CHANGE, column)
            case Mark.REMOVE:
                yield Row(line(f"{hcl(old)},"), Mark.REMOVE, column)
            case _:
                yield Row(line(f"{hcl(new)},"), Mark.ADD, column)
    yield from unchanged(same, "element", column)


def unchanged(count: int, noun: str, column: int) -> Iterator[Row]:
    """Say how much was left out because it stays as it is."""
    if count:
        yield Row(line(faint(f"# ({counted(count, f'unchanged {noun}')} hidden)")), column=column)
