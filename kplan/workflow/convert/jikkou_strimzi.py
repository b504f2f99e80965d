"""Readers of resource files: Jikkou and Strimzi."""

from collections.abc import Iterator, Mapping, Sequence

from kplan.config.yaml_document import YamlNode
from kplan.workflow.convert.conversion import AclGrant, Conversion, quota_limits

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
    if told := _exclusion_reason(part):
        conversion.skip(part.source_range, f"{kind} {name}", told)
        return
    match kind:
        case "KafkaTopic":
            _read_jikkou_topic(name, part.get("spec"), maps, conversion)
        case "KafkaPrincipalAuthorization":
            _read_authorization(name, part.get("spec"), roles, conversion)
        case "KafkaClientQuota":
            _read_client_quota(name, part.get("spec"), conversion)
        case "KafkaUser":
            conversion.skip(part.source_range, f"{kind} {name}", _CREDENTIAL_REASON)
        case "ConfigMap" | "KafkaPrincipalRole":
            return
        case _:
            conversion.skip(part.source_range, f"{kind} {name}", "kplan has no such kind")


def _exclusion_reason(part: YamlNode) -> str:
    """Say why Jikkou does not keep a resource, "" of one that it keeps."""
    for mark, told in _EXCLUSION_REASONS.items():
        if part.get("metadata", "annotations", f"jikkou.io/{mark}").text("") == "true":
            return told
    return ""


def read_strimzi(documents: Sequence[YamlNode], conversion: Conversion) -> None:
    """Read KafkaTopic and KafkaUser of Strimzi."""
    for document in documents:
        with conversion.collect_problems():
            for kind, part in _document_resources(document):
                with conversion.collect_problems():
                    _read_strimzi_resource(kind, part, conversion)


def _document_resources(document: YamlNode) -> Iterator[tuple[str, YamlNode]]:
    """Return the resources of a document with their kinds; lists hold several."""
    kind = document.get("kind").text()
    if not kind.endswith("List"):
        yield kind, document
        return
    for item in document.get("items").items():
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
    name: str, spec: YamlNode, maps: Mapping[str, YamlNode], conversion: Conversion
) -> None:
    config: dict[str, YamlNode] = {}
    for each in spec.get("configMapRefs").texts():
        if each in maps:
            config |= maps[each].get("data").members()
        else:
            at = spec.get("configMapRefs").source_range
            conversion.skip(at, f"ConfigMap {each} of topic {name}", "it is in none of the files")
    config |= spec.get("configs").members()
    counts = (spec.get("partitions").number(), spec.get("replicas").number())
    conversion.add_topic(name, spec.source_range, counts, config)
    known = {"partitions", "replicas", "configs", "configMapRefs"}
    conversion.skip_unknown_members(spec, known, f"topic {name}")


def _read_authorization(
    name: str, spec: YamlNode, roles: Mapping[str, YamlNode], conversion: Conversion
) -> None:
    rules = list(spec.get("acls").items())
    for each in spec.get("roles").texts():
        if each in roles:
            rules += roles[each].get("spec", "acls").items()
        else:
            at = spec.get("roles").source_range
            conversion.skip(at, f"role {each} of {name}", "it is in none of the files")
    for rule in rules:
        _read_acl_rule(name, rule, conversion)
    conversion.skip_unknown_members(spec, {"acls", "roles"}, name)


def _read_acl_rule(principal: str, rule: YamlNode, conversion: Conversion) -> None:
    """Read an ACL of either tool: a resource, and operations on it."""
    resource = rule.get("resource")
    sort = resource.get("type").text()
    named = resource.get("pattern") if "pattern" in resource.members() else resource.get("name")
    name = named.text("kafka-cluster" if sort.casefold() == "cluster" else None)
    pattern = resource.get("patternType").text("literal")
    if pattern.casefold() in {"match", "any"} or name.startswith("/"):
        detail = "it is for the topics that match when it is applied; declare an ACL for each"
        conversion.skip(rule.source_range, f"ACL on {sort} {name} for {principal}", detail)
        return
    to = AclGrant(
        principal,
        rule.source_range,
        rule.get("host").text("*"),
        rule.get("type").text("allow").capitalize(),
    )
    operations = rule.get("operations").texts() or (rule.get("operation").text(),)
    for each in operations:
        conversion.add_acl(to, sort, name, each, pattern)
    known = {"resource", "operations", "operation", "host", "type"}
    conversion.skip_unknown_members(rule, known, f"an ACL for {principal}")


def _read_client_quota(name: str, spec: YamlNode, conversion: Conversion) -> None:
    sort = spec.get("type").text()
    if sort not in _QUOTA_ENTITIES:
        conversion.skip(
            spec.source_range, f"quota {name}".strip(), f'kplan has no quota of type "{sort}"'
        )
        return
    type_, is_named, has_client = _QUOTA_ENTITIES[sort]
    key = "user" if type_ == "user" else "clientId"
    entity = spec.get("entity", key).text() if is_named else None
    client = spec.get("entity", "clientId").text() if has_client else None
    client = "<default>" if sort == "USER_ALL_CLIENTS" else client
    conversion.add_quota(
        (type_, entity, client), spec.source_range, quota_limits(spec.get("configs"))
    )


def _read_strimzi_resource(kind: str, part: YamlNode, conversion: Conversion) -> None:
    name = part.get("metadata", "name").text()
    spec = part.get("spec")
    managed = part.get("metadata", "annotations", "strimzi.io/managed").text("true")
    if managed == "false":
        conversion.skip(part.source_range, f"{kind} {name}", "Strimzi does not manage it either")
    elif kind == "KafkaTopic":
        topic = spec.get("topicName").text(name)
        counts = (spec.get("partitions").number(), spec.get("replicas").number())
        conversion.add_topic(topic, spec.source_range, counts, spec.get("config").members())
        known = {"topicName", "partitions", "replicas", "config"}
        conversion.skip_unknown_members(spec, known, f"topic {topic}")
    elif kind == "KafkaUser":
        _read_strimzi_user(name, spec, conversion)
    else:
        conversion.skip(part.source_range, f"{kind} {name}", "kplan has no such kind")


def _read_strimzi_user(name: str, spec: YamlNode, conversion: Conversion) -> None:
    sort = spec.get("authentication", "type").text("")
    user = f"CN={name}" if sort.startswith("tls") else name
    if sort.startswith("scram") or sort == "tls":
        told = (
            _CREDENTIAL_REASON
            if sort.startswith("scram")
            else "keep the certificate that Strimzi created"
        )
        conversion.skip(
            spec.get("authentication").source_range, f"{sort} credential of {name}", told
        )
    authorization = spec.get("authorization")
    if authorization.get("type").text("simple") == "simple":
        for rule in authorization.get("acls").items():
            with conversion.collect_problems():
                _read_acl_rule(f"User:{user}", rule, conversion)
    else:
        conversion.skip(
            authorization.source_range, f"authorization of {name}", "it is not by Kafka's ACLs"
        )
    quotas = spec.get("quotas")
    if quotas.content is not None:
        conversion.add_quota(("user", user, None), quotas.source_range, quota_limits(quotas))
    known = {"authentication", "authorization", "quotas"}
    conversion.skip_unknown_members(spec, known, f"user {name}")
