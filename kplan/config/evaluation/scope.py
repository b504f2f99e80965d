"""What an expression can refer to: `var`, `local`, `each`, `count`, `path`, resources, loops."""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Protocol, TypeAlias

from kplan.config.diagnostic import EvaluationError, error, suggestion
from kplan.config.functions.function import Function, Host
from kplan.config.syntax import tree as ast
from kplan.config.syntax.source import Origin, Spot
from kplan.config.values.value import Value
from kplan.model.dataclass import dataclass


class Deferred:
    """Something named that is computed part by part: a module's outputs, a resource.

    All three methods raise `EvaluationError` where there is nothing, or where it has no value. It
    is no abstract base class, since whether a value is one of these is asked at every step.
    """

    __slots__ = ()

    def attribute(self, name: str, subject: Spot) -> "ReferenceValue":
        """Return one part by name."""
        raise NotImplementedError

    def index(self, key: Value, subject: Spot) -> "ReferenceValue":
        """Return one instance by its key."""
        raise NotImplementedError

    def value(self, subject: Spot) -> Value:
        """Compute the whole."""
        raise NotImplementedError


ReferenceValue: TypeAlias = "Value | Deferred"


class Names(Protocol):
    """The things that references begin with: `var`, `local`, `each`, resource types."""

    def resolve(self, root: str, name: str, subject: Spot) -> ReferenceValue:
        """Return the value of `root.name`; raises `EvaluationError`."""
        ...

    def unresolved_error(self, root: str, subject: Spot) -> Exception:
        """Make the `EvaluationError` that says why `root` cannot be alone."""
        ...


MAX_ITERATIONS = 10_000_000
"""Rounds of all `for` expressions and directives of one run; they take a minute or two."""


@dataclass(slots=True)
class IterationLimit:
    """Counts the rounds of loops down: a few short ones inside each other would never end."""

    remaining: int = MAX_ITERATIONS


@dataclass(slots=True)
class Scope:
    """The scope of an expression: the names it may use and the `for` variables around it."""

    names: Names
    origin: Origin
    functions: Mapping[str, Function] = field(repr=False)
    host: Host = field(repr=False)
    variables: Mapping[str, Value] = field(repr=False)
    iterations: IterationLimit = field(default_factory=IterationLimit)
    is_quiet: bool = False
    """Whether a failure need not say which values it saw."""

    def loop_scope(self) -> tuple["Scope", dict[str, Value]]:
        """Make a scope for the inside of a loop, with its variables, to be set in each round."""
        variables = dict(self.variables)
        return self._copy(variables, is_quiet=self.is_quiet), variables

    def quiet_scope(self) -> "Scope":
        """Make a scope that records failures without reporting them."""
        return self._copy(self.variables, is_quiet=True)

    def _copy(self, variables: Mapping[str, Value], *, is_quiet: bool) -> "Scope":
        return Scope(
            self.names, self.origin, self.functions, self.host, variables, self.iterations, is_quiet
        )


Evaluator: TypeAlias = Callable[[ast.Node, Scope], Value]
"""What `evaluate.evaluate` is; the parts of evaluation in other modules take it as argument."""


CONSTANT_ROOTS = ("path", "terraform", "kplan")
REFERENCE_ROOTS = (
    *("var", "local", "module", "data", "ephemeral", "each", "count", "self"),
    *CONSTANT_ROOTS,
)


@dataclass(frozen=True, slots=True)
class Repetition:
    """What `each`, `count` and `self` mean in one instance; nothing outside of any."""

    each: Mapping[str, Value] | None = field(default=None, repr=False)
    count: int | None = None
    self_attributes: Mapping[str, Value] | None = field(default=None, repr=False)


NO_REPETITION = Repetition()

_NO_ELEMENT: Mapping[str, Value] = {"key": None, "value": None}
_EACH_SUMMARIES = {
    "key": 'Reference to "each" in context without for_each',
    "value": "each.value cannot be used in this context",
}


class NoNames:
    """Names where none are allowed: variable defaults, variables files, types."""

    def resolve(self, root: str, name: str, subject: Spot) -> ReferenceValue:
        """Refuse."""
        raise self.unresolved_error(f"{root}.{name}", subject)

    def unresolved_error(self, root: str, subject: Spot) -> EvaluationError:
        """Say that only constants are allowed."""
        detail = f"{root} is a reference, and only constant values are allowed here."
        hint = f'Write "{root}" if it is meant as text.' if "." not in root else ""
        return EvaluationError([error("KP180", subject.range(), detail, hint=hint)], is_final=True)


