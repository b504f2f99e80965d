"""Resource blocks: their instances and the values that references to them get."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Protocol

from kplan.config.declarations.declaration import Declaration
from kplan.config.diagnostic import EvaluationError, OperandError, error, suggestion
from kplan.config.evaluation.operator import get_element
from kplan.config.evaluation.scope import Deferred, ReferenceValue, Repetition, Scope
from kplan.config.modules.condition import POSTCONDITION, PRECONDITION, failed_conditions
from kplan.config.modules.decoder import decode_resource, shared_argument_problems
from kplan.config.modules.deferral import Deferral, is_only_deferred
from kplan.config.modules.instance import (
    InstanceKey,
    Instances,
    combined_value,
    evaluate_instances,
    find_instance,
    instance_error,
    missing_key_error,
)
from kplan.config.modules.resource_block import Field, ResourceBlock, kind_fields
from kplan.config.modules.result_cache import ResultCache, ResultName
from kplan.config.syntax.source import Origin, Spot
from kplan.config.values.conversion import convert
from kplan.config.values.sensitive import mark
from kplan.config.values.value import TMap, Value
from kplan.config.values.value_text import Json, from_json_value
from kplan.kinds.base import ResourceKind
from kplan.kinds.schema import to_document
from kplan.model.address import Address, instance_key
from kplan.model.diagnostic import Diagnostic
from kplan.model.resource import Identity, Path, Resource


class EnclosingModule(Protocol):
    """The module that a block is in."""

    @property
    def path(self) -> tuple[str, ...]:
        """Steps from the root module, instance keys included."""
        ...

    def scope(self, origin: Origin, repetition: Repetition | None = None) -> Scope:
        """Make the scope of an expression of the module."""
        ...

    def label(self, name: str) -> str:
        """Write a name of the module as it is referred to from the root."""
        ...

    def connection(self, declaration: Declaration, scope: Scope) -> str:
        """Return the key of the connection that a block uses; raises `EvaluationError`."""
        ...


class ResourceNode(Deferred):
    """A resource block as references see it, and its instances."""

    __slots__ = ("_deferral", "_found", "_module", "_plan", "_results", "kind", "name")

    def __init__(
        self,
        module: EnclosingModule,
        results: ResultCache,
        plan: ResourceBlock,
        deferral: Deferral | None = None,
    ) -> None:
        self._deferral = deferral
        self._module = module
        self._results = results
        self._plan = plan
        self._found = plan.declaration
        kind, name = self._found.block.labels
        self.kind = kind.text
        self.name = name.text

    def evaluate_all(self) -> None:
        """Compute every instance; an error in one does not hide the others."""
        try:
            keys = self.instances()
        except EvaluationError as failure:
            self._results.report(failure.diagnostics)
            if not is_only_deferred(failure):
                self._results.report(self._shared_problems())
            return
        for key in keys:
            try:
                self.instance(key)
            except EvaluationError as failure:
                if self._deferral is not None and is_only_deferred(failure):
                    self._deferral.resources[self._result_name(key).label] = failure.diagnostics
                else:
                    self._results.report(failure.diagnostics)

    def _shared_problems(self) -> list[Diagnostic]:
        address = Address(self.kind, self.name, None, self._module.path)
        return shared_argument_problems(self._plan, address, self._module.scope(self._found.origin))

    def instances(self) -> Instances:
        """Evaluate the keys of the instances, with their `each` and `count`."""
        key = (self._module.path, self.kind, self.name)
        return self._results.get_or_compute(key, self._result_name, self._instances)

    def _instances(self) -> Instances:
        return evaluate_instances(self._found, self._module.scope(self._found.origin))

    def _result_name(self, key: InstanceKey = None) -> ResultName:
        label = self._module.label(f"{self.kind}.{self.name}{instance_key(key)}")
        return ResultName(label, self._plan.declared_at)

    def instance(self, key: InstanceKey) -> Resource:
        """Compute one instance; raises `EvaluationError`."""
        name = (self._module.path, self.kind, self.name, key)
        return self._results.get_or_compute(
            name, partial(self._result_name, key), partial(self._instance, key)
        )

    def _instance(self, key: InstanceKey) -> Resource:
        scope = self._module.scope(self._found.origin, self.instances()[key])
        address = Address(self.kind, self.name, key, self._module.path)
        rules = self._plan.lifecycle
        if rules is not None and (diagnostics := failed_conditions(rules, PRECONDITION, scope)):
            raise EvaluationError(replace(each, address=address) for each in diagnostics)
        resource, warnings = decode_resource(self._plan, address, scope)
        self._results.report(warnings)
        if provider := self._module.connection(self._found, scope):
            resource = replace(resource, provider=provider)
        if rules is not None:
            own = replace(
                self.instances()[key],
                self_attributes=_resource_attributes(self._plan.kind, resource),
            )
            diagnostics = failed_conditions(
                rules, POSTCONDITION, self._module.scope(self._found.origin, own)
            )
            self._results.report(replace(each, address=address) for each in diagnostics)
        return resource

    def _value(self, key: InstanceKey) -> dict[str, Value]:
        return _resource_attributes(self._plan.kind, self.instance(key))

    # ---- as references see it

    def attribute(self, name: str, subject: Spot) -> ReferenceValue:
        """Return an attribute of the only instance."""
        if None not in self.instances():
            label = f"{self.kind}.{self.name}"
            detail = f"{label} has several instances, so one must be chosen before an attribute."
            hint = f'For example {label}["KEY"].{name}, or all of them: values({label})[*].{name}'
            if "count" in self._found.arguments:
                hint = f"For example {label}[0].{name}, or all of them: {label}[*].{name}"
            raise EvaluationError([missing_key_error(subject, detail, hint)])
        resource = self.instance(None)
        for each in kind_fields(self._plan.kind):
            if each.name == name:
                return _attribute_value(each, to_document(resource.value), resource.sensitive)
        value = self._value(None)
        if name not in value:
            detail = f'A {self.kind} has no attribute "{name}".'
            raise EvaluationError(
                [error("KP144", subject.step_range(), detail, hint=suggestion(name, value))]
            )
        return value[name]

    def index(self, key: Value, subject: Spot) -> ReferenceValue:
        """Return one instance by its key; of the only instance, an attribute by its name."""
        found = self.instances()
        try:
            return (
                self._value(find_instance(found, key)) if None not in found else self._element(key)
            )
        except OperandError as fault:
            label = f"{self.kind}.{self.name}"
            is_single = None in found
            raise EvaluationError(
                [instance_error(fault, label, subject, is_single=is_single)]
            ) from None

    def _element(self, key: Value) -> Value:
        return get_element(self._value(None), key)

    def value(self, subject: Spot) -> Value:
        """Return all instances: the one object, an object by key, or a tuple by place."""
        del subject
        return combined_value(self._found, self.instances(), self._value)


def _resource_attributes(kind: ResourceKind, resource: Resource) -> dict[str, Value]:
    return object_attributes(kind, resource.identity, resource.value, resource.sensitive)


def object_attributes(
    kind: ResourceKind,
    identity: Identity,
    value: object,
    sensitive: frozenset[Path] = frozenset(),
) -> dict[str, Value]:
    """Attributes with the defaults filled in, marked where they were; `id` is the identity."""
    found: dict[str, Value] = {"id": str(identity)}
    plain = to_document(value)
    found.update(
        (each.name, _attribute_value(each, plain, sensitive)) for each in kind_fields(kind)
    )
    return found


def _attribute_value(
    wanted: Field, plain: Mapping[str, object], sensitive: frozenset[Path]
) -> Value:
    name = wanted.name
    part = convert(from_json_value(_json(plain[name])), wanted.type)
    if (name,) in sensitive:
        return mark(part)
    if isinstance(part, TMap):
        secret = {key for key in part if (name, key) in sensitive}
        marked = {key: mark(each, sensitive=key in secret) for key, each in part.items()}
        return TMap(marked, part.element) if secret else part
    return part


def _json(plain: object) -> Json:
    return plain  # type: ignore[return-value] # documents of kinds are JSON-able
