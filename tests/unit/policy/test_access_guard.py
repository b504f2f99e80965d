"""What a plan must not do to access."""

from collections.abc import Collection

import pytest

from kplan.cluster.request import AclBinding
from kplan.kinds.acl import Acl, AclKind, acl_binding
from kplan.model.address import Address
from kplan.model.diagnostic import Diagnostic, Severity
from kplan.model.plan import Action, Change
from kplan.policy.access_diff import AclStages
from kplan.policy.access_guard import GuardContext, check_access
from kplan.policy.authorizer import WILDCARD_PRINCIPAL, AuthorizerRules

KPLAN, ADMIN = "User:kplan", "User:admin"


def on_cluster(operation: str, principal: str = KPLAN, **given: str) -> AclBinding:
    return on("CLUSTER", "kafka-cluster", principal, operation=operation, **given)


def on(sort: str, name: str, principal: str = KPLAN, **given: str) -> AclBinding:
    parts = {"host": "*", "operation": "ALL", "permission": "ALLOW", "pattern_type": "LITERAL"}
    parts |= given
    return AclBinding(resource_type=sort, resource_name=name, principal=principal, **parts)


def problems(
    before: Collection[AclBinding],
    after: Collection[AclBinding],
    principal: str = KPLAN,
    accepted: Collection[str] = (),
    **rules: object,
) -> list[Diagnostic]:
    first, last = frozenset(before), frozenset(after)
    given = GuardContext(
        AclStages(first, first & last, last),
        AuthorizerRules(**rules),  # type: ignore[arg-type] # checked by the dataclass
        principal,
        accepted_codes=frozenset(accepted),
    )
    return list(check_access(given))


def codes(*given: object, **more: object) -> list[str]:
    return [each.code for each in problems(*given, **more)]  # type: ignore[arg-type]


ADMINS = on_cluster("ALTER", ADMIN)


def test_kplan_may_not_take_the_cluster_from_itself() -> None:
    assert codes([ADMINS, on_cluster("ALTER")], [ADMINS]) == ["KP441"]


def test_a_deny_locks_out_as_well() -> None:
    deny = on_cluster("DESCRIBE", WILDCARD_PRINCIPAL, permission="DENY")
    assert codes([ADMINS, on_cluster("ALTER")], [ADMINS, on_cluster("ALTER"), deny]) == ["KP441"]


def test_kplan_may_not_saw_at_the_branch_it_sits_on() -> None:
    """Between delete and add the right to add would be missing (K4-45)."""
    first, last = [ADMINS, on_cluster("ALTER")], [ADMINS, on_cluster("ALL")]
    (told,) = problems(first, last)
    assert told.code == "KP441"
    assert "could not be added any more" in told.detail


def test_what_another_acl_grants_as_well_locks_nobody_out() -> None:
    assert (
        codes([ADMINS, on_cluster("ALTER"), on_cluster("ALL")], [ADMINS, on_cluster("ALL")]) == []
    )


def test_a_super_user_is_never_locked_out() -> None:
    rules = {"super_users": frozenset({KPLAN})}
    assert codes([on_cluster("ALTER")], [], **rules) == []


def test_somebody_must_be_left_who_can_change_acls() -> None:
    assert codes([ADMINS], []) == ["KP442"]
    assert codes([ADMINS], [on_cluster("DESCRIBE", ADMIN)], super_users=None) == ["KP442"]


def test_a_holder_from_one_host_is_a_holder() -> None:
    assert codes([ADMINS], [on_cluster("ALTER", ADMIN, host="10.0.0.1")]) == []


def test_an_unknown_principal_is_told_only_when_somebody_loses_the_cluster() -> None:
    other = on_cluster("ALTER", "User:other")
    assert codes([ADMINS, other], [other], "") == ["KP445"]
    assert codes([other], [other, ADMINS], "") == []


def test_the_first_acl_on_a_resource_is_refused_where_everyone_is_allowed() -> None:
    """Item 6: all others lose access without a word."""
    new = on("TOPIC", "orders")
    assert codes([], [new], allow_everyone=True) == ["KP443"]
    assert codes([], [new], allow_everyone=False) == []


def test_a_second_acl_on_a_resource_takes_nothing_from_anyone() -> None:
    wide = on("TOPIC", "or", pattern_type="PREFIXED")
    assert codes([wide], [wide, on("TOPIC", "orders")], allow_everyone=True) == []


def test_where_it_is_not_known_what_brokers_allow_that_is_said() -> None:
    (told,) = problems([], [on("TOPIC", "orders")], allow_everyone=None)
    assert (told.code, told.severity) == ("KP444", Severity.WARNING)
    assert "TOPIC orders has no ACL yet" in told.detail


def test_what_is_accepted_is_a_warning() -> None:
    (told,) = problems([on_cluster("ALTER"), ADMINS], [ADMINS], accepted={"KP441"})
    assert told.severity is Severity.WARNING


def deletion(operation: str, principal: str = KPLAN) -> Change:
    value = Acl("kafka-cluster", "Cluster", principal, "*", operation, "Allow")
    at = Address.parse(f'kafka_acl.own["{operation}"]')
    return Change(at, "kafka_acl", AclKind().identify(value), Action.DELETE, value, None)


@pytest.mark.parametrize("principal", [KPLAN, "User:other"])
@pytest.mark.parametrize(
    "operations", [("Describe", "Alter"), ("AlterConfigs", "Describe", "All", "Create")]
)
def test_the_change_to_blame_is_the_one_that_takes_the_permission(
    principal: str, operations: tuple[str, ...]
) -> None:
    """Several ACLs of a for_each are deleted, and one of them decides."""
    changes = tuple(deletion(each) for each in operations)
    before = frozenset(acl_binding(each.before) for each in changes)
    stages = AclStages(before, frozenset(), frozenset())
    told = check_access(GuardContext(stages, AuthorizerRules(), principal, changes))
    blamed = {each.code: str(each.address) for each in told}
    deciding = f'kafka_acl.own["{"All" if "All" in operations else "Alter"}"]'
    assert blamed["KP442"] == deciding
    assert blamed.get("KP441", deciding) == deciding