class ModuleValues(Protocol):
    """The named values of a module; each raises `EvaluationError` for a name without a value."""

    @property
    def constants(self) -> Mapping[str, Mapping[str, Value]]:
        """The members of `path`, `terraform` and `kplan`."""
        ...

    def variable(self, name: str) -> Value:
        """Return the value of an input variable."""
        ...

    def local(self, name: str) -> Value:
        """Return the value of a local."""
        ...

    def module_call(self, name: str) -> ReferenceValue:
        """Return the module that a block calls."""
        ...

    def resource(self, kind: str, name: str) -> ReferenceValue:
        """Return the instances of a resource block."""
        ...

    def data_kind(self, kind: str) -> ReferenceValue:
        """Return the data sources of a sort."""
        ...

    def ephemeral_kind(self, kind: str) -> ReferenceValue:
        """Return the ephemeral resources of a sort."""
        ...


@dataclass(frozen=True, slots=True)
class ModuleNames:
    """Names inside a module, for one instance of something in it."""

    module: ModuleValues
    repetition: Repetition = NO_REPETITION

    def resolve(self, root: str, name: str, subject: Spot) -> ReferenceValue:
        """Return the value of `root.name`; undeclared names have been reported by the checks."""
        match root:
            case "var":
                return self.module.variable(name)
            case "local":
                return self.module.local(name)
            case "each" | "count" | "self":
                return self._instance_value(root, name, subject)
            case "module":
                return self.module.module_call(name)
            case "data":
                return self.module.data_kind(name)
            case "ephemeral":
                return self.module.ephemeral_kind(name)
            case "path" | "terraform" | "kplan":
                return self._constant(root, name, subject)
            case _:
                return self.module.resource(root, name)

    def _instance_value(self, root: str, name: str, subject: Spot) -> Value:
        match root:
            case "each":
                return self._each(name, subject)
            case "count":
                return self._count(name, subject)
            case _:
                return self._self(name, subject)

    def unresolved_error(self, root: str, subject: Spot) -> EvaluationError:
        """Report nothing: the checks have reported the problem."""
        del root, subject
        return EvaluationError()

    def _each(self, name: str, subject: Spot) -> Value:
        if self.repetition.each is None:
            if name not in _NO_ELEMENT:
                return _get_member("each", _NO_ELEMENT, name, subject)
            detail = '"each" is an element of for_each, which this block does not have.'
            diagnostic = error("KP179", subject.range(), detail, summary=_EACH_SUMMARIES[name])
            raise EvaluationError([diagnostic], is_final=True)
        return _get_member("each", self.repetition.each, name, subject)

    def _count(self, name: str, subject: Spot) -> Value:
        if name != "index":
            return _get_member("count", {"index": self.repetition.count}, name, subject)
        if self.repetition.count is None:
            detail = '"count" is the index of an instance, and this block has no count.'
            summary = 'Reference to "count" in non-counted context'
            diagnostic = error("KP179", subject.range(), detail, summary=summary)
            raise EvaluationError([diagnostic], is_final=True)
        return self.repetition.count

    def _self(self, name: str, subject: Spot) -> Value:
        if self.repetition.self_attributes is None:
            detail = '"self" is known only in a postcondition, where the resource has its values.'
            diagnostic = error("KP116", subject.range(), detail, summary='Invalid "self" reference')
            raise EvaluationError([diagnostic], is_final=True)
        return _get_member("self", self.repetition.self_attributes, name, subject)

    def _constant(self, root: str, name: str, subject: Spot) -> Value:
        return _get_member(root, self.module.constants[root], name, subject)


def _get_member(root: str, members: Mapping[str, Value], name: str, subject: Spot) -> Value:
    if name in members:
        return members[name]
    detail = f'"{root}" has no attribute "{name}".'
    hint = (
        suggestion(name, members) or f"There is {', '.join(f'{root}.{each}' for each in members)}."
    )
    summary = "" if root == "self" else f'Invalid "{root}" attribute'
    diagnostic = error("KP144", subject.range(), detail, hint=hint, summary=summary)
    raise EvaluationError([diagnostic], is_final=True)
