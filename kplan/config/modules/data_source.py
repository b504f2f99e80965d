"""`data` blocks: existing objects of a cluster, read while expressions are evaluated.

`kafka_topic` has the attributes of the resource, `kafka_topics` a `list` of what there is, as the
provider's data sources have. `kafka_acls` is a `list` of the ACLs that fit all its arguments, and
`kafka_cluster` says what the cluster is.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict
from functools import partial
from typing import Protocol, TypeVar

from kplan.cluster.request import ClusterDescription
from kplan.cluster.topic import is_internal_topic
from kplan.config.declarations.body_schema import ACL_FILTERS
from kplan.config.declarations.declaration import Declaration
from kplan.config.diagnostic import EvaluationError, OperandError, error, suggestion
from kplan.config.evaluation.evaluate import evaluate
from kplan.config.evaluation.scope import Deferred, ReferenceValue, Scope
from kplan.config.modules.deferral import Deferral, dependencies, is_deferred
from kplan.config.modules.instance import (
    InstanceKey,
    Instances,
    combined_value,
    evaluate_instances,
    find_instance,
    instance_error,
    missing_key_error,
)
from kplan.config.modules.resource import EnclosingModule, object_attributes
from kplan.config.modules.result_cache import ResultCache, ResultName
from kplan.config.syntax.source import Spot
from kplan.config.values.conversion import ConversionError, convert
from kplan.config.values.sensitive import has_sensitive
from kplan.config.values.value import STRING, Value
from kplan.config.values.value_text import from_json_value
from kplan.kinds.base import ResourceKind
from kplan.kinds.schema import to_document
from kplan.model.address import instance_key
from kplan.model.diagnostic import SourceRange
from kplan.model.resource import Identity
from kplan.model.state import KindSnapshot, LiveObject

TOPIC, ACL = "kafka_topic", "kafka_acl"
T = TypeVar("T")


class NoClusterError(Exception):
    """The command reads no cluster. The text names the alternative."""


class DataSourceReader(Protocol):
    """Reads clusters by connection key; an object that is requested twice is read once.

    Raises `ClusterError` where a cluster cannot be had, and `NoClusterError` where none is to be
    asked.
    """

    def describe(self, provider: str) -> ClusterDescription:
        """Return the cluster's id and brokers."""
        ...

    def read(self, provider: str, kind: str, names: Collection[Identity] | None) -> KindSnapshot:
        """Read objects in full, by name; None means all there are."""
        ...


DataQuery = tuple[str, Mapping[str, Value]]
"""Key of the connection, and the arguments of one instance."""


class ReadContext(Protocol):
    """What data sources share in one load."""

    @property
    def results(self) -> ResultCache:
        """Results so far."""
        ...

    @property
    def kinds(self) -> Mapping[str, ResourceKind]:
        """The kinds of objects by name."""
        ...

    @property
    def reader(self) -> DataSourceReader | None:
        """Reads clusters; None where nothing is read."""
        ...

    @property
    def deferral(self) -> Deferral | None:
        """Notes what is read later; None where nothing is."""
        ...


