"""Reader of kafka-gitops' state files: topics, services and users that unfold to ACLs."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from kplan.config.yaml_document import YamlNode
from kplan.kinds.topic_rules import Topic
from kplan.workflow.convert.conversion import AclGrant, Conversion, read_notes

_STREAMS_OPERATIONS = (
    "Read",
    "Write",
    "Describe",
    "Delete",
    "Create",
    "Alter",
    "AlterConfigs",
    "DescribeConfigs",
)
"""What a Streams application may do with the topics that begin with its id."""

AclRule = tuple[str, str, str, str]
"""Type of resource, its name, operation and type of pattern."""

_ROLES: Mapping[str, Sequence[AclRule]] = {
    "reader": (("Topic", "*", "Read", ""), ("Group", "*", "Read", "")),
    "writer": (("Topic", "*", "Write", ""),),
    "operator": (
        ("Cluster", "kafka-cluster", "Describe", ""),
        ("Topic", "*", "Describe", ""),
        ("Topic", "*", "DescribeConfigs", ""),
        ("Group", "*", "Read", ""),
        ("Group", "*", "Describe", ""),
    ),
}
SECTIONS = {
    "settings",
    "topics",
    "services",
    "users",
    "customServiceAcls",
    "customUserAcls",
}
"""What a state file is made of."""

_NOTES = ("owner", "owners", "team", "description", "labels", "tags", "metadata")
"""Keys that people add to say whose an object is; the tool itself knows none of them."""
_CLOUD_REASON = "principals of a cloud are those of its service accounts; give each its principal"


def read_kafka_gitops(documents: Sequence[YamlNode], conversion: Conversion) -> None:
    """Read state files of kafka-gitops.

    A state may name files for its topics, services and users; its settings hold for those too, and
    its ACLs for owners that exist.
    """
    with conversion.collect_problems():
        settings = [each.get("settings") for each in documents if "settings" in each.key_names]
        for each in settings:
            _report_settings(each, conversion)
            _report_missing_files(
                each, {document.source_range.file for document in documents}, conversion
            )
        for document in documents:
            with conversion.collect_problems():
                _read_document(document, settings[0] if settings else None, conversion)
        _read_custom_rules(documents, conversion)


def _report_settings(settings: YamlNode, conversion: Conversion) -> None:
    """Report the settings that are not objects."""
    for cloud in ("ccloud", "confluent"):
        if settings.get(cloud, "enabled").text("") == "true":
            conversion.skip(settings.get(cloud), f"settings.{cloud}", _CLOUD_REASON)
    blacklist = settings.get("topics").get("blacklist")
    if blacklist.content is not None:
        text = "kplan deletes only what its state owns, and needs no list of other topics"
        conversion.skip(blacklist, "settings.topics.blacklist", text)


def _report_missing_files(
    settings: YamlNode, given: Collection[str], conversion: Conversion
) -> None:
    folder = Path(settings.source_range.file).parent
    for section, named in settings.get("files").members().items():
        if str(folder / named.text()) not in {str(Path(each)) for each in given}:
            conversion.skip(named, f"{section} of {named.text()}", "give that file too")


def _read_document(document: YamlNode, shared: YamlNode | None, conversion: Conversion) -> None:
    settings = document.get("settings")
    if settings.content is None and shared is not None:
        settings = shared
    factor = conversion.read_count(settings.get("topics", "defaults", "replication"))
    describes = settings.get("services", "acls", "describeTopicEnabled").text("") == "true"
    for name, topic in document.get("topics").members().items():
        with conversion.collect_problems():
            own = conversion.read_count(topic.get("replication"))
            config = topic.get("configs").members()
            partitions = conversion.read_count(topic.get("partitions"))
            value = Topic(name, partitions, factor if own is None else own)
            conversion.add_topic(value, config, topic.source_range, read_notes(topic, *_NOTES))
    for name, service in document.get("services").members().items():
        with conversion.collect_problems():
            _read_service(name, service, conversion, describes=describes)
    for name, user in document.get("users").members().items():
        with conversion.collect_problems():
            _read_user(name, user, conversion)


def _read_custom_rules(documents: Sequence[YamlNode], conversion: Conversion) -> None:
    for section, sort in (("customServiceAcls", "services"), ("customUserAcls", "users")):
        owners = dict(_section_members(documents, sort))
        for name, rules in _section_members(documents, section):
            owner = owners.get(name)
            inherited = owner.get("principal").text("") if owner else ""
            _add_custom_acls(name, inherited, rules, conversion)


def _section_members(documents: Sequence[YamlNode], section: str) -> Iterator[tuple[str, YamlNode]]:
    return chain.from_iterable(each.get(section).members().items() for each in documents)


def _read_service(name: str, service: YamlNode, conversion: Conversion, *, describes: bool) -> None:
    sort = service.get("type").text()
    unfold = _SERVICE_RULES.get(sort)
    principal = service.get("principal").text("")
    if unfold is None:
        text = f'kplan knows no service of type "{sort}"'
        conversion.skip(service, f"service {name}", text)
        return
    if not principal:
        text = "it has no principal; the cloud gave it one"
        conversion.skip(service, f"service {name}", text)
        return
    to = AclGrant(principal, service.source_range, notes=_owner_notes(name, service))
    for right in unfold(name, service, describes):
        conversion.add_acl(to, *right)


def _owner_notes(name: str, part: YamlNode) -> tuple[str, ...]:
    return tuple(f"{name}: {each}" for each in read_notes(part, *_NOTES))


def _topic_rules(part: YamlNode, describes: bool) -> Iterator[AclRule]:  # noqa: FBT001 - a setting
    produces, consumes = part.get("produces").texts(), part.get("consumes").texts()
    yield from (("Topic", each, "Write", "") for each in produces)
    yield from (("Topic", each, "Read", "") for each in consumes)
    if describes:
        both = dict.fromkeys((*consumes, *produces))
        yield from (("Topic", each, "Describe", "") for each in both)


def _group_rule(group: str, operation: str = "Read") -> AclRule:
    """Return the rule of a group, whose name is a prefix if it ends with a star."""
    if len(group) > 1 and group.endswith("*"):
        return "Group", group[:-1], operation, "Prefixed"
    return "Group", group, operation, ""


def _application_rules(name: str, service: YamlNode, describes: bool) -> Iterator[AclRule]:  # noqa: FBT001
    yield from _topic_rules(service, describes)
    group = service.get("group-id").text(name)
    if service.get("consumes").items():
        yield _group_rule(group)


def _streams_rules(name: str, service: YamlNode, describes: bool) -> Iterator[AclRule]:  # noqa: FBT001
    application = service.get("application-id").text(name)
    yield from _topic_rules(service, describes)
    yield from (("Topic", application, each, "Prefixed") for each in _STREAMS_OPERATIONS)
    yield from (_group_rule(application, each) for each in ("Read", "Describe", "Delete"))
    yield "Cluster", "kafka-cluster", "DescribeConfigs", ""


def _connect_rules(name: str, service: YamlNode, describes: bool) -> Iterator[AclRule]:  # noqa: FBT001
    produces = service.get("produces").texts()
    yield from (("Topic", each, "Write", "") for each in produces)
    if describes:
        yield from (("Topic", each, "Describe", "") for each in produces)
    for sort in ("config", "offset", "status"):
        plural = sort if sort == "status" else f"{sort}s"
        topic = service.get("storage-topics", sort).text(f"connect-{plural}-{name}")
        yield from (("Topic", topic, each, "") for each in ("Read", "Write"))
    yield _group_rule(service.get("group-id").text(name))
    for connector, part in service.get("connectors").members().items():
        yield from _topic_rules(part, describes)
        if part.get("consumes").items():
            yield _group_rule(f"connect-{connector}")


_SERVICE_RULES: Mapping[str, Callable[[str, YamlNode, bool], Iterator[AclRule]]] = {
    "application": _application_rules,
    "kafka-streams": _streams_rules,
    "kafka-connect": _connect_rules,
}


def _read_user(name: str, user: YamlNode, conversion: Conversion) -> None:
    principal = user.get("principal").text("")
    roles = user.get("roles").texts()
    if not principal:
        conversion.skip(user, f"user {name}", "it has no principal; the cloud gave it one")
        return
    for each in roles:
        if each.casefold() not in _ROLES:
            conversion.skip(
                user.get("roles").declared_at,
                f"role {each} of {name}",
                "kafka-gitops has no such role",
            )
    to = AclGrant(principal, user.source_range, notes=_owner_notes(name, user))
    for right in chain.from_iterable(_ROLES.get(each.casefold(), ()) for each in roles):
        conversion.add_acl(to, *right)


def _add_custom_acls(owner: str, inherited: str, rules: YamlNode, conversion: Conversion) -> None:
    for name, rule in rules.members().items():
        with conversion.collect_problems():
            whom = rule.get("principal").text(inherited)
            if not whom:
                conversion.skip(rule, f"ACL {name} of {owner}", "no owner is named")
                continue
            to = AclGrant(
                whom,
                rule.source_range,
                rule.get("host").text("*"),
                rule.get("permission").text("Allow"),
                _owner_notes(name, rule),
            )
            sort, what, operation = (
                rule.get(each).text() for each in ("type", "name", "operation")
            )
            conversion.add_acl(to, sort, what, operation, rule.get("pattern").text("Literal"))
