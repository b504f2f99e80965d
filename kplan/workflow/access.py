"""What a plan does to who may do what, its guards, and the order of ACL changes."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from kplan.cluster.authorizer_settings import AuthorizerSettings, read_authorizer_settings
from kplan.cluster.port import Cluster
from kplan.cluster.request import AclBinding
from kplan.config.load import Configuration
from kplan.config.modules.provider import Provider
from kplan.kinds.acl import Acl, acl_binding
from kplan.model.codes import SUMMARIES
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, Severity, sort_diagnostics
from kplan.model.errors import ClusterError
from kplan.model.impact import AccessChange, AccessDiff, AccessEffect
from kplan.model.plan import Batch, Change, ObjectKey, Plan, Risk
from kplan.model.state import Snapshot
from kplan.policy.access_diff import AclStages, compare_access
from kplan.policy.access_guard import CLUSTER_NAME, GuardContext, check_access
from kplan.policy.authorizer import (
    WILDCARD_PRINCIPAL,
    WILDCARD_RESOURCE,
    AuthorizerRules,
)

KIND = "kafka_acl"
SUPER_USERS = "super_users"
ALLOW_EVERYONE = "allow_everyone_if_no_acl_found"
_LAST_EARLY_RANK = 20


@dataclass(frozen=True, slots=True)
class AccessContext:
    """The inputs of access analysis: the live cluster and the configuration.

    `provider` is the key of the connection to it.
    """

    cluster: Cluster
    snapshot: Snapshot
    configuration: Configuration
    provider: str = ""

    @property
    def acls(self) -> frozenset[AclBinding]:
        """The live ACLs, as far as they were read."""
        return live_acls(self.snapshot)


def live_acls(snapshot: Snapshot) -> frozenset[AclBinding]:
    """Return the live ACLs in the words of the protocol, as far as they were read."""
    reading = snapshot.readings.get(KIND)
    return (
        frozenset(acl_binding(each.value) for each in reading.objects.values())
        if reading
        else frozenset()
    )


def add_access(plan: Plan, context: AccessContext, accepted: frozenset[str]) -> Plan:
    """Add gained and lost access on one cluster, and refuse irrevocable changes."""
    batches = [
        each for each in plan.batches if each.kind == KIND and each.provider == context.provider
    ]
    if not batches:
        return plan
    rules = read_authorizer_rules(context)
    stages = acl_stages(context.acls, batches)
    types = {each.resource_type for each in stages.changed_acls}
    names, unread = list_live_names(context, types)
    if "TOPIC" in names:
        names = {**names, "TOPIC": {*names["TOPIC"], *_created_topics(plan, context.provider)}}
    former = plan.access or AccessDiff()
    shifts = (
        replace(each, provider=context.provider) for each in compare_access(stages, rules, names)
    )
    unknown = (*former.unknown, *_unknown_rules(rules), *unread)
    diff = AccessDiff((*former.shifts, *shifts), tuple(dict.fromkeys(unknown)))
    changes = {each.identity: each for batch in batches for each in batch.changes}
    given = GuardContext(
        stages, rules, context.snapshot.principal, tuple(changes.values()), accepted
    )
    problems = sort_diagnostics([*plan.diagnostics, *check_access(given)])
    return replace(plan, access=diff, diagnostics=problems)


def add_deny_risks(plan: Plan, context: AccessContext) -> Plan:
    """Mark every new Deny that removes permissions as dangerous, with those who lose them.

    A right counts where the plan leaves everything else of it as it is.
    """
    denies = [
        each
        for each in plan.changes
        if each.kind == KIND and each.provider == context.provider and _is_new_deny(each)
    ]
    if not denies:
        return plan
    batches = [
        each for each in plan.batches if each.kind == KIND and each.provider == context.provider
    ]
    rules = read_authorizer_rules(context)
    stages = acl_stages(context.acls, batches)
    kept = stages.before & stages.after
    names, _ = list_live_names(context, {acl_binding(each.after).resource_type for each in denies})
    notes: dict[ObjectKey, str] = {}
    for each in denies:
        deny = acl_binding(each.after)
        held = frozenset(
            one
            for one in kept
            if one.resource_type == deny.resource_type
            and (rules.allow_everyone or _may_hit(deny, one))
        )
        shifts = compare_access(AclStages(held, held, held | {deny}), rules, names)
        if lost := [one for one in shifts if one.effect is AccessEffect.LOSS]:
            notes[each.key] = f"KP2305 {_losses_text(lost)}"
    return plan.map_changes(
        lambda change: (
            replace(change, risk=Risk.DANGEROUS, notes=(*change.notes, notes[change.key]))
            if change.key in notes
            else change
        )
    )


def _is_new_deny(change: Change) -> bool:
    before, after = change.before, change.after
    if not change.touches_cluster or not isinstance(after, Acl):
        return False
    is_new = before is None or not acl_binding(before).covers(acl_binding(after))
    return after.acl_permission_type == "Deny" and is_new


def _may_hit(deny: AclBinding, other: AclBinding) -> bool:
    """Whether a Deny overlaps another ACL: principal and names match."""
    if deny.principal not in {other.principal, WILDCARD_PRINCIPAL} and (
        other.principal != WILDCARD_PRINCIPAL
    ):
        return False
    sides = [(deny, other), (other, deny)]
    return any(
        wide.resource_name in {WILDCARD_RESOURCE, narrow.resource_name}
        or (wide.pattern_type == "PREFIXED" and narrow.resource_name.startswith(wide.resource_name))
        for wide, narrow in sides
    )


_MAX_LOSERS = 3


def _losses_text(lost: Sequence[AccessChange]) -> str:
    """Describe the losses caused by a Deny."""
    operations = sorted({each for one in lost for each in one.operations})
    who = list(dict.fromkeys(one.principal for one in lost))
    more = len(who) - _MAX_LOSERS
    shown = ", ".join(who[:_MAX_LOSERS]) + (f" and {more:,} more" if more > 0 else "")
    return f"this Deny takes {', '.join(operations)} from {shown}"


def acl_stages(before: frozenset[AclBinding], batches: Iterable[Batch]) -> AclStages:
    """Follow the ACLs through the requests of a plan.

    In between stand those that are left when every delete that goes before the adds is done.
    """
    between = after = before
    for batch in sorted(batches, key=lambda each: each.step):
        if batch.step.name == "delete_acls":
            gone = frozenset(acl_binding(each.before) for each in batch.changes)
            after -= gone
            between -= gone if batch.step.rank <= _LAST_EARLY_RANK else frozenset()
        else:
            after |= {acl_binding(each.after) for each in batch.changes}
    return AclStages(before, between, after)


def acls_after_plan(context: AccessContext, plan: Plan) -> frozenset[AclBinding]:
    """Return the ACLs as they will be after a plan."""
    batches = (each for each in plan.batches if each.kind == KIND)
    return acl_stages(
        context.acls, (each for each in batches if each.provider == context.provider)
    ).after


def _created_topics(plan: Plan, provider: str) -> Iterator[str]:
    """Name the topics that are there once the plan is applied."""
    for each in plan.changes:
        if each.kind == "kafka_topic" and each.provider == provider and each.after is not None:
            yield str(each.identity)


LiveNames = tuple[Mapping[str, Collection[str]], tuple[str, ...]]
"""Names of live resources by type, and why a list is missing."""


def list_live_names(context: AccessContext, types: Collection[str]) -> LiveNames:
    """Name the live resources of the types; groups are listed only where needed."""
    found: dict[str, Collection[str]] = {"CLUSTER": (CLUSTER_NAME,)}
    unread: list[str] = []
    topics = context.snapshot.readings.get("kafka_topic")
    if topics is not None:
        found["TOPIC"] = [*topics.objects, *topics.hidden]
    elif "TOPIC" in types:
        unread.append("Topics could not be listed.")
    if "GROUP" in types:
        try:
            found["GROUP"] = context.cluster.group_names()
        except ClusterError as failure:
            unread.append(f"Which groups there are is not known. {failure.detail}")
    return {sort: names for sort, names in found.items() if sort in types}, tuple(unread)


def read_authorizer_rules(context: AccessContext) -> AuthorizerRules:
    """Read the super users, and the rule for resources without ACLs.

    What the provider block says wins over what a broker shows.
    """
    said: Mapping[str, object] = next(
        (
            each.arguments
            for each in context.configuration.providers
            if each.key == context.provider
        ),
        {},
    )
    supers, everyone = said.get(SUPER_USERS), said.get(ALLOW_EVERYONE)
    live = AuthorizerSettings()
    if supers is None or everyone is None:
        live = read_authorizer_settings(context.cluster, context.snapshot.brokers)
    return AuthorizerRules(
        frozenset(map(str, supers)) if isinstance(supers, list | tuple) else live.super_users,
        everyone if isinstance(everyone, bool) else live.allow_everyone,
    )


def _unknown_rules(rules: AuthorizerRules) -> Iterable[str]:
    if rules.super_users is None:
        yield "Super users are not known; they lose and gain nothing."
    if rules.allow_everyone is None:
        yield "Whether the brokers allow everyone what has no ACL is not known."


ARGUMENT = "acl_order"
ADD_FIRST, DELETE_FIRST = "add_first", "delete_first"


def add_first_connections(configuration: Configuration) -> frozenset[str]:
    """Return the keys of the connections whose provider block requests adds before deletes."""
    return frozenset(
        each.key for each in configuration.providers if each.arguments.get(ARGUMENT) == ADD_FIRST
    )


def acl_order_diagnostics(configuration: Configuration) -> Iterator[Diagnostic]:
    """Find provider blocks that ask for an order that there is not."""
    for block in configuration.providers:
        if block.arguments.get(ARGUMENT) not in {None, ADD_FIRST, DELETE_FIRST}:
            yield _acl_order_diagnostic(block)


def _acl_order_diagnostic(block: Provider) -> Diagnostic:
    return Diagnostic(
        "KP302",
        Severity.ERROR,
        SUMMARIES["KP302"],
        f'"{ARGUMENT}" is "{DELETE_FIRST}" or "{ADD_FIRST}".',
        subject=block.ranges.get(ARGUMENT),
    )
