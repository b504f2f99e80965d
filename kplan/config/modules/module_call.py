"""Module calls: instances of the called module and the values that references to them get."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Protocol

from kplan.config.declarations.declaration import Declaration, ModuleDeclarations
from kplan.config.diagnostic import EvaluationError, OperandError, error, suggestion
from kplan.config.evaluation.scope import Deferred, ReferenceValue, Repetition
from kplan.config.modules.instance import (
    InstanceKey,
    Instances,
    combined_value,
    evaluate_instances,
    find_instance,
)
from kplan.config.modules.resource import EnclosingModule, ResourceNode
from kplan.config.modules.result_cache import ResultCache, ResultName
from kplan.config.syntax.source import Spot
from kplan.config.values.sensitive import mark
from kplan.config.values.value import Value
from kplan.model.address import instance_key
from kplan.model.codes import SUMMARIES


class ChildModule(EnclosingModule, Protocol):
    """One instance of a called module."""

    @property
    def declarations(self) -> ModuleDeclarations:
        """What its folder declares."""
        ...

    def evaluate_all(self) -> None:
        """Compute all there is."""
        ...

    def validate_variables(self) -> None:
        """Hold the variables that were computed against their rules."""
        ...

    def resources(self) -> Iterator[ResourceNode]:
        """List its resource blocks and those of the modules it calls."""
        ...

    def modules(self) -> "Iterator[ChildModule]":
        """List it and the modules it calls."""
        ...

    def output(self, name: str) -> Value:
        """Return the value of an output; raises `EvaluationError`."""
        ...

    def is_sensitive_output(self, name: str) -> bool:
        """Return whether an output is marked sensitive; raises `EvaluationError`."""
        ...


class ModuleCallNode(Deferred):
    """A module block as references see it. Outputs are computed one by one."""

    __slots__ = ("_found", "_make", "_module", "_results")

    def __init__(
        self,
        module: EnclosingModule,
        results: ResultCache,
        declaration: Declaration,
        make: Callable[[Repetition, InstanceKey], ChildModule],
    ) -> None:
        self._module = module
        self._results = results
        self._found = declaration
        self._make = make

    def evaluate_all(self) -> None:
        """Compute every instance; an error in one does not hide the others."""
        for key in self._results.attempt(self.instances) or ():
            child = self._results.attempt(partial(self.instance, key))
            if child is not None:
                child.evaluate_all()

    def resources(self) -> Iterator[ResourceNode]:
        """List the resource blocks in all instances."""
        for key in self._results.attempt(self.instances) or ():
            child = self._results.attempt(partial(self.instance, key))
            if child is not None:
                yield from child.resources()

    def modules(self) -> Iterator[ChildModule]:
        """List all instances and the modules they call."""
        for key in self._results.attempt(self.instances) or ():
            child = self._results.attempt(partial(self.instance, key))
            if child is not None:
                yield from child.modules()

    def instances(self) -> Instances:
        """Evaluate the keys of the instances, with their `each` and `count`."""
        if self._found.is_broken:
            raise EvaluationError
        key = (self._module.path, "module", self._found.name)
        return self._results.get_or_compute(key, self._result_name, self._instances)

    def _instances(self) -> Instances:
        return evaluate_instances(self._found, self._module.scope(self._found.origin))

    def _result_name(self, key: InstanceKey = None) -> ResultName:
        label = self._module.label(f"module.{self._found.name}{instance_key(key)}")
        return ResultName(label, self._found.declared_at)

    def instance(self, key: InstanceKey) -> ChildModule:
        """Make one instance; raises `EvaluationError`."""
        make = partial(self._make, self.instances()[key], key)
        name = (self._module.path, "module", self._found.name, key)
        return self._results.get_or_compute(name, partial(self._result_name, key), make)

    def attribute(self, name: str, subject: Spot) -> ReferenceValue:
        """Return an output of the only instance."""
        if None not in self.instances():
            label = f"module.{self._found.name}"
            detail = f"{label} has several instances, so one must be chosen before an output."
            hint = f'For example {label}["KEY"].{name}, or all of them: values({label})[*].{name}'
            if "count" in self._found.arguments:
                hint = f"For example {label}[0].{name}, or all of them: {label}[*].{name}"
            diagnostic = error(
                "KP116", subject.step_range(), detail, hint=hint, summary=SUMMARIES["KP144"]
            )
            raise EvaluationError([diagnostic])
        return _OutputsNode(self.instance(None), f"module.{self._found.name}").attribute(
            name, subject
        )

    def index(self, key: Value, subject: Spot) -> ReferenceValue:
        """Return one instance by its key."""
        found = self.instances()
        label = f"module.{self._found.name}"
        if None in found:
            return _OutputsNode(self.instance(None), label).index(key, subject)
        try:
            name = find_instance(found, key)
        except OperandError as fault:
            detail = f"{label}: {fault.detail}"
            raise EvaluationError(
                [error(fault.code, subject.step_range(), detail, hint=fault.hint)]
            ) from None
        return _OutputsNode(self.instance(name), f"{label}{instance_key(name)}")

    def value(self, subject: Spot) -> Value:
        """Return all outputs of all instances: one object, an object by key, or a tuple."""

        def outputs(key: InstanceKey) -> Value:
            return _OutputsNode(self.instance(key), "").value(subject)

        return combined_value(self._found, self.instances(), outputs)


class _OutputsNode(Deferred):
    """The outputs of one instance."""

    __slots__ = ("_child", "_label")

    def __init__(self, child: ChildModule, label: str) -> None:
        self._child = child
        self._label = label

    def attribute(self, name: str, subject: Spot) -> ReferenceValue:
        outputs = self._child.declarations.outputs
        if name not in outputs:
            if self._child.declarations.is_incomplete:
                raise EvaluationError
            detail = f'{self._label} has no output "{name}".'
            raise EvaluationError(
                [error("KP144", subject.step_range(), detail, hint=suggestion(name, outputs))]
            )
        is_secret = self._child.is_sensitive_output(name)
        return mark(self._child.output(name), sensitive=is_secret)

    def index(self, key: Value, subject: Spot) -> ReferenceValue:
        if isinstance(key, str):
            return self.attribute(key, subject)
        detail = f"{self._label} is an object of outputs; take one by its name."
        raise EvaluationError([error("KP151", subject.range(), detail)])

    def value(self, subject: Spot) -> Value:
        found: dict[str, Value] = {}
        for name in sorted(self._child.declarations.outputs):
            part = self.attribute(name, subject)
            found[name] = part if not isinstance(part, Deferred) else part.value(subject)
        return found
