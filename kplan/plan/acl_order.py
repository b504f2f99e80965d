"""The order of ACL replacements: deletes before the adds that depend on them (KIP-4)."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from kplan.kinds.acl import Acl
from kplan.model.codes import SUMMARIES
from kplan.model.diagnostic import Diagnostic, Severity
from kplan.model.plan import Action, Batch, Change

Subject = tuple[str, str, str, str]
"""Who an ACL is for and on what: principal, resource type, pattern type, resource name."""


def sending_groups(changes: Sequence[Change]) -> tuple[tuple[Change, ...], ...]:
    """Part changes of one step into groups that are sent together, in order.

    Of ACLs that are only added or only deleted each is a group of its own: an apply may end
    between two requests, so Denies are added first, and deleted last.
    """
    groups = related_replacements(changes)
    if not any(isinstance(each.after or each.before, Acl) for each in changes):
        return groups
    if any(each.action is Action.REPLACE for each in changes):
        return groups
    single = [each for group in groups for each in group]
    return tuple((each,) for each in sorted(single, key=_permission_rank))


def _permission_rank(change: Change) -> int:
    acl = change.after or change.before
    is_deny = isinstance(acl, Acl) and acl.acl_permission_type == "Deny"
    return int(is_deny is (change.action is Action.DELETE))


def related_replacements(changes: Sequence[Change]) -> tuple[tuple[Change, ...], ...]:
    """Part changes into groups that share no principal and resource, in order of their first.

    Within a group every delete goes before every add; groups may follow one another.
    """
    parent = list(range(len(changes)))

    def root(number: int) -> int:
        while parent[number] != number:
            parent[number] = parent[parent[number]]
            number = parent[number]
        return number

    holders: dict[Subject, int] = {}
    for number, change in enumerate(changes):
        for subject in _subjects(change):
            held = root(holders.setdefault(subject, number))
            own = root(number)
            parent[max(held, own)] = min(held, own)
    groups: dict[int, list[Change]] = defaultdict(list)
    for number, change in enumerate(changes):
        groups[root(number)].append(change)
    return tuple(tuple(group) for group in groups.values())


def _subjects(change: Change) -> Iterator[Subject]:
    for acl in (change.before, change.after):
        if isinstance(acl, Acl):
            yield _subject(acl)


def _subject(acl: Acl) -> Subject:
    return (
        acl.acl_principal,
        acl.resource_type,
        acl.resource_pattern_type_filter,
        acl.resource_name,
    )


def check_acl_order(batches: Sequence[Batch]) -> Iterator[Diagnostic]:
    """Name the principals and resources of which an ACL is added before the last is deleted.

    That is so only where one of them has more replacements than a request has room for.
    """
    first_add: dict[Subject, int] = {}
    last_delete: dict[Subject, tuple[int, Change]] = {}
    for number, batch in enumerate(batches):
        is_delete = batch.step.name == "delete_acls"
        for change in batch.changes:
            acl = change.before if is_delete else change.after
            if change.action is not Action.REPLACE or change.adds_first or not isinstance(acl, Acl):
                continue
            if is_delete:
                last_delete[_subject(acl)] = (number, change)
            else:
                first_add.setdefault(_subject(acl), number)
    for subject, (number, change) in last_delete.items():
        if first_add.get(subject, number) < number:
            principal, kind, _, name = subject
            yield Diagnostic(
                "KP248",
                Severity.WARNING,
                SUMMARIES["KP248"],
                f"{principal} has more ACLs on {kind} {name} to replace than one request has room "
                "for: some are added before the last of the old ones is deleted.",
                "Between the requests old and new ACLs hold together, for some milliseconds.",
                change.address,
                change.declared_at,
            )
