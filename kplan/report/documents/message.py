"""The messages of Terraform's machine-readable UI, and one line per item with Kafka's answer."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kplan.model.address import Address
from kplan.model.diagnostic import Diagnostic
from kplan.model.errors import Refusal
from kplan.model.outcome import Outcome, OutcomeStatus
from kplan.model.plan import Action, Change, OutputChange, Plan
from kplan.model.version import VERSION
from kplan.report.data import Counts, Data
from kplan.report.documents.diagnostic import diagnostics_data
from kplan.report.documents.outcome import is_retriable
from kplan.report.documents.outcome_total import applied_counts, counts_text
from kplan.report.documents.plan_data import action_reason, module_address, plan_data
from kplan.report.documents.tally import change_counts, plan_counts_text

UI_VERSION = "1.2"
StreamMessage = Mapping[str, Data]

_WORDS: Mapping[Action, tuple[str, str, str]] = {
    Action.CREATE: ("create", "Creating...", "Creation complete"),
    Action.UPDATE: ("update", "Modifying...", "Modifications complete"),
    Action.REPLACE: ("replace", "Replacing...", "Replacement complete"),
    Action.DELETE: ("delete", "Destroying...", "Destruction complete"),
    Action.FORGET: ("forget", "Forgetting...", "Forgotten"),
    Action.NO_OP: ("noop", "", ""),
}


def stream_message(
    sort: str, said: str, at: str, level: str = "info", **more: Data
) -> StreamMessage:
    """Make a message; `sort` is its type, `said` the text for people, `at` the time."""
    head = {"@level": level, "@message": said, "@module": "kplan.ui", "@timestamp": at}
    return {**head, **more, "type": sort}


def version_message(at: str) -> StreamMessage:
    """Say first which kplan speaks which version of the protocol."""
    return stream_message("version", f"kplan {VERSION}", at, kplan=VERSION, ui=UI_VERSION)


def plan_messages(plan: Plan, at: str) -> Iterator[StreamMessage]:
    """Return drift, every planned change, the counts and the outputs."""
    declared = frozenset(
        each.address.block_address for each in plan.changes if each.after is not None
    )
    yield from drift_messages(plan.drift, at, declared)
    for each in plan.changes:
        if each.is_counted:
            said = f"{each.address}: Plan to {_action_word(each)}"
            yield stream_message("planned_change", said, at, change=_change_data(each, declared))
    said = f"Plan: {plan_counts_text(plan)}."
    data = _count_data(change_counts(plan.allowed_changes), "plan", plan.import_count)
    yield stream_message("change_summary", said, at, changes=data, checksum=plan.checksum)
    if plan.outputs:
        values: dict[str, Data] = {each.name: _output_data(each) for each in plan.outputs}
        yield stream_message("outputs", f"Outputs: {len(values)}", at, outputs=values)


def drift_messages(
    changes: Iterable[Change], at: str, declared: frozenset[str] = frozenset()
) -> Iterator[StreamMessage]:
    """Return every drifted object; `declared` has block addresses."""
    for each in changes:
        said = f"{each.address}: Drift detected ({_WORDS[each.action][0]})"
        yield stream_message("resource_drift", said, at, change=_change_data(each, declared))


def plan_message(plan: Plan, at: str) -> StreamMessage:
    """Return the whole plan in one message: the keys are those of `show -json`."""
    return {
        **plan_data(plan),
        **stream_message("plan", "The plan as kplan show -json writes it", at),
    }


def _action_word(change: Change) -> str:
    if change.action is Action.NO_OP and change.is_counted:
        return "import" if change.reason.is_import else "move"
    return _WORDS[change.action][0]


def start_message(change: Change, at: str) -> StreamMessage:
    """Return that a change is being sent."""
    action, begun, _ = _WORDS[change.action]
    hook: Data = {"resource": _resource_data(change.address), "action": action}
    return stream_message("apply_start", f"{change.address}: {begun}", at, hook=hook)


def outcome_messages(outcome: Outcome, at: str) -> Iterator[StreamMessage]:
    """Return the outcome of a change: to Terraform's readers, then with Kafka's answer."""
    if outcome.status not in {OutcomeStatus.SKIPPED, OutcomeStatus.IN_PROGRESS}:
        yield _completion_message(outcome, at)
    is_good = outcome.status in {OutcomeStatus.APPLIED, OutcomeStatus.IN_PROGRESS}
    level = "info" if is_good else "error"
    said = f"{outcome.change.address}: {item_status(outcome)}"
    yield stream_message("apply_item", said, at, level, item=item_data(outcome))


def _completion_message(outcome: Outcome, at: str) -> StreamMessage:
    change = outcome.change
    action, _, done = _WORDS[change.action]
    seconds = outcome.elapsed_ms // 1000
    hook: Data = {
        "resource": _resource_data(change.address),
        "action": action,
        "elapsed_seconds": seconds,
    }
    if outcome.status is OutcomeStatus.APPLIED:
        said = f"{change.address}: {done} after {seconds}s"
        return stream_message("apply_complete", said, at, hook=hook)
    said = f"{change.address}: {action.capitalize()} errored after {seconds}s"
    return stream_message("apply_errored", said, at, "error", hook=hook)


def verified_message(outcome: Outcome, at: str) -> StreamMessage:
    """Return that every broker serves the change of an earlier message."""
    said = f"{outcome.change.address}: Served by every broker"
    return stream_message("apply_verified", said, at, item=item_data(outcome))


def summary_message(
    outcomes: Sequence[Outcome], at: str, unplanned: Sequence[str] = ()
) -> StreamMessage:
    """Count the applied changes. `unplanned` names clusters and kinds that could not be read."""
    applied = [each for each in outcomes if each.status is OutcomeStatus.APPLIED]
    counts = applied_counts(applied)
    is_whole = len(applied) == len(outcomes) and not unplanned
    word = "complete!" if is_whole else "incomplete:"
    said = f"Apply {word} Resources: {counts_text(counts)}"
    said += f"; nothing was planned for {', '.join(unplanned)}." if unplanned else "."
    statuses = [each.status for each in outcomes]
    return stream_message(
        "change_summary",
        said,
        at,
        changes=_count_data(counts, "apply"),
        outcomes={each.value: statuses.count(each) for each in OutcomeStatus},
    )


def outcomes_data(outcomes: Sequence[Outcome], unplanned: Sequence[str] = ()) -> Data:
    """Return the outcome of every change in one value; `unplanned` as in `summary_message`."""
    statuses = [each.status for each in outcomes]
    return {
        "format_version": "1.0",
        "complete": not unplanned and all(each is OutcomeStatus.APPLIED for each in statuses),
        "counts": {each.value: statuses.count(each) for each in OutcomeStatus},
        "outcomes": [item_data(each) for each in outcomes],
    }


def diagnostic_message(each: Diagnostic, sources: Mapping[str, str], at: str) -> StreamMessage:
    """Return a problem."""
    level = "error" if each.is_error else "warn"
    (found,) = diagnostics_data([each], sources)
    said = f"{each.severity.value.capitalize()}: {each.summary}"
    return stream_message("diagnostic", said, at, level, diagnostic=found)


def item_status(outcome: Outcome) -> str:
    """Name the status of an item: ok, failed, throttled, timed_out, unknown or skipped."""
    match outcome.status:
        case OutcomeStatus.APPLIED:
            return "ok"
        case OutcomeStatus.FAILED if outcome.refusal is not None:
            words = {"THROTTLING_QUOTA_EXCEEDED": "throttled", "REQUEST_TIMED_OUT": "timed_out"}
            return words.get(outcome.refusal.error, "failed")
        case _:
            return outcome.status.value


def item_data(outcome: Outcome) -> Data:
    """Write one outcome with Kafka's answer."""
    change, refused = outcome.change, outcome.refusal
    failed = outcome.status is not OutcomeStatus.APPLIED
    return {
        "addr": str(change.address),
        "op": f"{change.action.value}_{change.kind.removeprefix('kafka_')}",
        "identity": str(change.identity),
        "status": item_status(outcome),
        "error": _refusal_data(refused) if refused is not None and failed else None,
        "attempts": outcome.attempts,
        "ms": outcome.elapsed_ms,
        "verified": outcome.is_verified,
        "pending_brokers": list(outcome.pending_brokers),
        "note": outcome.pending_reason or outcome.note,
        "uid": outcome.uid,
        "file": change.declared_at.file if change.declared_at else None,
        "line": change.declared_at.line if change.declared_at else None,
    }


