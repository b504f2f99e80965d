"""How a KRaft controller answers requests about topics and ACLs."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from kplan.cluster.errors import CLIENT_INVALID, client_refusal, refusal
from kplan.cluster.memory.store import MAX_RECORDS, ClusterSetup, Contents, Response, StoredTopic
from kplan.cluster.request import (
    AclBinding,
    Assignment,
    ConfigAlteration,
    ItemResult,
    NewPartitions,
    NewTopic,
    TopicRef,
)
from kplan.cluster.topic import (
    config_fault,
    name_collision_key,
    place_replicas,
    topic_id,
    topic_name_fault,
)
from kplan.model.errors import Refusal
from kplan.model.state import Broker

ItemResults = dict[str, ItemResult]

_MAX_PARTITIONS = 10_000
_METADATA_TOPIC = "__cluster_metadata"
_TOO_LARGE = "Unable to perform excessively large batch operation."
_TOO_MANY_PARTITIONS = "Excessively large number of partitions per request."


def create_topics(
    contents: Contents, site: ClusterSetup, specs: Sequence[NewTopic]
) -> Response[str]:
    """CreateTopics: every item for itself, but for the size of the whole."""
    asked = sum(_requested_partitions(site, spec) for spec in specs)
    if asked > _MAX_PARTITIONS:
        return Response(contents, _refuse_all(specs, _TOO_MANY_PARTITIONS))
    results: ItemResults = _duplicates((spec.name for spec in specs), "Duplicate topic name.")
    topics, made, records = dict(contents.topics), contents.created_count, 0
    taken = {name_collision_key(name): name for name in contents.topics}
    for spec in specs:
        if spec.name in results:
            continue
        found = _check_new_topic(contents, site, taken, spec)
        if isinstance(found, Refusal):
            results[spec.name] = found
            continue
        made += 1
        topics[spec.name] = StoredTopic(topic_id(site.cluster_id, made), found, dict(spec.config))
        results[spec.name] = None
        records += 1 + len(found) + len(spec.config)
    if records > MAX_RECORDS:
        return Response(contents, _refuse_all(specs, _TOO_LARGE))
    return Response(replace(contents, topics=topics, created_count=made), results)


def create_partitions(
    contents: Contents, site: ClusterSetup, specs: Sequence[NewPartitions]
) -> Response[str]:
    """CreatePartitions: only growth is allowed (KIP-195); items beyond the record limit fail."""
    results: ItemResults = _duplicates((spec.name for spec in specs), "Duplicate topic name.")
    topics, records = dict(contents.topics), 0
    for spec in specs:
        if spec.name in results:
            continue
        found = _assign_new_partitions(contents, site, spec)
        if isinstance(found, Refusal):
            results[spec.name] = found
            continue
        if records + len(found) > MAX_RECORDS:
            results[spec.name] = refusal(-1)
            continue
        held = topics[spec.name]
        topics[spec.name] = replace(held, assignment=held.assignment + found)
        results[spec.name] = None
        records += len(found)
    return Response(replace(contents, topics=topics), results)


def alter_topic_configs(
    contents: Contents,
    specs: Sequence[ConfigAlteration],
) -> Response[str]:
    """IncrementalAlterConfigs: resetting an unknown or absent key is a success (KIP-339)."""
    twice = "Each resource must appear at most once."
    results: ItemResults = _duplicates((spec.name for spec in specs), twice)
    topics, records = dict(contents.topics), 0
    for spec in specs:
        if spec.name in results:
            continue
        found = _alter_config(contents, spec)
        if isinstance(found, Refusal):
            results[spec.name] = found
            continue
        records += len(spec.set) + len(spec.delete)
        topics[spec.name] = replace(topics[spec.name], config=found)
        results[spec.name] = None
    if records > MAX_RECORDS:
        return Response(contents, _refuse_all(specs, _TOO_LARGE))
    return Response(replace(contents, topics=topics), results)


def delete_topics(
    contents: Contents,
    refs: Sequence[TopicRef],
) -> Response[str]:
    """DeleteTopics, by id where one is given (KIP-516); items beyond the record limit fail."""
    results: ItemResults = _duplicates((ref.name for ref in refs), "Duplicate topic name.")
    topics = dict(contents.topics)
    for ref in refs:
        if ref.name in results:
            continue
        held = topics.get(ref.name)
        if ref.topic_id and (held is None or held.topic_id != ref.topic_id):
            results[ref.name] = refusal(100, "This server does not host this topic ID.")
        elif held is None:
            results[ref.name] = refusal(3, "This server does not host this topic-partition.")
        elif len(contents.topics) - len(topics) == MAX_RECORDS:
            results[ref.name] = refusal(-1)
        else:
            del topics[ref.name]
            results[ref.name] = None
    return Response(replace(contents, topics=topics), results)


def _duplicates(names: Iterable[str], text: str) -> ItemResults:
    counted = Counter(names)
    return {name: refusal(42, text) for name, count in counted.items() if count > 1}


def _refuse_all(items: Sequence[NewTopic | ConfigAlteration], text: str) -> ItemResults:
    return {each.name: refusal(44, text) for each in items}


def _requested_partitions(site: ClusterSetup, spec: NewTopic) -> int:
    if spec.assignment is not None:
        return len(spec.assignment)
    return max(0, site.defaults.partitions if spec.partitions is None else spec.partitions)


def _check_new_topic(
    contents: Contents, site: ClusterSetup, taken: Mapping[str, str], spec: NewTopic
) -> Assignment | Refusal:
    if spec.name == _METADATA_TOPIC:
        return refusal(42, f"Creation of internal topic {_METADATA_TOPIC} is prohibited.")
    if fault := topic_name_fault(spec.name):
        return refusal(17, f"Topic name is invalid: {fault}")
    if spec.name in contents.topics:
        return refusal(36, f"Topic '{spec.name}' already exists.")
    if other := taken.get(name_collision_key(spec.name)):
        return refusal(17, f"Topic '{spec.name}' collides with existing topic: {other}")
    if fault := config_fault(spec.config):
        return refusal(40, fault)
    return _assign_replicas(site, spec)


def _assign_replicas(site: ClusterSetup, spec: NewTopic) -> Assignment | Refusal:
    if spec.assignment is not None:
        return _check_assignment(site, spec, spec.assignment)
    factor, partitions = spec.replication_factor, spec.partitions
    if factor is not None and factor < 1:
        return refusal(
            38, "Replication factor must be larger than 0, or -1 to use the default value."
        )
    if partitions is not None and partitions < 1:
        return refusal(37, "Number of partitions was set to an invalid non-positive value.")
    factor = site.defaults.replication_factor if factor is None else factor
    if factor > len(site.brokers):
        return refusal(
            38,
            f"Unable to replicate the partition {factor} time(s): The target replication factor "
            f"of {factor} cannot be reached because only {len(site.brokers)} broker(s) are "
            "registered.",
        )
    return place_replicas(
        _usable_brokers(site, factor),
        site.defaults.partitions if partitions is None else partitions,
        factor,
    )


def _usable_brokers(site: ClusterSetup, factor: int) -> tuple[Broker, ...]:
    """Return the brokers for new replicas: fenced ones are last (Kafka: StripedReplicaPlacer)."""
    live = tuple(each for each in site.brokers if each.id not in site.fenced)
    return live if len(live) >= factor else site.brokers


def _check_assignment(
    site: ClusterSetup, spec: NewTopic, assignment: Assignment
) -> Assignment | Refusal:
    both = "A manual partition assignment was specified, but {} was not set to -1."
    if spec.replication_factor is not None:
        return refusal(42, both.format("replication factor"))
    if spec.partitions is not None:
        return refusal(42, both.format("numPartitions"))
    if not assignment:
        return client_refusal(CLIENT_INVALID, "The assignment has no partition.")
    fault = _assignment_fault(site, assignment, len(assignment[0]))
    return refusal(39, fault) if fault else assignment


def _assign_new_partitions(
    contents: Contents, site: ClusterSetup, spec: NewPartitions
) -> Assignment | Refusal:
    held = contents.topics.get(spec.name)
    if held is None:
        return refusal(3, "This server does not host this topic-partition.")
    has = len(held.assignment)
    if spec.total == has:
        return refusal(37, f"Topic already has {has} partition(s).")
    if spec.total < has:
        return refusal(
            37,
            f"The topic {spec.name} currently has {has} partition(s); "
            f"{spec.total} would not be an increase.",
        )
    factor = len(held.assignment[0])
    if spec.assignment is None:
        return place_replicas(_usable_brokers(site, factor), spec.total - has, factor, first=has)
    if len(spec.assignment) != spec.total - has:
        return refusal(
            39,
            f"Attempted to add {spec.total - has} additional partition(s), but only "
            f"{len(spec.assignment)} assignment(s) were specified.",
        )
    fault = _assignment_fault(site, spec.assignment, factor)
    return refusal(39, fault) if fault else spec.assignment


def _assignment_fault(site: ClusterSetup, assignment: Assignment, factor: int) -> str:
    known = {broker.id for broker in site.brokers}
    the_assignment = "The manual partition assignment includes"
    for partition, replicas in enumerate(assignment):
        if not replicas:
            return f"{the_assignment} an empty replica list."
        if unregistered := sorted(set(replicas) - known):
            return f"{the_assignment} broker {unregistered[0]}, but no such broker is registered."
        if len(set(replicas)) < len(replicas):
            twice = next(each for each in replicas if replicas.count(each) > 1)
            return f"{the_assignment} the broker {twice} more than once."
        if len(replicas) != factor:
            return (
                f"{the_assignment} a partition with {len(replicas)} replica(s), but this is not "
                f"consistent with previous partitions, which have {factor} replica(s)."
            )
        if site.fenced.issuperset(replicas):
            return (
                "All brokers specified in the manual partition assignment for partition "
                f"{partition} are fenced or in controlled shutdown."
            )
    return ""


def _alter_config(contents: Contents, spec: ConfigAlteration) -> Mapping[str, str] | Refusal:
    if spec.set.keys() & set(spec.delete):
        return refusal(42, "Error due to duplicate config keys")
    if fault := topic_name_fault(spec.name):
        return refusal(17, f"Topic name is invalid: {fault}")
    held = contents.topics.get(spec.name)
    has = held.config if held else {}
    config = {key: value for key, value in has.items() if key not in spec.delete}
    config.update(spec.set)
    if fault := config_fault(config):
        return refusal(40, fault)
    return refusal(3, f"The topic '{spec.name}' does not exist.") if held is None else config


RESOURCE_TYPES = frozenset(
    ("TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID", "DELEGATION_TOKEN", "USER")
)
PATTERN_TYPES = frozenset(("LITERAL", "PREFIXED"))
OPERATIONS = frozenset(
    ("ALL", "READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "CLUSTER_ACTION",
     "DESCRIBE_CONFIGS", "ALTER_CONFIGS", "IDEMPOTENT_WRITE", "CREATE_TOKENS", "DESCRIBE_TOKENS",
     "TWO_PHASE_COMMIT")
)  # fmt: skip
PERMISSIONS = frozenset(("ALLOW", "DENY"))


def create_acls(contents: Contents, bindings: Sequence[AclBinding]) -> Response[AclBinding]:
    """CreateAcls: an ACL that exists is a success."""
    results: dict[AclBinding, ItemResult] = {each: _check_new_acl(each) for each in bindings}
    fine = {binding for binding, result in results.items() if result is None}
    if len(fine - contents.acls) > MAX_RECORDS:
        too_large = refusal(44, "Unable to perform excessively large batch operation.")
        return Response(contents, dict.fromkeys(bindings, too_large))
    return Response(replace(contents, acls=contents.acls | fine), results)


def delete_acls(contents: Contents, bindings: Sequence[AclBinding]) -> Response[AclBinding]:
    """DeleteAcls with one exact filter for each binding; an absent binding is a success."""
    results: dict[AclBinding, ItemResult] = {each: _check_words(each) for each in bindings}
    gone = {each for each, result in results.items() if result is None} & contents.acls
    if len(gone) > MAX_RECORDS:
        too_many = refusal(
            42, f"Cannot remove more than {MAX_RECORDS} acls in a single delete operation."
        )
        return Response(contents, dict.fromkeys(bindings, too_many))
    return Response(replace(contents, acls=contents.acls - gone), results)


def _check_words(binding: AclBinding) -> Refusal | None:
    """Refuse words of filters (ANY, MATCH) as the drivers do.

    In an ACL to add one of them spoils the whole request (-1), in one to delete it matches others.
    """
    is_exact = (
        binding.resource_type in RESOURCE_TYPES
        and binding.pattern_type in PATTERN_TYPES
        and binding.operation in OPERATIONS
        and binding.permission in PERMISSIONS
    )
    return None if is_exact else client_refusal(CLIENT_INVALID, "An ACL has no such word.")


def _check_new_acl(binding: AclBinding) -> Refusal | None:
    if binding.resource_type == "CLUSTER" and binding.resource_name != "kafka-cluster":
        return refusal(42, "The only valid name for the CLUSTER resource is kafka-cluster")
    if not binding.resource_name:
        return refusal(42, "Invalid empty resource name")
    if ":" not in binding.principal:
        return refusal(
            42,
            f"Could not parse principal from `{binding.principal}` (no colon is present "
            "separating the principal type from the principal name)",
        )
    return _check_words(binding)
