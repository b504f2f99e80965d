"""What the roots of references stand for: `var`, `local`, `each`, `count`, `path`, resources."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from kplan.config.evaluation.misuse import meant
from kplan.config.evaluation.scope import Found
from kplan.config.problem import Failure, error
from kplan.config.syntax.source import Spot
from kplan.config.values.value import Value

CONSTANT_ROOTS = ("path", "terraform", "kplan")
ROOTS = ("var", "local", "module", "data", "each", "count", "self", *CONSTANT_ROOTS)


@dataclass(frozen=True, slots=True)
class Repetition:
    """What `each`, `count` and `self` stand for in one instance; nothing outside of any."""

    each: Mapping[str, Value] | None = field(default=None, repr=False)
    count: int | None = None
    own: Mapping[str, Value] | None = field(default=None, repr=False)


NO_REPETITION = Repetition()


class NoNames:
    """Names where none are allowed: variable defaults, variables files, types."""

    def find(self, root: str, name: str, subject: Spot) -> Found:
        """Refuse."""
        raise self.refusal(f"{root}.{name}", subject)

    def refusal(self, root: str, subject: Spot) -> Failure:
        """Say that only constants are allowed."""
        told = f"{root} is a reference, and only constant values are allowed here."
        hint = f'Write "{root}" if it is meant as text.' if "." not in root else ""
        return Failure([error("KP180", subject.range(), told, hint=hint)], is_final=True)


class Module(Protocol):
    """What a module gives by name; each raises `Failure` for what has no value."""

    @property
    def constants(self) -> Mapping[str, Mapping[str, Value]]:
        """The members of `path`, `terraform` and `kplan`."""
        ...

    def variable(self, name: str) -> Value:
        """Give the value of an input variable."""
        ...

    def local(self, name: str) -> Value:
        """Give the value of a local."""
        ...

    def call(self, name: str) -> Found:
        """Give the module that a block calls."""
        ...

    def resource(self, kind: str, name: str) -> Found:
        """Give the instances of a resource block."""
        ...

    def data_of(self, kind: str) -> Found:
        """Give the data sources of a sort."""
        ...


@dataclass(frozen=True, slots=True)
class ModuleNames:
    """Names inside a module, for one instance of something in it."""

    module: Module
    repetition: Repetition = NO_REPETITION

    def find(self, root: str, name: str, subject: Spot) -> Found:
        """Give what `root.name` stands for; what is not declared has been told by the checks."""
        match root:
            case "var":
                return self.module.variable(name)
            case "local":
                return self.module.local(name)
            case "each" | "count" | "self":
                return self._of_instance(root, name, subject)
            case "module":
                return self.module.call(name)
            case "data":
                return self.module.data_of(name)
            case "path" | "terraform" | "kplan":
                return self._constant(root, name, subject)
            case _:
                return self.module.resource(root, name)

    def _of_instance(self, root: str, name: str, subject: Spot) -> Value:
        match root:
            case "each":
                return self._each(name, subject)
            case "count":
                return self._count(name, subject)
            case _:
                return self._self(name, subject)

    def refusal(self, root: str, subject: Spot) -> Failure:
        """Stay silent: the checks have told what is wrong with it."""
        del root, subject
        return Failure()

    def _each(self, name: str, subject: Spot) -> Value:
        if self.repetition.each is None:
            told = '"each" stands for an element of for_each, and this block has none.'
            raise Failure([error("KP179", subject.range(), told)], is_final=True)
        return _member("each", self.repetition.each, name, subject)

    def _count(self, name: str, subject: Spot) -> Value:
        if self.repetition.count is None:
            told = '"count" stands for the place of an instance, and this block has no count.'
            raise Failure([error("KP179", subject.range(), told)], is_final=True)
        return _member("count", {"index": self.repetition.count}, name, subject)

    def _self(self, name: str, subject: Spot) -> Value:
        if self.repetition.own is None:
            told = '"self" is known only in a postcondition, where the resource has its values.'
            raise Failure([error("KP116", subject.range(), told)], is_final=True)
        return _member("self", self.repetition.own, name, subject)

    def _constant(self, root: str, name: str, subject: Spot) -> Value:
        return _member(root, self.module.constants[root], name, subject)


def _member(root: str, members: Mapping[str, Value], name: str, subject: Spot) -> Value:
    if name in members:
        return members[name]
    told = f'"{root}" has no attribute "{name}".'
    hint = meant(name, members) or f"There is {', '.join(f'{root}.{each}' for each in members)}."
    raise Failure([error("KP144", subject.range(), told, hint=hint)], is_final=True)
