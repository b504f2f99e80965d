"""Plans, outcomes and drift, one by one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kplan.model.codes import SUMMARIES
from kplan.model.diagnostic import Diagnostic, SourceRange, connection_errors
from kplan.model.outcome import Outcome, OutcomeStatus
from kplan.model.plan import Action, Change, Plan, Reason, Risk
from kplan.model.resource import unread_words
from kplan.model.table import RunStatus
from kplan.report.data import EMPTY_DOCUMENT, Case, Finding, Level
from kplan.report.document import Document, Rows
from kplan.report.documents.acl import acl_item, is_acl
from kplan.report.documents.change import change_item
from kplan.report.documents.diagnostic import CONFIGURATION_GROUP, problem_cases, risk_findings
from kplan.report.documents.drift import DriftCoverage, drift_rows, health_text
from kplan.report.documents.outcome import failure_rows, outcome_hint, outcome_words
from kplan.report.documents.outcome_total import lost_cluster_name, unplanned_names

PLAN, CLUSTER = "plan", "cluster"
_RUN_STATUSES: Mapping[OutcomeStatus, RunStatus] = {
    OutcomeStatus.APPLIED: RunStatus.PASS,
    OutcomeStatus.FAILED: RunStatus.FAIL,
    OutcomeStatus.UNKNOWN: RunStatus.ERROR,
    OutcomeStatus.SKIPPED: RunStatus.SKIP,
    OutcomeStatus.IN_PROGRESS: RunStatus.SKIP,
}
_DRIFT_FINDINGS: Mapping[Reason, tuple[str, str]] = {
    Reason.DELETED_OUTSIDE: ("KP2502", "Deleted outside of kplan"),
    Reason.RECREATED_OUTSIDE: ("KP2503", "Deleted and created again outside of kplan"),
}
_NO_ANSWER = "KP2504"
_HIDDEN, _UNREAD = "KP233", "KP234"
_UNHEALTHY = ("KP2505", Level.WARNING, "Topic is not healthy")
_CHANGE_FINDING = ("KP2501", "Changed outside of kplan")


def plan_cases(plan: Plan, sources: Mapping[str, str]) -> tuple[Case, ...]:
    """Make a case of each change and of each problem; only a problem is a failure."""
    items = [each for each in plan.changes if each.action is not Action.NO_OP]
    problems = problem_cases(plan.all_diagnostics, sources, PLAN, plan.violations)
    places = {str(each.address): _last_place(each) for each in items if each.was_declared_at}
    found = [
        replace(case, findings=tuple(_locate_finding(each, places) for each in case.findings))
        for case in (*problems, *map(_change_case, items))
    ]
    return tuple(found) or (Case("No changes", PLAN, RunStatus.PASS),)


def _last_place(change: Change) -> SourceRange | None:
    """Return where something was declared as the state remembers it, the line as a whole."""
    file, _, number = change.was_declared_at.rpartition(":")
    if not file or not number.isdecimal():
        return None
    return SourceRange(file, int(number), 1, int(number), 1)


def _locate_finding(finding: Finding, places: Mapping[str, SourceRange | None]) -> Finding:
    """Point at where the object of a finding was declared, if it is declared nowhere."""
    place = places.get(finding.address)
    if finding.source_range is not None or place is None:
        return finding
    return replace(finding, source_range=place)


def validation_cases(
    diagnostics: Sequence[Diagnostic], sources: Mapping[str, str]
) -> tuple[Case, ...]:
    """Make a case of each problem."""
    found = tuple(problem_cases(diagnostics, sources))
    return found or (Case("No problems", CONFIGURATION_GROUP, RunStatus.PASS),)


def _change_case(change: Change) -> Case:
    shown = acl_item(change) if is_acl(change) else change_item(change)
    story = Document((shown,)) if change.risk is not Risk.SAFE else EMPTY_DOCUMENT
    return Case(
        str(change.address),
        change.kind,
        RunStatus.PASS,
        change.action.value,
        tuple(risk_findings(change)),
        details=story,
    )


def outcome_cases(
    plan: Plan, outcomes: Sequence[Outcome], sources: Mapping[str, str]
) -> tuple[Case, ...]:
    """Make a case of each outcome: refused is a failure, unknown an error.

    So is each cluster that cannot be had, and what else could not be read.
    """
    found = (*map(_outcome_case, outcomes), *_unplanned_cases(plan, sources))
    return found or (Case("Nothing to do", PLAN, RunStatus.PASS),)


def _unplanned_cases(plan: Plan, sources: Mapping[str, str]) -> Iterator[Case]:
    for each in connection_errors(plan.diagnostics):
        (case,) = problem_cases([each], sources, CLUSTER)
        yield replace(case, name=lost_cluster_name(each))
    for name in unplanned_names(plan):
        if name in plan.unread:
            yield _unread_case(name, plan.unread[name], _UNREAD)


def _unread_case(name: str, reason: str, code: str) -> Case:
    """Make an error of a kind or an object; some formats write only the finding."""
    said = f"could not be read: {reason}"
    finding = Finding(code, Level.ERROR, SUMMARIES[code], f"{unread_words(name)[0]} {said}")
    return Case(name, CLUSTER, RunStatus.ERROR, said, (finding,))


def _outcome_case(outcome: Outcome) -> Case:
    change, said = outcome.change, "".join(each.text for each in outcome_words(outcome))
    has_failed = outcome.status in {OutcomeStatus.FAILED, OutcomeStatus.UNKNOWN}
    return Case(
        str(change.address),
        change.kind,
        _RUN_STATUSES[outcome.status],
        said.removeprefix(f"{change.address}: "),
        tuple(_refusal_findings(outcome)),
        outcome.elapsed_ms / 1000,
        Document((Rows(tuple(failure_rows(outcome))),)) if has_failed else EMPTY_DOCUMENT,
    )


def _refusal_findings(outcome: Outcome) -> Iterator[Finding]:
    change, refused = outcome.change, outcome.refusal
    if outcome.status in {OutcomeStatus.FAILED, OutcomeStatus.UNKNOWN}:
        yield Finding(
            refused.error if refused else _NO_ANSWER,
            Level.ERROR,
            "Refused by the cluster" if refused else "No answer came",
            str(refused) if refused else "The next plan reads whether it was done.",
            outcome_hint(refused) if refused else "Plan again.",
            change.declared_at,
            str(change.address),
        )


def drift_cases(changes: Sequence[Change], coverage: DriftCoverage) -> tuple[Case, ...]:
    """Make a failure of each object that drifted, and an error of each kind that stayed dark."""
    dark = {
        **{name: (reason, _UNREAD) for name, reason in coverage.unread.items()},
        **dict.fromkeys(coverage.hidden_objects, ("the principal of kplan cannot see it", _HIDDEN)),
    }
    found = [
        *map(_drift_case, changes),
        *(_unread_case(name, reason, code) for name, (reason, code) in sorted(dark.items())),
        *(_unhealthy_case(each.name, health_text(each)) for each in coverage.unhealthy),
    ]
    return tuple(found) or (Case("No drift", CLUSTER, RunStatus.PASS),)


def _unhealthy_case(topic: str, said: str) -> Case:
    finding = Finding(*_UNHEALTHY, f"{topic}: {said}")
    return Case(topic, "kafka_topic", RunStatus.FAIL, said, (finding,))


def _drift_case(change: Change) -> Case:
    code, summary = _DRIFT_FINDINGS.get(change.reason, _CHANGE_FINDING)
    paths = ", ".join(dict.fromkeys(".".join(each.path) for each in change.attributes))
    text = f"{change.address} ({change.identity})" + (f": {paths}" if paths else "")
    finding = Finding(
        code,
        Level.WARNING,
        summary,
        text,
        source_range=change.declared_at,
        address=str(change.address),
    )
    story = Document((Rows(tuple(drift_rows(change))),))
    return Case(
        str(change.address), change.kind, RunStatus.FAIL, summary, (finding,), details=story
    )
