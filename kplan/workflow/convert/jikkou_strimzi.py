"""Readers of resource files: Jikkou and Strimzi."""

from collections.abc import Iterator, Mapping, Sequence

from kplan.config.yaml_document import YamlNode
from kplan.kinds.quota import Quota
from kplan.kinds.topic_rules import Topic
from kplan.workflow.convert.conversion import AclGrant, Conversion, quota_limits, read_notes

_QUOTA_ENTITIES: Mapping[str, tuple[str, bool, bool]] = {
    "USER": ("user", True, False),
    "USERS_DEFAULT": ("user", False, False),
    "USER_CLIENT": ("user", True, True),
    "USER_ALL_CLIENTS": ("user", True, False),
    "CLIENT": ("client-id", True, False),
    "CLIENTS_DEFAULT": ("client-id", False, False),
}
"""What Jikkou's quotas limit: the type, whether it has a name, and whether a client id."""
_EXCLUSION_REASONS = {
    "delete": "it is marked to be deleted",
    "ignore": "Jikkou ignores it too",
}
_NOTES = ("labels", "annotations", "description")
_KUBERNETES_HISTORY = ("creationTimestamp", "generation", "resourceVersion", "uid", "managedFields")
"""What Kubernetes writes into `metadata` of what it stores, as `kubectl get -o yaml` prints it."""
_CREDENTIAL_REASON = "secrets are not carried over; declare a kafka_user_scram_credential"


def read_jikkou(documents: Sequence[YamlNode], conversion: Conversion) -> None:
    """Read topics, authorizations with their roles, and quotas of Jikkou."""
    resources: list[tuple[str, YamlNode]] = []
    for document in documents:
        with conversion.collect_problems():
            resources.extend(_document_resources(document))
    maps, roles = (
        _resources_by_name(resources, "ConfigMap"),
        _resources_by_name(resources, "KafkaPrincipalRole"),
    )
    for kind, part in resources:
        with conversion.collect_problems():
            _read_jikkou_resource(kind, part, maps, roles, conversion)


def _read_jikkou_resource(
    kind: str,
    part: YamlNode,
    maps: Mapping[str, YamlNode],
    roles: Mapping[str, YamlNode],
    conversion: Conversion,
) -> None:
    """Read one resource; quotas may be without a name."""
    name = part.get("metadata", "name").text("" if kind == "KafkaClientQuota" else None)
    if found := _exclusion_reason(part):
        conversion.skip(part, f"{kind} {name}", found)
        return
    match kind:
        case "KafkaTopic":
            _read_jikkou_topic(name, part, maps, conversion)
        case "KafkaPrincipalAuthorization":
            _read_authorization(name, part, roles, conversion)
        case "KafkaClientQuota":
            _read_client_quota(name, part, conversion)
        case "KafkaUser":
            conversion.skip(part, f"{kind} {name}", _CREDENTIAL_REASON)
        case "ConfigMap" | "KafkaPrincipalRole":
            _report_shared_part(kind, name, part, conversion)
        case _:
            conversion.skip(part, f"{kind} {name}", "kplan has no such kind")


def _report_shared_part(kind: str, name: str, part: YamlNode, conversion: Conversion) -> None:
    """Report the unconverted parts of a map of configs or a role, which becomes no block."""
    metadata = part.get("metadata")
    text = f"a {kind} becomes part of the objects that use it, and no block of its own"
    conversion.skip_members(metadata, dict.fromkeys(_NOTES, text), f"{kind} {name}")


def _exclusion_reason(part: YamlNode) -> str:
    """Say why Jikkou does not keep a resource, "" of one that it keeps."""
    for mark, each in _EXCLUSION_REASONS.items():
        if part.get("metadata", "annotations", f"jikkou.io/{mark}").text("") == "true":
            return each
    return ""


def read_strimzi(documents: Sequence[YamlNode], conversion: Conversion) -> None:
    """Read KafkaTopic and KafkaUser of Strimzi."""
    for document in documents:
        with conversion.collect_problems():
            for kind, part in _document_resources(document):
                with conversion.collect_problems():
                    _read_strimzi_resource(kind, part, conversion)


def _document_resources(document: YamlNode) -> Iterator[tuple[str, YamlNode]]:
    """Return the resources of a document with their kinds; lists contain several."""
    document.get("apiVersion")
    kind = document.get("kind").text()
    if not kind.endswith("List"):
        yield kind, document
        return
    metadata = document.get("metadata")
    for key in ("labels", "annotations"):
        if not metadata.peek(key).content:  # empty ones are printed by default
            metadata.get(key)
    for item in document.get("items").items():
        item.get("apiVersion")
        yield item.get("kind").text(kind.removesuffix("List")), item


def _resources_by_name(
    resources: Sequence[tuple[str, YamlNode]], wanted: str
) -> Mapping[str, YamlNode]:
    return {
        name: part
        for kind, part in resources
        if kind == wanted and isinstance(name := part.get("metadata", "name").content, str)
    }


def _read_jikkou_topic(
    name: str, part: YamlNode, maps: Mapping[str, YamlNode], conversion: Conversion
) -> None:
    spec = part.get("spec")
    config: dict[str, YamlNode] = {}
    for each in spec.get("configMapRefs").texts():
        if each in maps:
            config |= maps[each].get("data").members()
        else:
            at = spec.get("configMapRefs").source_range
            conversion.skip(at, f"ConfigMap {each} of topic {name}", "it is in none of the files")
    config |= spec.get("configs").members()
    partitions, replicas = (
        conversion.read_count(spec.get(each)) for each in ("partitions", "replicas")
    )
    topic = Topic(name, partitions, replicas)
    conversion.add_topic(topic, config, spec.source_range, _metadata_notes(part))