class DataNode(Deferred):
    """A `data` block as references see it. All of its instances are read together."""

    __slots__ = (
        *("_deferral", "_found", "_kinds", "_results", "_module", "_reader", "_waits_for"),
        *("kind", "name"),
    )

    def __init__(
        self,
        module: EnclosingModule,
        run: "ReadContext",
        declaration: Declaration,
        waits_for: tuple[str, ...] = (),
    ) -> None:
        self._module = module
        self._results = run.results
        self._found = declaration
        self._kinds = run.kinds
        self._reader = run.reader
        self._deferral = run.deferral
        self._waits_for = (*waits_for, *dependencies(declaration, module.label("")))
        kind, name = declaration.block.labels
        self.kind = kind.text
        self.name = name.text

    @property
    def label(self) -> str:
        """What references name it by."""
        return f"data.{self.kind}.{self.name}"

    @property
    def declared_at(self) -> SourceRange:
        """The header of the block."""
        return self._found.declared_at

    def evaluate_all(self) -> bool:
        """Compute every instance; an error in one does not hide the others.

        Return whether a value of another provider is missing. That, and what is read later, is a
        problem of what needs the data.
        """
        lost: list[EvaluationError] = []
        for key in self._attempt(self.instances, lost) or ():
            self._attempt(partial(self.instance, key), lost)
        return not all(map(is_deferred, lost))

    def _attempt(self, compute: Callable[[], T], lost: list[EvaluationError]) -> T | None:
        try:
            return compute()
        except EvaluationError as failure:
            if failure.is_unknown:
                lost.append(failure)
            else:
                self._results.report(failure.diagnostics)
            return None

    def instances(self) -> Instances:
        """Evaluate the keys of the instances, with their `each` and `count`."""
        key = (self._module.path, "data", self.kind, self.name)
        scope = self._module.scope(self._found.origin)
        return self._results.get_or_compute(
            key, self._result_name, partial(evaluate_instances, self._found, scope)
        )

    def _result_name(self, key: InstanceKey = None) -> ResultName:
        return ResultName(
            self._module.label(f"{self.label}{instance_key(key)}"), self._found.declared_at
        )

    def instance(self, key: InstanceKey) -> dict[str, Value]:
        """Return the data of one instance; raises `EvaluationError`."""
        name = (self._module.path, "data", self.kind, self.name, key)
        return self._results.get_or_compute(
            name, partial(self._result_name, key), partial(self._instance, key)
        )

    def _instance(self, key: InstanceKey) -> dict[str, Value]:
        asked = self._query(key)
        if self._reader is None:
            raise EvaluationError  # whatever depends on it has no value yet
        if self._deferral is not None and self._waits_for:
            raise self._deferred_error(self._deferral)
        try:
            return self._value(asked, self._reader)
        except NoClusterError as fault:
            detail = f"{self.label} is read from a cluster, and this command connects to none."
            raise EvaluationError(
                [error("KP167", self._found.declared_at, detail, hint=str(fault))]
            ) from None

    def _deferred_error(self, deferral: Deferral) -> EvaluationError:
        label = self._module.label(self.label)
        deferral.waits[label] = self._waits_for
        names = ", ".join(self._waits_for)
        detail = f"{label} depends on {names}, with changes pending, so it is read after them."
        targets = " ".join(f"-target={each}" for each in self._waits_for)
        hint = f"Apply what it depends on first: kplan apply {targets}"
        return EvaluationError(
            [error("KP510", self._found.declared_at, detail, hint=hint)], is_final=True
        )

    def _query(self, key: InstanceKey) -> DataQuery:
        """Compute the arguments of an instance once."""
        name = (self._module.path, "data", self.kind, self.name, key, "arguments")
        return self._results.get_or_compute(
            name, partial(self._result_name, key), partial(self._arguments, key)
        )

    def _arguments(self, key: InstanceKey) -> DataQuery:
        scope = self._module.scope(self._found.origin, self.instances()[key])
        wanted = ("name",) if self.kind == TOPIC else ACL_FILTERS
        arguments = {
            name: self._argument(name, scope) for name in wanted if name in self._found.arguments
        }
        return self._module.connection(self._found, scope), arguments

    def _argument(self, name: str, scope: Scope) -> Value:
        value = evaluate(self._found.arguments[name].value, scope)
        subject = self._found.value_range(name)
        if has_sensitive(value):
            detail = "The value is sensitive, and names of objects are shown everywhere."
            raise EvaluationError([error("KP182", subject, detail)])
        try:
            return convert(value, STRING)
        except ConversionError:
            raise EvaluationError([error("KP178", subject, f'"{name}" is a string.')]) from None

    # ---- reading

    def _value(self, data_query: DataQuery, reader: DataSourceReader) -> dict[str, Value]:
        provider, arguments = data_query
        match self.kind:
            case "kafka_topic":
                return self._topic(provider, arguments, reader)
            case "kafka_topics":
                return {"id": provider or "kafka", "list": self._topics(provider, reader)}
            case "kafka_acls":
                return {"id": provider or "kafka", "list": self._acls(data_query, reader)}
            case _:
                return _cluster_attributes(reader.describe(provider))

    def _topic(
        self, provider: str, arguments: Mapping[str, Value], reader: DataSourceReader
    ) -> dict[str, Value]:
        name = Identity(str(arguments.get("name") or ""))
        reading = reader.read(provider, TOPIC, self._names(provider))
        subject = (
            self._found.value_range("name") if "name" in arguments else self._found.declared_at
        )
        if (refusal := reading.hidden.get(name)) is not None:
            detail = f'The cluster will not show topic "{name}" ({refusal}).'
            hint = "Grant DESCRIBE and DESCRIBE_CONFIGS on it to the principal kplan runs as."
            raise EvaluationError([error("KP167", subject, detail, hint=hint)])
        live = reading.objects.get(name)
        if live is None:
            detail = f'The cluster has no topic "{name}".'
            near = suggestion(name, reading.objects)
            hint = near or "Create it first; or declare it as a resource, and refer to that."
            raise EvaluationError([error("KP167", subject, detail, hint=hint)])
        return object_attributes(self._kinds[TOPIC], name, live.value)

    def _names(self, provider: str) -> list[Identity]:
        """Name the topics of all instances on one cluster: they are read in one go."""
        found = (self._results.attempt(partial(self._query, key)) for key in self.instances())
        names = {str(each[1].get("name") or "") for each in found if each and each[0] == provider}
        return [Identity(name) for name in sorted(names) if name]

    def _topics(self, provider: str, reader: DataSourceReader) -> Value:
        found = reader.read(provider, TOPIC, None).objects
        kind = self._kinds[TOPIC]
        return tuple(
            _topic_entry(kind, name, found[name])
            for name in sorted(found)
            if not is_internal_topic(name)
        )

    def _acls(self, data_query: DataQuery, reader: DataSourceReader) -> Value:
        provider, filters = data_query
        kind = self._kinds[ACL]
        found = reader.read(provider, ACL, None).objects
        return tuple(
            object_attributes(kind, name, found[name].value)
            for name in sorted(found)
            if _matches(to_document(found[name].value), filters)
        )

    # ---- as references see it

    def attribute(self, name: str, subject: Spot) -> ReferenceValue:
        """Return an attribute of the only instance."""
        if None not in self.instances():
            detail = (
                f"{self.label} has several instances, so one must be chosen before an attribute."
            )
            hint = f'For example {self.label}["KEY"].{name}'
            raise EvaluationError([missing_key_error(subject, detail, hint)])
        return attribute_value(self.instance(None), name, self.kind, subject)

    def index(self, key: Value, subject: Spot) -> ReferenceValue:
        """Return one instance by its key."""
        found = self.instances()
        try:
            return self.instance(find_instance(found, key))
        except OperandError as fault:
            is_single = None in found
            raise EvaluationError(
                [instance_error(fault, self.label, subject, is_single=is_single)]
            ) from None

    def value(self, subject: Spot) -> Value:
        """Return all instances: the one object, an object by key, or a tuple by place."""
        del subject
        return combined_value(self._found, self.instances(), self.instance)


