"""`kafka_acl`: one access control entry."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Annotated

from kplan.cluster.port import Cluster
from kplan.cluster.request import AclBinding, ItemResult
from kplan.kinds.acl_rules import acl_problems
from kplan.kinds.base import Problem, ResolvedAttributes
from kplan.kinds.schema import Attribute
from kplan.model.dataclass import dataclass
from kplan.model.errors import Refusal
from kplan.model.plan import Action, Change, Step
from kplan.model.resource import Identity, Path
from kplan.model.state import KindSnapshot, LiveObject

DELETE_STEP = Step(10, "delete_acls")
REPLACE_DELETE = Step(20, "delete_acls")
REPLACE_ADD = Step(21, "create_acls")
ADD_FIRST = Step(24, "create_acls")
DELETE_AFTER_ADD = Step(25, "delete_acls")
ADD_STEP = Step(30, "create_acls")
DELETE_LAST = Step(35, "delete_acls")

RESOURCE_TYPES: Mapping[str, str] = {
    "TOPIC": "Topic",
    "GROUP": "Group",
    "CLUSTER": "Cluster",
    "TRANSACTIONAL_ID": "TransactionalID",
    "DELEGATION_TOKEN": "DelegationToken",
    "USER": "User",
}
OPERATIONS: Mapping[str, str] = {
    "ALL": "All",
    "READ": "Read",
    "WRITE": "Write",
    "CREATE": "Create",
    "DELETE": "Delete",
    "ALTER": "Alter",
    "DESCRIBE": "Describe",
    "CLUSTER_ACTION": "ClusterAction",
    "DESCRIBE_CONFIGS": "DescribeConfigs",
    "ALTER_CONFIGS": "AlterConfigs",
    "IDEMPOTENT_WRITE": "IdempotentWrite",
    "CREATE_TOKENS": "CreateTokens",
    "DESCRIBE_TOKENS": "DescribeTokens",
    "TWO_PHASE_COMMIT": "TwoPhaseCommit",
}
PATTERN_TYPES: Mapping[str, str] = {"LITERAL": "Literal", "PREFIXED": "Prefixed"}
PERMISSIONS: Mapping[str, str] = {"ALLOW": "Allow", "DENY": "Deny"}


@dataclass(frozen=True, slots=True)
class Acl:
    """An ACL in the words of Terraform's Kafka provider."""

    resource_name: Annotated[
        str,
        Attribute('Name or prefix of the resource; "*" means all.', forces_replacement=True),
    ]
    resource_type: Annotated[
        str,
        Attribute(
            "Sort of resource.", forces_replacement=True, choices=tuple(RESOURCE_TYPES.values())
        ),
    ]
    acl_principal: Annotated[
        str, Attribute('Who, as "User:name"; "User:*" is everyone.', forces_replacement=True)
    ]
    acl_host: Annotated[
        str, Attribute('Address the client comes from; "*" is any.', forces_replacement=True)
    ]
    acl_operation: Annotated[
        str,
        Attribute("What may be done.", forces_replacement=True, choices=tuple(OPERATIONS.values())),
    ]
    acl_permission_type: Annotated[
        str,
        Attribute("Allow or Deny.", forces_replacement=True, choices=tuple(PERMISSIONS.values())),
    ]
    resource_pattern_type_filter: Annotated[
        str,
        Attribute(
            "Whether the name is literal or a prefix (KIP-290).",
            forces_replacement=True,
            choices=tuple(PATTERN_TYPES.values()),
        ),
    ] = "Literal"


_CHOICES: Mapping[str, Mapping[str, str]] = {
    "resource_type": RESOURCE_TYPES,
    "resource_pattern_type_filter": PATTERN_TYPES,
    "acl_operation": OPERATIONS,
    "acl_permission_type": PERMISSIONS,
}
_WORDS = {name: tuple(words.values()) for name, words in _CHOICES.items()}
_SPELLINGS = {name: {word.casefold(): word for word in words} for name, words in _WORDS.items()}

_IDENTITY = (
    "acl_principal", "acl_host", "acl_operation", "acl_permission_type",
    "resource_type", "resource_name", "resource_pattern_type_filter",
)  # fmt: skip
"""The parts of an ACL in the order of the provider's import id."""
_PARTS = attrgetter(*_IDENTITY)


