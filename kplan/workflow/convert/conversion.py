"""The content of another tool's files: values, inexpressible parts, and mistakes."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace

from kplan.config.diagnostic import EvaluationError, error
from kplan.config.yaml_document import YamlNode
from kplan.kinds import KINDS
from kplan.kinds.acl import OPERATIONS, PATTERN_TYPES, PERMISSIONS, RESOURCE_TYPES, Acl
from kplan.kinds.quota import Quota
from kplan.kinds.topic_rules import Topic
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, SourceRange
from kplan.model.resource import Identity
from kplan.report.documents.notation import key_text, quote_hcl
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
    """Something that was not carried over: where it is, its key or its name, and why."""

    source_range: SourceRange
    subject: str
    reason: str


@dataclass(frozen=True, slots=True)
class AclGrant:
    """The principals of ACLs, the place of the grant, and notes."""

    principal: str
    source_range: SourceRange
    host: str = "*"
    permission: str = "Allow"
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class Conversion:
    """Values by kind and identity, filled by the reader of a format."""

    values: dict[str, dict[Identity, object]] = field(default_factory=lambda: defaultdict(dict))
    notes: dict[str, dict[Identity, list[str]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )
    blocks: list[str] = field(default_factory=list)
    block_counts: Counter[str] = field(default_factory=Counter)
    unconverted: list[UnconvertedEntry] = field(default_factory=list)
    problems: list[Diagnostic] = field(default_factory=list)

    @contextmanager
    def collect_problems(self) -> Iterator[None]:
        """Note a mistake and go on behind the block."""
        try:
            yield
        except EvaluationError as failure:
            self.problems.extend(failure.diagnostics)

    def skip(self, at: SourceRange | YamlNode, what: str, reason: str) -> None:
        """Record a part that is not converted; a node left out as a whole counts as read."""
        if isinstance(at, YamlNode):
            at.mark_read()
            at = at.declared_at
        self.unconverted.append(UnconvertedEntry(at, what, reason))

    def skip_members(self, part: YamlNode, reasons: Mapping[str, str], of: str) -> None:
        """Note the members that kplan has nothing like, each with its reason."""
        for key, reason in reasons.items():
            if key in part.key_names:
                self.skip(part.get(key), f"{key} of {of}", reason)

    def skip_unread(self, documents: Iterable[YamlNode]) -> None:
        """Record every key that no reader used."""
        for document in documents:
            for path, part in document.unread_members():
                self.skip(part, path, "kplan has nothing like it")

    def add_block(self, text: str) -> None:
        """Add a block that is no resource, once."""
        if text not in self.blocks:
            self.blocks.append(text)

    def read_count(self, part: YamlNode) -> int | None:
        """Return a number of partitions or replicas; -1 leaves it to the broker (KIP-464)."""
        found: int | None = None
        with self.collect_problems():
            found = part.number()
        if found is not None and found < 1 and found != -1:
            detail = f"Here belongs a number above 0, and there is {found}."
            self.problems.append(error("KP181", part.source_range, detail))
        return found

    def add_topic(
        self,
        topic: Topic,
        config: Mapping[str, YamlNode],
        at: SourceRange,
        notes: Iterable[str] = (),
    ) -> None:
        """Add a topic with configs, lists in them joined as Kafka writes them."""
        texts = dict(topic.config)
        for key, part in config.items():
            if part.content is None:
                self.skip(part, f"{key} of topic {topic.name}", "it has no value")
                continue
            with self.collect_problems():
                is_list = isinstance(part.content, tuple)
                texts[key] = ",".join(part.texts()) if is_list else part.text()
        value = replace(topic, config=texts)
        self._check_config(value, config, at)
        self._add(value, f"topic {topic.name}", at, notes)

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
        what = f"ACL {acl.acl_operation} on {type_} {name} for {to.principal}"
        self._add(acl, what, to.source_range, to.notes)

    def add_quota(
        self,
        quota: Quota,
        limits: Mapping[str, YamlNode],
        at: SourceRange,
        notes: Iterable[str] = (),
    ) -> None:
        """Add a quota with limits by Kafka's keys."""
        texts: dict[str, str] = {}
        for key, part in limits.items():
            with self.collect_problems():
                texts[key] = part.text()
        value = replace(quota, config=texts)
        self._check_config(value, limits, at)
        what = f"quota of {quota.entity_type} {quota.entity_name or 'default'}"
        self._add(value, what, at, notes)

    def _check_config(
        self, value: Topic | Quota, config: Mapping[str, YamlNode], at: SourceRange
    ) -> None:
        """Note each key and value that Kafka refuses, where it is written."""
        kind = _KINDS[type(value)]
        for each in kind.check(kind.normalize(value)):
            match each.path:
                case ("config", str(key)) if not each.is_warning:
                    place = config[key].source_range if key in config else at
                    self.problems.append(error(each.code, place, each.detail, hint=each.hint))

    def _add(
        self, value: Acl | Topic | Quota, what: str, at: SourceRange, notes: Iterable[str]
    ) -> None:
        kind = _KINDS[type(value)]
        value = kind.normalize(value)
        faults = [each for each in kind.check(value) if not each.is_warning]
        known = self.values[kind.name].setdefault(kind.identify(value), value)
        if known != value:
            self.skip(at, what, "it is declared before, and not alike")
        elif faults or not is_writable(value):
            del self.values[kind.name][kind.identify(value)]
            found = faults[0].detail if faults else "HCL stores text in composed form (NFC)"
            self.skip(at, what, found)
        else:
            held = self.notes[kind.name][kind.identify(value)]
            held.extend(each for each in notes if each not in held)


def read_notes(part: YamlNode, *names: str) -> tuple[str, ...]:
    """Read descriptive fields that Kafka does not store: labels, owners, descriptions."""
    return tuple(
        line
        for name in names
        if name in part.key_names
        for line in _note_lines(key_text(name), part.get(name))
    )


def _note_lines(name: str, part: YamlNode) -> Iterator[str]:
    match part.content:
        case None:
            return
        case str(text):
            yield f"{name} = {quote_hcl(text.strip())}"
        case tuple(items):
            for number, each in enumerate(items):
                yield from _note_lines(f"{name}[{number}]", each)
        case _:
            for key, each in part.members().items():
                yield from _note_lines(f"{name}.{key_text(key)}", each)


def quota_limits(part: YamlNode) -> Mapping[str, YamlNode]:
    """Return quotas by Kafka's keys, from keys in camel case."""
    return {
        "".join(f"_{each.lower()}" if each.isupper() else each for each in key): value
        for key, value in part.members().items()
    }


def _canonical_word(sort: str, text: str) -> str:
    plain = text.replace("_", "").replace("-", "").casefold()
    return _CANONICAL_WORDS[sort].get(plain, text)
