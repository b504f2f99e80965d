"""Reader of julie's topologies: names made of their place, roles that unfold to ACLs."""

from collections.abc import Iterator, Sequence

from kplan.config.yaml_document import YamlNode
from kplan.kinds.quota import Quota
from kplan.kinds.topic_rules import Topic
from kplan.workflow.convert.conversion import AclGrant, Conversion, read_notes

_NON_PREFIX_KEYS = {"context", "projects", "special_topics", "platform"}
_NOTES = ("metadata", "owner", "description", "labels")
_SCHEMA_REASON = "kplan manages no schemas"


def read_julie(documents: Sequence[YamlNode], conversion: Conversion) -> None:
    """Read topologies of julie, which the Kafka topology builder became."""
    for document in documents:
        with conversion.collect_problems():
            _read_topology(document, conversion)


def _read_topology(document: YamlNode, conversion: Conversion) -> None:
    """Read a topology: its other members are parts of all names, in the order written."""
    prefix = [document.get("context").text()]
    others = [key for key in document.key_names if key not in _NON_PREFIX_KEYS]
    prefix += [document.get(each).text() for each in others]
    for project in document.get("projects").items():
        with conversion.collect_problems():
            _read_project([*prefix, project.get("name").text()], project, conversion)
    for topic in document.get("special_topics").items():
        with conversion.collect_problems():
            _read_topic(topic.get("name").text(), topic, (), (), conversion)
    for name, part in document.get("platform").members().items():
        with conversion.collect_problems():
            _read_platform(name, part, conversion)


def _read_platform(name: str, part: YamlNode, conversion: Conversion) -> None:
    """Read the settings of a platform: quotas of users, and schema registries."""
    match name:
        case "kafka":
            for quota in part.get("quotas").items():
                user = quota.get("principal").text().removeprefix("User:")
                limits = {key: each for key, each in quota.members().items() if key != "principal"}
                conversion.add_quota(Quota("user", user), limits, quota.source_range)
        case "schema_registry":
            for each in _registry_instances(part):
                _read_registry(each, conversion)
        case _:
            conversion.skip(part, f"platform {name}", "declare the ACLs that it needs")


def _grant(part: YamlNode) -> AclGrant:
    principal = part.get("principal").text()
    return AclGrant(principal, part.source_range, notes=read_notes(part, *_NOTES))


def _registry_instances(part: YamlNode) -> Sequence[YamlNode]:
    """Return the instances of a platform; older files list them without the word."""
    return part.items() if isinstance(part.content, tuple) else part.get("instances").items()


def _read_registry(part: YamlNode, conversion: Conversion) -> None:
    """Read a schema registry; its ACLs are those of julie 4, older versions gave fewer."""
    to = _grant(part)
    topic = part.get("topic").text("_schemas")
    for operation in ("Create", "DescribeConfigs", "Describe", "Write", "Read"):
        conversion.add_acl(to, "Topic", topic, operation)
    offsets = part.get("consumer_offsets_topic").text("__consumer_offsets")
    conversion.add_acl(to, "Topic", offsets, "Describe")
    conversion.add_acl(to, "Group", part.get("group").text("schema-registry"), "Read")


def _read_project(prefix: Sequence[str], project: YamlNode, conversion: Conversion) -> None:
    consumers, producers = project.get("consumers").items(), project.get("producers").items()
    for topic in project.get("topics").items():
        with conversion.collect_problems():
            kind = topic.get("dataType")
            parts = [*prefix, topic.get("name").text(), *([kind.text()] if kind.content else [])]
            _read_topic(".".join(parts), topic, consumers, producers, conversion)
    for each in project.get("streams").items():
        with conversion.collect_problems():
            _read_streams(".".join(prefix), each, conversion)
    text = "connectors themselves run in Connect, and kplan manages none"
    for each in _access_rules(project, "connectors", text, conversion):
        with conversion.collect_problems():
            _read_connector(each, conversion)
    text = "queries run in ksqlDB, and kplan manages none"
    for each in _access_rules(project, "ksql", text, conversion):
        with conversion.collect_problems():
            _read_ksql(".".join(prefix), each, conversion)
    text = "kplan manages ACLs, not role bindings of Confluent Platform"
    conversion.skip_members(project, {"rbac": text}, f"project {prefix[-1]}")


