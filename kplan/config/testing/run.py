"""One run of a test: its cluster, configuration, variables and assertions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace

from kplan.cluster.platform import Platform
from kplan.config.declarations.collect import collect_declarations
from kplan.config.declarations.declaration import KnownKinds
from kplan.config.diagnostic import EvaluationError, error, suggestion
from kplan.config.evaluation.call import reference_values
from kplan.config.evaluation.evaluate import deep_recursion, evaluate
from kplan.config.evaluation.scope import ModuleNames, Names, NoNames, ReferenceValue, Scope
from kplan.config.inputs import Inputs
from kplan.config.load import (
    Configuration,
    duplicate_objects,
    evaluate_configuration,
    evaluated_resources,
    merge_shared_objects,
)
from kplan.config.modules.connection import root_connections
from kplan.config.modules.evaluation import ModulePlace
from kplan.config.modules.module import Module
from kplan.config.modules.result_cache import ResultCache
from kplan.config.modules.root_module import RootModule
from kplan.config.modules.variable import InputValue
from kplan.config.syntax import tree as ast
from kplan.config.syntax.source import Origin, Spot
from kplan.config.testing.file import ClusterBlock, HclTestFile, RunBlock
from kplan.config.values.sensitive import bare, has_sensitive, mark, unmark
from kplan.config.values.value import Value
from kplan.config.values.value_text import Json, from_json_value
from kplan.kinds.base import ResourceKind
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, sort_diagnostics
from kplan.model.resource import Resource

OutputValues = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class RunResults:
    """What assertions may speak of beside the configuration.

    `plan` is what was planned, as JSON-able data; `objects` gives the live objects of one of the
    `kinds` by identity, as such data too, or None where there is no such kind.
    """

    plan: Mapping[str, Json]
    kinds: tuple[str, ...]
    objects: Callable[[str], Json]


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """A run with its variables in place; `earlier` are the outputs of the runs before it."""

    run: RunBlock
    root: RootModule
    configuration: Configuration
    earlier: Mapping[str, OutputValues] = field(repr=False)

    def outputs(self) -> OutputValues:
        """Compute the outputs, for later runs to refer to."""
        module = self.root.module
        with deep_recursion():
            return {
                name: _output_value(module, name) for name in sorted(module.declarations.outputs)
            }

    def check_assertions(self, facts: RunResults) -> tuple[Diagnostic, ...]:
        """Hold every assertion of the run; all that fail are reported."""
        module, origin = self.root.module, self.run.origin
        names = _ResultNames(module, self.earlier, facts)
        scope = Scope(names, origin, self.root.context.functions, self.root.context.host, {})
        with deep_recursion():
            found = [
                each
                for block in self.run.block.blocks
                if block.type == "assert"
                for each in _check_assertion(block, scope)
            ]
        return sort_diagnostics(found)


def prepare_run(
    script: HclTestFile,
    run: RunBlock,
    earlier: Mapping[str, OutputValues],
    subject: tuple[RootModule, Inputs, Sequence[ResourceKind]],
) -> PreparedRun:
    """Load the module under test with the variables of a run, which win over those of the file.

    Those of the file win over all that are given elsewhere, as in Terraform's tests.
    """
    opened, inputs, kinds = subject
    functions, host = opened.context.functions, opened.context.host

    def input_value(
        names: Names, diagnostics: str, found: ast.Attribute, origin: Origin
    ) -> InputValue:
        return InputValue(diagnostics, (found.value, Scope(names, origin, functions, host, {})))

    variables = opened.module.declarations.variables
    common = {
        name: input_value(NoNames(), script.name, *found)
        for name, found in script.variables.items()
        if name in variables
    }
    outer = opened.fresh_copy(common)
    names = _EarlierNames(outer.module, earlier)
    own = {
        each.name: input_value(names, f'run "{run.name}"', each, run.origin)
        for each in run.variables
        if each.name in variables
    }
    root = outer.fresh_copy(own)
    found = evaluate_configuration(root, inputs, kinds)
    # What the values of the run refer to has been computed apart, with those of the file only.
    diagnostics = sort_diagnostics([*found.diagnostics, *outer.context.results.diagnostics])
    return PreparedRun(run, root, replace(found, diagnostics=diagnostics), earlier)


@dataclass(frozen=True, slots=True)
class _EarlierNames:
    """Names in the values of a run: the variables of the file, and earlier runs."""

    module: Module
    earlier: Mapping[str, OutputValues]

    def resolve(self, root: str, name: str, subject: Spot) -> ReferenceValue:
        """Return a variable, or the outputs of a run."""
        if root == "run":
            return _earlier_outputs(self.earlier, name, subject)
        return self.module.variable(name)

    def unresolved_error(self, root: str, subject: Spot) -> EvaluationError:
        """Report nothing: the checks of the file have reported the problem."""
        del root, subject
        return EvaluationError()


@dataclass(frozen=True, slots=True)
class _ResultNames:
    """Names in assertions: those of the module, and the results of the run."""

    module: Module
    earlier: Mapping[str, OutputValues]
    results: RunResults

    def resolve(self, root: str, name: str, subject: Spot) -> ReferenceValue:
        """Return the value of `root.name`."""
        match root:
            case "output":
                return _output_value(self.module, name)
            case "run":
                return _earlier_outputs(self.earlier, name, subject)
            case "plan":
                return self._result_value(
                    name, self.results.plan.get(name), self.results.plan, subject
                )
            case "cluster":
                return self._result_value(
                    name, self.results.objects(name), self.results.kinds, subject
                )
            case _:
                return ModuleNames(self.module).resolve(root, name, subject)

    def unresolved_error(self, root: str, subject: Spot) -> EvaluationError:
        """Report nothing: the checks of the file have reported the problem."""
        del root, subject
        return EvaluationError()

    def _result_value(self, name: str, found: Json, known: Iterable[str], subject: Spot) -> Value:
        if found is not None:
            return from_json_value(found)
        detail = f'There is no "{name}" among {", ".join(sorted(known))}.'
        raise EvaluationError(
            [error("KP144", subject.range(), detail, hint=suggestion(name, known))]
        )


def _output_value(module: Module, name: str) -> Value:
    return mark(module.output(name), sensitive=module.is_sensitive_output(name))


def _earlier_outputs(earlier: Mapping[str, OutputValues], name: str, subject: Spot) -> Value:
    if name in earlier:
        return dict(earlier[name])
    detail = f'The run "{name}" came to nothing, so it has no outputs.'
    raise EvaluationError([error("KP116", subject.range(), detail)], is_final=True)


def _check_assertion(block: ast.Block, scope: Scope) -> list[Diagnostic]:
    arguments = {each.name: each.value for each in block.attributes}
    condition = arguments["condition"]
    subject = scope.origin.range(condition.start, condition.end)
    try:
        holds, _ = unmark(evaluate(condition, scope))
        if holds is True:
            return []
        message = evaluate(arguments["error_message"], scope)
    except EvaluationError as failure:
        # Silence is no success: what cannot be known has not been shown to hold.
        return list(failure.diagnostics) or [error("KP147", subject, _NO_VALUE_DETAIL)]
    except RecursionError:
        return [error("KP114", subject, "The condition is nested too deeply.")]
    if holds is not False:
        return [error("KP156", subject, "The condition of an assertion must be true or false.")]
    text = str(bare(message)).strip()
    if has_sensitive(message):
        text = "(its message holds a sensitive value)"
    return [error("KP701", subject, text, values=reference_values(condition, scope, evaluate))]


_NO_VALUE_DETAIL = "What the condition refers to has no value."


DEFAULT_BROKERS = 3
MAX_BROKERS = 100


@dataclass(frozen=True, slots=True)
class ClusterObjects:
    """The objects of a test cluster, the number of its brokers, and the diagnostics of both.

    `platform` is that of `cluster/platform.py`, "" for none.
    """

    resources: tuple[Resource, ...] = ()
    brokers: int = DEFAULT_BROKERS
    diagnostics: tuple[Diagnostic, ...] = ()
    platform: str = ""


def evaluate_cluster_block(root: RootModule, fixture: ClusterBlock | None) -> ClusterObjects:
    """Compute a fixture. Its resources see nothing of the configuration, only each other."""
    if fixture is None:
        return ClusterObjects()
    kinds = root.context.kinds
    items = [ast.Item(fixture.origin, each) for each in fixture.resources]
    found = collect_declarations(items, KnownKinds(tuple(kinds)), has_lost=False)
    results = ResultCache(list(found.diagnostics))
    with deep_recursion():
        blocks = results.attempt(root.fresh_copy().module.provider_blocks) or ()
        place = ModulePlace(connections=root_connections(blocks))
        module = Module(replace(root.context, results=results), found, place, {})
        brokers = results.attempt(lambda: _evaluate_broker_count(root, fixture))
        platform = results.attempt(lambda: _evaluate_platform(root, fixture)) or ""
        module.evaluate_all()
        resources = tuple(evaluated_resources(module))
    results.report(duplicate_objects(resources, list(kinds.values())))
    resources = merge_shared_objects(resources, list(kinds.values()))
    problems = tuple(results.diagnostics)
    return ClusterObjects(resources, brokers or DEFAULT_BROKERS, problems, platform)


def _evaluate_broker_count(root: RootModule, fixture: ClusterBlock) -> int:
    """Read how many brokers there are; raises `EvaluationError` where that is no such number."""
    if fixture.brokers is None:
        return DEFAULT_BROKERS
    node, origin = fixture.brokers.value, fixture.origin
    found = _evaluate_alone(root, node, origin)
    if isinstance(found, int) and not isinstance(found, bool) and 1 <= found <= MAX_BROKERS:
        return found
    detail = f"A cluster has a whole number of brokers from 1 to {MAX_BROKERS}."
    raise EvaluationError([error("KP705", origin.range(node.start, node.end), detail)])


def _evaluate_platform(root: RootModule, fixture: ClusterBlock) -> str:
    """Read who runs the cluster; raises `EvaluationError` where it is unknown."""
    if fixture.platform is None:
        return ""
    node, origin = fixture.platform.value, fixture.origin
    found = _evaluate_alone(root, node, origin)
    if isinstance(found, str) and found in {*Platform}:
        return found
    detail = f"A platform is one of {', '.join(Platform)}."
    raise EvaluationError([error("KP705", origin.range(node.start, node.end), detail)])


def _evaluate_alone(root: RootModule, node: ast.Node, origin: Origin) -> Value:
    return evaluate(node, Scope(NoNames(), origin, root.context.functions, root.context.host, {}))
