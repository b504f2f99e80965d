"""A sandbox, the file that records it between runs, and the progress of its start."""

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import field
from enum import StrEnum
from pathlib import Path
from typing import Any

from kplan.model.dataclass import dataclass
from kplan.model.errors import SandboxError
from kplan.sandbox.credential import User
from kplan.sandbox.layout import (
    Node,
    Role,
    SandboxSpec,
    Security,
    bootstrap_controllers,
    bootstrap_servers,
)
from kplan.sandbox.process import Process
from kplan.sandbox.runtime import write_private_file

SANDBOX_FILE = "sandbox.json"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Sandbox:
    """One sandbox. `processes` maps node id to process; empty when it was stopped.

    With `is_kept` the next start brings up the same cluster with its data. `java` says which Java
    it was started with. `versions` has the version of each node that runs another one than `spec`
    says, as in the middle of a rolling upgrade.
    """

    folder: Path
    spec: SandboxSpec
    cluster_id: str
    nodes: tuple[Node, ...]
    users: tuple[User, ...]
    processes: Mapping[int, Process] = field(default_factory=dict)
    is_kept: bool = False
    java: str = ""
    versions: Mapping[int, str] = field(default_factory=dict)

    @property
    def bootstrap_servers(self) -> str:
        """`host:port,...` of the brokers."""
        return bootstrap_servers(self.nodes)

    @property
    def bootstrap_controllers(self) -> str:
        """`host:port,...` of the controllers, for requests that go to them directly (KIP-919)."""
        return bootstrap_controllers(self.nodes)

    @property
    def properties(self) -> Mapping[str, str]:
        """Java client properties of the super user, with a throw-away secret."""
        return self.client_properties(self.users[0].name)

    def client_properties(self, user: str) -> Mapping[str, str]:
        """Return Java client properties of a user, `bootstrap.servers` among them."""
        return {"bootstrap.servers": self.bootstrap_servers, **self.user(user).client}

    def user(self, name: str) -> User:
        """Return a user by name. Raises SandboxError."""
        for user in self.users:
            if user.name == name:
                return user
        names = ", ".join(user.name for user in self.users)
        raise SandboxError(f"The sandbox has no user {name}.", hint=f"It has {names}.")

    def version(self, number: int) -> str:
        """Return the version of Kafka that a node runs."""
        return self.versions.get(number, self.spec.kafka_version)

    def node(self, number: int) -> Node:
        """Return a node by its id. Raises SandboxError."""
        for node in self.nodes:
            if node.id == number:
                return node
        numbers = ", ".join(str(node.id) for node in self.nodes)
        raise SandboxError(f"The sandbox has no node {number}.", hint=f"It has {numbers}.")


def properties_file(folder: Path, user: str) -> Path:
    """Return the file of a user's client properties: Java's names, with `bootstrap.servers`.

    Kafka's own tools take it as `--command-config`.
    """
    return folder / f"{user}.properties"


def write_sandbox(sandbox: Sandbox) -> None:
    """Store the record atomically: readers see the old or the new one."""
    document = {
        "format": FORMAT,
        "spec": _spec_to_json(sandbox.spec),
        "cluster_id": sandbox.cluster_id,
        "nodes": [_fields(node) for node in sandbox.nodes],
        "users": [_fields(user) for user in sandbox.users],
        "processes": {str(key): _fields(each) for key, each in sandbox.processes.items()},
        "is_kept": sandbox.is_kept,
        "java": sandbox.java,
        "versions": {str(key): each for key, each in sandbox.versions.items()},
    }
    fresh = sandbox.folder / f"{SANDBOX_FILE}.new"
    write_private_file(fresh, json.dumps(document, indent=2, default=str) + "\n")
    fresh.replace(sandbox.folder / SANDBOX_FILE)


def read_sandbox(folder: Path) -> Sandbox | None:
    """Return the sandbox of a folder; None when there was none. Raises SandboxError if damaged."""
    try:
        document = json.loads((folder / SANDBOX_FILE).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as failure:
        raise SandboxError(
            f"{folder / SANDBOX_FILE} cannot be read: {failure.strerror}."
        ) from failure
    except ValueError as failure:
        raise _damaged_error(folder) from failure
    try:
        return _from_json(folder, document)
    except (KeyError, TypeError, ValueError, AttributeError) as failure:
        raise _damaged_error(folder) from failure


def _damaged_error(folder: Path) -> SandboxError:
    return SandboxError(
        f"{folder / SANDBOX_FILE} is damaged or of another version of kplan.",
        hint=f"End Kafka processes that may be left (`pgrep -f {folder}`), then delete {folder}.",
    )


def _from_json(folder: Path, document: Mapping[str, Any]) -> Sandbox:
    if document["format"] != FORMAT:
        raise ValueError(document["format"])
    return Sandbox(
        folder=folder,
        spec=_spec_from_json(document["spec"]),
        cluster_id=document["cluster_id"],
        nodes=tuple(_node_from_json(each) for each in document["nodes"]),
        users=tuple(User(**each) for each in document["users"]),
        processes={int(key): Process(**each) for key, each in document["processes"].items()},
        is_kept=bool(document.get("is_kept", False)),
        java=document.get("java", ""),
        versions={int(key): str(each) for key, each in document.get("versions", {}).items()},
    )


def _node_from_json(values: Mapping[str, Any]) -> Node:
    return Node(**{**values, "roles": tuple(Role(role) for role in values["roles"])})


def _spec_to_json(spec: SandboxSpec) -> Mapping[str, Any]:
    return {**_fields(spec), "server_properties": dict(spec.server_properties)}


def _spec_from_json(values: Mapping[str, Any]) -> SandboxSpec:
    return SandboxSpec(
        **{
            **values,
            "security": Security(values["security"]),
            "class_path": tuple(Path(entry) for entry in values["class_path"]),
        }
    )


def _fields(value: Any) -> dict[str, Any]:  # noqa: ANN401 - any of the dataclasses above
    return {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}


class Stage(StrEnum):
    """The parts of a start, in their order; the first two happen once per Kafka version."""

    FETCH = "fetch"
    WARM = "warm"
    FORMAT = "format"
    START = "start"


@dataclass(frozen=True, slots=True)
class ProgressStep:
    """`done` of `total` pieces of a stage (jars, then nodes); a `total` of 0 is unknown."""

    stage: Stage
    detail: str
    done: int
    total: int


Progress = Callable[[ProgressStep], None]


def ignore_progress(_: ProgressStep) -> None:
    """Show nothing."""
