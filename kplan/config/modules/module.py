"""One module: its variables, locals, resources, calls and outputs, evaluated on demand."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from kplan.config.declarations.body_schema import DATA_SCHEMAS, MODULE_SCHEMA
from kplan.config.declarations.declaration import Declaration, Local, ModuleDeclarations
from kplan.config.declarations.reference import (
    ephemeral_argument_problems,
    ephemeral_problems,
    module_argument_problems,
)
from kplan.config.diagnostic import EvaluationError, error, warning
from kplan.config.evaluation.evaluate import evaluate
from kplan.config.evaluation.scope import ModuleNames, ReferenceValue, Repetition, Scope
from kplan.config.modules.child_folder import child_folder
from kplan.config.modules.condition import (
    ASSERTION,
    OUTPUT_PRECONDITION,
    failed_conditions,
)
from kplan.config.modules.connection import (
    DEFAULT_CONNECTIONS,
    PROVIDER,
    Connections,
    ProviderBlock,
    evaluate_provider_block,
    root_connections,
)
from kplan.config.modules.data_source import BlockKindNode, DataNode
from kplan.config.modules.deferral import dependencies, is_deferred
from kplan.config.modules.evaluation import (
    EvaluationContext,
    HasDeclaredAt,
    ModulePlace,
    result_name,
)
from kplan.config.modules.foreign import ForeignBlocks, left_out_warning
from kplan.config.modules.instance import InstanceKey
from kplan.config.modules.module_call import ChildModule, ModuleCallNode
from kplan.config.modules.resource import ResourceNode
from kplan.config.modules.resource_block import ResourceBlock, prepare_resource_block
from kplan.config.modules.result_cache import MAX_VALUE_PARTS, ResultName
from kplan.config.modules.static_checks import missing_value_error, static_problems
from kplan.config.modules.value_block import ValueBlockNode
from kplan.config.modules.variable import (
    InputValue,
    evaluate_constraint,
    evaluate_default,
    evaluate_flag,
    evaluate_input_value,
    validation_problems,
)
from kplan.config.syntax.source import Origin
from kplan.config.values.value import Value
from kplan.model.address import instance_key
from kplan.model.diagnostic import SourceRange

_NOT_COMPUTED = object()


class Module:
    """A folder's declarations with given variables, at a place in the tree of modules."""

    def __init__(
        self,
        run: EvaluationContext,
        declared: ModuleDeclarations,
        place: ModulePlace,
        given: Mapping[str, InputValue],
    ) -> None:
        self.declarations = declared
        self.path = place.path
        self._context = run
        self._place = place
        self._input_values = given
        self.foreign = ForeignBlocks(declared, place.path, run.foreign.values)
        self._resource_blocks: dict[tuple[str, str], ResourceBlock] = {}
        self._values: dict[tuple[str, str], Value] = {}

    @property
    def constants(self) -> Mapping[str, Mapping[str, Value]]:
        """The members of `path`, `terraform` and `kplan`."""
        workspace: Mapping[str, Value] = {"workspace": self._context.workspace}
        paths: Mapping[str, Value] = {
            "module": self._place.folder,
            "root": ".",
            "cwd": self._context.cwd,
        }
        return {"path": paths, "terraform": workspace, "kplan": workspace}

    def scope(self, origin: Origin, repetition: Repetition | None = None) -> Scope:
        """Make the scope of an expression of this module."""
        names = ModuleNames(self, repetition) if repetition else ModuleNames(self)
        run = self._context
        return Scope(names, origin, run.functions, run.host, {}, run.iterations)

    def label(self, name: str) -> str:
        """Write a name of this module as it is referred to from the root: `module.a.var.x`."""
        return "".join(f"module.{step}." for step in self.path) + name

    def _get_or_compute(
        self, kind: str, name: str, at: HasDeclaredAt, compute: Callable[[], Value]
    ) -> Value:
        """Compute a variable, local or output; values are kept at hand, for they are many."""
        known = self._values.get((kind, name), _NOT_COMPUTED)
        if known is not _NOT_COMPUTED:
            return known  # type: ignore[return-value] # what is not the stand-in is a value
        hop = partial(result_name, self.label, f"{kind}.{name}", at)
        bounded = partial(self._check_size, hop, compute)
        value = self._context.results.get_or_compute((self.path, kind, name), hop, bounded)
        self._values[kind, name] = value
        return value

    def _check_size(self, hop: Callable[[], ResultName], compute: Callable[[], Value]) -> Value:
        value = compute()
        size = self._context.sizes.count(value)
        if size > MAX_VALUE_PARTS:
            detail = (
                f"{hop().label} would have {size} parts; at most {MAX_VALUE_PARTS} are supported."
            )
            raise EvaluationError([error("KP114", hop().declared_at, detail)])
        return value

    # ---- everything

    def evaluate_all(self) -> None:
        """Compute all there is; every problem ends up in the results."""
        results = self._context.results
        results.report(static_problems(self.declarations, self._context.kinds, self.path))
        results.report(ephemeral_problems(self.declarations, is_root=not self.path))
        lost: dict[str, SourceRange] = {}
        for name in self.declarations.variables:
            self._attempt(partial(self.variable, name), {})
        self.validate_variables()
        for name, local in self.declarations.locals.items():
            self._attempt(partial(self.local, name), lost, f"local.{name}", local)
        self._evaluate_blocks(lost)
        for name in self.declarations.modules:
            self._call_node(name).evaluate_all()
        for name, declared in self.declarations.outputs.items():
            self._attempt(partial(self.output, name), lost, f"output.{name}", declared)
            is_secret = results.attempt(partial(self.is_sensitive_output, name)) is True
            if self._context.deferral and not self.path:
                self._context.deferral.set_sensitive(name, is_sensitive=is_secret)
        for check in self.declarations.checks.values():
            results.report(failed_conditions(check.block, ASSERTION, self.scope(check.origin)))
        results.report(left_out_warning(lost))

    def _evaluate_blocks(self, lost: dict[str, SourceRange]) -> None:
        for each in self.foreign.computed_names():
            self._value_node(*each).evaluate_all()
        for data in self._data_nodes():
            if data.evaluate_all():
                lost[data.label] = data.declared_at
        for node in self._own():
            node.evaluate_all()

    def _attempt(
        self,
        compute: Callable[[], Value],
        lost: dict[str, SourceRange],
        name: str = "",
        declared: HasDeclaredAt | None = None,
    ) -> None:
        """Compute something that may be without a value; what is not known is noted in `lost`."""
        try:
            compute()
        except EvaluationError as failure:
            if not failure.is_unknown:
                self._context.results.report(failure.diagnostics)
            elif self._context.deferral and is_deferred(failure):
                if name.startswith("output.") and not self.path:
                    self._context.deferral.outputs[name.removeprefix("output.")] = False
            elif declared is not None:
                lost[name] = declared.declared_at

    def resources(self) -> Iterator[ResourceNode]:
        """List the resource blocks of kinds that kplan knows, here and in called modules."""
        yield from self._own()
        for each in self.declarations.modules:
            yield from self._call_node(each).resources()

    def _own(self) -> Iterator[ResourceNode]:
        """List those of this module: a called one validates its variables before its own."""
        for (kind, name), found in self.declarations.resources.items():
            if kind in self._context.kinds and not found.is_broken:
                yield self._resource_node(kind, name)

    def modules(self) -> Iterator[ChildModule]:
        """List this module and all that it calls, one for each instance."""
        yield self
        for name in self.declarations.modules:
            yield from self._call_node(name).modules()

    # ---- connections

    def provider_blocks(self) -> tuple[ProviderBlock, ...]:
        """Compute which connections the provider blocks declare."""
        if not self.declarations.providers:
            return ()
        hop = partial(
            result_name, self.label, f"provider.{PROVIDER}", self.declarations.providers[0]
        )
        return self._context.results.get_or_compute(
            (self.path, "provider"), hop, self._provider_blocks
        )

    def _provider_blocks(self) -> tuple[ProviderBlock, ...]:
        return tuple(
            evaluate_provider_block(each, self.scope(each.origin), self._context.results)
            for each in self.declarations.providers
        )

    def _connections(self) -> Connections:
        handed_on = self._place.connections
        return root_connections(self.provider_blocks()) if handed_on is None else handed_on

    def connection(self, declaration: Declaration, scope: Scope) -> str:
        """Return the key of the connection that a block uses; raises `EvaluationError`."""
        chosen = declaration.arguments.get("provider")
        if chosen is None:
            return (self._place.connections or DEFAULT_CONNECTIONS).default
        return self._connections().connection_key(chosen.value, scope)

    def _passed_connections(self, declaration: Declaration, scope: Scope) -> Connections:
        if "providers" in declaration.arguments:
            return self._connections().for_module_call(declaration, scope)
        return (self._place.connections or DEFAULT_CONNECTIONS).inheritable

    # ---- variables

    def variable(self, name: str) -> Value:
        """Value of an input variable; raises `EvaluationError` if there is none."""
        found = self.declarations.variables.get(name)
        if found is None or found.is_broken:
            raise EvaluationError
        return self._get_or_compute("var", name, found, partial(self._variable, found))

    def _variable(self, declaration: Declaration) -> Value:
        scope = self._context.constant_scope(declaration.origin)
        wanted = evaluate_constraint(declaration, scope)
        default: Value = None
        if "default" in declaration.arguments:
            default = wanted.mark_value(evaluate_default(declaration, wanted, scope))
        given = self._input_values.get(declaration.name)
        if given is not None and "deprecated" in declaration.arguments:
            message = evaluate(declaration.arguments["deprecated"].value, scope)
            detail = f'The variable "{declaration.name}" is deprecated: {message}'
            self._context.results.report(
                [warning("KP183", given.subject() or declaration.declared_at, detail)]
            )
        if given is not None:
            label = self.label(f"var.{declaration.name}")
            return evaluate_input_value(declaration, wanted, given, label, default)
        if "default" in declaration.arguments:
            return default
        if self.path:
            raise EvaluationError  # told at the module block
        raise missing_value_error(declaration, self.declarations.diagnostics)

    def validate_variables(self) -> None:
        """Hold the values that were computed against their rules; who uses a bad one is silent."""
        for name in [name for kind, name in self._values if kind == "var"]:
            declaration, given = self.declarations.variables[name], self._input_values.get(name)
            scope, called_at = self.scope(declaration.origin), self._place.called_at
            label = self.label(f"var.{name}")
            if problems := validation_problems(declaration, scope, label, given, called_at):
                self._context.results.report(problems)
                self._context.results.mark_failed((self.path, "var", name))
                del self._values["var", name]

    # ---- locals and outputs

    def local(self, name: str) -> Value:
        """Value of a local; raises `EvaluationError` if there is none."""
        found = self.declarations.locals.get(name)
        if found is None:
            raise EvaluationError
        return self._get_or_compute("local", name, found, partial(self._local, found))

    def _local(self, local: Local) -> Value:
        return evaluate(local.attribute.value, self.scope(local.origin))

    def output(self, name: str) -> Value:
        """Value of an output; raises `EvaluationError` if there is none."""
        found = self.declarations.outputs[name]
        if found.is_broken or "value" not in found.arguments:
            raise EvaluationError
        return self._get_or_compute("output", name, found, partial(self._output, found))

    def _output(self, declaration: Declaration) -> Value:
        scope = self.scope(declaration.origin)
        if problems := failed_conditions(declaration.block, OUTPUT_PRECONDITION, scope):
            raise EvaluationError(problems)
        return evaluate(declaration.arguments["value"].value, scope)

    def is_sensitive_output(self, name: str) -> bool:
        """Return whether an output is sensitive; raises `EvaluationError` if that has no value."""
        found = self.declarations.outputs[name]
        return evaluate_flag(found.arguments, "sensitive", self.scope(found.origin), default=False)

    # ---- resources and module calls

    def resource(self, kind: str, name: str) -> ReferenceValue:
        """Return the instances of a resource block; raises `EvaluationError` if there is none."""
        if (kind, name) in self.declarations.self_references:
            raise EvaluationError  # which has been reported
        if self.foreign.contains(kind, name):
            return self._foreign_value(kind, name)
        found = self.declarations.resources.get((kind, name))
        if found is None or found.is_broken or kind not in self._context.kinds:
            raise EvaluationError
        return self._resource_node(kind, name)

    def _foreign_value(self, kind: str, name: str) -> ReferenceValue:
        is_computed = self.foreign.is_computed(kind, name)
        return self._value_node(kind, name) if is_computed else self.foreign.value(kind, name)

    def _value_node(self, kind: str, name: str) -> ValueBlockNode:
        is_data = kind.startswith("data.")
        declared = self.declarations.data if is_data else self.declarations.resources
        return ValueBlockNode(self, self._context, declared[kind.removeprefix("data."), name])

    def _resource_node(self, kind: str, name: str) -> ResourceNode:
        plan = self._resource_blocks.get((kind, name))
        if plan is None:
            declared = self.declarations.resources[kind, name]
            plan = prepare_resource_block(self._context.kinds[kind], declared)
            self._resource_blocks[kind, name] = plan
        return ResourceNode(self, self._context.results, plan, self._context.deferral)

    def data_source(self, kind: str, name: str) -> DataNode:
        """Return a data source; raises `EvaluationError` if there is none."""
        found = self.declarations.data.get((kind, name))
        if found is None or found.is_broken or kind not in DATA_SCHEMAS:
            raise EvaluationError
        return DataNode(self, self._context, found, self._place.waits_for)

    def _data_nodes(self) -> Iterator[DataNode]:
        for (kind, name), found in self.declarations.data.items():
            if kind in DATA_SCHEMAS and not found.is_broken:
                yield self.data_source(kind, name)

    def data_kind(self, kind: str) -> ReferenceValue:
        """Return the data sources of a sort, of which one is named next."""
        return BlockKindNode("data", kind, self._data_block)

    def ephemeral_kind(self, kind: str) -> ReferenceValue:
        """Return the ephemeral resources of a sort, which are of other providers."""
        return BlockKindNode("ephemeral", kind, self.foreign.ephemeral_value)

    def _data_block(self, kind: str, name: str) -> ReferenceValue:
        if self.foreign.contains(f"data.{kind}", name):
            return self._foreign_value(f"data.{kind}", name)
        return self.data_source(kind, name)

    def module_call(self, name: str) -> ReferenceValue:
        """Return the module that a block calls; raises `EvaluationError` if there is none."""
        found = self.declarations.modules.get(name)
        if found is None or found.is_broken:
            raise EvaluationError
        return self._call_node(name)

    def _call_node(self, name: str) -> ModuleCallNode:
        found = self.declarations.modules[name]
        return ModuleCallNode(self, self._context.results, found, partial(self._make_child, found))

    def _make_child(
        self, declaration: Declaration, repetition: Repetition, key: InstanceKey
    ) -> "Module":
        """Make one instance of a called module."""
        folder = child_folder(declaration, self._place, self._context)
        declared = self._context.folders.declarations(folder)
        at_call = declaration.value_range("source")  # for what is wrong with the folder as a whole
        self._context.results.report(
            replace(each, subject=each.subject or at_call) for each in declared.diagnostics
        )
        scope = self.scope(declaration.origin, repetition)
        self._context.results.report(module_argument_problems(declaration, declared))
        self._context.results.report(
            ephemeral_argument_problems(declaration, self.declarations, declared)
        )
        given = {
            name: InputValue(f"module.{declaration.name}", (attribute.value, scope))
            for name, attribute in declaration.arguments.items()
            if name not in MODULE_SCHEMA.arguments
        }
        path = (*self.path, f"{declaration.name}{instance_key(key)}")
        callers = (*self._place.callers, self._place.folder)
        passed = self._passed_connections(declaration, scope)
        waits = (*self._place.waits_for, *dependencies(declaration, self.label("")))
        place = ModulePlace(path, folder, callers, passed, declaration.declared_at, waits)
        return Module(self._context, declared, place, given)
