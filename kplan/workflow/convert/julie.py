"""Reader of julie's topologies: names made of their place, roles that unfold to ACLs."""

from collections.abc import Iterator, Sequence

from kplan.config.yaml_document import YamlNode
from kplan.workflow.convert.conversion import AclGrant, Conversion

_NON_PREFIX_KEYS = {"context", "projects", "special_topics", "platform"}
_CLIENT_KEYS = {"principal", "group", "transactionId", "idempotence", "metadata"}


def read_julie(documents: Sequence[YamlNode], found: Conversion) -> None:
    """Read topologies of julie, which the Kafka topology builder became."""
    for document in documents:
        with found.collect_problems():
            _read_topology(document, found)


def _read_topology(document: YamlNode, found: Conversion) -> None:
    """Read a topology: its other members are parts of all names, in the order written."""
    prefix = [document.get("context").text()]
    prefix += [part.text() for _, part in document.unknown_members(_NON_PREFIX_KEYS)]
    for project in document.get("projects").items():
        with found.collect_problems():
            _read_project([*prefix, project.get("name").text()], project, found)
    for topic in document.get("special_topics").items():
        with found.collect_problems():
            _read_topic(topic.get("name").text(), topic, (), (), found)
    for name, part in document.get("platform").members().items():
        with found.collect_problems():
            _read_platform(name, part, found)


def _read_platform(name: str, part: YamlNode, found: Conversion) -> None:
    """Read what a platform has: quotas of users, and schema registries."""
    match name:
        case "kafka":
            for quota in part.get("quotas").items():
                user = quota.get("principal").text().removeprefix("User:")
                rates = {key: each.text() for key, each in quota.unknown_members({"principal"})}
                found.add_quota(("user", user, None), quota.source_range, rates)
            found.skip_unknown_members(part, {"quotas"}, "the platform's kafka")
        case "schema_registry":
            for each in _registry_instances(part):
                topic = each.get("topic").text("_schemas")
                for operation in ("DescribeConfigs", "Write", "Read"):
                    found.add_acl(
                        AclGrant(each.get("principal").text(), each.source_range),
                        "Topic",
                        topic,
                        operation,
                    )
                found.skip_unknown_members(
                    each, {"principal", "topic", "group"}, "a schema registry"
                )
        case _:
            found.skip(part.source_range, f"platform {name}", "declare the ACLs that it needs")


def _registry_instances(part: YamlNode) -> Sequence[YamlNode]:
    """Return the instances of a platform; older files list them without the word."""
    return part.items() if isinstance(part.content, tuple) else part.get("instances").items()


def _read_project(prefix: Sequence[str], project: YamlNode, found: Conversion) -> None:
    consumers, producers = project.get("consumers").items(), project.get("producers").items()
    for topic in project.get("topics").items():
        with found.collect_problems():
            kind = topic.get("dataType")
            parts = [*prefix, topic.get("name").text(), *([kind.text()] if kind.content else [])]
            _read_topic(".".join(parts), topic, consumers, producers, found)
    for each in project.get("streams").items():
        with found.collect_problems():
            _read_streams(".".join(prefix), each, found)
    for each in _project_connectors(project, found):
        with found.collect_problems():
            _read_connector(each, found)
    known = {"name", "topics", "consumers", "producers", "streams", "connectors"}
    found.skip_unknown_members(project, known, f"project {prefix[-1]}")


def _read_topic(
    name: str,
    topic: YamlNode,
    consumers: Sequence[YamlNode],
    producers: Sequence[YamlNode],
    found: Conversion,
) -> None:
    config = dict(topic.get("config").members())
    counts = [
        config.pop(key).number() if key in config else None
        for key in ("num.partitions", "replication.factor")
    ]
    found.add_topic(name, topic.source_range, counts, config)
    for each in (*consumers, *topic.get("consumers").items()):
        to = AclGrant(each.get("principal").text(), each.source_range)
        for operation in ("Describe", "Read"):
            found.add_acl(to, "Topic", name, operation)
        found.add_acl(to, "Group", *_parse_pattern(each.get("group").text("*"), "Read"))
        found.skip_unknown_members(each, _CLIENT_KEYS, "a consumer")
    for each in (*producers, *topic.get("producers").items()):
        _read_producer(name, each, found)
    known = {"name", "dataType", "config", "consumers", "producers"}
    found.skip_unknown_members(topic, known, f"topic {name}")


def _read_producer(topic: str, part: YamlNode, found: Conversion) -> None:
    to = AclGrant(part.get("principal").text(), part.source_range)
    transaction = part.get("transactionId")
    for operation in ("Describe", "Write"):
        found.add_acl(to, "Topic", topic, operation)
        if transaction.content is not None:
            found.add_acl(to, "TransactionalID", *_parse_pattern(transaction.text(), operation))
    if transaction.content is not None or part.get("idempotence").content is not None:
        found.add_acl(to, "Cluster", "kafka-cluster", "IdempotentWrite")
    found.skip_unknown_members(part, _CLIENT_KEYS, "a producer")


def _parse_pattern(name: str, operation: str) -> tuple[str, str, str]:
    """Read a name that is a prefix where a star ends it."""
    if len(name) > 1 and name.endswith("*"):
        return name[:-1], operation, "Prefixed"
    return name, operation, "Literal"


def _add_topic_acls(to: AclGrant, part: YamlNode, found: Conversion) -> None:
    for key, operation in (("read", "Read"), ("write", "Write")):
        for topic in part.get("topics", key).texts():
            found.add_acl(to, "Topic", topic, operation)


def _read_streams(prefix: str, part: YamlNode, found: Conversion) -> None:
    to = AclGrant(part.get("principal").text(), part.source_range)
    application = part.get("applicationId").text(prefix)
    _add_topic_acls(to, part, found)
    found.add_acl(to, "Topic", application, "All", "Prefixed")
    found.add_acl(to, "Group", application, "Read", "Prefixed")
    known = {"principal", "applicationId", "topics", "metadata"}
    found.skip_unknown_members(part, known, "a streams application")


def _project_connectors(project: YamlNode, found: Conversion) -> Iterator[YamlNode]:
    """Return the connectors that ACLs are for; newer files keep them beside the artifacts."""
    connectors = project.get("connectors")
    if isinstance(connectors.content, tuple):
        yield from connectors.content
        return
    yield from connectors.get("access_control").items()
    found.skip_unknown_members(connectors, {"access_control"}, "the connectors")


def _read_connector(part: YamlNode, found: Conversion) -> None:
    to = AclGrant(part.get("principal").text(), part.source_range)
    for sort in ("status", "offset", "configs"):
        default = "connect-offsets" if sort == "offset" else f"connect-{sort}"
        for operation in ("Read", "Write"):
            found.add_acl(to, "Topic", part.get(f"{sort}_topic").text(default), operation)
    found.add_acl(to, "Group", part.get("group").text("connect-cluster"), "Read")
    _add_topic_acls(to, part, found)
    known = {"principal", "group", "topics", "status_topic", "offset_topic", "configs_topic"}
    found.skip_unknown_members(part, known | {"metadata"}, "a connector")
