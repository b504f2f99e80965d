"""Resources and data sources of other providers that are left out (`-skip-foreign`)."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Protocol

from kplan.config.declarations.body_schema import VALUE_TYPES
from kplan.config.declarations.declaration import Declaration, ModuleDeclarations
from kplan.config.diagnostic import EvaluationError, error, warning
from kplan.config.evaluation.scope import Deferred, ReferenceValue
from kplan.config.foreign_values import ForeignKey
from kplan.config.syntax.source import Spot
from kplan.config.values.value import Value
from kplan.model.diagnostic import Diagnostic, SourceRange

FOREIGN_HINT = (
    "Give the values that Terraform knows: -foreign-values=terraform.tfstate, or the output of "
    "terraform show -json."
)
_EPHEMERAL_HINT = (
    "Use a variable with ephemeral = true, and give its value in the environment: KPLAN_VAR_NAME."
)
_Name = tuple[str, str]


class ForeignBlocks:
    """The blocks of one module that are left out, with the values that are known of them.

    Of a block without values nothing is known; using it is an error of the code KP509.
    """

    def __init__(
        self,
        declared: ModuleDeclarations,
        path: tuple[str, ...],
        values: Mapping[ForeignKey, Value],
    ) -> None:
        self._path = path
        self._values = values
        self._declared = declared

    def contains(self, kind: str, name: str) -> bool:
        """Whether the block is left out; `kind` is `data.TYPE` for a data source."""
        return (kind, name) in self._declared.skipped

    def is_computed(self, kind: str, name: str) -> bool:
        """Whether the block holds values that follow from its arguments."""
        return (
            self.contains(kind, name)
            and kind in VALUE_TYPES
            and (self._path, kind, name) not in self._values
        )

    def computed_names(self) -> Iterator[_Name]:
        """List the blocks whose values follow from their arguments."""
        return (each for each in sorted(self._declared.skipped) if self.is_computed(*each))

    def value(self, kind: str, name: str) -> ReferenceValue:
        """Return the known values of a foreign block; using an unknown one is an error."""
        key = (self._path, kind, name)
        if key in self._values:
            return self._values[key]
        return _UnknownBlock(f"{kind}.{name}", FOREIGN_HINT)

    def ephemeral_value(self, kind: str, name: str) -> ReferenceValue:
        """Return an ephemeral resource, no value of which is stored; raises `EvaluationError`."""
        if (kind, name) not in self._declared.ephemeral:
            raise EvaluationError
        return _UnknownBlock(f"ephemeral.{kind}.{name}", _EPHEMERAL_HINT)


def left_out_warning(names: Mapping[str, SourceRange]) -> Iterator[Diagnostic]:
    """Say once which locals and outputs are left out."""
    if names:
        verb = "comes" if len(names) == 1 else "come"
        detail = (
            f"Left out: {', '.join(names)}, which {verb} from resources of other providers whose "
            "values are not known."
        )
        yield warning("KP509", min(names.values()), detail, hint=FOREIGN_HINT)


def left_out_argument(declaration: Declaration, name: str, given: str) -> Diagnostic:
    """Say that an argument of a provider block is left out; the environment may set it.

    `given` says how the value may be given.
    """
    detail = f'"{name}" comes from a resource of another provider, so it is left out.'
    hint = f"Set it in the environment, or give its value. {given}"
    return warning("KP509", declaration.value_range(name), detail, hint=hint)


class _UnknownBlock(Deferred):
    """A block of which nothing is known: nothing that needs it is planned in silence."""

    __slots__ = ("_hint", "_label")

    def __init__(self, label: str, hint: str) -> None:
        self._label = label
        self._hint = hint

    def attribute(self, name: str, subject: Spot) -> ReferenceValue:
        del name
        return self.value(subject)

    def index(self, key: Value, subject: Spot) -> ReferenceValue:
        del key
        return self.value(subject)

    def value(self, subject: Spot) -> Value:
        detail = f"{self._label} belongs to another provider and was left out, so it has no value."
        diagnostic = error("KP509", subject.range(), detail, hint=self._hint)
        raise EvaluationError([diagnostic], is_final=True)


class _HasModules(Protocol):
    """A module with what its folder declares, and the modules that it calls."""

    def modules(self) -> Iterator["_Declares"]:
        """List it and the modules it calls."""
        ...


class _Declares(Protocol):
    @property
    def declarations(self) -> ModuleDeclarations:
        """What its folder declares."""
        ...


def is_foreign_target(declaration: Declaration, module: _HasModules) -> bool:
    """Whether an import block names a resource that is left out, whose object is Terraform's."""
    skipped = {each for one in module.modules() for each in one.declarations.skipped}
    references = declaration.arguments["to"].references if "to" in declaration.arguments else ()
    steps = [(each.root, *each.steps) for each in references[:1]]
    return any(pair in skipped for each in steps for pair in pairwise(each))
