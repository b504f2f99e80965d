"""`kplan.load`: a folder of configuration, checked, with what later calls need."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cache
from pathlib import Path
from types import MappingProxyType

from kplan.api.call import CallSource, ConnectionFactory
from kplan.config.inputs import Inputs, VariableConstant
from kplan.config.load import Configuration
from kplan.config.values.value_text import Json
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic
from kplan.model.errors import UsageError
from kplan.model.resource import Resource
from kplan.model.workspace import is_workspace_name, workspace_path
from kplan.state.store import StateStore
from kplan.workflow import ports
from kplan.workflow.connection import ConnectionSource, remote_state_store
from kplan.workflow.open_project import load_checked
from kplan.workflow.state.workspace import selected_workspace

__all__ = ["DEFAULT_STATE_PATH", "Project", "load"]

DEFAULT_STATE_PATH = "state/kplan.json"
"""Where a state is kept in the folder of a configuration that does not say otherwise."""


@dataclass(frozen=True, slots=True)
class Project:
    """A folder of configuration without errors, and how its clusters and its state are reached.

    Made by `kplan.load`. It holds no connection, no lock and no open file; it may be shared by
    threads, and used for any number of calls. The files are read again by every call: a plan is
    about the configuration at that time.

    Attributes:
        folder: The folder, absolute.
        resources: What the configuration declares, in order of address. Where it has data
            sources, resources that depend on them are left out until a plan reads them.
        variables: The values of the input variables as JSON data; None for sensitive ones.
        diagnostics: Warnings about the configuration.
        workspace: The workspace of the state, as in Terraform.

    """

    folder: Path
    resources: tuple[Resource, ...]
    variables: Mapping[str, object]
    diagnostics: tuple[Diagnostic, ...]
    workspace: str
    _source: ports.Project = field(repr=False)
    _calls: CallSource = field(repr=False)


def load(  # noqa: PLR0913 - keywords, each of them optional
    folder: str | os.PathLike[str] = ".",
    *,
    variables: Mapping[str, object] | None = None,
    variable_files: Sequence[str | os.PathLike[str]] = (),
    state: str | os.PathLike[str] | None = None,
    workspace: str | None = None,
    environment: Mapping[str, str] | None = None,
    connect: ConnectionFactory | None = None,
) -> Project:
    """Load and check the configuration in a folder. No cluster is contacted.

    Args:
        folder: The folder with `.tf` and `.hcl` files.
        variables: Values of input variables as JSON-able data (text, numbers, booleans, None,
            lists, dicts). They win over `variable_files`, which win over the files that Terraform
            reads by itself, and over the environment.
        variable_files: Further `.tfvars` or `.tfvars.json` files, the last one wins. Relative
            paths start in the current folder.
        state: The state file, in place of what the configuration says and of `state/kplan.json`;
            relative to `folder`.
        workspace: The workspace. None is the one selected in the folder, as by
            `kplan workspace select`.
        environment: Environment variables to read settings from: connections (`KPLAN_`,
            `KAFKA_`), variables (`KPLAN_VAR_`, `TF_VAR_`), `KPLAN_STATE`, the workspace, and
            what a CI job says of itself. None reads none; pass `os.environ` for what the command
            would do.
        connect: Opens the cluster behind a connection in place of the settings of its provider
            block; it is called with "" for the block without alias. With
            `kplan.testing.MemoryCluster` no broker is needed.

    Returns:
        The project, for `kplan.plan`, `kplan.drift` and `kplan.import_`.

    Raises:
        ConfigError: The configuration has errors; all of them are in its `diagnostics`.
        UsageError: The folder does not exist, or the name of the workspace is not valid.

    """
    place = Path(folder).absolute()
    if not place.is_dir():
        raise UsageError(f"{folder} is not a folder.")
    environ = MappingProxyType(dict(environment or {}))
    inputs = Inputs(
        (
            *(Path(each) for each in variable_files),
            *(
                VariableConstant(name, _json_value(name, value), f"variables[{name!r}]")
                for name, value in (variables or {}).items()
            ),
        ),
        environ=environ,
        workspace=_workspace(place, workspace, environ),
    )
    source = _source(place, state, inputs)
    configuration = load_checked(source)
    return Project(
        place,
        configuration.resources,
        _variable_values(configuration),
        configuration.diagnostics,
        inputs.workspace,
        source,
        CallSource(ConnectionSource(place, environ), connect),
    )


def _workspace(folder: Path, name: str | None, environ: Mapping[str, str]) -> str:
    if name is None:
        return selected_workspace(folder, environ)
    if not is_workspace_name(name):
        raise UsageError(f"{name!r} is not a name of a workspace.")
    return name


def _source(folder: Path, state: str | os.PathLike[str] | None, inputs: Inputs) -> ports.Project:
    """Say where the configuration and its state are, as the command does in that folder."""
    if state is not None:
        path = folder / state
    else:
        own = Path(inputs.environ.get("KPLAN_STATE") or DEFAULT_STATE_PATH)
        path = folder / workspace_path(own, inputs.workspace)
    return ports.Project(
        folder,
        path,
        inputs,
        None if state is not None else cache(lambda: _remote_store(folder, inputs)),
        is_state_named=state is not None or bool(inputs.environ.get("KPLAN_STATE")),
        is_state_exact=state is not None,
    )


def _remote_store(folder: Path, inputs: Inputs) -> StateStore | None:
    return remote_state_store(folder, inputs, inputs.environ)


def _variable_values(configuration: Configuration) -> Mapping[str, object]:
    return MappingProxyType({name: each.value for name, each in configuration.variables.items()})


def _json_value(name: str, value: object) -> Json:
    """Return data in the types of JSON. Raises UsageError for what has none."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): _json_value(name, each) for key, each in value.items()}
    if isinstance(value, Sequence | set | frozenset) and not isinstance(value, bytes):
        items = sorted(value) if isinstance(value, set | frozenset) else value
        return [_json_value(name, each) for each in items]
    raise UsageError(f"variables[{name!r}]: {type(value).__name__} is not JSON data.")
