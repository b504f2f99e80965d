"""One module: its variables, locals, resources and outputs, worked out on demand."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from kplan.config.checks import expression_problems
from kplan.config.declared import Declaration, Declared, Local
from kplan.config.decode import Blueprint, blueprint, decoded, resource_problems
from kplan.config.evaluation.evaluate import evaluate
from kplan.config.evaluation.misuse import meant
from kplan.config.evaluation.scope import Deferred, Found, Scope
from kplan.config.functions.function import Function
from kplan.config.functions.host import Host
from kplan.config.ledger import Hop, Ledger
from kplan.config.names import ModuleNames, NoNames, Repetition
from kplan.config.problem import Failure, error
from kplan.config.repetition import Instances, Key, instances
from kplan.config.syntax import tree as ast
from kplan.config.syntax.source import Origin, Spot
from kplan.config.validation import failed_validations
from kplan.config.values.convert import convert
from kplan.config.values.jsonvalue import Json, from_json_value
from kplan.config.values.sensitive import mark
from kplan.config.values.value import TMap, Value
from kplan.config.variables import (
    Given,
    constraint,
    default_value,
    flag,
    given_value,
)
from kplan.kinds.base import ResourceKind
from kplan.kinds.schema import document
from kplan.model.address import Address, instance_key
from kplan.model.diagnostic import Diagnostic
from kplan.model.resource import Resource
from kplan.model.source import SourceRange


@dataclass(frozen=True, slots=True)
class Run:
    """What all modules of one load share."""

    kinds: Mapping[str, ResourceKind]
    functions: Mapping[str, Function]
    host: Host
    ledger: Ledger
    constants: Mapping[str, Mapping[str, Value]]


@dataclass(frozen=True, slots=True)
class Instance:
    """One decoded resource, and what references to it see."""

    resource: Resource
    value: Mapping[str, Value]


class Module:
    """A folder's declarations with given variables, at a place in the tree of modules."""

    def __init__(
        self, run: Run, declared: Declared, path: tuple[str, ...], given: Mapping[str, Given]
    ) -> None:
        self.declared = declared
        self.path = path
        self._run = run
        self._given = given
        self._blueprints: dict[tuple[str, str], Blueprint] = {}

    @property
    def constants(self) -> Mapping[str, Mapping[str, Value]]:
        """The members of `path`, `terraform` and `kplan`."""
        return self._run.constants

    def scope(self, origin: Origin, repetition: Repetition | None = None) -> Scope:
        """Make the scope of an expression of this module."""
        names = ModuleNames(self, repetition) if repetition else ModuleNames(self)
        return Scope(names, origin, self._run.functions, self._run.host, {})

    def _constant_scope(self, origin: Origin) -> Scope:
        return Scope(NoNames(), origin, self._run.functions, self._run.host, {})

    def label(self, name: str) -> str:
        """Write a name of this module as it is referred to from the root: `module.a.var.x`."""
        return "".join(f"module.{step}." for step in self.path) + name

    def _hop(self, kind: str, name: str, place: SourceRange) -> Hop:
        return Hop((self.path, kind, name), self.label(f"{kind}.{name}"), place)

    # ---- everything

    def work_out(self) -> None:
        """Work out all there is; every problem ends up in the ledger."""
        ledger = self._run.ledger
        ledger.report(self._text_problems())
        for name in self.declared.variables:
            ledger.attempt(partial(self.variable, name))
        for name, found in self.declared.variables.items():
            self._validate(name, found)
        for name in self.declared.locals:
            ledger.attempt(partial(self.local, name))
        for resource in self.resources():
            resource.work_out()
        for name in self.declared.outputs:
            ledger.attempt(partial(self.output, name))

    def resources(self) -> Iterator["ResourceNode"]:
        """List the resource blocks of kinds that kplan knows."""
        for kind, name in self.declared.resources:
            if kind in self._run.kinds:
                yield ResourceNode(self, self._run, kind, name)

    # ---- checks of the text

    def _text_problems(self) -> Iterator[Diagnostic]:
        for (kind, _), found in self.declared.resources.items():
            if kind in self._run.kinds and not found.is_broken:
                yield from resource_problems(self._run.kinds[kind], found)
        for node, origin in self._expressions():
            yield from expression_problems(node, origin, self.declared)

    def _expressions(self) -> Iterator[tuple[ast.Node, Origin]]:
        """List the expressions whose references must be declared."""
        for local in self.declared.locals.values():
            yield local.attribute.value, local.origin
        for found in (*self.declared.outputs.values(), *self.declared.providers):
            yield from _values_of(found, found.block, ("depends_on",))
        for found in self.declared.resources.values():
            yield from _values_of(found, found.block, ("provider",))
        for found in self.declared.modules.values():
            yield from _values_of(found, found.block, ("providers", "depends_on"))
        for found in self.declared.variables.values():
            for inner in found.block.blocks:
                yield from _values_of(found, inner, ())

    # ---- variables

    def variable(self, name: str) -> Value:
        """Value of an input variable; raises `Failure` if there is none."""
        found = self.declared.variables.get(name)
        if found is None or found.is_broken:
            raise Failure
        return self._run.ledger.once(
            self._hop("var", name, found.place), partial(self._variable, found)
        )

    def _variable(self, found: Declaration) -> Value:
        scope = self._constant_scope(found.origin)
        wanted = constraint(found, scope)
        default: Value = None
        if "default" in found.arguments:
            default = mark(default_value(found, wanted, scope), sensitive=wanted.is_sensitive)
        given = self._given.get(found.name)
        if given is not None:
            label = self.label(f"var.{found.name}")
            return given_value(found, wanted, given, label, default)
        if "default" not in found.arguments:
            told = f'The variable "{found.name}" has no default, and no value is given for it.'
            name = found.name
            hint = f"Give one with -var '{name}=...', in a .tfvars file or as KPLAN_VAR_{name}."
            raise Failure([error("KP170", found.place, told, hint=hint)])
        return default

    def _validate(self, name: str, found: Declaration) -> None:
        """Hold a variable against its validation rules; who uses a bad one fails in silence."""
        try:
            self.variable(name)
        except Failure:
            return
        problems = failed_validations(found, self.scope(found.origin), self.label(f"var.{name}"))
        if problems:
            self._run.ledger.report(problems)
            self._run.ledger.lose((self.path, "var", name))

    # ---- locals and outputs

    def local(self, name: str) -> Value:
        """Value of a local; raises `Failure` if there is none."""
        found = self.declared.locals.get(name)
        if found is None:
            raise Failure
        return self._run.ledger.once(
            self._hop("local", name, found.place), partial(self._local, found)
        )

    def _local(self, found: Local) -> Value:
        return evaluate(found.attribute.value, self.scope(found.origin))

    def output(self, name: str) -> Value:
        """Value of an output; raises `Failure` if there is none."""
        found = self.declared.outputs[name]
        if found.is_broken or "value" not in found.arguments:
            raise Failure
        return self._run.ledger.once(
            self._hop("output", name, found.place), partial(self._output, found)
        )

    def _output(self, found: Declaration) -> Value:
        return evaluate(found.arguments["value"].value, self.scope(found.origin))

    def is_sensitive_output(self, name: str) -> bool:
        """Tell whether an output is marked sensitive; raises `Failure` if that has no value."""
        found = self.declared.outputs[name]
        return flag(found.arguments, "sensitive", self.scope(found.origin), default=False)

    # ---- resources and module calls

    def resource(self, kind: str, name: str) -> Found:
        """Give the instances of a resource block; raises `Failure` if there is none."""
        found = self.declared.resources.get((kind, name))
        if found is None or found.is_broken or kind not in self._run.kinds:
            raise Failure
        return ResourceNode(self, self._run, kind, name)

    def call(self, name: str) -> Found:
        """Give the module that a block calls."""
        del name
        raise Failure

    def blueprint(self, kind: str, name: str) -> Blueprint:
        """Prepare what all instances of a resource block have in common."""
        made = self._blueprints.get((kind, name))
        if made is None:
            made = blueprint(self._run.kinds[kind], self.declared.resources[kind, name])
            self._blueprints[kind, name] = made
        return made


