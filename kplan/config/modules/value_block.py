"""Blocks that only hold values: `terraform_data`, `null_resource` and `terraform_remote_state`.

They create nothing outside the configuration, so their values are known without Terraform. A state
that is given with -foreign-values has more of them, and counts first.
"""

import posixpath
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from kplan.config.diagnostic import EvaluationError, error
from kplan.config.evaluation.evaluate import evaluate
from kplan.config.evaluation.scope import Deferred, ReferenceValue, Scope
from kplan.config.foreign_values import parse_state_outputs
from kplan.config.functions.file_access import FileRefused
from kplan.config.modules.condition import PRECONDITION, failed_conditions
from kplan.config.modules.data_source import DataNode, attribute_value
from kplan.config.modules.foreign import FOREIGN_HINT
from kplan.config.modules.instance import InstanceKey
from kplan.config.syntax.source import Spot
from kplan.config.values.value import Value, is_null

REMOTE_STATE: Final = "terraform_remote_state"
_ARGUMENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "terraform_data": ("input", "triggers_replace"),
    "null_resource": ("triggers",),
}
_DEFAULT_WORKSPACE: Final = "default"
_FOREIGN: Final = "KP509"


@contextmanager
def unknown_at(subject: Spot) -> Iterator[None]:
    """Say of a value that is not known where it is needed, not where it comes from."""
    try:
        yield
    except EvaluationError as failure:
        if not failure.is_unknown:
            raise
        items = [
            each if each.code != _FOREIGN else replace(each, subject=subject.range())
            for each in failure.diagnostics
        ]
        raise EvaluationError(items, is_final=True) from None


class ValueBlockNode(DataNode):
    """A block that holds values, as references see it."""

    __slots__ = ()

    @property
    def label(self) -> str:
        """What references name it by."""
        prefix = "data." if self.kind == REMOTE_STATE else ""
        return f"{prefix}{self.kind}.{self.name}"

    def _instance(self, key: InstanceKey) -> dict[str, Value]:
        scope = self._module.scope(self._found.origin, self.instances()[key])
        if self.kind == REMOTE_STATE:
            return self._remote_state(scope)
        self._check_preconditions(scope)
        found = {name: self._argument_value(name, scope) for name in _ARGUMENTS[self.kind]}
        return {**found, "output": found["input"]} if "input" in found else found

    def _check_preconditions(self, scope: Scope) -> None:
        """Refuse a block whose preconditions fail; one of unknown values is left to Terraform."""
        for block in self._found.block.blocks if not self._found.is_broken else ():
            found = failed_conditions(block, PRECONDITION, scope)
            if failed := [each for each in found if each.code == PRECONDITION.code]:
                raise EvaluationError(failed)

    def _argument_value(self, name: str, scope: Scope) -> Value:
        if name not in self._found.arguments:
            return None
        return evaluate(self._found.arguments[name].value, scope)

    def attribute(self, name: str, subject: Spot) -> ReferenceValue:
        """Return an attribute of the only instance."""
        if None in self.instances():
            self._check_attribute(name, subject)
        with unknown_at(subject):
            return super().attribute(name, subject)

    def index(self, key: Value, subject: Spot) -> ReferenceValue:
        """Return one instance by its key."""
        with unknown_at(subject):
            return _ValueInstance(self, super().index(key, subject))

    def value(self, subject: Spot) -> Value:
        """Return all instances: the one object, an object by key, or a tuple by place."""
        with unknown_at(subject):
            return super().value(subject)

    def _check_attribute(self, name: str, subject: Spot) -> None:
        if name == "id" and self.kind != REMOTE_STATE:
            detail = f"Terraform chooses the id of {self.label}, and kplan does not know it."
            raise EvaluationError([error("KP142", subject.range(), detail, hint=FOREIGN_HINT)])

    def instance_attribute(self, found: ReferenceValue, name: str, subject: Spot) -> Value:
        """Return an attribute of one instance."""
        self._check_attribute(name, subject)
        return attribute_value(found if isinstance(found, dict) else {}, name, self.kind, subject)

    # ---- terraform_remote_state

    def _remote_state(self, scope: Scope) -> dict[str, Value]:
        """Read the outputs of a state in a file, as the backend `local` keeps it."""
        backend = self._argument_value("backend", scope)
        if backend != "local":
            detail = (
                f'{self.label} is a state in the backend "{backend}". kplan reads only the backend '
                '"local", so it has no value.'
            )
            raise EvaluationError([error("KP509", self.declared_at, detail, hint=FOREIGN_HINT)])
        config = self._argument_value("config", scope)
        workspace = self._argument_value("workspace", scope)
        path = _state_path(config, workspace)
        defaults = self._argument_value("defaults", scope)
        known = dict(defaults) if isinstance(defaults, dict) else {}
        try:
            outputs = parse_state_outputs(scope.host.files.read(path))
        except FileNotFoundError:
            raise self._error("config", f"There is no state {path}.") from None
        except FileRefused as refusal:
            raise self._error("config", f"The state cannot be read: {refusal}.") from None
        except ValueError as fault:
            raise self._error("config", f"{path} cannot be used: {fault}.") from None
        return {
            "backend": backend,
            "config": config,
            "workspace": workspace,
            "defaults": defaults,
            "outputs": {**known, **outputs},
        }

    def _error(self, name: str, detail: str, hint: str = "") -> EvaluationError:
        has_it = name in self._found.arguments
        subject = self._found.value_range(name) if has_it else self._found.declared_at
        return EvaluationError([error("KP167", subject, detail, hint=hint)])


class _ValueInstance(Deferred):
    """One of several instances."""

    __slots__ = ("_found", "_node")

    def __init__(self, node: ValueBlockNode, found: ReferenceValue) -> None:
        self._node = node
        self._found = found

    def attribute(self, name: str, subject: Spot) -> ReferenceValue:
        return self._node.instance_attribute(self._found, name, subject)

    def index(self, key: Value, subject: Spot) -> ReferenceValue:
        return self.attribute(str(key), subject)

    def value(self, subject: Spot) -> Value:
        del subject
        return self._found if isinstance(self._found, dict) else None


def _state_path(config: Value, workspace: Value) -> str:
    """Return the path of a local state, in Terraform's places."""
    given = config if isinstance(config, dict) else {}
    name = _DEFAULT_WORKSPACE if is_null(workspace) else str(workspace)
    if name != _DEFAULT_WORKSPACE:
        parent = given.get("workspace_dir")
        folder = "terraform.tfstate.d" if parent is None or is_null(parent) else str(parent)
        return posixpath.join(folder, name, "terraform.tfstate")
    path = given.get("path")
    return "terraform.tfstate" if path is None or is_null(path) else str(path)
