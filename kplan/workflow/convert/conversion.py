"""What is gathered from another tool's files: values, what they cannot say, and mistakes."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field

from kplan.config.diagnostic import EvaluationError
from kplan.config.yaml_document import YamlNode
from kplan.kinds import KINDS
from kplan.kinds.acl import OPERATIONS, PATTERN_TYPES, PERMISSIONS, RESOURCE_TYPES, Acl
from kplan.kinds.quota import Quota
from kplan.kinds.topic_rules import Topic
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, SourceRange
from kplan.model.resource import Identity
from kplan.workflow.adopt.block import is_writable

_KINDS = {kind.schema: kind for kind in KINDS}
_CANONICAL_WORDS: Mapping[str, Mapping[str, str]] = {
    sort: {each.replace("_", "").casefold(): written for each, written in words.items()}
    for sort, words in {
        "type": RESOURCE_TYPES,
        "operation": OPERATIONS,
        "pattern": {**PATTERN_TYPES, "PREFIX": "Prefixed"},
        "permission": PERMISSIONS,
    }.items()
}


@dataclass(frozen=True, slots=True)
class UnconvertedEntry:
    """Something that was not carried over: where it is, what it is, and why."""

    source_range: SourceRange
    subject: str
    reason: str


@dataclass(frozen=True, slots=True)
class AclGrant:
    """To whom ACLs are given, and where that is written."""

    principal: str
    source_range: SourceRange
    host: str = "*"
    permission: str = "Allow"


@dataclass(slots=True)
class Conversion:
    """Values by kind and identity, filled by the reader of a format."""

    values: dict[str, dict[Identity, object]] = field(default_factory=lambda: defaultdict(dict))
    unconverted: list[UnconvertedEntry] = field(default_factory=list)
    problems: list[Diagnostic] = field(default_factory=list)

    @contextmanager
    def collect_problems(self) -> Iterator[None]:
        """Note a mistake and go on behind the block."""
        try:
            yield
        except EvaluationError as failure:
            self.problems.extend(failure.diagnostics)

    def skip(self, at: SourceRange, what: str, reason: str) -> None:
        """Note what is not carried over."""
        self.unconverted.append(UnconvertedEntry(at, what, reason))

    def skip_unknown_members(self, part: YamlNode, known: Collection[str], of: str) -> None:
        """Note the members of a mapping that nothing was made of."""
        for key, other in part.unknown_members(known):
            self.skip(other.source_range, f"{key} of {of}", "kplan has nothing like it")

    def add_topic(
        self,
        name: str,
        at: SourceRange,
        counts: Sequence[int | None],
        config: Mapping[str, YamlNode],
    ) -> None:
        """Add a topic; `counts` are partitions and replication factor, below 1 the broker's."""
        partitions, factor = (each if each is None or each > 0 else None for each in counts)
        found: dict[str, str] = {}
        for key, part in config.items():
            if part.content is None:
                self.skip(part.source_range, f"{key} of topic {name}", "it has no value")
            else:
                found[key] = (
                    ",".join(part.texts()) if isinstance(part.content, tuple) else part.text()
                )
        self._add(Topic(name, partitions, factor, None, found), f"topic {name}", at)

    def add_acl(
        self, to: AclGrant, sort: str, name: str, operation: str, pattern: str = ""
    ) -> None:
        """Add an ACL, its words in any spelling."""
        type_ = _canonical_word("type", sort)
        acl = Acl(
            "kafka-cluster" if type_ == "Cluster" else name,
            type_,
            to.principal,
            to.host,
            _canonical_word("operation", operation),
            _canonical_word("permission", to.permission),
            _canonical_word("pattern", pattern or "Literal"),
        )
        self._add(
            acl, f"ACL {acl.acl_operation} on {type_} {name} for {to.principal}", to.source_range
        )

    def add_quota(
        self, entity: tuple[str, str | None, str | None], at: SourceRange, limits: Mapping[str, str]
    ) -> None:
        """Add a quota; an entity is its type, its name, and the client id of a user."""
        sort, name, client = entity
        self._add(Quota(sort, name, client, limits), f"quota of {sort} {name or 'default'}", at)

    def _add(self, value: Acl | Topic | Quota, what: str, at: SourceRange) -> None:
        kind = _KINDS[type(value)]
        value = kind.normalize(value)
        faults = [each for each in kind.check(value) if not each.is_warning]
        known = self.values[kind.name].setdefault(kind.identify(value), value)
        if known != value:
            self.skip(at, what, "it is declared before, and not alike")
        elif faults or not is_writable(value):
            del self.values[kind.name][kind.identify(value)]
            told = faults[0].detail if faults else "HCL stores text in composed form (NFC)"
            self.skip(at, what, told)


def quota_limits(part: YamlNode) -> Mapping[str, str]:
    """Return quotas by Kafka's keys, from keys in camel case."""
    return {
        "".join(f"_{each.lower()}" if each.isupper() else each for each in key): value.text()
        for key, value in part.members().items()
    }


def _canonical_word(sort: str, text: str) -> str:
    plain = text.replace("_", "").replace("-", "").casefold()
    return _CANONICAL_WORDS[sort].get(plain, text)
