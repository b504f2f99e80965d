"""Access: which principals gain and lose which permissions."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from kplan.model.impact import (
    AccessChange,
    AccessDiff,
    AccessEffect,
    AllowedPrincipal,
    PrincipalPermission,
)
from kplan.model.resource import connection_name
from kplan.model.table import RunStatus
from kplan.report.data import Case, Data, Finding, Gauge, Level
from kplan.report.document import (
    Block,
    Document,
    Line,
    Mark,
    Paragraph,
    Row,
    Rows,
    Span,
    Table,
    TableRow,
    Tone,
    Totals,
    faint_span,
    line,
    strong_span,
)
from kplan.report.documents.notation import count_text

_MAX_CHANGES = 20
_MAX_PATTERNS = 4
_MARKS: Mapping[AccessEffect, Mark] = {
    AccessEffect.LOSS: Mark.REMOVE,
    AccessEffect.GAIN: Mark.ADD,
    AccessEffect.GAP: Mark.ALARM,
    AccessEffect.EXPOSURE: Mark.ALARM,
}
_NAMES: Mapping[AccessEffect, str] = {
    AccessEffect.LOSS: "lost",
    AccessEffect.GAIN: "gained",
    AccessEffect.GAP: "away for a moment",
    AccessEffect.EXPOSURE: "open for a moment",
}
_FINDINGS: Mapping[AccessEffect, tuple[str, str]] = {
    AccessEffect.LOSS: ("KP2301", "A permission is lost"),
    AccessEffect.GAP: ("KP2303", "Access has a gap"),
}
_NOUNS: Mapping[str, str] = {
    "TOPIC": "topic",
    "GROUP": "group",
    "TRANSACTIONAL_ID": "transactional id",
    "DELEGATION_TOKEN": "delegation token",
    "USER": "user",
}


def access_blocks(diff: AccessDiff | None) -> Iterator[Block]:
    """Show the effective difference, the worst first."""
    if diff is None:
        return
    title = line(strong_span("Effective access:"))
    unknown = [Row(line(faint_span(each))) for each in diff.unknown]
    if not diff.shifts:
        yield Rows((Row(line("no access is gained or lost")), *unknown), title=title)
        return
    shown = [
        Row(access_change_line(each), _MARKS[each.effect]) for each in diff.shifts[:_MAX_CHANGES]
    ]
    if (more := len(diff.shifts) - _MAX_CHANGES) > 0:
        shown.append(Row(line(faint_span(f"and {more:,} more; the plan as JSON has all"))))
    yield Rows((*shown, *unknown), title=title)


def access_change_line(shift: AccessChange) -> Line:
    """Say one shift as a sentence."""
    tone = Tone.DANGER if shift.effect is AccessEffect.LOSS else Tone.PLAIN
    host = "" if shift.host == "*" else f" from {shift.host}"
    return line(
        strong_span(subject_text(shift.principal)),
        " ",
        Span(shift.effect.value, tone),
        f" {', '.join(shift.operations)} on {shift.resource_type} {_names(shift.patterns)}{host}",
        faint_span(f" (on {connection_name(shift.provider)})" if shift.provider else ""),
        faint_span(_existing_count_text(shift)),
    )


def subject_text(principal: str) -> str:
    """Name a principal; everyone is reported in words too."""
    return "User:* (everyone)" if principal == "User:*" else principal


def _names(patterns: Sequence[str]) -> str:
    more = len(patterns) - _MAX_PATTERNS
    return ", ".join(patterns[:_MAX_PATTERNS]) + (f" and {more:,} more" if more > 0 else "")


def _existing_count_text(shift: AccessChange) -> str:
    noun = _NOUNS.get(shift.resource_type)
    if noun is None:
        return ""
    if shift.existing is None:
        return f"  (how many {noun}s is not known)" if _has_wildcard(shift) else ""
    return f"  ({count_text(shift.existing, noun)})"


def _has_wildcard(shift: AccessChange) -> bool:
    return any(each.endswith("*") for each in shift.patterns)


def access_data(diff: AccessDiff | None) -> Data:
    """Write the difference for machines; null where no ACL changes."""
    if diff is None:
        return None
    return {
        "shifts": [
            {
                "effect": each.effect.name.lower(),
                "principal": each.principal,
                **({"provider": connection_name(each.provider)} if each.provider else {}),
                "host": each.host,
                "resource_type": each.resource_type,
                "operations": list(each.operations),
                "patterns": list(each.patterns),
                "existing": each.existing,
                "examples": list(each.examples),
            }
            for each in diff.shifts
        ],
        "unknown": list(diff.unknown),
    }


ACCESS_TITLE = "kplan access"
UNKNOWN_SUPER_USERS = (
    "Note: the brokers have super users, which kplan cannot read; list them in super_users of "
    'provider "kafka".'
)


def allowed_principals_document(
    operation: str,
    resource: tuple[str, str],
    holders: Sequence[AllowedPrincipal],
    unknown: Sequence[str],
) -> Document:
    """List the principals with a permission and its ACL; `unknown` is the undecided part."""
    on = f"{operation} on {' '.join(resource)}"
    notes = _notes(unknown)
    if not holders:
        return Document((*notes, Totals((line(f"No principal can {on}."),))), ACCESS_TITLE)
    rows = tuple(row for each in holders for row in _holder_rows(each))
    title = (Row(line(strong_span(f"Who may {on}:")), column=0),)
    table = Table(rows, ("principal", "from", "because of"), title, column=2)
    return Document((table, *notes), ACCESS_TITLE)


def _holder_rows(holder: AllowedPrincipal) -> Iterator[TableRow]:
    """Show a permission, and below it whom and which hosts it leaves out."""
    cells = (line(strong_span(subject_text(holder.principal))), _host_line(holder.host))
    yield TableRow((*cells, line(holder.because)))
    for each in holder.exceptions:
        who = "" if each.principal == holder.principal else f" {each.principal}"
        yield TableRow((line(f"  except{who}"), _host_line(each.host), line(each.because)))


def _notes(unknown: Sequence[str]) -> tuple[Paragraph, ...]:
    return tuple(Paragraph(each, Tone.WARNING) for each in unknown)


def _host_line(host: str) -> Line:
    return line("any host" if host == "*" else host)


def allowed_principals_data(
    operation: str,
    resource: tuple[str, str],
    holders: Sequence[AllowedPrincipal],
    unknown: Sequence[str],
) -> Data:
    """Write who may do something."""
    return {
        "operation": operation,
        "resource_type": resource[0],
        "resource_name": resource[1],
        "holders": [
            {
                "principal": each.principal,
                "host": each.host,
                "because": each.because,
                "except": [
                    {"principal": one.principal, "host": one.host, "because": one.because}
                    for one in each.exceptions
                ],
            }
            for each in holders
        ],
        "unknown": list(unknown),
    }


def permissions_document(
    principal: str, found: Sequence[PrincipalPermission], unknown: Sequence[str], *, is_super: bool
) -> Document:
    """List the permissions of a principal by pattern; `unknown` is the undecided part."""
    if is_super:
        everything = f"{principal} is a super user and is allowed everything."
        return Document((Totals((line(everything),)),), ACCESS_TITLE)
    notes = _notes(unknown)
    if not found:
        return Document(
            (*notes, Totals((line(f"{subject_text(principal)} is allowed nothing."),))),
            ACCESS_TITLE,
        )
    rows = tuple(
        TableRow(
            (
                line(f"{each.resource_type} {each.pattern}"),
                line(", ".join(each.operations) or "nothing"),
                _host_line(each.host),
                line(faint_span(_live_count_text(each))),
            )
        )
        for each in found
    )
    title = (Row(line(strong_span(f"What {subject_text(principal)} is allowed:")), column=0),)
    table = Table(rows, ("resource", "operations", "from", "live"), title, column=2)
    return Document((table, *notes), ACCESS_TITLE)


def _live_count_text(each: PrincipalPermission) -> str:
    noun = _NOUNS.get(each.resource_type)
    return (
        "" if each.existing is None or noun is None else count_text(each.existing, f"live {noun}")
    )


def permissions_data(
    principal: str, found: Sequence[PrincipalPermission], unknown: Sequence[str], *, is_super: bool
) -> Data:
    """Write the permissions of a principal."""
    return {
        "principal": principal,
        "super_user": is_super,
        "holdings": [
            {
                "resource_type": each.resource_type,
                "pattern": each.pattern,
                "host": each.host,
                "operations": list(each.operations),
                "existing": each.existing,
            }
            for each in found
        ],
        "unknown": list(unknown),
    }


def access_document(diff: AccessDiff | None) -> Document:
    """Show the effective difference by itself."""
    title = "Effective access"
    if diff is None:
        return Document((Paragraph("No ACL changes."),), title)
    counts = Counter(each.effect for each in diff.shifts)
    sums = ", ".join(f"{counts[each]} {_NAMES[each]}" for each in AccessEffect)
    return Document((*access_blocks(diff), Totals((line(f"{sums}."),))), title)


def access_cases(diff: AccessDiff | None) -> tuple[Case, ...]:
    """Make a case of each shift; to take a right away is no failure by itself."""
    found = [_access_case(each) for each in (diff.shifts if diff else ())]
    return tuple(found) or (Case("No access is gained or lost", "access", RunStatus.PASS),)


def _access_case(shift: AccessChange) -> Case:
    said = "".join(each.text for each in access_change_line(shift))
    known = _FINDINGS.get(shift.effect)
    findings = (Finding(known[0], Level.WARNING, known[1], said),) if known else ()
    return Case(said, "access", RunStatus.PASS, shift.effect.value, findings)


def access_gauges(diff: AccessDiff | None, cluster_id: str) -> Iterator[Gauge]:
    """Count shifts by their effect; none is a 0 and not an absence."""
    counts = Counter(each.effect for each in (diff.shifts if diff else ()))
    for each in AccessEffect:
        labels = {"cluster": cluster_id, "effect": each.name.lower()}
        yield Gauge("kplan_plan_access_shifts", "Rights that shift.", counts[each], labels)
