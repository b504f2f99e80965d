"""Evaluate policies on a plan, and list them."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, field, replace
from pathlib import Path

from kplan.apply.limits import Watcher
from kplan.cluster.errors import ERRORS
from kplan.cluster.port import Cluster
from kplan.config.declarations.file import configuration_files
from kplan.config.load import Configuration
from kplan.config.policies.block import load_policy_folder
from kplan.kinds import KINDS
from kplan.kinds.topic_reader import read_missing_configs
from kplan.model.codes import SUMMARIES
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, Severity, has_errors, sort_diagnostics
from kplan.model.errors import ConfigError, Refusal, RefusalOrigin, UsageError
from kplan.model.outcome import Outcome, OutcomeStatus
from kplan.model.plan import Change, ObjectKey, Plan, PolicySource
from kplan.model.policy import Policy, RuleEffect, Violation, ViolationStatus
from kplan.model.state import Snapshot
from kplan.plan.digest import with_checksum
from kplan.policy.engine import (
    EvaluationOptions,
    QuestionContext,
    evaluate_changes,
    expired_waivers,
    order_conflicts,
    unused_overrides,
)
from kplan.policy.facts import ClusterFacts
from kplan.workflow.open_project import load_checked
from kplan.workflow.ports import PolicyOptions, Ports, Project

_TOPIC = "kafka_topic"
MODE_ALL = "all"
"""The mode in which one refusal stops the whole plan."""


@dataclass(frozen=True, slots=True)
class PolicySet:
    """The policies of a run, ready to be called, and their diagnostics.

    `sources` maps the files they are written in to their text.
    """

    policies: tuple[Policy, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict, repr=False)


@contextmanager
def open_policies(configuration: Configuration, options: PolicyOptions) -> Iterator[PolicySet]:
    """Gather the policies: those of the configuration, then those of every path, as given.

    They are closed at the end, whatever happens.
    """
    settings = configuration.policy_settings
    found = list(configuration.policies)
    problems: list[Diagnostic] = []
    sources: dict[str, str] = {}
    with ExitStack() as stack:
        for path in _policy_paths(configuration, options):
            place = Path(path)
            if place.is_dir() and configuration_files(place):
                folder = load_policy_folder(place, KINDS, path)
                found += folder.policies
                problems += folder.diagnostics
                sources |= folder.sources
            if problem := _python_problem(place, path, configuration, options):
                problems.append(problem)
                continue
            from kplan.policy.python import load_python_policies  # noqa: PLC0415 - few plans need it

            made = load_python_policies(path, settings.settings)
            stack.callback(_close_policies, made.policies)
            found += made.policies
            problems += made.diagnostics
        problems += order_conflicts(found)
        yield PolicySet(tuple(found), tuple(problems), sources)


def _policy_paths(configuration: Configuration, options: PolicyOptions) -> tuple[str, ...]:
    """List the places of policies: of the configuration, of a saved plan, then of the options."""
    settings = configuration.policy_settings
    declared = (str(options.folder / each) for each in settings.paths)
    paths = (*declared, *settings.trusted_paths, *options.recorded_paths, *options.paths)
    return tuple(dict.fromkeys(paths))


def _python_problem(
    place: Path, path: str, configuration: Configuration, options: PolicyOptions
) -> Diagnostic | None:
    """Refuse to run a file that only a configuration or a saved plan names.

    It would run with what the job has: credentials, tokens, the trusted policies beside it.
    """
    named = (*options.paths, *configuration.policy_settings.trusted_paths)
    trusted = {Path(each).resolve() for each in named}
    is_python = place.suffix == ".py" or (place.is_dir() and any(place.glob("*.py")))
    if options.allows_python or not is_python or place.resolve() in trusted:
        return None
    return Diagnostic(
        "KP313",
        Severity.ERROR,
        SUMMARIES["KP313"],
        f"{path} is Python, and only the configuration or a saved plan names it.",
        f"If its author is trusted with this job: -allow-python, or -policy={path}.",
    )


def policy_sources(
    configuration: Configuration, options: PolicyOptions
) -> tuple[PolicySource, ...]:
    """Return the places of policies with a digest of their files."""
    paths = _policy_paths(configuration, options)
    return tuple(PolicySource(path, _policy_digest(Path(path))) for path in paths)


def _policy_digest(place: Path) -> str:
    """Digest a file, or the names and contents of all files of a folder; "" if neither exists."""
    files = sorted(place.rglob("*")) if place.is_dir() else [place]
    files = [each for each in files if each.is_file() and "__pycache__" not in each.parts]
    digest = hashlib.sha256()
    for each in files:
        content = hashlib.sha256(each.read_bytes()).hexdigest()
        digest.update(f"{each.relative_to(place.parent).as_posix()} {content}\n".encode())
    return digest.hexdigest() if files else ""


def check_policy_principal(configuration: Configuration, options: PolicyOptions) -> None:
    """Check that an apply may evaluate policies for another principal than the one connected.

    Raises:
        UsageError: the `policies` block does not allow it.

    """
    if options.principal and not configuration.policy_settings.allow_as:
        raise UsageError(
            f"An apply cannot evaluate policies for {options.principal} (-as): "
            "the changes are made by the principal of the connection.",
            hint="Set allow_as = true in the policies block, or apply without -as.",
        )


def _close_policies(policies: Sequence[Policy]) -> None:
    for each in policies:
        each.close()


@dataclass(frozen=True, slots=True)
class PolicyInput:
    """What policies judge a plan by: the configuration, and each cluster with its snapshot."""

    configuration: Configuration
    snapshots: Mapping[str, Snapshot]
    clusters: Mapping[str, Cluster] = field(default_factory=dict)

    def facts(self, provider: str) -> ClusterFacts:
        """Return the facts about one cluster."""
        return cluster_facts(self.snapshots[provider], self.clusters.get(provider))


def cluster_facts(snapshot: Snapshot, cluster: Cluster | None) -> ClusterFacts:
    """Return the facts of a snapshot; configs that are not in it are read from the cluster."""
    names = tuple(kind.name for kind in KINDS)
    if cluster is None:
        return ClusterFacts(snapshot, names)
    return ClusterFacts(
        snapshot, names, lambda: read_missing_configs(cluster, snapshot.readings[_TOPIC])
    )


def apply_policies(
    plan: Plan, policy_input: PolicyInput, options: PolicyOptions, ports: Ports
) -> tuple[Plan, Configuration]:
    """Call every policy with every change; the configuration is returned with their sources.

    What a policy refuses stays among the changes, and is taken out of the batches. With the mode
    "all" one refusal stops the whole plan.
    """
    configuration = policy_input.configuration
    terms = EvaluationOptions(ports.now().date(), options.overrides)
    with open_policies(configuration, options) as found:
        items = [*found.diagnostics, *unused_overrides(found.policies, terms)]
        items += expired_waivers(found.policies, terms.today)
        violations: tuple[Violation, ...] = ()
        if found.policies and not has_errors(found.diagnostics):
            violations = tuple(
                replace(each, provider=provider)
                for provider, part in plan.split_by_provider()
                for setting in (_question_context(part, policy_input, provider, (options, ports)),)
                for each in evaluate_changes(_ordered_changes(part), found.policies, setting, terms)
            )
    plan = replace(
        plan,
        policy_sources=policy_sources(configuration, options),
        policy_principal=options.principal,
    )
    configuration = replace(configuration, sources={**configuration.sources, **found.sources})
    plan = replace(plan, diagnostics=sort_diagnostics([*plan.diagnostics, *items]))
    plan = _add_violations(replace(plan, violations=(*plan.violations, *violations)))
    mode = options.mode or configuration.policy_settings.mode
    if mode == MODE_ALL and plan.refused_keys:
        plan = replace(
            plan, diagnostics=sort_diagnostics([*plan.diagnostics, _stopped_diagnostic(plan)])
        )
    return plan, configuration


def _question_context(
    plan: Plan, policy_input: PolicyInput, provider: str, run: tuple[PolicyOptions, Ports]
) -> QuestionContext:
    options, ports = run
    snapshot, cluster = policy_input.snapshots[provider], policy_input.facts(provider)
    for change in _ordered_changes(plan):
        cluster.planned = cluster.planned.add_change(change.kind, change.before, change.after)
    principal = options.principal or snapshot.principal or plan.cluster.get("principal", "")
    replay = None if plan.replay is None else asdict(plan.replay)
    found = None if replay is None else {**replay, "principals": dict(replay["principals"])}
    return QuestionContext(snapshot, KINDS, cluster, principal, ports.ci, found)


def _ordered_changes(plan: Plan) -> list[Change]:
    """List the changes to send, in order."""
    changes = (change for batch in plan.batches for change in batch.changes)
    return list({each.key: each for each in changes}.values())


def _add_violations(plan: Plan) -> Plan:
    """Add violations to the changes, and remove the refused ones from the batches."""
    if not plan.violations:
        return plan
    refused = plan.refused_keys
    notes: dict[ObjectKey, dict[str, None]] = {}
    for each in plan.violations:
        notes.setdefault(each.key, {})[_violation_note(each)] = None

    def add_note(change: Change) -> Change:
        more = notes.get(change.key, {})
        return replace(change, notes=tuple(dict.fromkeys((*change.notes, *more))))

    batches = (
        replace(
            batch,
            changes=tuple(add_note(each) for each in batch.changes if each.key not in refused),
        )
        for batch in plan.batches
    )
    plan = replace(
        plan,
        changes=tuple(add_note(each) for each in plan.changes),
        batches=tuple(each for each in batches if each.changes),
    )
    if not refused:
        return plan
    return with_checksum(plan)


def _violation_note(each: Violation) -> str:
    text = each.message.strip().splitlines()[0] if each.message.strip() else ""
    match each.standing, each.effect:
        case ViolationStatus.REFUSED, _:
            by = "the broker" if each.origin is RefusalOrigin.BROKER else f"policy {each.policy}"
            return f"{each.diagnostic.code} refused by {by}: {text}"
        case ViolationStatus.REPORTED, RuleEffect.ADVISE:
            return f"{each.diagnostic.code} policy {each.policy} advises: {text}"
        case ViolationStatus.REPORTED, _:
            return f"{each.diagnostic.code} policy {each.policy} warns: {text}"
        case _:
            return f"{each.diagnostic.code} policy {each.policy} {each.reason}"


def _stopped_diagnostic(plan: Plan) -> Diagnostic:
    count = len(plan.refused_keys)
    changes = "1 change is" if count == 1 else f"{count} changes are"
    return Diagnostic(
        "KP329",
        Severity.ERROR,
        SUMMARIES["KP329"],
        f"{changes} refused, and nothing is to be done unless all can be (policy mode all).",
        "With -policy-mode=item the other changes go on.",
    )


def report_refused(plan: Plan, watcher: Watcher) -> tuple[Outcome, ...]:
    """Return of every change that a policy kept from being sent."""
    said: dict[ObjectKey, Violation] = {}
    for each in plan.violations:
        if each.standing is ViolationStatus.REFUSED:
            said.setdefault(each.key, each)
    outcomes = tuple(
        Outcome(change, OutcomeStatus.FAILED, policy_refusal(said[change.key]))
        for change in plan.changes
        if change.key in said
    )
    watcher.on_outcomes(outcomes)
    return outcomes


def policy_refusal(violation: Violation) -> Refusal:
    """Make a policy's message the answer of an item that is not executed."""
    code = ERRORS["POLICY_VIOLATION"].code
    detail = f"{violation.message} (policy {violation.policy})"
    hint = violation.diagnostic.hint
    return Refusal("POLICY_VIOLATION", code, detail, origin=violation.origin, hint=hint)


@contextmanager
def list_policies(project: Project, options: PolicyOptions) -> Iterator[PolicySet]:
    """Gather the policies of a configuration and of the paths that are given.

    Raises:
        ConfigError: one of them cannot be used.

    """
    configuration = load_checked(project)
    with open_policies(configuration, options) as found:
        if has_errors(found.diagnostics):
            raise ConfigError(found.diagnostics, {**configuration.sources, **found.sources})
        yield found
