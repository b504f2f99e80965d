"""The plan as a person reviews it: destructive changes first, names before numbers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date

from kplan.model.diagnostic import stopping_errors
from kplan.model.plan import (
    STATE_ONLY_REASONS,
    Action,
    BrokerTransfer,
    Change,
    OutputChange,
    Plan,
    Reason,
    Replay,
    Risk,
)
from kplan.model.resource import connection_name, unread_words
from kplan.report.document import (
    Block,
    Document,
    Heading,
    Line,
    Mark,
    Paragraph,
    Row,
    Rows,
    Span,
    Tone,
    Totals,
    faint_span,
    line,
    strong_span,
)
from kplan.report.documents.access import access_blocks
from kplan.report.documents.acl import access_gaps, acl_blocks, acl_item, is_acl
from kplan.report.documents.alike import alike_changes, alike_item
from kplan.report.documents.attribute import (
    ABSENT,
    KNOWN_AFTER_APPLY,
    SENSITIVE,
    AttributeEntry,
    Verbatim,
    attribute_rows,
)
from kplan.report.documents.change import change_item, change_mark
from kplan.report.documents.drift import drift_rows
from kplan.report.documents.notation import count_text, size_text
from kplan.report.documents.policy import policy_blocks
from kplan.report.documents.tally import plan_counts_text, plan_tallies

NO_CHANGES = "No changes. Your infrastructure matches the configuration."
_NOTHING_TO_DESTROY = "No changes. No objects need to be destroyed."
_MAX_NAMES = 20
_MAX_DRIFT = 20
_SWAP = "create replacement and then destroy"
_LEGEND: Mapping[Action, str] = {
    Action.DELETE: "destroy",
    Action.REPLACE: "destroy and then create replacement",
    Action.UPDATE: "update in-place",
    Action.CREATE: "create",
    Action.FORGET: "forget: remains on the cluster, kplan no longer owns it",
}
_FORGET_GONE = "forget: kplan no longer owns it"


def plan_document(plan: Plan, *, is_grouped: bool = True, most_names: int = 20) -> Document:
    """Say everything a reviewer needs.

    With `is_grouped` ACLs are in a table per principal, and what is done to many objects alike is
    said once, with at most `most_names` of them.
    """
    shown = [each for each in _sort_changes(plan) if _is_shown(each)]
    return Document(
        (
            _cluster_block(plan),
            *(Paragraph(said, Tone.WARNING) for said in [missing_state_text(plan)] if said),
            *_drift_blocks(plan),
            *_legend(shown),
            *_change_blocks(shown, most_names if is_grouped else 0),
            *policy_blocks(plan.violations),
            *access_blocks(plan.access),
            *_summary(plan),
            *_output_blocks(plan.outputs),
            *_notes(plan),
        ),
        f"kplan plan for {plan.cluster_name}",
        plan_tallies(plan.changes),
    )


def _sort_changes(plan: Plan) -> list[Change]:
    order = [*_LEGEND, Action.NO_OP]
    return sorted(
        plan.changes,
        key=lambda each: (order.index(each.action), each.address.sort_key, each.identity),
    )


def _is_shown(change: Change) -> bool:
    return change.action is not Action.NO_OP or change.reason in _VISIBLE_REASONS


_VISIBLE_REASONS = STATE_ONLY_REASONS | {Reason.ADOPTED, Reason.IMPORTED, Reason.MOVED}


def _cluster_block(plan: Plan) -> Block:
    """Say first of all which clusters this is about, and as whom: wrong clusters cost dearly."""
    based_on = plan.based_on
    config = f"   config {based_on.config_digest[:7]}" if based_on.config_digest else ""
    judged = f"   policies as {plan.policy_principal}" if plan.policy_principal else ""
    state = faint_span(f"{config}   state serial {based_on.serial}{judged}")
    if not plan.clusters:
        cluster_id = based_on.cluster_id or "unknown"
        name = plan.cluster.get("name") or cluster_id
        about = [cluster_id] * (name != cluster_id)
        return Heading(line(strong_span(_cluster_text(plan.cluster, name, about)), state))
    items = [
        strong_span(_cluster_text(found, _alias_text(key, found), []))
        for key, found in plan.clusters.items()
    ]
    lines = [*(line(each) for each in items[:-1]), line(items[-1], state)]
    return Rows(tuple(Row(each, column=0) for each in lines))


def missing_state_text(plan: Plan) -> str:
    """Say that there is no state and no deletion: a pipeline may have lost it. Otherwise ""."""
    if not plan.lacks_state:
        return ""
    live, lost = "", "its objects stay"
    if count := plan.adoption_count:
        live = f" {count_text(count, 'declared object')} on the cluster will be adopted."
        lost = "objects that are not declared any more stay"
    return (
        f"No state found: kplan owns nothing here and will delete nothing.{live} If the state is "
        f"lost, {lost}: take them over with kplan import or kplan state rebuild."
    )


def _cluster_text(found: Mapping[str, str], name: str, about: list[str]) -> str:
    about += [f"Kafka {found['version']}"] if found.get("version") else []
    parts = [f"({', '.join(about)})"] if about else []
    parts += [f"at {found['at']}"] if found.get("at") else []
    parts += [f"as {found['principal']}"] if found.get("principal") else []
    return " ".join([f"Cluster {name}", *parts])


def _alias_text(key: str, found: Mapping[str, str]) -> str:
    parts = [connection_name(key), *([found["name"]] if found.get("name") else [])]
    return f"{' '.join(parts)}: {found.get('id', 'unknown')}"


def _drift_blocks(plan: Plan) -> Iterator[Block]:
    if not plan.drift:
        return
    more = len(plan.drift) - _MAX_DRIFT
    ending = (
        [Row(line(faint_span(f"and {more:,} more; kplan drift shows all")))] if more > 0 else []
    )
    changed = [row for each in plan.drift[:_MAX_DRIFT] for row in drift_rows(each)]
    yield Rows(
        (*changed, *ending), title=line(strong_span("Note: Objects have changed outside of kplan"))
    )


def _legend(shown: Sequence[Change]) -> Iterator[Block]:
    used = {each.action for each in shown} & _LEGEND.keys()
    if not used:
        return
    forgets = {each.reason for each in shown if each.action is Action.FORGET}
    is_gone = forgets == {Reason.ALREADY_DELETED}
    words = {**_LEGEND, Action.FORGET: _FORGET_GONE} if is_gone else _LEGEND
    symbols = [
        Row(line(_SWAP if mark is Mark.SWAP else word), mark)
        for action, word in words.items()
        for mark in sorted({change_mark(each) for each in shown if each.action is action})
    ]
    if any(each.risk is not Risk.SAFE for each in shown):
        symbols.append(Row(line("needs review"), Mark.ALARM))
    yield Rows(tuple(symbols), title=line("Symbols:"), is_legend=True)


def _change_blocks(shown: Sequence[Change], most_names: int) -> Iterator[Block]:
    """Return the changes, ACLs together at the place of the most destructive of them.

    With 0 names each change is by itself.
    """
    if not shown:
        return
    is_quiet = all(each.action is Action.NO_OP and not each.reason.is_import for each in shown)
    what = "note in its state" if is_quiet else "perform the following actions"
    yield Heading(line(f"kplan will {what}:"))
    acls = [
        each for each in shown if most_names and is_acl(each) and each.action in _GROUPED_ACTIONS
    ]
    groups = alike_changes(shown) if most_names else {}
    for change in shown:
        if acls and change is acls[0]:
            yield from acl_blocks(acls)
        if change.key in groups:
            if change is (alike := groups[change.key])[0]:
                yield alike_item(alike, most_names)
        elif not (most_names and is_acl(change) and change.action in _GROUPED_ACTIONS):
            yield acl_item(change) if is_acl(change) else change_item(change)


_GROUPED_ACTIONS = frozenset({Action.DELETE, Action.REPLACE, Action.CREATE})


def _summary(plan: Plan) -> Iterator[Block]:
    lines = [each for each in (_summary_line(plan), _kplan_line(plan)) if each]
    if lines:
        yield Totals(tuple(lines))


def _summary_line(plan: Plan) -> Line:
    """Write the plan summary, or that there are no changes, in the exact words that tools match."""
    if any(each.is_counted for each in plan.changes):
        return line(strong_span("Plan:"), f" {plan_counts_text(plan)}.")
    if plan.has_changes or plan.has_errors:
        return ()
    if plan.unread:
        return line(strong_span("Nothing to do for what could be read."))
    if plan.stale_count:
        return line(strong_span("No changes. All changes of the saved plan are stale."))
    return line(strong_span(_NOTHING_TO_DESTROY if plan.is_destroy else NO_CHANGES))


def _kplan_line(plan: Plan) -> Line:
    """Summarize in one line what the counts leave out."""
    parts: list[str | Span] = [part for part in _facts(plan) if part]
    joined: list[str | Span] = ["kplan: "]
    for part in parts:
        joined += [part, " | "]
    return line(*joined[:-1])


def _loss_facts(changes: Sequence[Change]) -> Iterator[Span]:
    if gone := [str(each.address) for each in changes if each.action is Action.DELETE]:
        yield Span(f"destroys {names_text(gone)}", Tone.DANGER)
    if emptied := [str(each.address) for each in changes if each.is_recreated]:
        yield Span(f"deletes all records of {names_text(emptied)}", Tone.DANGER)


def _facts(plan: Plan) -> Iterator[str | Span]:
    if refused := len(plan.refused_keys):
        yield Span(f"{refused:,} refused by policy", Tone.DANGER)
    if plan.stale_count:
        yield Span(f"{plan.stale_count:,} stale, left out", Tone.WARNING)
    plan = replace(plan, changes=plan.allowed_changes)
    risks = [
        f"{count:,} {risk.value}"
        for risk in (Risk.DANGEROUS, Risk.REVIEW, Risk.UNKNOWN)
        if (count := sum(1 for each in plan.changes if each.risk is risk))
    ]
    yield ", ".join(risks)
    yield from _loss_facts(_sort_changes(plan))
    if count := plan.adoption_count:
        yield f"{count:,} to adopt"
    if count := sum(1 for each in plan.changes if each.previous is not None):
        yield f"{count:,} moved"
    if count := plan.count(Action.FORGET):
        yield f"{count:,} to forget"
    if gaps := access_gaps(plan.changes):
        yield Span(f"access gap between delete and add for {names_text(gaps)}", Tone.WARNING)
    yield from _broker_facts(plan)
    yield f"checksum {plan.checksum}" if plan.checksum else ""


def _broker_facts(plan: Plan) -> Iterator[str]:
    """Summarize the findings of brokers."""
    if plan.moves:
        yield transfers_text(plan.moves)
    if plan.replay is not None:
        yield replay_text(plan.replay)
    if asked := int(plan.cluster.get("asked", "0")):
        accepted = asked - int(plan.cluster.get("refused", "0"))
        yield f"broker dry run: {accepted:,} of {asked:,} accepted"


def replay_text(replay: Replay) -> str:
    """Say what logged requests would have met: `would have denied 4 requests of User:a`."""
    if replay.denied is None:
        return "logged requests UNKNOWN"
    since = f" since {day_text(replay.since)}" if replay.since else ""
    if not replay.requests:
        return "would have denied no logged request"  # none was asked for: no ACL changes
    if not replay.denied:
        return f"would have denied none of {count_text(replay.requests, 'logged request')}{since}"
    who = names_text([f"{name} ({count:,})" for name, count in replay.principals])
    who = replay.principals[0][0] if len(replay.principals) == 1 else who
    return f"would have denied {count_text(replay.denied, 'request')} of {who}{since}"


def day_text(day: str) -> str:
    """Write a day with its name: `Monday, 2026-11-16`."""
    return f"{_DAYS[date.fromisoformat(day).weekday()]}, {day}"


_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def transfers_text(moves: Sequence[BrokerTransfer]) -> str:
    """Sum the bytes copied, in all and for each broker."""
    if any(each.gains is None for each in moves):
        return f"moves UNKNOWN bytes over {count_text(len(moves), 'broker')}"
    total = _bytes_text(sum(each.gains or 0 for each in moves))
    several = len({each.provider for each in moves}) > 1
    shown = [
        f"{f'{connection_name(each.provider)} ' if several else ''}broker {each.broker} "
        f"{_signed_bytes_text((each.gains or 0) - (each.loses or 0))}"
        for each in moves
    ]
    return f"moves {total}: {names_text(shown)}"


def _signed_bytes_text(count: int) -> str:
    return f"{'-' if count < 0 else '+'}{_bytes_text(abs(count))}"


def _bytes_text(count: int) -> str:
    return size_text(count) or f"{count} B"


def names_text(names: Sequence[str]) -> str:
    """List names, at most 20 of them."""
    more = len(names) - _MAX_NAMES
    return ", ".join(names[:_MAX_NAMES]) + (f" and {more:,} more" if more > 0 else "")


def _output_blocks(outputs: Sequence[OutputChange]) -> Iterator[Block]:
    changed = [each for each in outputs if each.action is not Action.NO_OP]
    if changed:
        entries = tuple(_output_entry(each) for each in changed)
        yield Rows(tuple(attribute_rows(entries, 4)), title=line("Changes to Outputs:"))


def _output_entry(each: OutputChange) -> AttributeEntry:
    def side(value: object, which: str, absent: Action) -> object:
        if each.action is absent:
            return ABSENT
        if each.is_sensitive:
            return Verbatim(SENSITIVE, which)
        return KNOWN_AFTER_APPLY if each.is_unknown and which == "after" else value

    return AttributeEntry(
        each.name,
        side(each.before, "before", Action.CREATE),
        side(each.after, "after", Action.DELETE),
    )


def _notes(plan: Plan) -> Iterator[Block]:
    touched = any(each.is_counted for each in plan.changes)
    if plan.has_changes and not touched and not plan.has_errors:
        yield Paragraph(
            "You can apply this plan to save these new output values to the state, without "
            "changing any real infrastructure."
        )
    if plan.declared_drift and not touched and not plan.has_errors:
        objects = count_text(len(plan.declared_drift), "object")
        yield Paragraph(
            f"Your configuration already has what was changed outside of kplan in {objects}. You "
            "can apply this plan to save that to the state, without changing any real "
            "infrastructure."
        )
    for kind, reason in sorted(plan.unread.items()):
        subject, pronoun = unread_words(kind)
        said = f"Note: {subject} could not be read ({reason.rstrip('.')}); nothing is planned"
        yield Paragraph(f"{said} for {pronoun}.", Tone.WARNING)
    later = sum(1 for each in plan.diagnostics if each.code == "KP625")
    if later:
        resources = count_text(later, "resource")
        yield Paragraph(
            f"Note: This plan is partial because {resources} can be planned only after it is "
            "applied.",
            Tone.WARNING,
        )
    elif plan.is_resumed:
        yield Paragraph(
            "Note: This plan is partial because it only finishes the interrupted apply. Run kplan "
            "plan to verify that no other changes are pending.",
            Tone.WARNING,
        )
    elif not plan.is_complete and not plan.unread:
        yield Paragraph(
            "Note: This plan is partial because of -target. Plan without -target before you rely "
            "on it.",
            Tone.WARNING,
        )
    if plan.has_errors:
        errors = count_text(len(stopping_errors(plan.diagnostics)), "error")
        yield Paragraph(f"This plan cannot be applied because of {errors}.", Tone.ERROR)
