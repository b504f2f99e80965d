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


@dataclass(slots=True)
class Scope:
    """Where an expression stands, what it can name, and the `for` variables around it."""

    names: Names
    origin: Origin
    functions: Mapping[str, Function] = field(repr=False)
    host: Host = field(repr=False)
    variables: Mapping[str, Value] = field(repr=False)
    is_quiet: bool = False
    """Whether a failure need not say which values it saw."""

    def with_variables(self, more: Mapping[str, Value]) -> "Scope":
        """Add variables; they hide outer ones of the same name."""
        variables = {**self.variables, **more}
        return Scope(self.names, self.origin, self.functions, self.host, variables, self.is_quiet)

    def quiet(self) -> "Scope":
        """Make a scope in which failures are only noticed, not told."""
        return Scope(
            self.names, self.origin, self.functions, self.host, self.variables, is_quiet=True
        )


Evaluate: TypeAlias = Callable[[ast.Node, Scope], Value]
"""What `evaluate.evaluate` is; the parts of evaluation in other modules take it as argument."""
