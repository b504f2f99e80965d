"""Reader of julie's topologies: names made of their place, roles that unfold to ACLs."""

from collections.abc import Iterator, Sequence

from kplan.config.yaml_document import YamlNode
from kplan.workflow.convert.conversion import AclGrant, ConvertedObjects

_NO_PREFIX = {"context", "projects", "special_topics", "platform"}
_CLIENTS = {"principal", "group", "transactionId", "idempotence", "metadata"}


def read_julie(documents: Sequence[YamlNode], found: ConvertedObjects) -> None:
    """Read topologies of julie, which the Kafka topology builder became."""
    for document in documents:
        with found.gathering():
            _topology(document, found)


def _topology(document: YamlNode, found: ConvertedObjects) -> None:
    """Read a topology: its other members are parts of all names, in the order written."""
    prefix = [document.get("context").text()]
    prefix += [part.text() for _, part in document.unknown_members(_NO_PREFIX)]
    for project in document.get("projects").items():
        with found.gathering():
            _project([*prefix, project.get("name").text()], project, found)
    for topic in document.get("special_topics").items():
        with found.gathering():
            _topic(topic.get("name").text(), topic, (), (), found)
    for name, part in document.get("platform").members().items():
        with found.gathering():
            _platform(name, part, found)


def _platform(name: str, part: YamlNode, found: ConvertedObjects) -> None:
    """Read what a platform has: quotas of users, and schema registries."""
    match name:
        case "kafka":
            for quota in part.get("quotas").items():
                user = quota.get("principal").text().removeprefix("User:")
                rates = {key: each.text() for key, each in quota.unknown_members({"principal"})}
                found.quota(("user", user, None), quota.source_range, rates)
            found.leave_out_others(part, {"quotas"}, "the platform's kafka")
        case "schema_registry":
            for each in _instances(part):
                topic = each.get("topic").text("_schemas")
                for operation in ("DescribeConfigs", "Write", "Read"):
                    found.acl(
                        AclGrant(each.get("principal").text(), each.source_range),
                        "Topic",
                        topic,
                        operation,
                    )
                found.leave_out_others(each, {"principal", "topic", "group"}, "a schema registry")
        case _:
            found.leave_out(part.source_range, f"platform {name}", "declare the ACLs that it needs")


def _instances(part: YamlNode) -> Sequence[YamlNode]:
    """Return the instances of a platform; older files list them without the word."""
    return part.items() if isinstance(part.content, tuple) else part.get("instances").items()


def _project(prefix: Sequence[str], project: YamlNode, found: ConvertedObjects) -> None:
    consumers, producers = project.get("consumers").items(), project.get("producers").items()
    for topic in project.get("topics").items():
        with found.gathering():
            kind = topic.get("dataType")
            parts = [*prefix, topic.get("name").text(), *([kind.text()] if kind.content else [])]
            _topic(".".join(parts), topic, consumers, producers, found)
    for each in project.get("streams").items():
        with found.gathering():
            _streams(".".join(prefix), each, found)
    for each in _connectors(project, found):
        with found.gathering():
            _connector(each, found)
    known = {"name", "topics", "consumers", "producers", "streams", "connectors"}
    found.leave_out_others(project, known, f"project {prefix[-1]}")


def _topic(
    name: str,
    topic: YamlNode,
    consumers: Sequence[YamlNode],
    producers: Sequence[YamlNode],
    found: ConvertedObjects,
) -> None:
    config = dict(topic.get("config").members())
    counts = [
        config.pop(key).number() if key in config else None
        for key in ("num.partitions", "replication.factor")
    ]
    found.topic(name, topic.source_range, counts, config)
    for each in (*consumers, *topic.get("consumers").items()):
        to = AclGrant(each.get("principal").text(), each.source_range)
        for operation in ("Describe", "Read"):
            found.acl(to, "Topic", name, operation)
        found.acl(to, "Group", *_pattern(each.get("group").text("*"), "Read"))
        found.leave_out_others(each, _CLIENTS, "a consumer")
    for each in (*producers, *topic.get("producers").items()):
        _producer(name, each, found)
    known = {"name", "dataType", "config", "consumers", "producers"}
    found.leave_out_others(topic, known, f"topic {name}")


def _producer(topic: str, part: YamlNode, found: ConvertedObjects) -> None:
    to = AclGrant(part.get("principal").text(), part.source_range)
    transaction = part.get("transactionId")
    for operation in ("Describe", "Write"):
        found.acl(to, "Topic", topic, operation)
        if transaction.content is not None:
            found.acl(to, "TransactionalID", *_pattern(transaction.text(), operation))
    if transaction.content is not None or part.get("idempotence").content is not None:
        found.acl(to, "Cluster", "kafka-cluster", "IdempotentWrite")
    found.leave_out_others(part, _CLIENTS, "a producer")


def _pattern(name: str, operation: str) -> tuple[str, str, str]:
    """Read a name that is a prefix where a star ends it."""
    if len(name) > 1 and name.endswith("*"):
        return name[:-1], operation, "Prefixed"
    return name, operation, "Literal"


def _flows(to: AclGrant, part: YamlNode, found: ConvertedObjects) -> None:
    for key, operation in (("read", "Read"), ("write", "Write")):
        for topic in part.get("topics", key).texts():
            found.acl(to, "Topic", topic, operation)


def _streams(prefix: str, part: YamlNode, found: ConvertedObjects) -> None:
    to = AclGrant(part.get("principal").text(), part.source_range)
    application = part.get("applicationId").text(prefix)
    _flows(to, part, found)
    found.acl(to, "Topic", application, "All", "Prefixed")
    found.acl(to, "Group", application, "Read", "Prefixed")
    known = {"principal", "applicationId", "topics", "metadata"}
    found.leave_out_others(part, known, "a streams application")


def _connectors(project: YamlNode, found: ConvertedObjects) -> Iterator[YamlNode]:
    """Return the connectors that ACLs are for; newer files keep them beside the artifacts."""
    connectors = project.get("connectors")
    if isinstance(connectors.content, tuple):
        yield from connectors.content
        return
    yield from connectors.get("access_control").items()
    found.leave_out_others(connectors, {"access_control"}, "the connectors")


def _connector(part: YamlNode, found: ConvertedObjects) -> None:
    to = AclGrant(part.get("principal").text(), part.source_range)
    for sort in ("status", "offset", "configs"):
        default = "connect-offsets" if sort == "offset" else f"connect-{sort}"
        for operation in ("Read", "Write"):
            found.acl(to, "Topic", part.get(f"{sort}_topic").text(default), operation)
    found.acl(to, "Group", part.get("group").text("connect-cluster"), "Read")
    _flows(to, part, found)
    known = {"principal", "group", "topics", "status_topic", "offset_topic", "configs_topic"}
    found.leave_out_others(part, known | {"metadata"}, "a connector")