class AclKind:
    """ACLs: deleted and added by all seven parts, deletes first (K4-45)."""

    name = "kafka_acl"
    noun = "ACL"
    schema = Acl
    is_replaceable = True
    is_deletable = True
    is_always_read = True
    is_shareable = True
    creating_step = ADD_STEP.name

    def identify(self, value: Acl) -> Identity:
        """Return the seven parts of an ACL, joined."""
        return Identity(
            "|".join(each.replace("\\", "\\\\").replace("|", "\\|") for each in _PARTS(value))
        )

    def normalize(self, value: Acl) -> Acl:
        """Spell the four words as the provider does, whatever their case."""
        found = {
            name: _SPELLINGS[name].get(word.replace("_", "").casefold(), word)
            for name, words in _WORDS.items()
            if (word := getattr(value, name)) not in words
        }
        return replace(value, **found) if found else value

    def check(self, value: Acl) -> Iterator[Problem]:
        """Find ACLs that the broker refuses, and nonsense that it would store (trap 13)."""
        return acl_problems(dict(zip(_IDENTITY, _PARTS(value), strict=True)), _WORDS)

    def check_all(
        self,
        declared: Collection[Identity],  # noqa: ARG002 - ACLs do not get in each other's way
        live: Collection[Identity] = (),  # noqa: ARG002
    ) -> Iterator[tuple[Identity, Problem]]:
        """Find nothing: ACLs are beside each other."""
        return iter(())

    def read(self, cluster: Cluster, wanted: Collection[Identity]) -> KindSnapshot:  # noqa: ARG002 - one list holds all
        """Read all ACLs in one request."""
        values = (acl_from_binding(binding) for binding in cluster.acls())
        return KindSnapshot({self.identify(value): LiveObject(value) for value in values})

    def fill_from_state(self, live: Acl, applied: Acl) -> Acl:  # noqa: ARG002 - see docstring
        """Keep the live value: Kafka returns all of it."""
        return live

    def align(
        self,
        live: Acl,
        desired: Acl,
        ignored: Collection[Path] = (),  # noqa: ARG002 - every part of an ACL names it
    ) -> tuple[Acl, Acl]:
        """Keep both: ACLs have no defaults."""
        return live, desired

    def check_change(self, live: LiveObject, desired: Acl) -> Iterator[Problem]:  # noqa: ARG002 - see docstring
        """Refuse nothing: any ACL may be replaced by any other."""
        return iter(())

    def steps(self, change: Change) -> tuple[Step, ...]:
        """Pure deletes first, then replacements pair by pair, then pure adds.

        With `adds_first` the pair is turned round, and a pure delete goes last: access that is to
        be kept is never missing.
        """
        match change.action:
            case Action.CREATE:
                return (ADD_STEP,)
            case Action.DELETE:
                return (DELETE_LAST,) if change.adds_first else (DELETE_STEP,)
            case Action.REPLACE:
                return (
                    (ADD_FIRST, DELETE_AFTER_ADD)
                    if change.adds_first
                    else (REPLACE_DELETE, REPLACE_ADD)
                )
            case _:
                return ()

    def record_count(self, step: Step, change: Change) -> int:  # noqa: ARG002 - the same for all
        """One record each, weighed so that a request of 9,000 has 1,000 adds or 500 deletes.

        The controller's only thread holds every exact filter against every ACL (trap 5), and takes
        the longer over the answers to adds the more of them there are.
        """
        return 18 if step.name == DELETE_STEP.name else 9

    def apply(
        self, cluster: Cluster, step: Step, changes: Sequence[Change]
    ) -> Mapping[Identity, ItemResult]:
        """Send the deletes or the adds."""
        is_delete = step.name == DELETE_STEP.name
        bound = {
            acl_binding(change.before if is_delete else change.after): change.identity
            for change in changes
        }
        send = cluster.delete_acls if is_delete else cluster.create_acls
        answers = send(list(bound))
        return {name: answers[each] for each, name in bound.items() if each in answers}

    def validate(
        self,
        cluster: Cluster,  # noqa: ARG002 - see docstring
        step: Step,  # noqa: ARG002
        changes: Sequence[Change],  # noqa: ARG002
    ) -> Mapping[Identity, Refusal | ResolvedAttributes]:
        """Say nothing: Kafka has no validate-only for ACLs (K4o-16)."""
        return {}

    def is_done(self, step: Step, change: Change, reading: KindSnapshot) -> bool:
        """Look for the ACL that the step deletes or adds."""
        if step.name == DELETE_STEP.name:
            before: Acl = change.before  # type: ignore[assignment] # deletes have a `before`
            return self.identify(before) not in reading.objects
        return change.identity in reading.objects

    def find_visible(
        self, cluster: Cluster, broker: int, changes: Sequence[Change]
    ) -> Mapping[Identity, str]:
        """Compare with the list of this broker (K4-49)."""
        listed = cluster.acls(broker=broker)
        return {
            change.identity: ""
            for change in changes
            if (change.after is None or acl_binding(change.after) in listed)
            and (change.before is None or acl_binding(change.before) not in listed)
        }


def may_overlap(before: object, after: object) -> bool:
    """Whether an ACL may be deleted after its replacement is added: only Allow for Allow.

    A replacement with a Deny keeps Kafka's own order (KIP-4).
    """
    return all(
        isinstance(each, Acl) and each.acl_permission_type == "Allow" for each in (before, after)
    )


def acl_from_binding(binding: AclBinding) -> Acl:
    """Write an ACL in the words of Terraform's provider."""
    return Acl(
        resource_name=binding.resource_name,
        resource_type=RESOURCE_TYPES.get(binding.resource_type, binding.resource_type),
        acl_principal=binding.principal,
        acl_host=binding.host,
        acl_operation=OPERATIONS.get(binding.operation, binding.operation),
        acl_permission_type=PERMISSIONS.get(binding.permission, binding.permission),
        resource_pattern_type_filter=PATTERN_TYPES.get(binding.pattern_type, binding.pattern_type),
    )


def acl_binding(value: object) -> AclBinding:
    """Write an ACL in the words of the protocol."""
    acl: Acl = value  # type: ignore[assignment] # a change of this kind holds ACLs
    return AclBinding(
        resource_type=_PROTOCOL_WORDS.get(acl.resource_type, acl.resource_type),
        resource_name=acl.resource_name,
        pattern_type=acl.resource_pattern_type_filter.upper(),
        principal=acl.acl_principal,
        host=acl.acl_host,
        operation=_PROTOCOL_WORDS.get(acl.acl_operation, acl.acl_operation),
        permission=acl.acl_permission_type.upper(),
    )


_PROTOCOL_WORDS = {word: kafka for words in _CHOICES.values() for kafka, word in words.items()}