def _values_of(
    found: Declaration, block: ast.Block, left_out: tuple[str, ...]
) -> Iterator[tuple[ast.Node, Origin]]:
    for attribute in block.attributes:
        if attribute.name not in left_out:
            yield attribute.value, found.origin
    for inner in block.blocks:
        if inner.type != "lifecycle":
            yield from _values_of(found, inner, left_out)


class ResourceNode(Deferred):
    """A resource block as references see it, and its instances."""

    __slots__ = ("_found", "_module", "_run", "kind", "name")

    def __init__(self, module: Module, run: Run, kind: str, name: str) -> None:
        self._module = module
        self._run = run
        self._found = module.declared.resources[kind, name]
        self.kind = kind
        self.name = name

    def work_out(self) -> None:
        """Work out every instance; an error in one does not hide the others."""
        keys = self._run.ledger.attempt(self.instances)
        for key in keys or ():
            self._run.ledger.attempt(partial(self.instance, key))

    def instances(self) -> Instances:
        """Work out the keys of the instances, with what `each` and `count` are in them."""
        if self._found.is_broken:
            raise Failure
        label = self._module.label(f"{self.kind}.{self.name}")
        hop = Hop((self._module.path, self.kind, self.name, "expand"), label, self._found.place)
        scope = self._module.scope(self._found.origin)
        return self._run.ledger.once(hop, lambda: instances(self._found, scope))

    def instance(self, key: Key) -> Instance:
        """Work out one instance; raises `Failure`."""
        hop = Hop(
            (self._module.path, self.kind, self.name, "instance", key),
            self._module.label(f"{self.kind}.{self.name}{instance_key(key)}"),
            self._found.place,
        )
        return self._run.ledger.once(hop, partial(self._instance, key))

    def _instance(self, key: Key) -> Instance:
        scope = self._module.scope(self._found.origin, self.instances()[key])
        address = Address(self.kind, self.name, key, self._module.path)
        plan = self._module.blueprint(self.kind, self.name)
        resource, warnings = decoded(plan, address, scope)
        self._run.ledger.report(warnings)
        return Instance(resource, _seen_by_references(plan, resource))

    # ---- as references see it

    def attribute(self, name: str, subject: Spot) -> Found:
        """Give an attribute of the only instance."""
        if None not in self.instances():
            label = f"{self.kind}.{self.name}"
            told = f"{label} has several instances, so one must be chosen before an attribute."
            hint = f'For example {label}["KEY"].{name}, or all of them: values({label})[*].{name}'
            if "count" in self._found.arguments:
                hint = f"For example {label}[0].{name}, or all of them: {label}[*].{name}"
            raise Failure([error("KP116", subject.range(), told, hint=hint)])
        value = self.instance(None).value
        if name not in value:
            told = f'A {self.kind} has no attribute "{name}".'
            raise Failure([error("KP144", subject.range(), told, hint=meant(name, value))])
        return value[name]

    def index(self, key: Value, subject: Spot) -> Found:
        """Give one instance by its key."""
        found = self.instances()
        chosen = key if isinstance(key, str | int) and not isinstance(key, bool) else None
        if chosen is None or chosen not in found:
            label = f"{self.kind}.{self.name}"
            told = f"{label} has no instance {instance_key(chosen)}."
            keys = [str(each) for each in found if each is not None]
            raise Failure([error("KP151", subject.range(), told, hint=meant(str(key), keys))])
        return dict(self.instance(chosen).value)

    def value(self, subject: Spot) -> Value:
        """Give all instances: the one object, an object by key, or a tuple by place."""
        del subject
        found = self.instances()
        if None in found:
            return dict(self.instance(None).value)
        values = {key: dict(self.instance(key).value) for key in found}
        if "count" in self._found.arguments:
            return tuple(values.values())
        return {str(key): value for key, value in values.items()}


def _seen_by_references(plan: Blueprint, resource: Resource) -> Mapping[str, Value]:
    """Attributes with the defaults filled in, marked where they were; `id` is the identity."""
    found: dict[str, Value] = {"id": str(resource.identity)}
    for name, plain in document(resource.value).items():
        value = convert(from_json_value(_json(plain)), plan.types[name])
        if (name,) in resource.sensitive:
            value = mark(value)
        elif isinstance(value, TMap):
            secret = {key for key in value if (name, key) in resource.sensitive}
            marked = {key: mark(each, sensitive=key in secret) for key, each in value.items()}
            value = TMap(marked, value.element) if secret else value
        found[name] = value
    return found


def _json(plain: object) -> Json:
    return plain  # type: ignore[return-value] # documents of kinds are JSON-able
