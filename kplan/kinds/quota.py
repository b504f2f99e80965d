"""`kafka_quota`: limits for a user, a client id, both at once, or an address."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Annotated

from kplan.cluster.port import Cluster
from kplan.cluster.request import ItemResult
from kplan.cluster.settings import QUOTA_KEYS, QuotaAlteration, QuotaEntity
from kplan.kinds.base import (
    Problem,
    ResolvedAttributes,
    config_changes,
    merge_config,
    setting_steps,
)
from kplan.kinds.schema import Attribute
from kplan.model.dataclass import dataclass
from kplan.model.errors import Refusal
from kplan.model.plan import Change, Step
from kplan.model.resource import Identity, Path
from kplan.model.state import KindSnapshot, LiveObject

SET = Step(36, "alter_quotas")
REPLACE_REMOVE = Step(37, "alter_quotas")
REPLACE_SET = Step(38, "alter_quotas")
REMOVE = Step(92, "alter_quotas")

DEFAULT_ENTITY = "<default>"
"""The name of the default entity, as Kafka's own tools print it."""

ENTITY_TYPES = ("user", "client-id", "ip")


@dataclass(frozen=True, slots=True)
class Quota:
    """Quotas in the words of Terraform's Kafka provider; values are numbers written as text."""

    entity_type: Annotated[
        str, Attribute("The limits.", forces_replacement=True, choices=ENTITY_TYPES)
    ]
    entity_name: Annotated[
        str | None,
        Attribute(
            'Its name or address; left out or "<default>" it is all without quotas of their own.',
            forces_replacement=True,
        ),
    ] = None
    client_id: Annotated[
        str | None,
        Attribute(
            'Limits this client id of the user only; "<default>" is each of the others.',
            forces_replacement=True,
        ),
    ] = None
    config: Annotated[
        Mapping[str, str], Attribute("Quotas by key, in the unit of the key.", "map(string)")
    ] = field(default_factory=dict)


class QuotaKind:
    """Quotas: the declared values of an entity are complete (KIP-546, KIP-612)."""

    name = "kafka_quota"
    noun = "quota"
    schema = Quota
    is_replaceable = True
    is_deletable = True
    is_always_read = False
    is_shareable = False

    def identify(self, value: Quota) -> Identity:
        """Name it as the provider does, `alice|user`; a client id comes last."""
        parts = [value.entity_name or DEFAULT_ENTITY, value.entity_type]
        parts += [value.client_id] if value.client_id is not None else []
        return Identity("|".join(part.replace("\\", "\\\\").replace("|", "\\|") for part in parts))

    def normalize(self, value: Quota) -> Quota:
        """Write numbers in one way, and the default entity as no name."""
        is_default = value.entity_name in {"", DEFAULT_ENTITY}
        return replace(
            value,
            entity_type=value.entity_type.casefold(),
            entity_name=None if is_default else value.entity_name,
            client_id=DEFAULT_ENTITY if value.client_id == "" else value.client_id,
            config={key: _format_number(each) for key, each in value.config.items()},
        )

    def check(self, value: Quota) -> Iterator[Problem]:
        """Check entity and quotas against Kafka's rules."""
        if value.entity_type not in ENTITY_TYPES:
            yield Problem(
                "KP224",
                f'"{value.entity_type}" has no quotas.',
                f"entity_type is one of {', '.join(ENTITY_TYPES)}.",
                ("entity_type",),
                is_independent=True,
            )
            return
        if value.client_id is not None and value.entity_type != "user":
            yield Problem(
                "KP224",
                f'client_id narrows the quota of a user; entity_type is "{value.entity_type}".',
                'Declare the client id as entity_name with entity_type = "client-id".',
                ("client_id",),
            )
        if not value.config:
            yield Problem(
                "KP224",
                "An entity without quotas does not exist for Kafka.",
                "Declare at least one key in config, or remove the block.",
                ("config",),
            )
        yield from _config_problems(value)

    def check_all(
        self,
        declared: Collection[Identity],  # noqa: ARG002 - quotas do not get in each other's way
        live: Collection[Identity] = (),  # noqa: ARG002
    ) -> Iterator[tuple[Identity, Problem]]:
        """Find nothing: entities are beside each other."""
        return iter(())

    def read(self, cluster: Cluster, wanted: Collection[Identity]) -> KindSnapshot:  # noqa: ARG002 - one list holds all
        """Read all quotas in one request."""
        values = (_quota(entity, held) for entity, held in cluster.quotas().items())
        return KindSnapshot({self.identify(value): LiveObject(value) for value in values})

    def fill_from_state(self, live: Quota, applied: Quota) -> Quota:  # noqa: ARG002 - see docstring
        """Keep the live value: Kafka returns all of it."""
        return live

    def align(
        self, live: Quota, desired: Quota, ignored: Collection[Path] = ()
    ) -> tuple[Quota, Quota]:
        """Compare all keys: one that is not declared is to go."""
        after = replace(desired, config=merge_config(live.config, desired.config, ignored))
        return live, after

    def check_change(self, live: LiveObject, desired: Quota) -> Iterator[Problem]:  # noqa: ARG002 - see docstring
        """Refuse nothing: any quota may become any other."""
        return iter(())

    def steps(self, change: Change) -> tuple[Step, ...]:
        """Limits are there before the users they are for, and go after them."""
        return setting_steps(change, SET, (REPLACE_REMOVE, REPLACE_SET), REMOVE)

    def record_count(self, step: Step, change: Change) -> int:
        """Count one record for each key."""
        spec = _alteration(step, change)
        return max(1, len(spec.set) + len(spec.remove))

    def apply(
        self, cluster: Cluster, step: Step, changes: Sequence[Change]
    ) -> Mapping[Identity, ItemResult]:
        """Set and remove in one request."""
        return _send(cluster, step, changes, validate_only=False)

    def validate(
        self, cluster: Cluster, step: Step, changes: Sequence[Change]
    ) -> Mapping[Identity, Refusal | ResolvedAttributes]:
        """Ask the broker (AlterClientQuotas, validate only)."""
        answers = _send(cluster, step, changes, validate_only=True)
        return {name: answer or {} for name, answer in answers.items()}

    def is_done(self, step: Step, change: Change, reading: KindSnapshot) -> bool:
        """Look for the values that the step leaves behind."""
        spec = _alteration(step, change)
        wanted = change.before if _is_removal(step) else change.after
        live = reading.objects.get(self.identify(wanted))  # type: ignore[arg-type] # a quota
        held: Mapping[str, str] = live.value.config if live else {}  # type: ignore[attr-defined]
        values = {key: _format_number(str(each)) for key, each in spec.set.items()}
        return values.items() <= held.items() and not held.keys() & set(spec.remove)

    def find_visible(
        self, cluster: Cluster, broker: int, changes: Sequence[Change]
    ) -> Mapping[Identity, str]:
        """Compare with the list of this broker."""
        values = (_quota(entity, held) for entity, held in cluster.quotas(broker=broker).items())
        reading = KindSnapshot({self.identify(value): LiveObject(value) for value in values})
        return {
            change.identity: ""
            for change in changes
            if all(self.is_done(step, change, reading) for step in self.steps(change))
        }


