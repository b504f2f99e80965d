"""Reader of kafka-gitops' state files: topics, services and users that unfold to ACLs."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from kplan.config.yaml_document import YamlNode
from kplan.workflow.convert.conversion import AclGrant, Conversion

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


def read_kafka_gitops(documents: Sequence[YamlNode], conversion: Conversion) -> None:
    """Read state files of kafka-gitops.

    A state may name files for its topics, services and users; its settings hold for those too, and
    its ACLs for owners that exist.
    """
    with conversion.collect_problems():
        settings = [each.get("settings") for each in documents if "settings" in each.members()]
        for each in settings:
            _report_missing_files(
                each, {document.source_range.file for document in documents}, conversion
            )
        for document in documents:
            with conversion.collect_problems():
                _read_document(document, settings[0] if settings else None, conversion)
        _read_custom_rules(documents, conversion)


def _report_missing_files(
    settings: YamlNode, given: Collection[str], conversion: Conversion
) -> None:
    folder = Path(settings.source_range.file).parent
    for section, named in settings.get("files").members().items():
        if str(folder / named.text()) not in {str(Path(each)) for each in given}:
            conversion.skip(
                named.source_range, f"{section} of {named.text()}", "give that file too"
            )


def _read_document(document: YamlNode, shared: YamlNode | None, conversion: Conversion) -> None:
    settings = document.members().get("settings") or shared or document.get("settings")
    factor = settings.get("topics", "defaults", "replication").number()
    describes = settings.get("services", "acls", "describe-topic-enabled").text("")
    for name, topic in document.get("topics").members().items():
        with conversion.collect_problems():
            own = topic.get("replication").number()
            counts = (topic.get("partitions").number(), factor if own is None else own)
            conversion.add_topic(name, topic.source_range, counts, topic.get("configs").members())
            known = {"partitions", "replication", "configs"}
            conversion.skip_unknown_members(topic, known, f"topic {name}")
    for name, service in document.get("services").members().items():
        with conversion.collect_problems():
            _read_service(name, service, conversion, describes=describes == "true")
    for name, user in document.get("users").members().items():
        with conversion.collect_problems():
            _read_user(name, user, conversion)
    conversion.skip_unknown_members(document, SECTIONS, "the file")


def _read_custom_rules(documents: Sequence[YamlNode], conversion: Conversion) -> None:
    for section, sort in (("customServiceAcls", "services"), ("customUserAcls", "users")):
        owners = dict(_section_members(documents, sort))
        for name, rules in _section_members(documents, section):
            owner = owners.get(name)
            principal = owner.get("principal").text("") if owner else ""
            _add_custom_acls(name, principal, rules, conversion)


def _section_members(documents: Sequence[YamlNode], section: str) -> Iterator[tuple[str, YamlNode]]:
    return chain.from_iterable(each.get(section).members().items() for each in documents)


def _read_service(name: str, service: YamlNode, conversion: Conversion, *, describes: bool) -> None:
    sort = service.get("type").text()
    unfold = _SERVICE_RULES.get(sort)
    principal = service.get("principal").text("")
    if unfold is None:
        conversion.skip(
            service.source_range, f"service {name}", f'kplan knows no service of type "{sort}"'
        )
        return
    if not principal:
        conversion.skip(
            service.source_range, f"service {name}", "it has no principal; the cloud gave it one"
        )
        return
    rights = list(unfold(name, service))
    if describes and sort != "kafka-connect":
        topics = {*service.get("produces").texts(), *service.get("consumes").texts()}
        rights += [("Topic", topic, "Describe", "") for topic in sorted(topics)]
    for right in rights:
        conversion.add_acl(AclGrant(principal, service.source_range), *right)
    known = {
        "type",
        "principal",
        "produces",
        "consumes",
        *("group-id", "application-id", "connectors", "storage-topics"),
    }
    conversion.skip_unknown_members(service, known, f"service {name}")


def _topic_rules(part: YamlNode) -> Iterator[AclRule]:
    yield from (("Topic", each, "Write", "") for each in part.get("produces").texts())
    yield from (("Topic", each, "Read", "") for each in part.get("consumes").texts())


def _application_rules(name: str, service: YamlNode) -> Iterator[AclRule]:
    yield from _topic_rules(service)
    if service.get("consumes").items():
        yield "Group", service.get("group-id").text(name), "Read", ""


def _streams_rules(name: str, service: YamlNode) -> Iterator[AclRule]:
    application = service.get("application-id").text(name)
    yield from _topic_rules(service)
    yield from (("Topic", application, each, "Prefixed") for each in _STREAMS_OPERATIONS)
    yield from (("Group", application, each, "") for each in ("Read", "Describe", "Delete"))
    yield "Cluster", "kafka-cluster", "DescribeConfigs", ""


def _connect_rules(name: str, service: YamlNode) -> Iterator[AclRule]:
    yield from (("Topic", each, "Write", "") for each in service.get("produces").texts())
    for sort in ("config", "offset", "status"):
        plural = sort if sort == "status" else f"{sort}s"
        topic = service.get("storage-topics", sort).text(f"connect-{plural}-{name}")
        yield from (("Topic", topic, each, "") for each in ("Read", "Write"))
    yield "Group", service.get("group-id").text(name), "Read", ""
    for connector, part in service.get("connectors").members().items():
        yield from _topic_rules(part)
        if part.get("consumes").items():
            yield "Group", f"connect-{connector}", "Read", ""


_SERVICE_RULES: Mapping[str, Callable[[str, YamlNode], Iterator[AclRule]]] = {
    "application": _application_rules,
    "kafka-streams": _streams_rules,
    "kafka-connect": _connect_rules,
}


def _read_user(name: str, user: YamlNode, conversion: Conversion) -> None:
    principal = user.get("principal").text("")
    roles = user.get("roles").texts()
    if not principal:
        conversion.skip(
            user.source_range, f"user {name}", "it has no principal; the cloud gave it one"
        )
        return
    for each in roles:
        if each.casefold() not in _ROLES:
            conversion.skip(
                user.source_range, f"role {each} of {name}", "kafka-gitops has no such role"
            )
    rights = chain.from_iterable(_ROLES.get(each.casefold(), ()) for each in roles)
    for right in rights:
        conversion.add_acl(AclGrant(principal, user.source_range), *right)
    conversion.skip_unknown_members(user, {"principal", "roles"}, f"user {name}")


def _add_custom_acls(owner: str, principal: str, rules: YamlNode, conversion: Conversion) -> None:
    for name, rule in rules.members().items():
        with conversion.collect_problems():
            whom = rule.get("principal").text(principal)
            if not whom:
                conversion.skip(rule.source_range, f"ACL {name} of {owner}", "no owner is named")
                continue
            to = AclGrant(
                whom,
                rule.source_range,
                rule.get("host").text("*"),
                rule.get("permission").text("Allow"),
            )
            sort, what, operation = (
                rule.get(each).text() for each in ("type", "name", "operation")
            )
            conversion.add_acl(to, sort, what, operation, rule.get("pattern").text("Literal"))
