"""One change as a person reads it: what happens, why, to what, and what to beware of."""

from collections.abc import Iterator, Mapping, Sequence
from typing import assert_never

from kplan.kinds.schema import schema_fields, to_document
from kplan.model.plan import Action, AttributeChange, Change, Reason, Risk
from kplan.model.resource import Path, connection_name
from kplan.report.document import Item, Line, Mark, Row, Span, Tone, faint, line, strong
from kplan.report.documents.body import (
    ABSENT,
    KNOWN_LATER,
    SENSITIVE,
    Entry,
    Verbatim,
    rows,
    unchanged,
)
from kplan.report.documents.notation import quoted

MARKS: Mapping[Action, Mark] = {
    Action.CREATE: Mark.ADD,
    Action.UPDATE: Mark.CHANGE,
    Action.REPLACE: Mark.REPLACE,
    Action.DELETE: Mark.REMOVE,
    Action.FORGET: Mark.FORGET,
    Action.NO_OP: Mark.NONE,
}
_INSIDE = 8


def mark_of(change: Change) -> Mark:
    """Give the mark of a change; a replacement tells which of the two comes first."""
    is_swap = change.action is Action.REPLACE and change.adds_first
    return Mark.SWAP if is_swap else MARKS[change.action]


_UNSAID = frozenset(
    {
        Reason.NONE,
        Reason.MOVED,
        Reason.DESTROY,
        Reason.PROTECTION,
        Reason.IMPORTED,
        Reason.IMPORTED_AND_CHANGED,
    }
)


def item(change: Change) -> Item:
    """Show one change that is not kept out of sight."""
    return Item(
        str(change.address),
        comments=tuple(comments(change)),
        rows=tuple(_body(change)),
        remarks=tuple(remarks(change)),
        mark=mark_of(change),
    )


def comments(change: Change) -> Iterator[Line]:
    """Say what happens, in the words that tools know from Terraform, and why."""
    verb, tone = _verb(change)
    is_only_moved = change.action is Action.NO_OP and change.reason is Reason.MOVED
    name = change.previous if is_only_moved else change.address
    yield line(strong(f"# {name}"), " ", Span(verb, tone) if tone else verb)
    yield from _reasons(change)


def _verb(change: Change) -> tuple[str, Tone | None]:
    match change.action:
        case Action.CREATE:
            return "will be created", None
        case Action.UPDATE:
            return "will be updated in-place", None
        case Action.REPLACE:
            return "must be replaced", Tone.DANGER
        case Action.DELETE:
            return "will be destroyed", Tone.DANGER
        case Action.FORGET:
            return "will no longer be managed by kplan, but will not be destroyed", None
        case Action.NO_OP:
            return _noted(change), None
        case _:
            assert_never(change.action)


def _noted(change: Change) -> str:
    """Say what only the state is told."""
    if change.reason in {Reason.ADOPTED, Reason.IMPORTED}:
        return "will be imported"
    if change.reason is Reason.PROTECTION:
        return f"will {'be' if change.is_protected else 'no longer be'} protected"
    return f"has moved to {change.address}"


def _reasons(change: Change) -> Iterator[Line]:
    if change.provider:
        yield line(faint(f"# (on {connection_name(change.provider)})"))
    if change.previous is not None and change.action is not Action.NO_OP:
        yield line(faint(f"# (moved from {change.previous})"))
    if change.reason is Reason.IMPORTED_AND_CHANGED:
        yield line(faint(f"# (imported from {quoted(str(change.identity))})"))
    if change.reason not in _UNSAID:
        yield line(faint(f"# (because {change.reason.value})"))
    if change.is_protected and change.action in {Action.DELETE, Action.REPLACE}:
        yield line(faint("# (protected by prevent_destroy: this is refused)"))


def _body(change: Change) -> Iterator[Row]:
    if change.action in {Action.FORGET, Action.NO_OP}:
        return
    name = f"resource {quoted(change.address.kind)} {quoted(change.address.name)} {{"
    yield Row(line(name), mark_of(change))
    if change.before is None or change.after is None:
        yield from rows(tuple(_whole(change)), _INSIDE)
    else:
        yield from _changed(change)
    yield Row(line("}"))


def _whole(change: Change) -> Iterator[Entry]:
    """List what comes or goes; attributes that were left out stay out."""
    is_new = change.before is None
    value = change.after if is_new else change.before
    for name, each in to_document(value).items():
        if each not in (None, {}):
            shown = hide(each, (name,), change.sensitive)
            before, after = (ABSENT, shown) if is_new else (shown, ABSENT)
            yield Entry(name, before, after, name)
    if is_new:
        yield Entry("id", ABSENT, KNOWN_LATER)


def hide(value: object, path: Path, sensitive: frozenset[Path], side: str = "") -> object:
    """Put words in the place of every value that must not be shown."""
    if path in sensitive:
        return Verbatim(SENSITIVE, side)
    if isinstance(value, Mapping) and sensitive:
        return {key: hide(value[key], (*path, key), sensitive, side) for key in value}
    return value


def _changed(change: Change) -> Iterator[Row]:
    """Write what differs, the attributes that name the object, and how much is left out."""
    before, after = to_document(change.before), to_document(change.after)
    by_name: dict[str, list[AttributeChange]] = {}
    for each in change.attributes:
        by_name.setdefault(each.path[0], []).append(each)
    entries: list[Entry] = []
    hidden = 0
    for field in schema_fields(type(change.after)):
        old, new = before[field.name], after[field.name]
        if field.name in by_name:
            entries.append(_entry(by_name[field.name], old, new, change.sensitive))
        elif field.attribute.forces_replacement:
            entries.append(Entry(field.name, new, new, field.name))
        elif new not in (None, {}):
            hidden += 1
    yield from rows(entries, _INSIDE)
    yield from unchanged(hidden, "attribute", _INSIDE)


def _entry(
    changes: Sequence[AttributeChange], old: object, new: object, sensitive: frozenset[Path]
) -> Entry:
    name = changes[0].path[0]
    notes = [each.note for each in changes if each.note]
    if any(each.forces_replacement for each in changes):
        notes.insert(0, "forces replacement")
    hidden = sensitive | {each.path for each in changes if each.sensitive}
    before, after = (
        ABSENT if value is None else hide(value, (name,), hidden, side)
        for value, side in ((old, "before"), (new, "after"))
    )
    return Entry(name, before, after, name, "; ".join(notes))


def remarks(change: Change) -> Iterator[Row]:
    """Say how much to worry, and why."""
    if change.risk is Risk.SAFE:
        for note in change.notes:
            yield Row(line(faint(f"# {note}")), column=6)
        return
    tone = Tone.DANGER if change.risk is Risk.DANGEROUS else Tone.WARNING
    word = Span(change.risk.value.upper(), tone)
    if len(change.notes) == 1:
        yield Row(line(word, f"  {change.notes[0]}"), Mark.ALARM, 6)
        return
    yield Row(line(word), Mark.ALARM, 6)
    for note in change.notes:
        yield Row(line(f"  {note}"), Mark.ALARM, 6)
