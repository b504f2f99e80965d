"""One change for people: action, reason, attributes before and after, risks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from kplan.kinds.schema import schema_fields, to_outlined_document
from kplan.model.address import instance_key
from kplan.model.plan import STATE_ONLY_REASONS, Action, AttributeChange, Change, Reason, Risk
from kplan.model.resource import Path, connection_name
from kplan.report.document import Item, Line, Mark, Row, Span, Tone, faint_span, line, strong_span
from kplan.report.documents.attribute import (
    ABSENT,
    KNOWN_AFTER_APPLY,
    SENSITIVE,
    AttributeEntry,
    Verbatim,
    attribute_rows,
    unchanged_row,
)
from kplan.report.documents.notation import quote_hcl

ACTION_MARKS: Mapping[Action, Mark] = {
    Action.CREATE: Mark.ADD,
    Action.UPDATE: Mark.CHANGE,
    Action.REPLACE: Mark.REPLACE,
    Action.DELETE: Mark.REMOVE,
    Action.FORGET: Mark.FORGET,
    Action.NO_OP: Mark.NONE,
}
BODY_COLUMN = 8


def change_mark(change: Change) -> Mark:
    """Return the symbol of a change; that of a replacement shows the order."""
    is_swap = change.action is Action.REPLACE and change.adds_first
    return Mark.SWAP if is_swap else ACTION_MARKS[change.action]


_SILENT_REASONS = STATE_ONLY_REASONS | {
    Reason.NONE,
    Reason.MOVED,
    Reason.DESTROY,
    Reason.IMPORTED,
    Reason.IMPORTED_AND_CHANGED,
}


def change_item(change: Change) -> Item:
    """Show one change that is not kept out of sight."""
    return Item(
        str(change.address),
        comments=tuple(change_comments(change)),
        rows=tuple(_body_rows(change)),
        remarks=tuple(change_remarks(change)),
        mark=change_mark(change),
        declared_at=change.declared_at,
    )


def change_comments(change: Change) -> Iterator[Line]:
    """Describe the change in Terraform's words, with the reason."""
    verb, tone = action_text(change)
    is_only_moved = change.action is Action.NO_OP and change.reason is Reason.MOVED
    name = change.previous if is_only_moved else change.address
    yield line(strong_span(f"# {name}"), " ", Span(verb, tone) if tone else verb)
    yield from reason_lines(change)


def action_text(change: Change) -> tuple[str, Tone | None]:
    """Describe the action on an object in Terraform's words."""
    match change.action:
        case Action.CREATE:
            return "will be created", None
        case Action.UPDATE:
            return "will be updated in-place", None
        case Action.REPLACE:
            return "must be replaced", Tone.DANGER
        case Action.DELETE:
            return "will be destroyed", Tone.DANGER
        case Action.FORGET if change.reason is Reason.ALREADY_DELETED:
            return "will be removed from the state", None
        case Action.FORGET:
            return "will no longer be managed by kplan, but will not be destroyed", None
        case Action.NO_OP:
            return _state_only_text(change), None
        case _:
            assert_never(change.action)


def _state_only_text(change: Change) -> str:
    """Describe changes to the state only."""
    if change.reason in {Reason.ADOPTED, Reason.IMPORTED}:
        return "will be imported"
    if change.reason is Reason.PROTECTION:
        return f"will {'be' if change.is_protected else 'no longer be'} protected"
    if change.reason is Reason.SENSITIVITY:
        return "has other sensitive values than before"
    if change.reason is Reason.DECLARATIONS:
        count = len(change.addresses)
        return f"is declared by {count} resources" if count > 1 else "is declared by this one alone"
    return f"has moved to {change.address}"


def _reason_text(change: Change) -> str:
    """Give the reason, in Terraform's words where the block does not declare the instance."""
    key = change.address.key
    place = instance_key(key)
    match change.reason:
        case Reason.INSTANCE_GONE if isinstance(key, int):
            return f"index {place} is out of range for count"
        case Reason.INSTANCE_GONE:
            return f"key {place} is not in for_each map"
        case Reason.WRONG_REPETITION if key is None:
            return "resource uses count or for_each"
        case Reason.WRONG_REPETITION:
            return f"resource does not use {'count' if isinstance(key, int) else 'for_each'}"
        case _:
            return change.reason.value


def reason_lines(change: Change) -> Iterator[Line]:
    """Explain why a change is planned, and add notes on the whole of it."""
    if change.provider:
        yield line(faint_span(f"# (on {connection_name(change.provider)})"))
    if change.others:
        yield line(faint_span(f"# ({declarations_text(change)})"))
    if change.previous is not None and change.action is not Action.NO_OP:
        yield line(faint_span(f"# (moved from {change.previous})"))
    if change.reason is Reason.IMPORTED_AND_CHANGED:
        yield line(faint_span(f"# (imported from {quote_hcl(str(change.identity))})"))
    if change.reason not in _SILENT_REASONS:
        yield line(faint_span(f"# (because {_reason_text(change)})"))
    if change.is_protected and change.action in {Action.DELETE, Action.REPLACE}:
        yield line(faint_span("# (protected by prevent_destroy: this is refused)"))


