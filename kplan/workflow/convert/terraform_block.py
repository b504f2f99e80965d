"""Resource blocks of Terraform's cloud providers, edited in place to those of kplan."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field

from kplan.config.syntax import tree as ast
from kplan.config.syntax.source import Origin
from kplan.kinds.topic_rules import KNOWN_TOPIC_CONFIGS
from kplan.model.dataclass import dataclass
from kplan.report.documents.notation import quote_hcl
from kplan.workflow.convert.conversion import Conversion
from kplan.workflow.convert.terraform_reference import (
    Edit,
    ReferenceWriter,
    UnconvertibleError,
    apply_edits,
)

_CONNECTION = 'the connection is declared in provider "kafka", or comes from the environment'
_TIMEOUTS = "timeouts are of the connection"


@dataclass(frozen=True, slots=True)
class ResourceType:
    """How a resource of another provider is written here.

    `names` are those of its arguments here, `dropped` why others are left out, `defaults` what is
    written where the other provider has a default that Kafka has not. `comments` become comments.
    """

    kind: str
    names: Mapping[str, str]
    dropped: Mapping[str, str]
    defaults: Mapping[str, str] = field(default_factory=dict)
    comments: frozenset[str] = frozenset()


_CONFLUENT_DROPPED = dict.fromkeys(("kafka_cluster", "rest_endpoint", "credentials"), _CONNECTION)
_AIVEN_DROPPED = {
    **dict.fromkeys(("project", "service_name"), _CONNECTION),
    "timeouts": _TIMEOUTS,
}

RESOURCE_TYPES: Mapping[str, ResourceType] = {
    "confluent_kafka_topic": ResourceType(
        "kafka_topic",
        {"topic_name": "name", "partitions_count": "partitions", "config": "config"},
        _CONFLUENT_DROPPED,
        {"partitions_count": "6"},
    ),
    "confluent_kafka_acl": ResourceType(
        "kafka_acl",
        {
            "resource_type": "resource_type",
            "resource_name": "resource_name",
            "pattern_type": "resource_pattern_type_filter",
            "principal": "acl_principal",
            "host": "acl_host",
            "operation": "acl_operation",
            "permission": "acl_permission_type",
        },
        _CONFLUENT_DROPPED,
    ),
    "aiven_kafka_topic": ResourceType(
        "kafka_topic",
        {
            "topic_name": "name",
            "partitions": "partitions",
            "replication": "replication_factor",
            "config": "config",
        },
        _AIVEN_DROPPED,
        comments=frozenset({"tag", "owner_user_group_id", "topic_description"}),
    ),
    "aiven_kafka_native_acl": ResourceType(
        "kafka_acl",
        {
            "resource_type": "resource_type",
            "resource_name": "resource_name",
            "pattern_type": "resource_pattern_type_filter",
            "principal": "acl_principal",
            "host": "acl_host",
            "operation": "acl_operation",
            "permission_type": "acl_permission_type",
        },
        _AIVEN_DROPPED,
        {"host": '"*"'},
    ),
    "aiven_kafka_acl": ResourceType("kafka_acl", {}, _AIVEN_DROPPED),
}
"""The resources that mean topics and ACLs of Kafka."""

_META = frozenset({"count", "for_each"})
_AIVEN_OPERATIONS: Mapping[str, tuple[str, ...]] = {
    "read": ("Describe", "DescribeConfigs", "Read"),
    "write": ("Describe", "DescribeConfigs", "Write"),
    "readwrite": ("Describe", "DescribeConfigs", "Read", "Write"),
    "admin": ("All",),
}
"""What Aiven's own ACLs allow on a topic."""


@dataclass(frozen=True, slots=True)
class SourceBlock:
    """A block with the file that it is in."""

    origin: Origin
    block: ast.Block

    @property
    def type(self) -> str:
        """The type of a resource."""
        return self.block.labels[0].text

    @property
    def name(self) -> str:
        """The address as Terraform shows it."""
        return ".".join(each.text for each in self.block.labels)

    @property
    def text(self) -> str:
        """The block as it is written."""
        return self.origin.text(self.block.start, self.block.end)

    def attribute(self, name: str) -> ast.Attribute | None:
        """Return an argument of the block itself."""
        return next((each for each in self.block.attributes if each.name == name), None)

    def value_text(self, attribute: ast.Attribute) -> str:
        """Return a value as it is written."""
        return self.origin.text(attribute.value.start, attribute.value.end)


def convert_resource(
    source: SourceBlock, references: ReferenceWriter, conversion: Conversion
) -> str:
    """Write a resource for kplan. Raises UnconvertibleError."""
    if source.type == "aiven_kafka_acl":
        return _convert_aiven_acl(source, references, conversion)
    return apply_edits(source.text, _BlockEditor(source, references, conversion).edits())