def _refusal_data(refused: Refusal) -> Data:
    return {
        "code": refused.code,
        "name": refused.error,
        "message": refused.message,
        "origin": refused.origin.value,
        "retriable": is_retriable(refused),
    }


def _change_data(change: Change, declared: frozenset[str]) -> Data:
    found: dict[str, Data] = {
        "resource": _resource_data(change.address),
        "action": _action_word(change),
    }
    if change.previous is not None:
        found["previous_resource"] = _resource_data(change.previous)
    if change.reason.is_import:
        found["importing"] = {"id": str(change.identity)}
    if reason := action_reason(change, declared):
        found["reason"] = reason.replace("_because", "", 1).partition("_")[2]
    return found


def _resource_data(address: Address) -> Data:
    return {
        "addr": str(address),
        "module": module_address(address.module),
        "resource": str(address).removeprefix(f"{module_address(address.module)}."),
        "implied_provider": "kafka",
        "resource_type": address.kind,
        "resource_name": address.name,
        "resource_key": address.key,
    }


def _count_data(counts: Counts, operation: str, imported: int = 0) -> Data:
    return {
        "add": counts.create,
        "change": counts.update,
        "import": imported,
        "remove": counts.delete,
        "operation": operation,
    }


def _output_data(each: OutputChange) -> Data:
    return {"sensitive": each.is_sensitive, "action": _WORDS[each.action][0]}