_MAX_DECLARATIONS = 3


def declarations_text(change: Change) -> str:
    """Name the further addresses that declare the object, or did so before its deletion."""
    more = len(change.others) - _MAX_DECLARATIONS
    names = ", ".join(str(each) for each in change.others[:_MAX_DECLARATIONS])
    also = "also declared by" if change.after is not None else "was also declared by"
    return f"{also} {names}" + (f" and {more:,} more" if more > 0 else "")


def _body_rows(change: Change) -> Iterator[Row]:
    if change.action in {Action.FORGET, Action.NO_OP}:
        return
    name = f"resource {quote_hcl(change.address.kind)} {quote_hcl(change.address.name)} {{"
    yield Row(line(name), change_mark(change))
    if change.before is None or change.after is None:
        yield from attribute_rows(tuple(all_entries(change)), BODY_COLUMN)
    else:
        yield from _update_rows(change)
    yield Row(line("}"))


def all_entries(change: Change) -> Iterator[AttributeEntry]:
    """List added or removed values; attributes that were left out stay out."""
    is_new = change.before is None
    value = change.after if is_new else change.before
    for name, each in to_outlined_document(value).items():
        if each not in (None, {}):
            shown = hide_sensitive(each, (name,), change.sensitive)
            before, after = (ABSENT, shown) if is_new else (shown, ABSENT)
            yield AttributeEntry(name, before, after, name)
    if is_new:
        yield AttributeEntry("id", ABSENT, KNOWN_AFTER_APPLY)


def hide_sensitive(value: object, path: Path, sensitive: frozenset[Path], side: str = "") -> object:
    """Put words in the place of every value that must not be shown."""
    if path in sensitive:
        return Verbatim(SENSITIVE, side)
    if isinstance(value, Mapping) and sensitive:
        return {key: hide_sensitive(value[key], (*path, key), sensitive, side) for key in value}
    return value


def _update_rows(change: Change) -> Iterator[Row]:
    """Write the differing and identifying attributes, and the number of omitted ones."""
    entries, hidden = update_entries(change)
    yield from attribute_rows(entries, BODY_COLUMN)
    yield from unchanged_row(hidden, "attribute", BODY_COLUMN)


def update_entries(change: Change) -> tuple[list[AttributeEntry], int]:
    """Return the differing and identifying attributes, and the number of omitted ones."""
    before, after = to_outlined_document(change.before), to_outlined_document(change.after)
    by_name: dict[str, list[AttributeChange]] = {}
    for each in change.attributes:
        by_name.setdefault(each.path[0], []).append(each)
    entries: list[AttributeEntry] = []
    hidden = 0
    for field in schema_fields(type(change.after)):
        old, new = before[field.name], after[field.name]
        if field.name in by_name:
            made = _change_entry(by_name[field.name], old, new, change.sensitive)
            is_kept_secret = field.attribute.is_sensitive and _has_secret(change.before, field.name)
            old_secret = Verbatim(SENSITIVE, "before")
            entries.append(replace(made, before=old_secret) if is_kept_secret else made)
        elif field.attribute.forces_replacement and new is not None:
            entries.append(AttributeEntry(field.name, new, new, field.name))
        elif new not in (None, {}):
            hidden += 1
    return entries, hidden


def _has_secret(value: object, name: str) -> bool:
    """Whether a secret was set before that no cluster returns, as the password of a user."""
    unset = getattr(value, "unset_secret", None)
    return unset is not None and unset != (name,)


def _change_entry(
    changes: Sequence[AttributeChange], old: object, new: object, sensitive: frozenset[Path]
) -> AttributeEntry:
    name = changes[0].path[0]
    notes = [each.note for each in changes if each.note]
    if any(each.forces_replacement for each in changes):
        notes.insert(0, "forces replacement")
    hidden = sensitive | {each.path for each in changes if each.sensitive}
    before, after = (
        ABSENT if value is None else hide_sensitive(value, (name,), hidden, side)
        for value, side in ((old, "before"), (new, "after"))
    )
    return AttributeEntry(name, before, after, name, "; ".join(notes))


def change_remarks(change: Change) -> Iterator[Row]:
    """Say how much to worry, and why."""
    if change.risk is Risk.SAFE:
        for note in change.notes:
            yield Row(line(faint_span(f"# {note}")), column=6)
        return
    tone = Tone.DANGER if change.risk is Risk.DANGEROUS else Tone.WARNING
    word = Span(change.risk.value.upper(), tone)
    if len(change.notes) == 1:
        yield Row(line(word, f"  {change.notes[0]}"), Mark.ALARM, 6)
        return
    yield Row(line(word), Mark.ALARM, 6)
    for note in change.notes:
        yield Row(line(f"  {note}"), Mark.ALARM, 6)
