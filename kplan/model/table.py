"""Values that only reports show: tables, the graph of a configuration, results of tests."""

from collections.abc import Iterable, Mapping
from dataclasses import field
from decimal import Decimal
from enum import StrEnum

from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic
from kplan.model.plan import Plan
from kplan.model.state import OwnedObject

Cell = str | int | float | bool | Decimal | tuple[int, ...] | None
"""A Decimal is an amount of money: programs get it as text, with all its digits."""

NO_OWNER = "(no owner)"
"""What owns an object that no state holds."""


@dataclass(frozen=True, slots=True)
class FigureTable:
    """Rows under named columns. `is_truncated` says that there are more than are shown.

    `query_plan` is how Spark would compute the rows; they are not computed then.
    """

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    is_truncated: bool = False
    query_plan: str = ""


@dataclass(frozen=True, slots=True)
class Figures:
    """What a job over many clusters came to.

    `lineage` names what every figure was made of: run, time of reading, version of the code.
    `notes` say what a reader must know beside the figures, such as clusters that could not be read.
    `remarks` are notes with which an answer is complete nonetheless.
    `findings` are the sorts of findings there are, also among rows that are not shown.
    """

    title: str
    tables: tuple[FigureTable, ...]
    lineage: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    findings: frozenset[str] = frozenset()
    remarks: tuple[str, ...] = ()

    @property
    def all_notes(self) -> tuple[str, ...]:
        """What every form of the answer tells its reader."""
        return (*self.notes, *self.remarks)


@dataclass(frozen=True, slots=True)
class TopicHealth:
    """How many partitions of a topic have no leader, and how many lack in-sync replicas.

    `offline` are brokers that hold replicas and are down. `name` tells the connection too, where
    there are several.
    """

    name: str
    partitions: int
    leaderless: int
    under_replicated: int
    offline: tuple[int, ...] = ()

    @property
    def is_healthy(self) -> bool:
        """Whether every partition has a leader and all its replicas in sync."""
        return not (self.leaderless or self.under_replicated)


class NodeType(StrEnum):
    """What a node of the graph means."""

    VARIABLE = "variable"
    LOCAL = "local"
    RESOURCE = "resource"
    OUTPUT = "output"
    CHECK = "check"
    MODULE = "module"
    PROVIDER = "provider"


@dataclass(frozen=True, slots=True)
class Node:
    """One block or local value, all its instances together.

    `module` holds the names of the module blocks it is under; `label` is its name in there.
    """

    module: tuple[str, ...]
    label: str
    type: NodeType

    @property
    def address(self) -> str:
        """The name from the root: `module.pay.kafka_topic.orders`."""
        return "".join(f"module.{step}." for step in self.module) + self.label

    @property
    def enclosing_module(self) -> tuple[str, ...]:
        """The module that contains it in the drawing: a module block is beside its module."""
        if self.type is NodeType.MODULE:
            return (*self.module, self.label.removeprefix("module."))
        return self.module


@dataclass(frozen=True, slots=True)
class Graph:
    """All nodes in order of module and name; edges point from a referrer to its target.

    `cycle_edges` are the edges by which nodes depend on themselves; a sound configuration has none.
    """

    nodes: tuple[Node, ...]
    edges: tuple[tuple[str, str], ...]
    cycle_edges: frozenset[tuple[str, str]] = frozenset()


class RunStatus(StrEnum):
    """FAIL: an assertion is false. ERROR: the run was aborted, so the rest is SKIPped."""

    PASS = "pass"  # noqa: S105 - no password
    FAIL = "fail"
    ERROR = "error"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class RunResult:
    """The outcome of one run. `path` is its file as shown; `reason` says why it was skipped.

    `plan` is what it planned, if it came so far, and `owned` what it owned after an apply.
    """

    path: str
    name: str
    status: RunStatus
    diagnostics: tuple[Diagnostic, ...] = ()
    elapsed_s: float = 0.0
    reason: str = ""
    plan: Plan | None = None
    owned: tuple[OwnedObject, ...] = ()
    is_apply: bool = False


def overall_status(results: Iterable[RunResult]) -> RunStatus:
    """Sum the runs up: an error counts more than a failure, and both more than a pass."""
    grades = {each.status for each in results}
    return next(
        (each for each in (RunStatus.ERROR, RunStatus.FAIL) if each in grades), RunStatus.PASS
    )
