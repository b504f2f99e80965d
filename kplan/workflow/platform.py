"""The platform of each cluster, and what it refuses of a configuration or a plan."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from kplan.cluster.platform import Platform, recognize_platform
from kplan.cluster.request import ClusterDescription
from kplan.config.diagnostic import error, warning
from kplan.config.load import Configuration
from kplan.config.modules.provider import Provider
from kplan.model.address import Address
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, SourceRange, sort_diagnostics
from kplan.model.errors import RefusalOrigin
from kplan.model.outcome import Outcome, OutcomeStatus
from kplan.model.plan import Action, Plan
from kplan.model.resource import Path, Resource, connection_name
from kplan.policy.platform_rule import PlatformRule
from kplan.policy.platform_table import PLATFORM_RULES, SHARED

ARGUMENT = "platform"
"""The argument of a provider block that says who runs the cluster."""

_OTHER = "KP605"
_REFUSED = "KP241"
_PLATFORM_CODES = frozenset(each.code for each in PLATFORM_RULES)
_SENT = frozenset({Action.CREATE, Action.UPDATE, Action.REPLACE})


@dataclass(frozen=True, slots=True)
class _Object:
    """A declared object, with the live one, None where there is none or it is not known."""

    kind: str
    value: object
    live: object | None
    address: Address
    declared_at: SourceRange | None
    ranges: Mapping[Path, SourceRange]


def platform_argument_diagnostics(configuration: Configuration) -> Iterator[Diagnostic]:
    """Find provider blocks that name no known platform."""
    known = ", ".join(f'"{each}"' for each in Platform)
    for block in configuration.providers:
        said = block.arguments.get(ARGUMENT)
        if said is not None and _parse_platform(said) is None:
            detail = f'"{ARGUMENT}" is one of {known}.'
            yield error("KP302", block.ranges.get(ARGUMENT), detail)


def _parse_platform(said: object) -> Platform | None:
    return next((each for each in Platform if each == said), None)


def _declared_platform(block: Provider | None) -> Platform | None:
    return None if block is None else _parse_platform(block.arguments.get(ARGUMENT))


def _block(configuration: Configuration, key: str) -> Provider | None:
    return next((each for each in configuration.providers if each.key == key), None)


def describe_with_platform(
    description: ClusterDescription, configuration: Configuration, key: str
) -> ClusterDescription:
    """Add the platform of a cluster: the declared one, else the one that it shows itself."""
    declared = _declared_platform(_block(configuration, key))
    found = declared or _shown_platform(description)
    return replace(description, platform=found or "")


def _shown_platform(description: ClusterDescription) -> Platform | None:
    return recognize_platform(description.cluster_id, (each.host for each in description.nodes))


def platform_diagnostics(configuration: Configuration) -> Iterator[Diagnostic]:
    """Check declared objects without a cluster: blocks name the platform, or its brokers."""
    platforms = {each.key: _offline_platform(each) for each in configuration.providers}
    for key, platform in platforms.items():
        if platform is not None:
            mine = (each for each in configuration.resources if each.provider == key)
            yield from _rule_diagnostics(platform, (_declared_object(each) for each in mine))


def _offline_platform(block: Provider) -> Platform | None:
    servers = block.arguments.get("bootstrap_servers")
    listed = servers if isinstance(servers, list | tuple) else ()
    hosts = (str(each).rpartition(":")[0] for each in listed)
    return _declared_platform(block) or recognize_platform("", hosts)


def _declared_object(resource: Resource) -> _Object:
    return _Object(
        resource.address.kind,
        resource.value,
        None,
        resource.address,
        resource.declared_at,
        resource.ranges,
    )


def check_plan_platforms(
    plan: Plan, descriptions: Mapping[str, ClusterDescription], configuration: Configuration
) -> Plan:
    """Refuse what a platform would refuse, before anything is sent to it."""
    found: list[Diagnostic] = []
    ranges = {each.address: each.ranges for each in configuration.resources}
    for key, description in descriptions.items():
        found += _mismatch_diagnostics(description, configuration, key)
        platform = _parse_platform(description.platform)
        if platform is None:
            continue
        sent = (each for each in plan.changes if each.provider == key and each.action in _SENT)
        objects = (
            _Object(
                each.kind,
                each.after,
                each.before if each.action is Action.UPDATE else None,
                each.address,
                each.declared_at,
                ranges.get(each.address, {}),
            )
            for each in sent
        )
        found += _rule_diagnostics(platform, objects)
    return (
        replace(plan, diagnostics=sort_diagnostics([*plan.diagnostics, *found])) if found else plan
    )


def explain_refusals(plan: Plan, descriptions: Mapping[str, ClusterDescription]) -> Plan:
    """Point from refusals of brokers to what the platform is known for; known ones are told once.

    A broker's dry run refuses again what the table has refused already, in fewer words.
    """
    known = {
        each.address for each in plan.diagnostics if each.is_error and each.code in _PLATFORM_CODES
    }
    platforms = {
        each.address: _service(descriptions[each.provider])
        for each in plan.changes
        if each.provider in descriptions
    }
    diagnostics: list[Diagnostic] = []
    for each in plan.diagnostics:
        platform = platforms.get(each.address) if each.address else None
        if each.code != _REFUSED or platform is None:
            diagnostics.append(each)
        elif each.address not in known:
            diagnostics.append(
                replace(each, hint=f"{each.hint} {_platform_hint(platform)}".strip())
            )
    return replace(plan, diagnostics=tuple(diagnostics))


def refusal_notes(
    outcomes: Iterable[Outcome], descriptions: Mapping[str, ClusterDescription]
) -> Iterator[str]:
    """Say which platforms refused changes in an apply."""
    refused = {
        each.change.provider
        for each in outcomes
        if each.status is OutcomeStatus.FAILED
        and each.refusal is not None
        and each.refusal.origin is RefusalOrigin.BROKER
    }
    for key in sorted(refused & descriptions.keys()):
        platform = _service(descriptions[key])
        if platform is not None:
            yield _platform_hint(platform)


def _service(description: ClusterDescription) -> Platform | None:
    """Return the platform, None for Apache Kafka itself."""
    found = _parse_platform(description.platform)
    return None if found is Platform.KAFKA else found


def _platform_hint(platform: Platform) -> str:
    return (
        f"{platform.label} may refuse what Apache Kafka takes; kplan help platforms lists what is "
        "known."
    )


def _mismatch_diagnostics(
    description: ClusterDescription, configuration: Configuration, key: str
) -> Iterator[Diagnostic]:
    block = _block(configuration, key)
    declared, shown = _declared_platform(block), _shown_platform(description)
    if block is None or declared is None or shown is None:
        return
    if declared in {shown, Platform.KAFKA}:
        return
    yield warning(
        _OTHER,
        block.ranges.get(ARGUMENT),
        f"{connection_name(key)} is declared as {declared.label}, and the cluster shows itself as "
        f"{shown.label}.",
        hint=f'Set platform = "{shown}", or leave it out.',
    )


def _rule_diagnostics(platform: Platform, objects: Iterable[_Object]) -> Iterator[Diagnostic]:
    rules = [each for each in PLATFORM_RULES if each.platform is platform]
    if not rules:
        return
    shared: dict[int, tuple[PlatformRule, list[_Object]]] = {}
    for each in objects:
        for number, rule in enumerate(rules):
            if rule.kind != each.kind:
                continue
            for path, sentence in rule.find(each.value, each.live):
                if rule.code == SHARED:
                    shared.setdefault(number, (rule, []))[1].append(each)
                else:
                    yield _diagnostic(rule, each, path, sentence)
    for rule, held in shared.values():
        yield _shared_diagnostic(rule, held)


def _diagnostic(rule: PlatformRule, found: _Object, path: Path, sentence: str) -> Diagnostic:
    make = warning if rule.is_warning else error
    return make(
        rule.code,
        found.ranges.get(path, found.declared_at),
        f"{found.address} on {rule.platform.label}: {sentence} See {rule.page}",
        hint=rule.remedy,
        address=found.address,
    )


def _shared_diagnostic(rule: PlatformRule, held: list[_Object]) -> Diagnostic:
    """Warn once of all objects that another tool manages too."""
    first = held[0]
    rest = f" and {len(held) - 1:,} more" if len(held) > 1 else ""
    sentence = next(rule.find(first.value, first.live))[1]
    return warning(
        rule.code,
        first.declared_at,
        f"{first.address}{rest} on {rule.platform.label}: {sentence} See {rule.page}",
        hint=rule.remedy,
        address=first.address,
    )