class BlockKindNode(Deferred):
    """`data.KIND` or `ephemeral.KIND`, which needs a name behind it."""

    __slots__ = ("_kind", "_node", "_root")

    def __init__(self, root: str, kind: str, node: "DataNodeLookup") -> None:
        self._root = root
        self._kind = kind
        self._node = node

    def attribute(self, name: str, subject: Spot) -> ReferenceValue:
        """Return the block of that name; the checks have reported a missing one."""
        del subject
        return self._node(self._kind, name)

    def index(self, key: Value, subject: Spot) -> ReferenceValue:
        """Refuse."""
        del key
        return self.value(subject)

    def value(self, subject: Spot) -> Value:
        """Refuse: blocks are named one by one."""
        detail = f"After {self._root}.{self._kind} there must be the name of a block."
        raise EvaluationError([error("KP116", subject.range(), detail)])


class DataNodeLookup(Protocol):
    """Gives the node of a data block; raises `EvaluationError` where there is none."""

    def __call__(self, kind: str, name: str) -> ReferenceValue:
        """Return it."""
        ...


def attribute_value(value: dict[str, Value], name: str, kind: str, subject: Spot) -> Value:
    """Return an attribute of what one instance reads; raises `EvaluationError`."""
    if name in value:
        return value[name]
    detail = f'A data source {kind} has no attribute "{name}".'
    hint = suggestion(name, value)
    raise EvaluationError([error("KP144", subject.step_range(), detail, hint=hint)])


def _topic_entry(kind: ResourceKind, name: Identity, live: LiveObject) -> Value:
    """Write a topic as the provider's list of topics does."""
    seen = object_attributes(kind, name, live.value)
    return {
        "topic_name": seen["name"],
        "partitions": seen["partitions"],
        "replication_factor": seen["replication_factor"],
        "config": seen["config"],
    }


def _matches(acl: Mapping[str, object], filters: Mapping[str, Value]) -> bool:
    return all(value is None or acl[name] == value for name, value in filters.items())


def _cluster_attributes(description: ClusterDescription) -> dict[str, Value]:
    brokers = sorted(description.brokers, key=lambda each: each.id)
    return {
        "id": description.cluster_id,
        "brokers": tuple(from_json_value(asdict(each)) for each in brokers),
        "principal": description.principal,
        "version": description.version,
    }
