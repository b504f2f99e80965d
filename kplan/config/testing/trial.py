"""One run of a test: the configuration with the variables of the run, and its assertions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kplan.config.evaluation.evaluate import evaluate
from kplan.config.evaluation.misuse import meant
from kplan.config.evaluation.scope import Found, Names, Scope
from kplan.config.evaluation.seen import seen
from kplan.config.inputs import Inputs
from kplan.config.load import Configuration, configured
from kplan.config.module import Module
from kplan.config.names import ModuleNames, NoNames
from kplan.config.opening import Root
from kplan.config.problem import Failure, error
from kplan.config.room import room_to_work
from kplan.config.syntax import tree as ast
from kplan.config.syntax.source import Origin, Spot
from kplan.config.testing.script import Run, Script
from kplan.config.values.jsonvalue import Json, from_json_value
from kplan.config.values.sensitive import bare, has_sensitive, mark, unmark
from kplan.config.values.value import Value
from kplan.config.variables import Given
from kplan.kinds.base import ResourceKind
from kplan.model.diagnostic import Diagnostic, in_order

Outputs = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Facts:
    """What assertions may speak of beside the configuration.

    `plan` is what was planned, as JSON-able data; `objects` gives the live objects of one of the
    `kinds` by identity, as such data too, or None where there is no such kind.
    """

    plan: Mapping[str, Json]
    kinds: tuple[str, ...]
    objects: Callable[[str], Json]


@dataclass(frozen=True, slots=True)
class Trial:
    """A run with its variables in place; `earlier` are the outputs of the runs before it."""

    run: Run
    root: Root
    configuration: Configuration
    earlier: Mapping[str, Outputs] = field(repr=False)

    def outputs(self) -> Outputs:
        """Work out the outputs, for later runs to refer to."""
        module = self.root.module
        with room_to_work():
            return {name: _output(module, name) for name in sorted(module.declared.outputs)}

    def assertions(self, facts: Facts) -> tuple[Diagnostic, ...]:
        """Hold every assertion of the run; all that fail are told."""
        module, origin = self.root.module, self.run.origin
        names = _ResultNames(module, self.earlier, facts)
        scope = Scope(names, origin, self.root.run.functions, self.root.run.host, {})
        with room_to_work():
            found = [
                told
                for block in self.run.block.blocks
                if block.type == "assert"
                for told in _assertion(block, scope)
            ]
        return in_order(found)


def trial(
    script: Script,
    run: Run,
    earlier: Mapping[str, Outputs],
    subject: tuple[Root, Inputs, Sequence[ResourceKind]],
) -> Trial:
    """Load what is tested with the variables of a run, which win over those of the file.

    Those of the file win over all that are given elsewhere, as in Terraform's tests.
    """
    opened, inputs, kinds = subject
    functions, host = opened.run.functions, opened.run.host

    def given(names: Names, told: str, found: ast.Attribute, origin: Origin) -> Given:
        return Given(told, (found.value, Scope(names, origin, functions, host, {})))

    variables = opened.module.declared.variables
    common = {
        name: given(NoNames(), script.name, *found)
        for name, found in script.variables.items()
        if name in variables
    }
    outer = opened.anew(common)
    names = _EarlierNames(outer.module, earlier)
    own = {
        each.name: given(names, f'run "{run.name}"', each, run.origin)
        for each in run.variables
        if each.name in variables
    }
    root = outer.anew(own)
    found = configured(root, inputs, kinds)
    # What the values of the run refer to has been worked out apart, with those of the file only.
    told = in_order([*found.diagnostics, *outer.run.ledger.diagnostics])
    return Trial(run, root, replace(found, diagnostics=told), earlier)


@dataclass(frozen=True, slots=True)
class _EarlierNames:
    """Names in the values of a run: the variables of the file, and earlier runs."""

    module: Module
    earlier: Mapping[str, Outputs]

    def find(self, root: str, name: str, subject: Spot) -> Found:
        """Give a variable, or the outputs of a run."""
        if root == "run":
            return _earlier(self.earlier, name, subject)
        return self.module.variable(name)

    def refusal(self, root: str, subject: Spot) -> Failure:
        """Stay silent: the checks of the file have told what is wrong with it."""
        del root, subject
        return Failure()


@dataclass(frozen=True, slots=True)
class _ResultNames:
    """Names in assertions: those of the module, and what the run came to."""

    module: Module
    earlier: Mapping[str, Outputs]
    facts: Facts

    def find(self, root: str, name: str, subject: Spot) -> Found:
        """Give what `root.name` stands for."""
        match root:
            case "output":
                return _output(self.module, name)
            case "run":
                return _earlier(self.earlier, name, subject)
            case "plan":
                return self._fact(name, self.facts.plan.get(name), self.facts.plan, subject)
            case "cluster":
                return self._fact(name, self.facts.objects(name), self.facts.kinds, subject)
            case _:
                return ModuleNames(self.module).find(root, name, subject)

    def refusal(self, root: str, subject: Spot) -> Failure:
        """Stay silent: the checks of the file have told what is wrong with it."""
        del root, subject
        return Failure()

    def _fact(self, name: str, found: Json, known: Iterable[str], subject: Spot) -> Value:
        if found is not None:
            return from_json_value(found)
        told = f'There is no "{name}" among {", ".join(sorted(known))}.'
        raise Failure([error("KP144", subject.range(), told, hint=meant(name, known))])


def _output(module: Module, name: str) -> Value:
    return mark(module.output(name), sensitive=module.is_sensitive_output(name))


def _earlier(earlier: Mapping[str, Outputs], name: str, subject: Spot) -> Value:
    if name in earlier:
        return dict(earlier[name])
    told = f'The run "{name}" came to nothing, so it has no outputs.'
    raise Failure([error("KP116", subject.range(), told)], is_final=True)


def _assertion(block: ast.Block, scope: Scope) -> list[Diagnostic]:
    arguments = {each.name: each.value for each in block.attributes}
    condition = arguments["condition"]
    subject = scope.origin.range(condition.start, condition.end)
    try:
        holds, _ = unmark(evaluate(condition, scope))
        if holds is True:
            return []
        message = evaluate(arguments["error_message"], scope)
    except Failure as failure:
        # Silence is no success: what cannot be known has not been shown to hold.
        return list(failure.diagnostics) or [error("KP147", subject, _NOTHING)]
    except RecursionError:
        return [error("KP114", subject, "The condition is nested too deeply.")]
    if holds is not False:
        return [error("KP156", subject, "The condition of an assertion must be true or false.")]
    text = str(bare(message)).strip()
    if has_sensitive(message):
        text = "(its message holds a sensitive value)"
    return [error("KP701", subject, text, values=seen(condition, scope, evaluate))]


_NOTHING = "What the condition refers to has no value."
