"""The location of a configuration, and the inputs of a use case."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from datetime import datetime
from pathlib import Path
from typing import Protocol

from kplan.apply.limits import Clock, Limits
from kplan.cluster.port import Cluster
from kplan.config.inputs import Inputs
from kplan.config.load import Configuration
from kplan.kinds.reassignment import ReassignmentLimits
from kplan.model.dataclass import dataclass
from kplan.model.errors import StateError
from kplan.model.place import link_target_outside
from kplan.model.plan import Change, ObjectKey, Plan
from kplan.state.file_store import FileStore
from kplan.state.lock_holder import LockHolder
from kplan.state.store import StateStore


@dataclass(frozen=True, slots=True)
class Project:
    """A folder of configuration with the state that belongs to it.

    `remote_store` gives the place of a state that is not kept in the file, as the state block says;
    it is called when the state is first needed, and gives the same place every time.
    `is_state_named` says that the user named the file, `is_state_exact` that it is the same for
    every workspace.
    """

    folder: Path
    state_path: Path
    inputs: Inputs
    remote_store: Callable[[], StateStore | None] | None = None
    is_state_named: bool = False
    is_state_exact: bool = False

    @property
    def file_store(self) -> FileStore:
        """The file for the state, whether it is kept there or not.

        Raises:
            StateError: a link in the repository leads to a file outside of it.

        """
        if not self.is_state_named and (outside := link_target_outside(self.state_path)):
            raise StateError(
                f"{self.state_path} is a link out of the repository, to {outside}.",
                f"If that is meant, name the file: -state={outside} or KPLAN_STATE.",
            )
        return FileStore(self.state_path)

    @property
    def store(self) -> StateStore:
        """Where the state is kept.

        Raises:
            ConfigError: what the configuration says about it is wrong.

        """
        found = None if self.remote_store is None else self.remote_store()
        return self.file_store if found is None else found


class Progress(Protocol):
    """Where long work shows how far it is; on a terminal a bar, elsewhere plain lines."""

    def stage(self, name: str, total: int | None = None) -> None:
        """Begin a stage, of `total` items where their number is known."""
        ...

    def advance(self, done: int = 1) -> None:
        """Count finished items of the stage."""
        ...

    def note(self, text: str) -> None:
        """Say one line."""
        ...


ClusterConnector = Callable[[Configuration, str], Cluster]
"""Opens the cluster that the connection with a key leads to.

Raises ConfigError, AuthError, UnreachableError.
"""


@dataclass(frozen=True, slots=True)
class PolicyOptions:
    """Which policies are asked beside those of the configuration, and on which terms.

    `paths` are files, folders and names of installed policies; those that the configuration names
    start at its `folder`. `mode` is "item", "all", or "" for what the configuration says.
    `overrides` are reasons by names of policies. `principal` stands in for the one that asks.
    `recorded_paths` are those of a saved plan. Python runs from `paths` and installed packages, and
    with `allows_python` from what the configuration and a saved plan name.
    """

    folder: Path = Path()
    paths: tuple[str, ...] = ()
    mode: str = ""
    overrides: Mapping[str, str] = field(default_factory=dict)
    principal: str = ""
    recorded_paths: tuple[str, ...] = ()
    allows_python: bool = False


@dataclass(frozen=True, slots=True)
class ReplayBasis:
    """The live ACLs of a cluster, for a replay; rules of its brokers are None where not known."""

    cluster_id: str
    acls: tuple[object, ...]
    super_users: frozenset[str] | None = None
    allow_everyone: bool | None = None


PlanReplay = Callable[[Plan, Mapping[str, ReplayBasis]], Plan]
"""Adds to a plan what logged requests would meet; in: the clusters by key. Raises FleetError."""


@dataclass(frozen=True, slots=True)
class Ports:
    """The outside world of a use case, built by the command line or by a test.

    `holder` describes who takes the lock; None works without a lock (`-lock=false`). `ci` is what
    is known of the CI job, {} outside of one. `cluster_name` is what the environment calls the
    cluster of the connection without alias. `replay` compares plans with logged requests.
    """

    connect: ClusterConnector
    progress: Progress
    clock: Clock
    now: Callable[[], datetime]
    is_stopped: Callable[[], bool]
    holder: LockHolder | None = None
    lock_timeout_s: float = 0.0
    ci: Mapping[str, str] = field(default_factory=dict)
    cluster_name: str = ""
    replay: PlanReplay | None = None


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """What narrows or bends a plan. `only` narrows it to objects by their keys.

    A plan with more than `max_deletes` deletes is refused; None is no limit. So is one with more
    than `max_dangerous` dangerous changes, or that touches more than `max_change_pct` percent of
    what is owned. `accepted_guards` are codes of guards that are to let the plan through.
    `replacements` and `acknowledged` are those of the planner's request. A plan that `is_for_apply`
    is prepared for it.
    """

    targets: tuple[str, ...] = ()
    only: frozenset[ObjectKey] | None = None
    is_destroy: bool = False
    has_broker_check: bool = True
    max_deletes: int | None = None
    accepted_guards: frozenset[str] = frozenset()
    max_dangerous: int | None = None
    max_change_pct: int | None = None
    replacements: Mapping[str, str] = field(default_factory=dict)
    acknowledged: frozenset[str] = frozenset()
    is_for_apply: bool = False
    policies: PolicyOptions = field(default_factory=PolicyOptions)
    limits: Limits = field(default_factory=Limits)
    reassignment_limits: ReassignmentLimits = field(default_factory=ReassignmentLimits)


def keep_replacements(options: PlanOptions, approved: Iterable[Change]) -> PlanOptions:
    """Plan approved replacements again, unless another object has the place by now."""
    replaced = {str(each.address): each.uid for each in approved if each.is_recreated}
    return replace(options, replacements=replaced, acknowledged=frozenset(replaced))
