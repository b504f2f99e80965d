"""Reader of kafka-gitops' state files: topics, services and users that unfold to ACLs."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from kplan.config.yaml_document import YamlNode
from kplan.workflow.convert.conversion import AclGrant, ConvertedObjects

_STREAMS = (
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

Right = tuple[str, str, str, str]
"""Type of resource, its name, operation and type of pattern."""

_ROLES: Mapping[str, Sequence[Right]] = {
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


def read_kafka_gitops(documents: Sequence[YamlNode], found: ConvertedObjects) -> None:
    """Read state files of kafka-gitops.

    A state may name files for its topics, services and users; its settings hold for those too, and
    its ACLs for owners that stand there.
    """
    with found.gathering():
        settings = [each.get("settings") for each in documents if "settings" in each.members()]
        for each in settings:
            _named_files(each, {document.source_range.file for document in documents}, found)
        for document in documents:
            with found.gathering():
                _file(document, settings[0] if settings else None, found)
        _custom_rules(documents, found)


def _named_files(settings: YamlNode, given: Collection[str], found: ConvertedObjects) -> None:
    folder = Path(settings.source_range.file).parent
    for section, named in settings.get("files").members().items():
        if str(folder / named.text()) not in {str(Path(each)) for each in given}:
            found.leave_out(
                named.source_range, f"{section} of {named.text()}", "give that file too"
            )


def _file(document: YamlNode, shared: YamlNode | None, found: ConvertedObjects) -> None:
    settings = document.members().get("settings") or shared or document.get("settings")
    factor = settings.get("topics", "defaults", "replication").number()
    describes = settings.get("services", "acls", "describe-topic-enabled").text("")
    for name, topic in document.get("topics").members().items():
        with found.gathering():
            own = topic.get("replication").number()
            counts = (topic.get("partitions").number(), factor if own is None else own)
            found.topic(name, topic.source_range, counts, topic.get("configs").members())
            known = {"partitions", "replication", "configs"}
            found.leave_out_others(topic, known, f"topic {name}")
    for name, service in document.get("services").members().items():
        with found.gathering():
            _service(name, service, found, describes=describes == "true")
    for name, user in document.get("users").members().items():
        with found.gathering():
            _user(name, user, found)
    found.leave_out_others(document, SECTIONS, "the file")


def _custom_rules(documents: Sequence[YamlNode], found: ConvertedObjects) -> None:
    for section, sort in (("customServiceAcls", "services"), ("customUserAcls", "users")):
        owners = dict(_all(documents, sort))
        for name, rules in _all(documents, section):
            owner = owners.get(name)
            principal = owner.get("principal").text("") if owner else ""
            _custom(name, principal, rules, found)


def _all(documents: Sequence[YamlNode], section: str) -> Iterator[tuple[str, YamlNode]]:
    return chain.from_iterable(each.get(section).members().items() for each in documents)


def _service(name: str, service: YamlNode, found: ConvertedObjects, *, describes: bool) -> None:
    sort = service.get("type").text()
    unfold = _SERVICES.get(sort)
    principal = service.get("principal").text("")
    if unfold is None:
        found.leave_out(
            service.source_range, f"service {name}", f'kplan knows no service of type "{sort}"'
        )
        return
    if not principal:
        found.leave_out(
            service.source_range, f"service {name}", "it has no principal; the cloud gave it one"
        )
        return
    rights = list(unfold(name, service))
    if describes and sort != "kafka-connect":
        topics = {*service.get("produces").texts(), *service.get("consumes").texts()}
        rights += [("Topic", topic, "Describe", "") for topic in sorted(topics)]
    for right in rights:
        found.acl(AclGrant(principal, service.source_range), *right)
    known = {
        "type",
        "principal",
        "produces",
        "consumes",
        *("group-id", "application-id", "connectors", "storage-topics"),
    }
    found.leave_out_others(service, known, f"service {name}")


def _flows(part: YamlNode) -> Iterator[Right]:
    yield from (("Topic", each, "Write", "") for each in part.get("produces").texts())
    yield from (("Topic", each, "Read", "") for each in part.get("consumes").texts())


def _application(name: str, service: YamlNode) -> Iterator[Right]:
    yield from _flows(service)
    if service.get("consumes").items():
        yield "Group", service.get("group-id").text(name), "Read", ""


def _streams(name: str, service: YamlNode) -> Iterator[Right]:
    application = service.get("application-id").text(name)
    yield from _flows(service)
    yield from (("Topic", application, each, "Prefixed") for each in _STREAMS)
    yield from (("Group", application, each, "") for each in ("Read", "Describe", "Delete"))
    yield "Cluster", "kafka-cluster", "DescribeConfigs", ""


def _connect(name: str, service: YamlNode) -> Iterator[Right]:
    yield from (("Topic", each, "Write", "") for each in service.get("produces").texts())
    for sort in ("config", "offset", "status"):
        plural = sort if sort == "status" else f"{sort}s"
        topic = service.get("storage-topics", sort).text(f"connect-{plural}-{name}")
        yield from (("Topic", topic, each, "") for each in ("Read", "Write"))
    yield "Group", service.get("group-id").text(name), "Read", ""
    for connector, part in service.get("connectors").members().items():
        yield from _flows(part)
        if part.get("consumes").items():
            yield "Group", f"connect-{connector}", "Read", ""


_SERVICES: Mapping[str, Callable[[str, YamlNode], Iterator[Right]]] = {
    "application": _application,
    "kafka-streams": _streams,
    "kafka-connect": _connect,
}


def _user(name: str, user: YamlNode, found: ConvertedObjects) -> None:
    principal = user.get("principal").text("")
    roles = user.get("roles").texts()
    if not principal:
        found.leave_out(
            user.source_range, f"user {name}", "it has no principal; the cloud gave it one"
        )
        return
    for each in roles:
        if each.casefold() not in _ROLES:
            found.leave_out(
                user.source_range, f"role {each} of {name}", "kafka-gitops has no such role"
            )
    rights = chain.from_iterable(_ROLES.get(each.casefold(), ()) for each in roles)
    for right in rights:
        found.acl(AclGrant(principal, user.source_range), *right)
    found.leave_out_others(user, {"principal", "roles"}, f"user {name}")


def _custom(owner: str, principal: str, rules: YamlNode, found: ConvertedObjects) -> None:
    for name, rule in rules.members().items():
        with found.gathering():
            whom = rule.get("principal").text(principal)
            if not whom:
                found.leave_out(
                    rule.source_range, f"ACL {name} of {owner}", "nobody says whose it is"
                )
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
            found.acl(to, sort, what, operation, rule.get("pattern").text("Literal"))
