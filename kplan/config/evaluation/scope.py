"""What an expression can see."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from kplan.config.functions.function import Function
from kplan.config.functions.host import Host
from kplan.config.syntax import tree as ast
from kplan.config.syntax.source import Origin, Spot
from kplan.config.values.value import Value


class Deferred:
    """Something named that is worked out part by part: a module's outputs, a resource.

    All three methods raise `Failure` where there is nothing, or where it has no value. It is no
    abstract base class, since whether a value is one of these is asked at every step.
    """

    __slots__ = ()

    def attribute(self, name: str, subject: Spot) -> "Found":
        """Give one part by name."""
        raise NotImplementedError

    def index(self, key: Value, subject: Spot) -> "Found":
        """Give one instance by its key."""
        raise NotImplementedError

    def value(self, subject: Spot) -> Value:
        """Work out the whole."""
        raise NotImplementedError


Found: TypeAlias = "Value | Deferred"


class Names(Protocol):
    """The things that references begin with: `var`, `local`, `each`, resource types."""

    def find(self, root: str, name: str, subject: Spot) -> Found:
        """Give what `root.name` stands for; raises `Failure`."""
        ...

    def refusal(self, root: str, subject: Spot) -> Exception:
        """Make the `Failure` that says why `root` cannot stand alone."""
        ...


MAX_ROUNDS = 50_000_000
"""Rounds of all `for` expressions and directives of one run; they take a minute or two."""


@dataclass(slots=True)
class Rounds:
    """Counts the rounds of loops down: a few short ones inside each other would never end."""

    left: int = MAX_ROUNDS


@dataclass(slots=True)
class Scope:
    """Where an expression stands, what it can name, and the `for` variables around it."""

    names: Names
    origin: Origin
    functions: Mapping[str, Function] = field(repr=False)
    host: Host = field(repr=False)
    variables: Mapping[str, Value] = field(repr=False)
    rounds: Rounds = field(default_factory=Rounds)
    is_quiet: bool = False
    """Whether a failure need not say which values it saw."""

    def inside(self) -> tuple["Scope", dict[str, Value]]:
        """Make a scope for the inside of a loop, with its variables, to be set in each round."""
        variables = dict(self.variables)
        return self._copy(variables, is_quiet=self.is_quiet), variables

    def quiet(self) -> "Scope":
        """Make a scope in which failures are only noticed, not told."""
        return self._copy(self.variables, is_quiet=True)

    def _copy(self, variables: Mapping[str, Value], *, is_quiet: bool) -> "Scope":
        return Scope(
            self.names, self.origin, self.functions, self.host, variables, self.rounds, is_quiet
        )


Evaluate: TypeAlias = Callable[[ast.Node, Scope], Value]
"""What `evaluate.evaluate` is; the parts of evaluation in other modules take it as argument."""