def _metadata_notes(part: YamlNode) -> tuple[str, ...]:
    return read_notes(part.get("metadata"), *_NOTES)


def _read_authorization(
    name: str, part: YamlNode, roles: Mapping[str, YamlNode], conversion: Conversion
) -> None:
    spec, notes = part.get("spec"), _metadata_notes(part)
    rules = list(spec.get("acls").items())
    for each in spec.get("roles").texts():
        if each in roles:
            rules += roles[each].get("spec", "acls").items()
        else:
            at = spec.get("roles").source_range
            conversion.skip(at, f"role {each} of {name}", "it is in none of the files")
    for rule in rules:
        _read_acl_rule(name, rule, notes, conversion)
    if notes and not rules:
        _report_unused_notes(part, f"{name}, who has no ACL", conversion)


def _report_unused_notes(part: YamlNode, of: str, conversion: Conversion) -> None:
    text = "there is no block that it could stand above"
    conversion.skip_members(part.get("metadata"), dict.fromkeys(_NOTES, text), of)


def _read_acl_rule(
    principal: str, rule: YamlNode, notes: tuple[str, ...], conversion: Conversion
) -> None:
    """Read an ACL of either tool: a resource, and operations on it."""
    resource = rule.get("resource")
    sort = resource.get("type").text()
    named = resource.get("pattern" if "pattern" in resource.key_names else "name")
    name = named.text("kafka-cluster" if sort.casefold() == "cluster" else None)
    pattern = resource.get("patternType").text("literal")
    if pattern.casefold() in {"match", "any"} or name.startswith("/"):
        detail = "it is for the topics that match when it is applied; declare an ACL for each"
        conversion.skip(rule, f"ACL on {sort} {name} for {principal}", detail)
        return
    to = AclGrant(
        principal,
        rule.source_range,
        rule.get("host").text("*"),
        rule.get("type").text("allow").capitalize(),
        notes,
    )
    operations = rule.get("operations").texts() or (rule.get("operation").text(),)
    for each in operations:
        conversion.add_acl(to, sort, name, each, pattern)


def _read_client_quota(name: str, part: YamlNode, conversion: Conversion) -> None:
    spec = part.get("spec")
    sort = spec.get("type").text()
    if sort not in _QUOTA_ENTITIES:
        conversion.skip(part, f"quota {name}".strip(), f'kplan has no quota of type "{sort}"')
        return
    type_, is_named, has_client = _QUOTA_ENTITIES[sort]
    key = "user" if type_ == "user" else "clientId"
    entity = spec.get("entity", key).text() if is_named else None
    client = spec.get("entity", "clientId").text() if has_client else None
    client = "<default>" if sort == "USER_ALL_CLIENTS" else client
    quota = Quota(type_, entity, client)
    limits = quota_limits(spec.get("configs"))
    conversion.add_quota(quota, limits, spec.source_range, _metadata_notes(part))


def _read_strimzi_resource(kind: str, part: YamlNode, conversion: Conversion) -> None:
    name = part.get("metadata", "name").text()
    spec = part.get("spec")
    managed = part.get("metadata", "annotations", "strimzi.io/managed").text("true")
    if managed == "false":
        conversion.skip(part, f"{kind} {name}", "Strimzi does not manage it either")
    elif kind == "KafkaTopic":
        topic = spec.get("topicName").text(name)
        partitions, replicas = (
            conversion.read_count(spec.get(each)) for each in ("partitions", "replicas")
        )
        value = Topic(topic, partitions, replicas)
        config = spec.get("config").members()
        conversion.add_topic(value, config, spec.source_range, _metadata_notes(part))
        _report_kubernetes_parts(part, conversion)
    elif kind == "KafkaUser":
        _read_strimzi_user(name, part, conversion)
        _report_kubernetes_parts(part, conversion)
    else:
        conversion.skip(part, f"{kind} {name}", "kplan has no such kind")


def _report_kubernetes_parts(part: YamlNode, conversion: Conversion) -> None:
    """Report the Kubernetes metadata of a resource; status and history are ignored."""
    part.get("status").mark_read()
    name = part.get("metadata", "name").text()
    for key in _KUBERNETES_HISTORY:
        part.get("metadata", key).mark_read()
    conversion.skip_members(
        part.get("metadata"), {"namespace": "a Kafka cluster has no namespaces"}, name
    )


def _read_strimzi_user(name: str, part: YamlNode, conversion: Conversion) -> None:
    spec, notes = part.get("spec"), _metadata_notes(part)
    sort = spec.get("authentication", "type").text("")
    user = f"CN={name}" if sort.startswith("tls") else name
    if sort.startswith("scram") or sort == "tls":
        found = (
            _CREDENTIAL_REASON
            if sort.startswith("scram")
            else "keep the certificate that Strimzi created"
        )
        conversion.skip(spec.get("authentication"), f"{sort} credential of {name}", found)
    authorization = spec.get("authorization")
    if authorization.get("type").text("simple") == "simple":
        for rule in authorization.get("acls").items():
            with conversion.collect_problems():
                _read_acl_rule(f"User:{user}", rule, notes, conversion)
    else:
        conversion.skip(authorization, f"authorization of {name}", "it is not by Kafka's ACLs")
    quotas = spec.get("quotas")
    if quotas.content is not None:
        quota = Quota("user", user)
        conversion.add_quota(quota, quota_limits(quotas), quotas.source_range, notes)
    if notes and quotas.content is None and not authorization.get("acls").items():
        _report_unused_notes(part, f"{name}, who has no ACL and no quota", conversion)