def _config_problems(value: Quota) -> Iterator[Problem]:
    allowed = QUOTA_KEYS["ip" if value.entity_type == "ip" else "user"]
    for key, text in sorted(value.config.items()):
        path = ("config", key)
        if key not in allowed:
            detail = f'"{key}" is not a quota of {value.entity_type}.'
            yield Problem("KP224", detail, f"There are {', '.join(allowed)}.", path)
        elif (number := _parse_number(text)) is None or number <= 0:
            yield Problem("KP224", f"{key} is {text}, and must be a number above 0.", path=path)
        elif allowed[key] and number != int(number):
            yield Problem("KP224", f"{key} is {text}, and must be a whole number.", path=path)


def _parse_number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _format_number(text: str) -> str:
    """Write a number without exponent and trailing zeros; other text is unchanged."""
    number = _parse_number(text)
    if number is None:
        return text
    return str(int(number)) if number == int(number) else repr(number)


def _quota(entity: QuotaEntity, held: Mapping[str, float]) -> Quota:
    config = {key: _format_number(str(each)) for key, each in sorted(held.items())}
    if entity.ip is not None:
        return Quota("ip", entity.ip or None, None, config)
    if entity.user is None:
        return Quota("client-id", entity.client_id or None, None, config)
    client_id = None if entity.client_id is None else entity.client_id or DEFAULT_ENTITY
    return Quota("user", entity.user or None, client_id, config)


def _entity(value: Quota) -> QuotaEntity:
    name = value.entity_name or ""
    match value.entity_type:
        case "ip":
            return QuotaEntity(ip=name)
        case "client-id":
            return QuotaEntity(client_id=name)
        case _:
            second = "" if value.client_id == DEFAULT_ENTITY else value.client_id
            return QuotaEntity(user=name, client_id=second)


def _is_removal(step: Step) -> bool:
    return step in {REPLACE_REMOVE, REMOVE}


def _alteration(step: Step, change: Change) -> QuotaAlteration:
    before: Quota | None = change.before  # type: ignore[assignment] # a change of this kind
    after: Quota | None = change.after  # type: ignore[assignment]
    if _is_removal(step) and before is not None:
        return QuotaAlteration(_entity(before), remove=tuple(sorted(before.config)))
    assert after is not None  # noqa: S101 - only deletes have no `after`
    is_new = step == REPLACE_SET or before is None
    changed, gone = config_changes({} if is_new else before.config, after.config)  # type: ignore[union-attr]
    return QuotaAlteration(
        _entity(after), {key: float(each) for key, each in changed.items()}, gone
    )


def _send(
    cluster: Cluster, step: Step, changes: Sequence[Change], *, validate_only: bool
) -> Mapping[Identity, ItemResult]:
    specs = {change.identity: _alteration(step, change) for change in changes}
    answers = cluster.alter_quotas(list(specs.values()), validate_only=validate_only)
    return {name: answers[spec.entity] for name, spec in specs.items() if spec.entity in answers}
