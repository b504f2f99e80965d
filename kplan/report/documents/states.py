"""States beside each other, beside the cluster, and made anew."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from kplan.model.address import Address
from kplan.model.state import ObjectStatus, OwnedObject, State, StateDiff, StateVersion
from kplan.report.data import Data
from kplan.report.document import (
    Block,
    Document,
    Heading,
    Line,
    Mark,
    Paragraph,
    Row,
    Rows,
    Table,
    TableRow,
    Tone,
    Totals,
    faint,
    line,
    strong,
)
from kplan.report.documents.units import counted

_MAX_ABSENT = 20


def history_document(versions: Sequence[StateVersion]) -> Document:
    """List states, newest first, with what each changed in ownership."""
    if not versions:
        return Document(())
    rows = tuple(TableRow(tuple(_version(each))) for each in reversed(versions))
    return Document((Table(rows, columns=("serial", "written", "objects", "change"), column=0),))


def _version(each: StateVersion) -> Iterator[Line]:
    if each.read_error:
        yield from (line("?"), line(each.written_at), line("?"), line(each.read_error))
        return
    yield line(strong(f"{each.serial:>6}"))
    yield line(each.written_at)
    yield line(f"{each.object_count:>7,}")
    found = each.diff
    signs = (
        () if found is None else (("+", found.added), ("~", found.changed), ("-", found.removed))
    )
    told = " ".join(f"{sign}{len(addresses):,}" for sign, addresses in signs if addresses)
    current = "current" if each.is_current else ""
    yield line(told, faint(f" {current}" if told and current else current))


def history_data(versions: Sequence[StateVersion]) -> Data:
    """Write the states, oldest first."""
    return [
        {
            "path": each.path,
            "written_at": each.written_at,
            "current": each.is_current,
            "serial": None if each.read_error else each.serial,
            "lineage": None if each.read_error else each.lineage,
            "objects": None if each.read_error else each.object_count,
            "fault": each.read_error or None,
            "differences": _differences_data(each.diff),
        }
        for each in versions
    ]


def _differences_data(found: StateDiff | None) -> Data:
    if found is None:
        return None
    return {
        "added": [str(each) for each in found.added],
        "changed": [str(each) for each in found.changed],
        "removed": [str(each) for each in found.removed],
    }


def replaced_document(state: State, found: StateDiff, *, is_done: bool) -> Document:
    """Tell what a state put in the place of another changes in ownership."""
    parts = ((Mark.ADD, found.added), (Mark.CHANGE, found.changed), (Mark.REMOVE, found.removed))
    rows = tuple(Row(line(str(each)), mark) for mark, addresses in parts for each in addresses)
    told = f"serial {state.serial} and {'owns' if is_done else 'would own'} "
    verb = "The state is at" if is_done else "The state would be at"
    return Document(
        (
            *((Rows(rows, title=line("Ownership:")),) if rows else ()),
            Totals((line(f"{verb} {told}{counted(len(state.owned), 'object')}."),)),
        )
    )


def standings_document(
    state: State, standings: Mapping[Address, ObjectStatus], *, has_journal: bool
) -> Document:
    """Show what is not as last applied, and count what is."""
    blocks: list[Block] = []
    others = {at: each for at, each in standings.items() if each is not ObjectStatus.AS_APPLIED}
    if others:
        blocks.append(
            Table(
                tuple(
                    TableRow(
                        (line(strong(str(at))), line(each.value), line(faint(_name(state, at)))),
                        _MARKS.get(each, Mark.ALARM),
                    )
                    for at, each in others.items()
                )
            )
        )
    if has_journal:
        blocks.append(
            Paragraph(
                "Note: an apply was interrupted. Finish it with: kplan apply -resume", Tone.WARNING
            )
        )
    counts: Counter[ObjectStatus] = Counter(others.values())
    told = "".join(f", {counts[each]:,} {each.value}" for each in ObjectStatus if counts[each])
    good = len(standings) - len(others)
    return Document(
        (
            *blocks,
            Totals(
                (
                    line(strong(f"The state is whole: serial {state.serial}, {state.lineage}.")),
                    line(f"{good:,} of {counted(len(standings), 'object')} as last applied{told}."),
                )
            ),
        )
    )


_MARKS = {ObjectStatus.CHANGED: Mark.CHANGE, ObjectStatus.GONE: Mark.REMOVE}


def _name(state: State, address: Address) -> str:
    return str(state.owned[address].identity)


def standings_data(
    state: State, standings: Mapping[Address, ObjectStatus], *, has_journal: bool
) -> Data:
    """Write how every owned object stands."""
    return {
        "serial": state.serial,
        "lineage": state.lineage,
        "cluster_id": state.cluster_id,
        "interrupted": has_journal,
        "objects": [
            {
                "address": str(at),
                "identity": _name(state, at),
                "standing": each.name.lower(),
                "pending": state.owned[at].is_pending,
            }
            for at, each in standings.items()
        ],
    }


def adoption_document(
    adopted: Sequence[OwnedObject], absent: Sequence[Address], notes: Sequence[str]
) -> Document:
    """Show what a state would come to own, and what is declared and was not found."""
    blocks: list[Block] = []
    if adopted:
        blocks.append(Heading(line("kplan will note in its state, and leave as they are:")))
        blocks.append(
            Table(
                tuple(
                    TableRow((line(strong(str(each.address))), line(str(each.identity))), Mark.ADD)
                    for each in adopted
                )
            )
        )
    if absent:
        names = ", ".join(str(each) for each in absent[:_MAX_ABSENT])
        more = len(absent) - _MAX_ABSENT
        ending = f" and {more:,} more" if more > 0 else ""
        blocks.append(Paragraph(f"Declared, but not found on the cluster: {names}{ending}."))
    blocks += [Paragraph(each, Tone.WARNING) for each in notes]
    total = f"{counted(len(adopted), 'object')} to own." if adopted else "Nothing to own was found."
    return Document((*blocks, Totals((line(strong(total)),))))


def imported_document(owned: Sequence[OwnedObject], notes: Sequence[str]) -> Document:
    """Count what was taken over, per kind, with what is to be said about it."""
    counts = Counter(each.address.kind for each in owned)
    told = ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items()))
    total = f"Import successful: {told} owned now." if owned else "There was nothing to take over."
    said = tuple(Row(line(each), column=0) for each in notes)
    return Document((*((Rows(said),) if said else ()), Totals((line(strong(total)),))))
