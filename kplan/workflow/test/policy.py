"""Use case: test policies by tables of operations, without a cluster."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from datetime import date
from pathlib import Path

from kplan.apply.apply import apply_plan
from kplan.apply.limits import ApplyContext
from kplan.cluster.memory.cluster import MemoryCluster
from kplan.config.diagnostic import error
from kplan.config.load import Configuration
from kplan.config.modules.root_module import RootModule, open_folder
from kplan.config.testing.policy_case import (
    POLICY_TEST_SUFFIX,
    PolicyCase,
    PolicyTestFile,
    read_policy_test_file,
)
from kplan.config.testing.run import evaluate_cluster_block
from kplan.config.values.value_text import Json
from kplan.kinds import KINDS
from kplan.kinds.base import ResourceKind
from kplan.kinds.schema import from_document, to_document
from kplan.model.address import Address
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, has_errors, sort_diagnostics
from kplan.model.errors import ConfigError, KplanError, UsageError
from kplan.model.plan import Action, Change
from kplan.model.policy import Operation, Policy, RuleReference, Violation, ViolationStatus
from kplan.model.resource import Identity
from kplan.model.state import Snapshot
from kplan.model.table import RunResult, RunStatus
from kplan.policy.engine import (
    POLICY_LABEL,
    EvaluationOptions,
    QuestionContext,
    evaluate_question,
    questions,
    records_question,
    sort_policies,
)
from kplan.policy.facts import ClusterFacts
from kplan.state.file import new_state
from kplan.workflow.clusters import single_cluster
from kplan.workflow.open_project import OpenProject, load_checked
from kplan.workflow.plan.plan import plan_open_project
from kplan.workflow.policy.policy import open_policies
from kplan.workflow.ports import PlanOptions, PolicyOptions, Project
from kplan.workflow.snapshot import read_snapshot
from kplan.workflow.test.run import SilentWatcher, memory_ports

TEST_FOLDER = "tests"
_ADDRESS = "tested"
_ASSIGNMENT_ATTRIBUTE = "replica_assignment"
_ACTIONS = {
    Operation.CREATE: Action.CREATE,
    Operation.ALTER: Action.UPDATE,
    Operation.DELETE: Action.DELETE,
}


@dataclass(frozen=True, slots=True)
class PolicySuite:
    """The test files of a folder with the policies that they are about.

    `fired` are the rules that fired in cases, as far as they have run.
    """

    root: RootModule
    policies: tuple[Policy, ...]
    test_files: tuple[PolicyTestFile, ...]
    diagnostics: tuple[Diagnostic, ...]
    sources: Mapping[str, str]
    fired: set[RuleReference] = field(default_factory=set)

    @property
    def unfired_rules(self) -> tuple[RuleReference, ...]:
        """The rules that have fired in no case so far."""
        return tuple(each for each in self.rules if each not in self.fired)

    @property
    def rules(self) -> tuple[RuleReference, ...]:
        """All rules of all policies."""
        return tuple(rule for each in self.policies for rule in each.list_rules())

    @property
    def names(self) -> Mapping[str, tuple[str, ...]]:
        """Names of the cases of each file."""
        return {each.name: tuple(case.name for case in each.cases) for each in self.test_files}

    def run_file(self, script: PolicyTestFile, timer: Callable[[], float]) -> Iterator[RunResult]:
        """Ask about every case of a file; the cluster stays as it is."""
        snapshot = _read_memory_snapshot(self.root, script)
        for case in script.cases:
            started = timer()
            found = tuple(self._check_case(case, snapshot))
            grade = RunStatus.FAIL if found else RunStatus.PASS
            yield RunResult(script.name, case.name, grade, found, timer() - started)

    def _check_case(self, case: PolicyCase, snapshot: Snapshot) -> Iterator[Diagnostic]:
        try:
            said = _evaluate_case(case, self.policies, snapshot)
        except (KeyError, TypeError, ValueError) as fault:
            yield error("KP137", case.place, f"The object cannot be made: {fault}.")
            return
        self.fired.update(_fired_rules(self.rules, said))
        yield from _compare_case(case, self.policies, said)


def _fired_rules(
    rules: Sequence[RuleReference], said: Sequence[Violation]
) -> Iterator[RuleReference]:
    """Find the rules that matched: by the place of the condition, or the operation of a method."""
    for each in said:
        found = each.diagnostic
        places = {place for label, place in found.related if label == POLICY_LABEL}
        places |= {found.subject} if found.subject else set()
        for rule in rules:
            if rule.policy == each.policy and (
                rule.place in places
                if rule.decision is None
                else rule.decision == (each.operation, each.kind)
            ):
                yield rule


@contextmanager
def open_policy_suite(
    project: Project,
    options: PolicyOptions,
    filters: Sequence[str] = (),
    paths: Sequence[Path] = (),
) -> Iterator[PolicySuite]:
    """Read the policies and the test files of a folder, and close the policies in the end.

    `paths` are files and folders with tests, in place of those of the folder.

    Raises:
        ConfigError: policies or files have mistakes.
        UsageError: a filter fits nothing, or there is no such path.

    """
    configuration = load_checked(project)
    root = open_folder(project.folder, project.inputs, KINDS)
    files = [
        read_policy_test_file(path, name, root.module)
        for name, path in (
            [found for each in paths for found in _find_tests_at(each)]
            if paths
            else _find_test_files(project.folder)
        )
        if not filters or any(each in name for each in filters)
    ]
    if filters and not files:
        raise UsageError(f"-filter={filters[0]} fits no file of policy tests.")
    sources = {**configuration.sources, **{each.name: each.text for each in files}}
    with open_policies(configuration, options) as found:
        sources |= found.sources
        problems = [*found.diagnostics]
        for each in files:
            problems += [*each.diagnostics, *evaluate_cluster_block(root, each.cluster).diagnostics]
        if has_errors(problems):
            raise ConfigError(sort_diagnostics(problems), sources)
        policies = tuple(sort_policies(found.policies))
        yield PolicySuite(root, policies, tuple(files), sort_diagnostics(problems), sources)


def _find_tests_at(path: Path) -> Iterator[tuple[str, Path]]:
    if path.is_file():
        yield str(path), path
        return
    if not path.is_dir():
        raise UsageError(f"There is no file or folder {path}.")
    for name, file in _find_test_files(path):
        yield str(path / name), file


def _find_test_files(folder: Path) -> Iterator[tuple[str, Path]]:
    for prefix in ("", f"{TEST_FOLDER}/"):
        place = folder / prefix
        if place.is_dir():
            for path in sorted(place.iterdir()):
                if path.name.endswith(POLICY_TEST_SUFFIX) and path.is_file():
                    yield f"{prefix}{path.name}", path


def _read_memory_snapshot(root: RootModule, script: PolicyTestFile) -> Snapshot:
    """Make the cluster of a file in memory, and read it as a real one is read."""
    found = evaluate_cluster_block(root, script.cluster)
    cluster = MemoryCluster(found.brokers)
    resources = tuple(replace(each, provider="") for each in found.resources)
    configuration = Configuration(resources, (), (), {}, (), {}, "")
    ports = memory_ports(lambda _: cluster)
    opened = OpenProject(configuration, new_state("kplan-test"), single_cluster(cluster))
    made = plan_open_project(opened, PlanOptions(has_broker_check=False), ports)
    context = ApplyContext(cluster, KINDS, ports.clock, SilentWatcher())
    refused = [each for each in apply_plan(made.plan, context) if each.refusal is not None]
    if refused:
        raise KplanError(f"{script.name}: {refused[0].change.identity}: {refused[0].refusal}")
    wanted = {
        kind.name: [each.identity for each in found.resources if each.address.kind == kind.name]
        for kind in KINDS
    }
    described = replace(cluster.describe(), platform=found.platform)
    return read_snapshot(cluster, described, KINDS, wanted)


def _compare_case(
    case: PolicyCase, policies: Sequence[Policy], said: Sequence[Violation]
) -> Iterator[Diagnostic]:
    if case.policy and case.policy not in {each.header.name for each in policies}:
        yield error("KP137", case.place, f'There is no policy "{case.policy}".')
        return
    words = sorted({_answer_word(each) for each in said})
    fits = not words if case.expect == "pass" else case.expect in words
    if fits and (not case.message or any(case.message in each.message for each in said)):
        return
    heard = "\n".join(f"{each.policy} {_answer_word(each)}: {each.message}" for each in said)
    wanted = f'"{case.expect}"' + (f' with "{case.message}"' if case.message else "")
    yield error("KP701", case.place, f"Expected {wanted}, got {heard or 'no finding'}.")


def _answer_word(each: Violation) -> str:
    if each.standing is ViolationStatus.WAIVED:
        return "waived"
    if each.standing is ViolationStatus.REPORTED and each.effect == "deny":
        return "advisory"
    return each.effect.value


def _evaluate_case(
    case: PolicyCase, policies: Sequence[Policy], snapshot: Snapshot
) -> list[Violation]:
    known = tuple(kind.name for kind in KINDS)
    if case.kind not in known:
        raise ValueError(f"there is no kind {case.kind} among {', '.join(known)}")
    cluster = ClusterFacts(snapshot, known)
    setting = QuestionContext(snapshot, KINDS, cluster, case.principal, case.ci)
    terms = EvaluationOptions(case.today or _DEFAULT_DATE)
    asked = [each for each in policies if case.policy in {"", each.header.name}]
    if case.operation is Operation.DELETE_RECORDS:
        question = records_question(Identity(case.topic), case.offsets, setting)
        return list(evaluate_question(question, asked, terms))
    change = _case_change(case, setting)
    cluster.so_far = cluster.planned = cluster.totals.add_change(
        case.kind, change.before, change.after
    )
    return [
        each
        for question in questions(change, setting)
        for each in evaluate_question(question, asked, terms)
    ]


_DEFAULT_DATE = date(1970, 1, 1)
"""The day of a case that names none: every waiver is in force."""


def _case_change(case: PolicyCase, context: QuestionContext) -> Change:
    """Make the change of a case; attributes that an alteration leaves out are unchanged."""
    kind = context.kind(case.kind)
    requested, current = case.requested, case.current
    if current is None and case.operation is not Operation.CREATE:
        named = {} if requested is None else dict(requested)
        identity = Identity(case.topic or str(named.get("name", "")))
        live = context.live(case.kind, identity)
        if live is None:
            raise ValueError(
                f"{identity or case.kind} is not on the cluster, and current is not set"
            )
        current = to_document(live.value)  # type: ignore[assignment] # plain data
    if case.operation is Operation.ALTER:
        # Where replicas lie follows from the counts, unless it is what is asked for.
        kept = {
            name: each for name, each in (current or {}).items() if name != _ASSIGNMENT_ATTRIBUTE
        }
        requested = {**kept, **(requested or {})}
    before = None if case.operation is Operation.CREATE else _build_value(kind, current)
    after = None if case.operation is Operation.DELETE else _build_value(kind, requested)
    subject = after if after is not None else before
    return Change(
        Address(case.kind, _ADDRESS),
        case.kind,
        kind.identify(subject),
        _ACTIONS[case.operation],
        before,
        after,
        declared_at=case.place,
    )


def _build_value(kind: ResourceKind, attributes: Mapping[str, Json] | None) -> object:
    found: object = kind.normalize(from_document(kind.schema, attributes or {}))
    return found
