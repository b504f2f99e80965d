"""Changes that do the same to many objects: said once, with the names."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from kplan.kinds.schema import schema_fields, to_document
from kplan.model.impact import Impact
from kplan.model.plan import Action, Change, ObjectKey
from kplan.report.document import Item, Row, faint_span, line, strong_span
from kplan.report.documents.acl import is_acl
from kplan.report.documents.attribute import attribute_rows
from kplan.report.documents.change import (
    BODY_COLUMN,
    action_text,
    all_entries,
    change_mark,
    change_remarks,
    reason_lines,
    update_entries,
)
from kplan.report.documents.notation import count_text, duration_text, known_sum

_MIN_ALIKE = 5
"""So many changes that do the same are said once."""


def alike_changes(shown: Iterable[Change]) -> Mapping[ObjectKey, Sequence[Change]]:
    """Return the groups of changes that do the same, by each of their members."""
    groups: dict[Hashable, list[Change]] = {}
    for each in shown:
        is_plain = each.previous is None and each.action in _ALIKE_ACTIONS
        if is_plain and not is_acl(each):
            groups.setdefault(_alike_key(each), []).append(each)
    found = [members for members in groups.values() if len(members) >= _MIN_ALIKE]
    return {each.key: members for members in found for each in members}


_ALIKE_ACTIONS = frozenset({Action.CREATE, Action.UPDATE})


def _alike_key(change: Change) -> Hashable:
    """Return the common part of changes that do the same to objects with other names."""
    done = change.attributes if change.before is not None else _unnamed_document(change.after)
    return (
        *(change.kind, change.action, change.provider, change.reason, change.risk),
        *(_common_notes(change), change.is_protected, change.sensitive, str(done)),
    )


_IMPACT_CODES = ("KP2104", "KP2105", "KP2106", "KP2107")
"""Codes of notes about what is in one topic and who uses it."""


def _common_notes(change: Change) -> tuple[str, ...]:
    return tuple(each for each in change.notes if not each.startswith(_IMPACT_CODES))


def _with_common_evidence(changes: Sequence[Change]) -> Change:
    """Return the first change with the evidence about all of them."""
    used = [each.impact for each in changes if each.impact and not each.impact.is_unused]
    notes = (*_common_notes(changes[0]), *(_evidence(used) if used else ()))
    return replace(changes[0], notes=notes)


def _evidence(used: Sequence[Impact]) -> Iterator[str]:
    """Say what is in topics and who uses them; a sum of which a part is not known is not known."""
    records = known_sum([each.records for each in used])
    size = known_sum([each.size_bytes for each in used])
    ages = [each.age_ms for each in used if each.age_ms is not None]
    newest = f", the newest {duration_text(min(ages) // 1_000 * 1_000)} old" if ages else ""
    count, length = ("UNKNOWN" if each is None else f"{each:,}" for each in (records, size))
    yield f"KP2104 {count} records, {length} bytes in {count_text(len(used), 'topic')}{newest}"
    if any(each.groups is None for each in used):
        yield "KP2105 which groups read them is UNKNOWN"
    elif names := sorted({group.group for each in used for group in each.groups or ()}):
        more = len(names) - _MAX_GROUPS
        yield f"KP2105 groups: {', '.join(names[:_MAX_GROUPS])}" + (
            f" and {more:,} more" if more > 0 else ""
        )
    producers = known_sum([each.producers for each in used])
    if producers is None:
        yield "KP2106 who writes them is UNKNOWN"
    elif producers:
        yield f"KP2106 producers with an id that have written them lately: {producers:,}"
    for reason in sorted({reason for each in used for reason in each.unread})[:_MAX_GROUPS]:
        yield f"KP2107 not read: {reason}"


_MAX_GROUPS = 5


def _unnamed_document(value: object) -> Mapping[str, object]:
    names = _naming_attributes(value)
    return {name: each for name, each in to_document(value).items() if name not in names}


def _naming_attributes(value: object) -> frozenset[str]:
    """Return the attributes that name the object."""
    fields = schema_fields(type(value))
    return frozenset(each.name for each in fields if each.attribute.forces_replacement)


def alike_item(changes: Sequence[Change], most: int) -> Item:
    """Show equal changes once, with at most so many of their names.

    Topics with the most records come first.
    """
    changes = sorted(changes, key=lambda each: -_record_count(each))
    first, mark = changes[0], change_mark(changes[0])
    verb, _ = action_text(first)
    names = _naming_attributes(first.after)
    if first.before is None:
        entries = [each for each in all_entries(first) if each.name not in {*names, "id"}]
    else:
        entries = [each for each in update_entries(first)[0] if each.name not in names]
    shown = [_name_text(each) for each in changes[:most]]
    lines = [", ".join(shown[at : at + _NAMES_A_LINE]) for at in range(0, most, _NAMES_A_LINE)]
    lines += [f"and {len(changes) - most:,} more"] if len(changes) > most else []
    return Item(
        f"{len(changes):,} {first.kind}",
        comments=(
            line(strong_span(f"# {first.kind}"), f": {len(changes):,} {verb}"),
            *reason_lines(first),
        ),
        rows=(
            *attribute_rows(tuple(entries), BODY_COLUMN),
            *(Row(line(faint_span(each)), column=6) for each in lines if each),
        ),
        remarks=tuple(change_remarks(_with_common_evidence(changes))),
        mark=mark,
        declared_at=first.declared_at,
        count=len(changes),
    )


_NAMES_A_LINE = 5


def _record_count(change: Change) -> int:
    return (change.impact.records or 0) if change.impact else 0


def _name_text(change: Change) -> str:
    records = _record_count(change)
    return f"{change.address} ({count_text(records, 'record')})" if records else str(change.address)
