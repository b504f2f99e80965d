"""One module: its variables, locals, resources, calls and outputs, worked out on demand."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from kplan.config.blueprint import Blueprint, blueprint, resource_problems
from kplan.config.checks import argument_problems, undeclared
from kplan.config.conditions import ASSERTION, OUTPUT_PRECONDITION, VALIDATION, failed
from kplan.config.connections import (
    INHERITED,
    PROVIDER,
    Connections,
    ProviderBlock,
    connections,
    misplaced,
    provider_block,
)
from kplan.config.data import DataNode, DataRoot, Reader
from kplan.config.data_shapes import DATA_SHAPES
from kplan.config.declared import MODULE, Declaration, Declared, Local
from kplan.config.ephemerals import ephemeral_problems, input_problems
from kplan.config.evaluation.evaluate import evaluate
from kplan.config.evaluation.scope import Found, Rounds, Scope
from kplan.config.functions.function import Function
from kplan.config.functions.host import Host
from kplan.config.ledger import Hop, Ledger
from kplan.config.library import Library, joined
from kplan.config.names import ModuleNames, NoNames, Repetition
from kplan.config.problem import Failure, error, warning
from kplan.config.repetition import Key
from kplan.config.resources import ResourceNode
from kplan.config.shape import body_problems
from kplan.config.size import MAX_PARTS, Sizes
from kplan.config.submodules import Child, ModuleNode
from kplan.config.syntax.source import Origin
from kplan.config.values.value import Value
from kplan.config.variables import Given, constraint, default_value, flag, given_value
from kplan.kinds.base import ResourceKind
from kplan.model.address import instance_key
from kplan.model.diagnostic import Diagnostic
from kplan.model.source import SourceRange

MAX_DEPTH = 32


@dataclass(frozen=True, slots=True)
class Run:
    """What all modules of one load share."""

    kinds: Mapping[str, ResourceKind]
    functions: Mapping[str, Function]
    host: Host
    ledger: Ledger
    library: Library
    sizes: Sizes
    rounds: Rounds
    cwd: str
    workspace: str
    reader: Reader | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a module stands: its steps from the root module, and its folder from the root's.

    `callers` are the folders of the modules that lead here. `connections` are those that were
    handed on by the module that calls; the root module declares its own.
    """

    path: tuple[str, ...] = ()
    folder: str = "."
    callers: tuple[str, ...] = ()
    connections: Connections | None = None


class _Placed(Protocol):
    """Something declared somewhere."""

    @property
    def place(self) -> SourceRange:
        """Where."""
        ...


def _hop(label: Callable[[str], str], name: str, found: _Placed) -> Hop:
    return Hop(label(name), found.place)


_UNKNOWN = object()