def _read_topic(
    name: str,
    topic: YamlNode,
    consumers: Sequence[YamlNode],
    producers: Sequence[YamlNode],
    conversion: Conversion,
) -> None:
    config = dict(topic.get("config").members())
    partitions, factor = (
        conversion.read_count(config.pop(key)) if key in config else None
        for key in ("num.partitions", "replication.factor")
    )
    value = Topic(name, partitions, factor)
    conversion.add_topic(value, config, topic.source_range, read_notes(topic, *_NOTES))
    for each in (*consumers, *topic.get("consumers").items()):
        to = _grant(each)
        for operation in ("Describe", "Read"):
            conversion.add_acl(to, "Topic", name, operation)
        conversion.add_acl(to, "Group", *_parse_pattern(each.get("group").text("*"), "Read"))
    for each in (*producers, *topic.get("producers").items()):
        _read_producer(name, each, conversion)
    plan = "plans are files of their own; write the partitions and configs of the plan here"
    reasons = {"plan": plan, "schemas": _SCHEMA_REASON, "subject.name.strategy": _SCHEMA_REASON}
    conversion.skip_members(topic, reasons, f"topic {name}")


def _read_producer(topic: str, part: YamlNode, conversion: Conversion) -> None:
    to = _grant(part)
    transaction, idempotence = part.get("transactionId"), part.get("idempotence")
    for operation in ("Describe", "Write"):
        conversion.add_acl(to, "Topic", topic, operation)
        if transaction.content is not None:
            conversion.add_acl(
                to, "TransactionalID", *_parse_pattern(transaction.text(), operation)
            )
    if transaction.content is not None or idempotence.content is not None:
        conversion.add_acl(to, "Cluster", "kafka-cluster", "IdempotentWrite")


def _parse_pattern(name: str, operation: str) -> tuple[str, str, str]:
    """Read a name that is a prefix where a star ends it."""
    if len(name) > 1 and name.endswith("*"):
        return name[:-1], operation, "Prefixed"
    return name, operation, "Literal"


def _add_topic_acls(to: AclGrant, part: YamlNode, conversion: Conversion) -> None:
    for key, operation in (("read", "Read"), ("write", "Write")):
        for topic in part.get("topics", key).texts():
            conversion.add_acl(to, "Topic", topic, operation)


def _read_streams(prefix: str, part: YamlNode, conversion: Conversion) -> None:
    to = _grant(part)
    application = part.get("applicationId").text(prefix)
    _add_topic_acls(to, part, conversion)
    conversion.add_acl(to, "Topic", application, "All", "Prefixed")
    conversion.add_acl(to, "Group", application, "Read", "Prefixed")
    is_exactly_once = part.get("exactlyOnce").text("false").casefold() == "true"
    transactions = ("Write", "Describe") if is_exactly_once else ()
    for operation in transactions:
        conversion.add_acl(to, "TransactionalID", application, operation, "Prefixed")
    for each in part.get("observerPrincipals").items():
        observer = _grant(each)
        for operation in ("Read", "Describe"):
            conversion.add_acl(observer, "Topic", application, operation, "Prefixed")
            if is_exactly_once:
                conversion.add_acl(observer, "TransactionalID", application, operation, "Prefixed")
        conversion.add_acl(observer, "Group", application, "Read", "Prefixed")


def _access_rules(
    project: YamlNode, name: str, reason: str, conversion: Conversion
) -> Iterator[YamlNode]:
    """Return the principals that ACLs are for; newer files have artifacts beside them."""
    part = project.get(name)
    if isinstance(part.content, tuple):
        yield from part.content
        return
    yield from part.get("access_control").items()
    conversion.skip_members(part, {"artifacts": reason, "artefacts": reason}, name)


def _read_ksql(prefix: str, part: YamlNode, conversion: Conversion) -> None:
    to = _grant(part)
    application = part.get("applicationId").text(prefix)
    _add_topic_acls(to, part, conversion)
    for sort in ("Topic", "Group"):
        conversion.add_acl(to, sort, application, "All", "Prefixed")


def _read_connector(part: YamlNode, conversion: Conversion) -> None:
    to = _grant(part)
    for sort in ("status", "offset", "configs"):
        default = "connect-offsets" if sort == "offset" else f"connect-{sort}"
        for operation in ("Read", "Write"):
            conversion.add_acl(to, "Topic", part.get(f"{sort}_topic").text(default), operation)
    # Unless topology.connector.allow.topic.create is false, which is in no topology.
    conversion.add_acl(to, "Cluster", "kafka-cluster", "Create")
    conversion.add_acl(to, "Group", part.get("group").text("connect-cluster"), "Read")
    _add_topic_acls(to, part, conversion)
