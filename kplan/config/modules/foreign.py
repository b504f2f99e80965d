"""Resources and data sources of other providers that are left out (`-skip-foreign`)."""

from collections.abc import Iterable, Iterator, Mapping

from kplan.config.declarations.declaration import Declaration, ModuleDeclarations
from kplan.config.diagnostic import EvaluationError, error, warning
from kplan.config.evaluation.scope import Deferred, ReferenceValue
from kplan.config.foreign_values import ForeignKey
from kplan.config.syntax import tree as ast
from kplan.config.syntax.source import Spot
from kplan.config.values.value import Value
from kplan.model.diagnostic import Diagnostic, SourceRange

FOREIGN_HINT = (
    "Give the values that Terraform knows: -foreign-values=terraform.tfstate, or the output of "
    "terraform show -json."
)
_Name = tuple[str, str]


class ForeignBlocks:
    """The blocks of one module that are left out, with the values that are known of them.

    `lost` names the locals and outputs that have no value because a block has none.
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
        missing = {each for each in declared.skipped if (path, *each) not in values}
        self.lost = _lost_names(declared, missing) if missing else frozenset()

    def contains(self, kind: str, name: str) -> bool:
        """Whether the block is left out; `kind` is `data.TYPE` for a data source."""
        return (kind, name) in self._declared.skipped

    def value(self, kind: str, name: str) -> ReferenceValue:
        """Return the known values of a foreign block; using an unknown one is an error."""
        key = (self._path, kind, name)
        return self._values[key] if key in self._values else _UnknownBlock(f"{kind}.{name}")

    def known_names(self, root: str, names: Iterable[str]) -> Iterator[str]:
        """Return those of locals or outputs that have a value."""
        return (name for name in names if (root, name) not in self.lost)

    def is_lost(self, attribute: ast.Attribute) -> bool:
        """Whether an argument has no value because of a block that is left out."""
        return bool(self.lost) and any(_names(each) in self.lost for each in attribute.references)

    def problems(self) -> Iterator[Diagnostic]:
        """Say once which locals and outputs are left out."""
        outputs = self._declared.outputs
        found: dict[str, SourceRange] = {
            f"local.{name}": local.declared_at
            for name, local in self._declared.locals.items()
            if ("local", name) in self.lost
        }
        found |= {
            f"output.{name}": outputs[name].declared_at
            for name in outputs
            if ("output", name) in self.lost
        }
        if found:
            names = ", ".join(found)
            detail = (
                f"{names} come from resources of other providers, so they have no value and are "
                "left out."
            )
            yield warning("KP126", min(found.values()), detail, hint=FOREIGN_HINT)


def left_out_argument(declaration: Declaration, name: str) -> Diagnostic:
    """Say that an argument of a provider block is left out; the environment may set it."""
    detail = f'"{name}" comes from a resource of another provider, so it is left out.'
    hint = f"Set it in the environment, or give its value. {FOREIGN_HINT}"
    return warning("KP126", declaration.value_range(name), detail, hint=hint)


class _UnknownBlock(Deferred):
    """A block of which nothing is known: nothing that needs it is planned in silence."""

    __slots__ = ("_label",)

    def __init__(self, label: str) -> None:
        self._label = label

    def attribute(self, name: str, subject: Spot) -> ReferenceValue:
        del name
        return self.value(subject)

    def index(self, key: Value, subject: Spot) -> ReferenceValue:
        del key
        return self.value(subject)

    def value(self, subject: Spot) -> Value:
        code = "KP146" if self._label.startswith("data.") else "KP142"
        detail = f"{self._label} belongs to another provider and was left out, so it has no value."
        told = error(code, subject.range(), detail, hint=FOREIGN_HINT)
        raise EvaluationError([told], is_final=True)


def _lost_names(declared: ModuleDeclarations, missing: set[_Name]) -> frozenset[_Name]:
    """Follow references from blocks without a value to locals and outputs, and on from those."""
    lost = set(missing)
    uses = {("local", name): each.attribute for name, each in declared.locals.items()}
    uses |= {
        ("output", name): each.arguments["value"]
        for name, each in declared.outputs.items()
        if "value" in each.arguments
    }
    while True:
        more = {
            name
            for name, attribute in uses.items()
            if name not in lost and any(_names(each) in lost for each in attribute.references)
        }
        if not more:
            return frozenset(lost)
        lost |= more


def _names(reference: ast.Reference) -> _Name:
    steps = (*reference.steps, "", "")
    if reference.root == "data":
        return f"data.{steps[0]}", steps[1]
    return reference.root, steps[0]
