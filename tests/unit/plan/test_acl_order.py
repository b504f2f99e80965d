"""Every delete of a principal's ACLs on a resource goes before every add there (KIP-4)."""

from collections import Counter
from itertools import groupby, pairwise

from kplan.kinds.acl import Acl
from kplan.model.plan import Plan
from tests.values import acl, make_plan, owned, resource, snapshot, state

MANY = 1_200


def denied_and_allowed(count: int) -> list[Acl]:
    """Deny eve what everyone may do, on so many topics."""
    denies = [acl("User:eve", f"t{each}", acl_permission_type="Deny") for each in range(count)]
    return [*denies, *(acl("User:*", f"t{each}") for each in range(count))]


def sent_permissions(plan: Plan) -> list[dict[str, int]]:
    """Count the permission types of each request, in the order in which they stand there."""
    values = [[each.after or each.before for each in batch.changes] for batch in plan.batches]
    found = [
        [each.acl_permission_type for each in acls if isinstance(each, Acl)] for acls in values
    ]
    for names in found:
        assert len(list(groupby(names))) == len(set(names))  # each type in one piece
    return [dict(Counter(names)) for names in found]


def replaced(pairs: list[tuple[Acl, Acl]]) -> Plan:
    """Plan the replacement of each first ACL by its second, at an address of its own."""
    held = [(f'kafka_acl.a["{number:04}"]', pair) for number, pair in enumerate(pairs)]
    return make_plan(
        [resource(at, after) for at, (_, after) in held],
        state(*(owned(at, before, "") for at, (before, _) in held)),
        snapshot(acls=[before for _, (before, _) in held]),
    )


def order_faults(plan: Plan) -> set[tuple[str, str]]:
    """Find principals and resources with an add before the last delete."""
    added: set[tuple[str, str]] = set()
    found: set[tuple[str, str]] = set()
    for batch in plan.batches:
        for change in batch.changes:
            value = change.before if batch.step.name == "delete_acls" else change.after
            assert isinstance(value, Acl)
            subject = (value.acl_principal, value.resource_name)
            if batch.step.name == "create_acls":
                added.add(subject)
            elif subject in added:
                found.add(subject)
    return found


def test_replacements_of_one_principal_on_one_resource_stay_together() -> None:
    """Five operations each on 240 topics, in an order that would cut through them."""
    operations = ("Read", "Write", "Describe", "Delete", "Alter")
    pairs = [
        (
            acl(resource_name=f"t{number % 240}", acl_operation=operation),
            acl(resource_name=f"t{number % 240}", acl_operation=operation, acl_host="10.0.0.1"),
        )
        for operation in operations
        for number in range(240)
    ]
    plan = replaced(pairs)
    assert len(plan.batches) > 4
    assert order_faults(plan) == set()
    assert plan.diagnostics == ()
    assert sum(len(each.changes) for each in plan.batches) == 2 * MANY


def test_a_ring_of_renamed_principals_stays_together() -> None:
    """What goes of one comes to the next: the add of one waits for the delete of the other."""
    names = [f"User:{number}" for number in range(100)] + ["User:0"]
    pairs = [
        (acl(acl_principal=one), acl(acl_principal=two))
        for one, two in pairwise([*names, names[0]])
    ]
    plan = replaced(pairs)
    assert order_faults(plan) == set()


def test_more_than_a_request_has_room_for_is_split_and_named() -> None:
    pairs = [
        (acl(acl_host=f"10.0.{number // 250}.{number % 250}"),
         acl(acl_host=f"10.0.{number // 250}.{number % 250}", acl_operation="Write"))
        for number in range(MANY)
    ]  # fmt: skip
    plan = replaced(pairs)
    assert order_faults(plan) == {("User:app", "orders")}
    assert [each.code for each in plan.diagnostics] == ["KP248"]
    assert "User:app has more ACLs on Topic orders" in plan.diagnostics[0].detail


def test_denies_are_added_before_the_allows_that_they_limit() -> None:
    """A stop between two requests opens nothing."""
    declared = denied_and_allowed(MANY)
    plan = make_plan(
        [resource(f'kafka_acl.a["{at}"]', value) for at, value in enumerate(declared)],
        state(),
        snapshot(),
    )
    assert [[*each.items()] for each in sent_permissions(plan)] == [
        [("Deny", 1_000)],
        [("Deny", 200), ("Allow", 800)],
        [("Allow", 400)],
    ]


def test_allows_are_deleted_before_the_denies_that_limit_them() -> None:
    held = denied_and_allowed(MANY)
    plan = make_plan(
        [],
        state(*(owned(f'kafka_acl.a["{at}"]', each, "") for at, each in enumerate(held))),
        snapshot(acls=held),
        is_destroy=True,
    )
    assert [[*each.items()] for each in sent_permissions(plan)] == [
        [("Allow", 500)],
        [("Allow", 500)],
        [("Allow", 200), ("Deny", 300)],
        [("Deny", 500)],
        [("Deny", 400)],
    ]
