"""The runs of one test file: planned and applied in memory, nothing is written anywhere."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime
from typing import cast

from kplan.apply.apply import apply_plan
from kplan.apply.limits import ApplyContext
from kplan.apply.progress import state_after
from kplan.cluster.memory.cluster import MemoryCluster
from kplan.config.diagnostic import error
from kplan.config.inputs import Inputs
from kplan.config.load import Configuration
from kplan.config.modules.root_module import RootModule
from kplan.config.testing.file import HclTestFile, RunBlock
from kplan.config.testing.reference import split_expected
from kplan.config.testing.run import (
    DEFAULT_BROKERS,
    OutputValues,
    RunResults,
    evaluate_cluster_block,
    prepare_run,
)
from kplan.config.values.value_text import Json
from kplan.kinds import KINDS
from kplan.kinds.base import ResourceKind
from kplan.kinds.schema import to_document
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, Severity, has_errors, sort_diagnostics
from kplan.model.errors import InProgress, KplanError
from kplan.model.outcome import Outcome, OutcomeStatus, Visibility
from kplan.model.plan import Action, Batch, Change, Plan
from kplan.model.resource import connection_name
from kplan.model.state import State
from kplan.model.table import RunResult, RunStatus
from kplan.report.documents.tally import change_counts
from kplan.state.file import new_state
from kplan.workflow.access import acl_order_diagnostics
from kplan.workflow.clusters import connect_clusters
from kplan.workflow.open_project import ClusterReader, OpenProject
from kplan.workflow.plan.plan import output_values, plan_open_project
from kplan.workflow.ports import PlanOptions, Ports

_LINEAGE = "kplan-test"
_FAILED_CHECK = "KP199"


class SilentWatcher:
    """No one watches: neither the progress of a plan nor that of an apply."""

    def stage(self, name: str, total: int | None = None) -> None:
        """Hear of a stage."""

    def advance(self, done: int = 1) -> None:
        """Hear of finished items."""

    def note(self, text: str) -> None:
        """Hear a line."""

    def on_send(self, batch: Batch, changes: Sequence[Change]) -> None:
        """Hear of a request."""

    def on_outcomes(self, outcomes: Sequence[Outcome]) -> None:
        """Hear of outcomes."""

    def on_visibility(self, visibility: Visibility) -> None:
        """Ignore changes that are not visible yet."""

    def on_verified(self, outcomes: Sequence[Outcome]) -> None:
        """Ignore visible changes."""

    def on_reassignment(self, progress: InProgress) -> None:
        """Ignore unfinished moves."""


@dataclass(slots=True)
class _MemoryClock:
    """Time that passes only by waiting, and then at once."""

    seconds: float = 0.0

    def now(self) -> float:
        """Return the time."""
        return self.seconds

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.seconds += seconds


def memory_ports(cluster: Callable[[str], MemoryCluster]) -> Ports:
    """Stand in for the outside world; `cluster` gives that behind the key of a connection."""
    return Ports(
        connect=lambda _, key: cluster(key),
        progress=SilentWatcher(),
        clock=_MemoryClock(),
        now=lambda: datetime.fromtimestamp(0, UTC),
        is_stopped=lambda: False,
    )


@dataclass(slots=True)
class TestFileRun:
    """A test file on its cluster. `timer` counts the seconds that runs take."""

    root: RootModule
    inputs: Inputs
    test_file: HclTestFile
    timer: Callable[[], float]
    clusters: dict[str, MemoryCluster] = field(default_factory=dict)
    state: State = field(default_factory=lambda: new_state(_LINEAGE))
    earlier_outputs: dict[str, OutputValues] = field(default_factory=dict)
    brokers: int = DEFAULT_BROKERS
    ports: Ports = field(init=False)

    def __post_init__(self) -> None:
        """Stand in for the outside world."""
        self.ports = memory_ports(self._memory_cluster)

    def run_all(self) -> Iterator[RunResult]:
        """Execute run after run; after an error the rest is skipped, as nothing is sure then."""
        broken = ""
        refused = self._seed_cluster()
        for run in self.test_file.runs:
            if broken:
                detail = f'Run "{broken}" came to no end.'
                yield RunResult(self.test_file.name, run.name, RunStatus.SKIP, reason=detail)
                continue
            found = self._run_result(run, refused)
            broken = run.name if found.status is RunStatus.ERROR else ""
            yield found

    def _seed_cluster(self) -> tuple[Diagnostic, ...]:
        """Create the objects of the `cluster` block, and report refusals."""
        found = evaluate_cluster_block(self.root, self.test_file.cluster)
        self.brokers = found.brokers
        if not found.resources:
            return ()
        configuration = Configuration(found.resources, (), (), {}, (), {}, "")
        with connect_clusters(configuration, new_state(_LINEAGE), self.ports) as (clusters, state):
            opened = OpenProject(configuration, state, clusters)
            made = plan_open_project(opened, PlanOptions(has_broker_check=False), self.ports)
        problems = [each for each in made.plan.diagnostics if each.is_error]
        return (*problems, *_refusal_diagnostics(self._apply(made.plan), "KP705"))

    def _memory_cluster(self, key: str) -> MemoryCluster:
        """Return the cluster behind a connection; each key has its own."""
        if key not in self.clusters:
            name = f"cluster of {connection_name(key)}"
            self.clusters[key] = MemoryCluster(self.brokers, cluster_id=name)
        return self.clusters[key]

    def _apply(self, plan: Plan) -> tuple[Outcome, ...]:
        return tuple(
            outcome
            for key, part in plan.split_by_provider()
            for outcome in apply_plan(
                part,
                ApplyContext(self._memory_cluster(key), KINDS, self.ports.clock, SilentWatcher()),
            )
        )

    def _run_result(self, run: RunBlock, problems: Sequence[Diagnostic]) -> RunResult:
        """Carry one run out; `problems` of its cluster forbid it."""
        started = self.timer()
        course = _RunProgress(list(problems))
        try:
            if not problems:
                self._execute_run(run, course)
        except KplanError as fault:
            course.diagnostics.extend(fault.diagnostics)
        diagnostics = course.final_diagnostics(run, self.root)
        return RunResult(
            self.test_file.name,
            run.name,
            _run_status(diagnostics),
            diagnostics,
            self.timer() - started,
            plan=course.plan,
            owned=tuple(self.state.owned.values()) if run.is_apply else (),
            is_apply=run.is_apply,
        )

    def _execute_run(self, run: RunBlock, course: "_RunProgress") -> None:
        """Load, plan, apply and check, up to the first error."""
        root = self.root.with_reader(ClusterReader(self._memory_cluster))
        subject = (root, self.inputs, KINDS)
        found = prepare_run(self.test_file, run, self.earlier_outputs, subject)
        configuration = found.configuration
        course.diagnostics += [*configuration.diagnostics, *acl_order_diagnostics(configuration)]
        if has_errors(course.diagnostics):
            return
        with connect_clusters(configuration, self.state, self.ports) as (clusters, state):
            opened = OpenProject(configuration, state, clusters)
            made = plan_open_project(opened, PlanOptions(targets=run.targets), self.ports)
        course.plan = made.plan
        course.diagnostics += made.plan.all_diagnostics
        if run.is_apply and not made.plan.has_errors:
            outcomes = self._apply(made.plan)
            self.state = state_after(made.state, made.plan, outcomes, output_values(configuration))
            course.diagnostics += _refusal_diagnostics(outcomes, "KP706")
        if has_errors(course.diagnostics):
            return
        self.earlier_outputs[run.name] = found.outputs()
        facts = RunResults(
            _plan_facts(made.plan), tuple(kind.name for kind in KINDS), self._live_objects
        )
        course.diagnostics += found.check_assertions(facts)

    def _live_objects(self, name: str) -> Json:
        """Return the live objects of a kind, by identity; `kafka.west/NAME` on other clusters."""
        for kind in KINDS:
            if kind.name == name:
                return {
                    f"{connection_name(key)}/{identity}" if key else identity: each
                    for key in sorted({"", *self.clusters})
                    for identity, each in _read_live_objects(
                        kind, self._memory_cluster(key)
                    ).items()
                }
        return None


def _read_live_objects(kind: ResourceKind, cluster: MemoryCluster) -> dict[str, Json]:
    known = kind.read(cluster, ()).objects
    live = kind.read(cluster, list(known)).objects
    return {key: cast("Json", to_document(live[key].value)) for key in sorted(live)}


@dataclass(slots=True)
class _RunProgress:
    """How a run went so far."""

    diagnostics: list[Diagnostic]
    plan: Plan | None = None

    def final_diagnostics(self, run: RunBlock, root: RootModule) -> tuple[Diagnostic, ...]:
        """Compare the problems with the expected ones."""
        rest, met = split_expected(
            sort_diagnostics(self.diagnostics), run.expected_failures, root.module.declarations
        )
        items = [
            replace(each, severity=Severity.ERROR) if each.code == _FAILED_CHECK else each
            for each in rest
        ]
        if not has_errors(items):
            items += [
                error("KP702", each.subject, f"{each.name} was expected to fail, and did not.")
                for each in run.expected_failures
                if each.name not in met
            ]
        return sort_diagnostics(items)


_EXPECTATION_CODES = frozenset({"KP701", "KP702"})
"""Problems that speak of the configuration alone: the run itself came to its end."""


def _run_status(diagnostics: Iterable[Diagnostic]) -> RunStatus:
    codes = {each.code for each in diagnostics if each.is_error}
    if not codes:
        return RunStatus.PASS
    return RunStatus.FAIL if codes <= _EXPECTATION_CODES else RunStatus.ERROR


def _refusal_diagnostics(outcomes: Iterable[Outcome], code: str) -> Iterator[Diagnostic]:
    for each in outcomes:
        if each.status is not OutcomeStatus.APPLIED:
            change = each.change
            detail = f"{change.address} ({change.action}): {each.refusal or each.status}"
            yield error(code, change.declared_at, detail, address=change.address)


def _plan_facts(plan: Plan) -> dict[str, Json]:
    """Describe the plan: the three counts of its summary, and every change by address."""
    counts = change_counts(plan.allowed_changes)
    return {
        "add": counts.create,
        "change": counts.update,
        "destroy": counts.delete,
        "changes": {
            str(each.address): {
                "action": each.action.value,
                "identity": each.identity,
                "kind": each.kind,
            }
            for each in plan.changes
            if each.action is not Action.NO_OP
        },
    }
