"""ACLs, a table per principal instead of a block per binding."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from kplan.kinds.acl import Acl
from kplan.model.plan import Action, Change
from kplan.model.resource import connection_name
from kplan.report.document import Item, Line, Row, Table, TableRow, faint_span, line, strong_span
from kplan.report.documents.change import (
    change_comments,
    change_item,
    change_mark,
    change_remarks,
    declarations_text,
)

_WORDS = ((Action.DELETE, "to destroy"), (Action.REPLACE, "to replace"), (Action.CREATE, "to add"))


def acl_blocks(changes: Sequence[Change]) -> Iterator[Table]:
    """Show ACL changes grouped by principal; a replaced ACL is one row."""
    ordered = sorted(
        changes, key=lambda each: (_principal_and_provider(each), _acl_text(_acl(each)))
    )
    title: tuple[Row, ...] = (Row(_title(changes), column=2),)
    for (principal, provider), group in groupby(ordered, key=_principal_and_provider):
        members = list(group)
        where = faint_span(f" on {connection_name(provider)}" if provider else "")
        yield Table(
            tuple(TableRow(_cells(each), change_mark(each)) for each in members),
            title=(*title, Row(line(strong_span(principal), where))),
            footer=(
                *_remarks(members),
                Row(line(faint_span(f"net: {_net_change_text(members)}")), column=8),
            ),
            column=8,
        )
        title = ()


def acl_item(change: Change) -> Item:
    """Show one ACL with a comment line of its own, and itself on one line where that is enough."""
    if change.action not in {Action.CREATE, Action.DELETE}:
        return change_item(change)
    text = line(f"{_acl(change).acl_principal} {_acl_text(_acl(change))}")
    return Item(
        str(change.address),
        comments=tuple(change_comments(change)),
        rows=(Row(text, change_mark(change)),),
        remarks=tuple(change_remarks(change)),
        mark=change_mark(change),
        declared_at=change.declared_at,
    )


def access_gaps(changes: Iterable[Change]) -> tuple[str, ...]:
    """Name who is without an Allow for the moment between the two requests of a replacement."""
    return tuple(
        sorted(
            {
                change.before.acl_principal
                for change in changes
                if change.action is Action.REPLACE
                and not change.adds_first
                and isinstance(change.before, Acl)
                and change.before.acl_permission_type == "Allow"
            }
        )
    )


def is_acl(change: Change) -> bool:
    """Whether the change is one of an ACL."""
    return isinstance(_acl(change), Acl)


def _acl(change: Change) -> Acl:
    return change.before if change.after is None else change.after  # type: ignore[return-value] # the caller picked ACLs


def _principal_and_provider(change: Change) -> tuple[str, str]:
    """Name principal and cluster."""
    return _acl(change).acl_principal, change.provider


def _title(changes: Sequence[Change]) -> Line:
    counts = [
        (sum(1 for each in changes if each.action is action), word) for action, word in _WORDS
    ]
    said = ", ".join(f"{count:,} {word}" for count, word in counts if count)
    return line(strong_span("# kafka_acl"), f": {said}{_order_text(changes)}")


def _order_text(changes: Sequence[Change]) -> str:
    """Note which requests are sent first, if there are adds and deletes."""
    gone = [each for each in changes if each.before is not None]
    if not gone or all(each.after is None for each in changes):
        return ""
    late = sum(1 for each in gone if each.adds_first)
    if not late:
        return " (destroys are sent before adds)"
    if late == len(gone):
        return " (adds are sent before destroys)"
    return f" (destroys are sent before adds, but for {late:,} of them)"


def _cells(change: Change) -> tuple[Line, ...]:
    sides = [_acl_columns(value) for value in (change.before, change.after) if value is not None]
    items = (" -> ".join(dict.fromkeys(parts)) for parts in zip(*sides, strict=True))
    also = f" ({declarations_text(change)})" if change.others else ""
    return (
        *(line(each) for each in items),
        line(faint_span(f"{change.address}{also}{_previous_principal_text(change)}")),
    )


def _previous_principal_text(change: Change) -> str:
    """Return whom the ACL was for before, where that changes."""
    before, after = change.before, change.after
    if isinstance(before, Acl) and isinstance(after, Acl):
        return f" (was {before.acl_principal})" * (before.acl_principal != after.acl_principal)
    return ""


def _acl_columns(value: object) -> tuple[str, str, str, str]:
    acl: Acl = value  # type: ignore[assignment] # the caller picked ACLs
    suffix = " (prefixed)" if acl.resource_pattern_type_filter == "Prefixed" else ""
    return (
        acl.acl_permission_type,
        acl.acl_operation,
        f"{acl.resource_type} {acl.resource_name}{suffix}",
        f"from {acl.acl_host}",
    )


def _acl_text(acl: Acl) -> str:
    return " ".join(_acl_columns(acl))


def _remarks(changes: Sequence[Change]) -> Iterator[Row]:
    """Say each remark once, with the number of ACLs it is about."""
    counts = Counter(row for each in changes for row in change_remarks(each))
    for row, count in sorted(counts.items(), key=lambda pair: str(pair[0].text)):
        yield replace(
            row, text=(*row.text, *line(f" ({count:,} ACLs)" if count > 1 else "")), column=8
        )


def _net_change_text(changes: Sequence[Change]) -> str:
    """Count the permissions that the principal gains and loses."""
    before = {each.before for each in changes} - {None}
    after = {each.after for each in changes} - {None}
    gained, lost = len(after - before), len(before - after)
    parts = [f"+{gained:,}"] * bool(gained) + [f"-{lost:,}"] * bool(lost)
    noun = "ACL" if gained + lost == 1 else "ACLs"
    return f"{', '.join(parts)} {noun}" if parts else "nothing changes"