@dataclass(slots=True)
class _BlockEditor:
    source: SourceBlock
    references: ReferenceWriter
    conversion: Conversion

    @property
    def _type(self) -> ResourceType:
        return RESOURCE_TYPES[self.source.type]

    def edits(self) -> list[Edit]:
        """Return all changes to the block."""
        block, found = self.source.block, []
        label = block.labels[0]
        found.append((label.start, label.end, quote_hcl(self._type.kind)))
        for attribute in block.attributes:
            found.extend(self._attribute_edits(attribute))
        for inner in block.blocks:
            found.extend(self._block_edits(inner))
        written = {each.name for each in (*block.attributes,)}
        for name, default in self._type.defaults.items():
            if name not in written:
                found.append(
                    (block.end - 1, block.end - 1, f"{self._type.names[name]} = {default}\n")
                )
        return found

    def _attribute_edits(self, attribute: ast.Attribute) -> Iterator[Edit]:
        origin, name = self.source.origin, attribute.name
        if name in self._type.names:
            yield attribute.start, attribute.name_end, self._type.names[name]
            yield from self.references.edits(origin, [attribute])
        elif name in _META:
            yield from self.references.edits(origin, [attribute])
        elif name == "depends_on":
            yield self._dependencies(attribute)
        elif name == "termination_protection":
            yield from self._protection(attribute)
        elif name in self._type.comments:
            yield self._comment(attribute.start, attribute.end)
        else:
            yield self._drop(attribute.start, attribute.end, name)

    def _block_edits(self, inner: ast.Block) -> Iterator[Edit]:
        if inner.type == "lifecycle":
            yield from self._lifecycle(inner)
        elif inner.type == "config" and not inner.blocks:
            yield inner.start, inner.header_end, "config = "
            for attribute in inner.attributes:
                yield from self._config_edits(attribute)
        elif inner.type in self._type.comments:
            yield self._comment(inner.start, inner.end)
        else:
            yield self._drop(inner.start, inner.end, inner.type)

    def _config_edits(self, attribute: ast.Attribute) -> Iterator[Edit]:
        key = attribute.name.replace("_", ".")
        if key not in KNOWN_TOPIC_CONFIGS:
            text = "Apache Kafka has no such config"
            yield self._drop(attribute.start, attribute.end, f"config.{attribute.name}", text)
            return
        yield attribute.start, attribute.name_end, quote_hcl(key)
        yield from self.references.edits(self.source.origin, [attribute])

    def _drop(self, start: int, end: int, name: str, reason: str = "") -> Edit:
        """Take an argument or a block out, with its line, and report it."""
        origin = self.source.origin
        found = reason or self._type.dropped.get(name, "kplan has nothing like it")
        place = origin.range(start, end)
        self.conversion.skip(place, f"{name} of {self.source.name}", found)
        return self._whole_lines(start, end, "")

    def _whole_lines(self, start: int, end: int, new: str) -> Edit:
        """Return an edit that includes the line break if nothing else is on the line."""
        text = self.source.text
        offset = self.source.block.start
        after = re.compile(r"[ \t]*(?:(?:#|//)[^\n]*)?\n").match(text, end - offset)
        return start, after.end() + offset if after else end, new

    def _comment(self, start: int, end: int) -> Edit:
        lines = self.source.origin.text(start, end).splitlines()
        return self._whole_lines(start, end, "".join(f"# {each.strip()}\n" for each in lines))

    def _dependencies(self, attribute: ast.Attribute) -> Edit:
        """Keep the converted blocks; the rest is reported."""
        kept: list[str] = []
        for each in attribute.references:
            address = (each.root, *each.steps)
            known = self.references.resources.get(address[:2])  # type: ignore[arg-type] # as there
            if known:
                kept.append(f"{known[0]}.{address[1]}")
            else:
                text = "kplan does not manage it"
                place = self.source.origin.range(each.start, each.end)
                self.conversion.skip(place, f"depends_on {'.'.join(address)}", text)
        new = f"depends_on = [{', '.join(kept)}]\n" if kept else ""
        return self._whole_lines(attribute.start, attribute.end, new)

    def _protection(self, attribute: ast.Attribute) -> Iterator[Edit]:
        """Write Aiven's protection as Terraform's `prevent_destroy`."""
        value = attribute.value
        lifecycle = [each for each in self.source.block.blocks if each.type == "lifecycle"]
        has_own = any(
            each.name == "prevent_destroy" for block in lifecycle for each in block.attributes
        )
        if not isinstance(value, ast.Literal):
            text = "prevent_destroy takes no expression; write lifecycle { prevent_destroy = true }"
            yield self._drop(attribute.start, attribute.end, attribute.name, text)
            return
        is_new = value.value in (True, "true") and not has_own
        new = "lifecycle {\nprevent_destroy = true\n}\n" if is_new and not lifecycle else ""
        yield self._whole_lines(attribute.start, attribute.end, new)
        if is_new and lifecycle:
            at = lifecycle[0].header_end + 1
            yield at, at, "\nprevent_destroy = true\n"

    def _lifecycle(self, inner: ast.Block) -> Iterator[Edit]:
        origin = self.source.origin
        for attribute in inner.attributes:
            if attribute.name == "ignore_changes":
                for each in attribute.references:
                    if each.root in self._type.names:
                        new = self._type.names[each.root]
                        yield each.start, each.start + len(each.root), new
            else:
                yield from self.references.edits(origin, [attribute])
        for block in inner.blocks:
            yield from self.references.edits(origin, block.attributes)