class Module:
    """A folder's declarations with given variables, at a place in the tree of modules."""

    def __init__(
        self, run: Run, declared: Declared, place: Place, given: Mapping[str, Given]
    ) -> None:
        self.declared = declared
        self.path = place.path
        self._run = run
        self._place = place
        self._given = given
        self._blueprints: dict[tuple[str, str], Blueprint] = {}
        self._values: dict[tuple[str, str], Value] = {}

    @property
    def constants(self) -> Mapping[str, Mapping[str, Value]]:
        """The members of `path`, `terraform` and `kplan`."""
        workspace: Mapping[str, Value] = {"workspace": self._run.workspace}
        paths: Mapping[str, Value] = {
            "module": self._place.folder,
            "root": ".",
            "cwd": self._run.cwd,
        }
        return {"path": paths, "terraform": workspace, "kplan": workspace}

    def scope(self, origin: Origin, repetition: Repetition | None = None) -> Scope:
        """Make the scope of an expression of this module."""
        names = ModuleNames(self, repetition) if repetition else ModuleNames(self)
        run = self._run
        return Scope(names, origin, run.functions, run.host, {}, run.rounds)

    def _constant_scope(self, origin: Origin) -> Scope:
        run = self._run
        return Scope(NoNames(), origin, run.functions, run.host, {}, run.rounds)

    def label(self, name: str) -> str:
        """Write a name of this module as it is referred to from the root: `module.a.var.x`."""
        return "".join(f"module.{step}." for step in self.path) + name

    def _once(self, kind: str, name: str, found: _Placed, compute: Callable[[], Value]) -> Value:
        """Work out a variable, local or output; values are kept at hand, for they are many."""
        known = self._values.get((kind, name), _UNKNOWN)
        if known is not _UNKNOWN:
            return known  # type: ignore[return-value] # what is not the stand-in is a value
        hop = partial(_hop, self.label, f"{kind}.{name}", found)
        bounded = partial(self._bounded, hop, compute)
        value = self._run.ledger.once((self.path, kind, name), hop, bounded)
        self._values[kind, name] = value
        return value

    def _bounded(self, hop: Callable[[], Hop], compute: Callable[[], Value]) -> Value:
        value = compute()
        size = self._run.sizes.of(value)
        if size > MAX_PARTS:
            told = f"{hop().label} would have {size} parts; at most {MAX_PARTS} are supported."
            raise Failure([error("KP114", hop().place, told)])
        return value

    # ---- everything

    def work_out(self) -> None:
        """Work out all there is; every problem ends up in the ledger."""
        ledger = self._run.ledger
        ledger.report(self._text_problems())
        ledger.report(ephemeral_problems(self.declared, is_root=not self.path))
        for name in self.declared.variables:
            ledger.attempt(partial(self.variable, name))
        for name, found in self.declared.variables.items():
            self._validate(name, found)
        for name in self.declared.locals:
            ledger.attempt(partial(self.local, name))
        nodes: list[DataNode | ResourceNode] = [*self._all_data(), *self.resources()]
        for node in nodes:
            node.work_out()
        for name in self.declared.modules:
            self._module_node(name).work_out()
        for name in self.declared.outputs:
            ledger.attempt(partial(self.output, name))
            ledger.attempt(partial(self.is_sensitive_output, name))
        for check in self.declared.checks.values():
            ledger.report(failed(check.block, ASSERTION, self.scope(check.origin)))

    def resources(self) -> Iterator[ResourceNode]:
        """List the resource blocks of kinds that kplan knows, here and in called modules."""
        for (kind, name), found in self.declared.resources.items():
            if kind in self._run.kinds and not found.is_broken:
                yield self._resource_node(kind, name)
        for name in self.declared.modules:
            yield from self._module_node(name).resources()

    def modules(self) -> Iterator[Child]:
        """List this module and all that it calls, one for each instance."""
        yield self
        for name in self.declared.modules:
            yield from self._module_node(name).modules()

    # ---- checks of the text

    def _text_problems(self) -> Iterator[Diagnostic]:
        for (kind, _), found in self.declared.resources.items():
            if kind in self._run.kinds and not found.is_broken:
                yield from resource_problems(self._run.kinds[kind], found)
        for (kind, _), found in self.declared.data.items():
            if kind in DATA_SHAPES and not found.is_broken:
                yield from body_problems(found.block, found.origin, DATA_SHAPES[kind])
        yield from undeclared(self.declared)
        if self.path:
            yield from misplaced(self.declared.providers)

    # ---- connections

    def provider_blocks(self) -> tuple[ProviderBlock, ...]:
        """Work out which connections the provider blocks declare."""
        if not self.declared.providers:
            return ()
        hop = partial(_hop, self.label, f"provider.{PROVIDER}", self.declared.providers[0])
        return self._run.ledger.once((self.path, "provider"), hop, self._provider_blocks)

    def _provider_blocks(self) -> tuple[ProviderBlock, ...]:
        return tuple(
            provider_block(each, self.scope(each.origin), self._run.ledger)
            for each in self.declared.providers
        )

    def _connections(self) -> Connections:
        handed_on = self._place.connections
        return connections(self.provider_blocks()) if handed_on is None else handed_on

    def connection(self, found: Declaration, scope: Scope) -> str:
        """Give the key of the connection that a block uses; raises `Failure`."""
        chosen = found.arguments.get("provider")
        if chosen is None:
            return (self._place.connections or INHERITED).default
        return self._connections().chosen(chosen.value, scope)

    def _handed_on(self, found: Declaration, scope: Scope) -> Connections:
        if "providers" in found.arguments:
            return self._connections().handed_on(found, scope)
        return (self._place.connections or INHERITED).without_aliases

    # ---- variables

    def variable(self, name: str) -> Value:
        """Value of an input variable; raises `Failure` if there is none."""
        found = self.declared.variables.get(name)
        if found is None or found.is_broken:
            raise Failure
        return self._once("var", name, found, partial(self._variable, found))

    def _variable(self, found: Declaration) -> Value:
        scope = self._constant_scope(found.origin)
        wanted = constraint(found, scope)
        default: Value = None
        if "default" in found.arguments:
            default = wanted.marked(default_value(found, wanted, scope))
        given = self._given.get(found.name)
        if given is not None and "deprecated" in found.arguments:
            message = evaluate(found.arguments["deprecated"].value, scope)
            told = f'The variable "{found.name}" is deprecated: {message}'
            self._run.ledger.report([warning("KP183", given.subject() or found.place, told)])
        if given is not None:
            label = self.label(f"var.{found.name}")
            return given_value(found, wanted, given, label, default)
        if "default" not in found.arguments and self.path:
            raise Failure  # told at the module block
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
        problems = failed(found.block, VALIDATION, self.scope(found.origin))
        if problems:
            self._run.ledger.report(problems)
            self._run.ledger.lose((self.path, "var", name))
            del self._values["var", name]

    # ---- locals and outputs

    def local(self, name: str) -> Value:
        """Value of a local; raises `Failure` if there is none."""
        found = self.declared.locals.get(name)
        if found is None:
            raise Failure
        return self._once("local", name, found, partial(self._local, found))

    def _local(self, found: Local) -> Value:
        return evaluate(found.attribute.value, self.scope(found.origin))

    def output(self, name: str) -> Value:
        """Value of an output; raises `Failure` if there is none."""
        found = self.declared.outputs[name]
        if found.is_broken or "value" not in found.arguments:
            raise Failure
        return self._once("output", name, found, partial(self._output, found))

    def _output(self, found: Declaration) -> Value:
        scope = self.scope(found.origin)
        if problems := failed(found.block, OUTPUT_PRECONDITION, scope):
            raise Failure(problems)
        return evaluate(found.arguments["value"].value, scope)

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
        return self._resource_node(kind, name)

    def _resource_node(self, kind: str, name: str) -> ResourceNode:
        plan = self._blueprints.get((kind, name))
        if plan is None:
            plan = blueprint(self._run.kinds[kind], self.declared.resources[kind, name])
            self._blueprints[kind, name] = plan
        return ResourceNode(self, self._run.ledger, plan)

    def data(self, kind: str, name: str) -> DataNode:
        """Give a data source; raises `Failure` if there is none."""
        found = self.declared.data.get((kind, name))
        if found is None or found.is_broken or kind not in DATA_SHAPES:
            raise Failure
        return DataNode(self, self._run.ledger, found, self._run.kinds, self._run.reader)

    def _all_data(self) -> Iterator[DataNode]:
        for (kind, name), found in self.declared.data.items():
            if kind in DATA_SHAPES and not found.is_broken:
                yield self.data(kind, name)

    def data_of(self, kind: str) -> Found:
        """Give the data sources of a sort, of which one is named next."""
        return DataRoot(kind, self.data)

    def call(self, name: str) -> Found:
        """Give the module that a block calls; raises `Failure` if there is none."""
        found = self.declared.modules.get(name)
        if found is None or found.is_broken:
            raise Failure
        return self._module_node(name)

    def _module_node(self, name: str) -> ModuleNode:
        found = self.declared.modules[name]
        return ModuleNode(self, self._run.ledger, found, partial(self._called, found))

    def _called(self, found: Declaration, repetition: Repetition, key: Key) -> "Module":
        """Make one instance of a called module."""
        folder = self._called_folder(found)
        declared = self._run.library.folder(folder)
        at_call = found.value_range("source")  # for what is wrong with the folder as a whole
        self._run.ledger.report(
            replace(each, subject=each.subject or at_call) for each in declared.diagnostics
        )
        scope = self.scope(found.origin, repetition)
        self._run.ledger.report(argument_problems(found, declared))
        self._run.ledger.report(input_problems(found, self.declared, declared))
        given = {
            name: Given(f"module.{found.name}", (attribute.value, scope))
            for name, attribute in found.arguments.items()
            if name not in MODULE.arguments
        }
        path = (*self.path, f"{found.name}{instance_key(key)}")
        callers = (*self._place.callers, self._place.folder)
        place = Place(path, folder, callers, self._handed_on(found, scope))
        return Module(self._run, declared, place, given)

    def _called_folder(self, found: Declaration) -> str:
        """Find the folder of a called module.

        Raises:
            Failure: the source is no local folder, or there is none.

        """
        if "source" not in found.arguments:
            raise Failure
        node = found.arguments["source"].value
        subject = found.value_range("source")
        source = evaluate(node, self._constant_scope(found.origin))
        if not isinstance(source, str):
            raise Failure([error("KP194", subject, "The source of a module is a string.")])
        if not source.startswith(("./", "../")) and source not in {".", ".."}:
            told = f'"{source}" is no local folder, and kplan fetches no modules.'
            hint = "Copy the module beside the configuration and write its path: ./modules/NAME"
            raise Failure([error("KP194", subject, told, hint=hint)])
        folder = joined(self._place.folder, source)
        if not self._run.library.has(folder):
            raise Failure([error("KP193", subject, f"There is no folder {folder}.")])
        real = self._run.library.real
        if real(folder) in map(real, (*self._place.callers, self._place.folder)):
            told = f'"{source}" leads back to a module that leads here: it would call itself.'
            raise Failure([error("KP145", subject, told)])
        if len(self.path) >= MAX_DEPTH:
            raise Failure([error("KP114", subject, f"Modules call each other {MAX_DEPTH} deep.")])
        return folder
