"""Changes that do the same to many objects: said once, with the names."""

from collections.abc import Hashable, Iterable, Mapping, Sequence

from kplan.kinds.schema import schema_fields, to_document
from kplan.model.plan import Action, Change, ObjectKey
from kplan.report.document import Item, Row, faint_span, line, strong_span
from kplan.report.documents.acl import is_acl
from kplan.report.documents.change import (
    BODY_COLUMN,
    action_text,
    all_entries,
    attribute_rows,
    change_mark,
    change_remarks,
    reason_lines,
    update_entries,
)

_MIN_ALIKE = 5
"""So many changes that do the same are said once."""


def alike_changes(shown: Iterable[Change]) -> Mapping[ObjectKey, Sequence[Change]]:
    """Return the groups of changes that do the same, by each of their members."""
    groups: dict[Hashable, list[Change]] = {}
    for each in shown:
        is_plain = each.previous is None and each.impact is None
        if is_plain and each.action in _ALIKE_ACTIONS and not is_acl(each):
            groups.setdefault(_alike_key(each), []).append(each)
    found = [members for members in groups.values() if len(members) >= _MIN_ALIKE]
    return {each.key: members for members in found for each in members}


_ALIKE_ACTIONS = frozenset({Action.CREATE, Action.UPDATE})


def _alike_key(change: Change) -> Hashable:
    """Return the common part of changes that do the same to objects with other names."""
    done = change.attributes if change.before is not None else _unnamed_document(change.after)
    return (
        *(change.kind, change.action, change.provider, change.reason, change.risk, change.notes),
        *(change.is_protected, change.sensitive, str(done)),
    )


def _unnamed_document(value: object) -> Mapping[str, object]:
    names = _naming_attributes(value)
    return {name: each for name, each in to_document(value).items() if name not in names}


def _naming_attributes(value: object) -> frozenset[str]:
    """Return the attributes that name the object."""
    fields = schema_fields(type(value))
    return frozenset(each.name for each in fields if each.attribute.forces_replacement)


def alike_item(changes: Sequence[Change], most: int) -> Item:
    """Show equal changes once, with at most so many of their names."""
    first, mark = changes[0], change_mark(changes[0])
    verb, _ = action_text(first)
    names = _naming_attributes(first.after)
    if first.before is None:
        entries = [each for each in all_entries(first) if each.name not in {*names, "id"}]
    else:
        entries = [each for each in update_entries(first)[0] if each.name not in names]
    shown = [str(each.address) for each in changes[:most]]
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
        remarks=tuple(change_remarks(first)),
        mark=mark,
        declared_at=first.declared_at,
        count=len(changes),
    )


_NAMES_A_LINE = 5