def _convert_aiven_acl(
    source: SourceBlock, references: ReferenceWriter, conversion: Conversion
) -> str:
    """Write the ACLs of Kafka that one of Aiven's own means."""
    topic, permission, user = (
        _required_attribute(source, each) for each in ("topic", "permission", "username")
    )
    operations = _AIVEN_OPERATIONS.get(str(getattr(permission.value, "value", "")))
    if operations is None:
        place = source.origin.range(permission.start, permission.end)
        raise UnconvertibleError("its permission has to be written out", place)
    known = {"topic", "permission", "username", *_META}
    for each in source.block.attributes:
        if each.name not in known:
            found = _AIVEN_DROPPED.get(each.name, "kplan has nothing like it")
            place = source.origin.range(each.start, each.end)
            conversion.skip(place, f"{each.name} of {source.name}", found)
    for inner in source.block.blocks:
        found = _AIVEN_DROPPED.get(inner.type, "kplan has nothing like it")
        place = source.origin.range(inner.start, inner.end)
        conversion.skip(place, f"{inner.type} of {source.name}", found)
    name, pattern = _aiven_topic(source, topic, references, conversion)
    lines = [
        f"resource_name = {name}",
        'resource_type = "Topic"',
        f"acl_principal = {_aiven_principal(source, user, references)}",
        'acl_host = "*"',
        'acl_permission_type = "Allow"',
        *([f'resource_pattern_type_filter = "{pattern}"'] if pattern else []),
    ]
    if "Read" in operations:
        found = "Kafka wants an ACL on the consumer group too; declare a kafka_acl of type Group"
        place = source.origin.range(permission.start, permission.end)
        conversion.skip(place, f"consumer groups of {source.name}", found)
    return _aiven_blocks(source, operations, lines, references)


def _aiven_blocks(
    source: SourceBlock,
    operations: tuple[str, ...],
    lines: Iterable[str],
    references: ReferenceWriter,
) -> str:
    """Write a block through all operations, or one for each where the block is repeated itself."""
    name = source.block.labels[1].text
    repeated = [each for each in source.block.attributes if each.name in _META]
    body = "\n".join(lines)
    if not repeated:
        words = ", ".join(quote_hcl(each) for each in operations)
        loop = f"for_each = toset([{words}])\n\nacl_operation = each.key\n"
        return f'resource "kafka_acl" {quote_hcl(name)} {{\n{loop}{body}\n}}'
    head = "\n".join(f"{each.name} = {_rewrite(source, each, references)}" for each in repeated)
    return "\n\n".join(
        f'resource "kafka_acl" {quote_hcl(f"{name}_{each.lower()}")} {{\n'
        f'{head}\n\nacl_operation = "{each}"\n{body}\n}}'
        for each in operations
    )


def _required_attribute(source: SourceBlock, name: str) -> ast.Attribute:
    found = source.attribute(name)
    if found is None:
        place = source.origin.range(source.block.start, source.block.header_end)
        raise UnconvertibleError(f"it has no {name}", place)
    return found


def _rewrite(source: SourceBlock, attribute: ast.Attribute, references: ReferenceWriter) -> str:
    start = attribute.value.start
    edits = references.edits(source.origin, [attribute])
    return apply_edits(
        source.value_text(attribute), ((at - start, end - start, new) for at, end, new in edits)
    )


def _aiven_topic(
    source: SourceBlock,
    topic: ast.Attribute,
    references: ReferenceWriter,
    conversion: Conversion,
) -> tuple[str, str]:
    """Return the name of a topic and its pattern; a star at the end is a prefix."""
    place = source.origin.range(topic.start, topic.end)
    if not isinstance(topic.value, ast.Literal):
        found = "a star in its value is no wildcard for Kafka; a pattern of type Prefixed is"
        conversion.skip(place, f"wildcards in topic of {source.name}", found)
        return _rewrite(source, topic, references), ""
    text = str(topic.value.value)
    is_prefix = len(text) > 1 and text.endswith("*")
    name = text.removesuffix("*") if is_prefix else text
    if name != "*" and any(each in name for each in "*?"):
        raise UnconvertibleError("Kafka knows wildcards only at the end, as prefixes", place)
    return quote_hcl(name), "Prefixed" if is_prefix else ""


def _aiven_principal(source: SourceBlock, user: ast.Attribute, references: ReferenceWriter) -> str:
    place = source.origin.range(user.start, user.end)
    if not isinstance(user.value, ast.Literal):
        return f'"User:${{{_rewrite(source, user, references)}}}"'
    text = str(user.value.value)
    if text != "*" and any(each in text for each in "*?"):
        raise UnconvertibleError("Kafka knows no wildcards in principals", place)
    return quote_hcl(f"User:{text}")
