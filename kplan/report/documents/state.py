"""States: what kplan owns, outputs, history, verification, adoption."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from kplan.kinds.schema import to_document
from kplan.model.address import Address
from kplan.model.errors import UsageError
from kplan.model.resource import connection_name
from kplan.model.state import ObjectStatus, OutputValue, OwnedObject, State, StateDiff, StateVersion
from kplan.report.data import Data, as_data
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
    faint_span,
    line,
    strong_span,
)
from kplan.report.documents.change import hide_sensitive
from kplan.report.documents.notation import count_text, hcl_lines, hcl_text, quote_hcl
from kplan.report.documents.plan_data import (
    TERRAFORM_VERSION,
    sensitivity,
    terraform_address,
    terraform_attributes,
    terraform_values,
)


def owned_list_document(owned: Sequence[OwnedObject]) -> Document:
    """List the addresses, one a line."""
    rows = tuple(Row(line(str(each.address)), column=0) for each in owned)
    return Document((Rows(rows),) if rows else ())


def owned_objects_document(owned: Sequence[OwnedObject]) -> Document:
    """Show objects as they were last applied, in HCL."""
    return Document(tuple(_object_rows(each) for each in owned))


def _object_rows(owned: OwnedObject) -> Rows:
    address = owned.address
    found = {
        name: hide_sensitive(each, (name,), owned.sensitive)
        for name, each in to_document(owned.value).items()
        if each not in (None, {})
    }
    found["id"] = str(owned.identity)
    width = max(len(name) for name in found)
    lines = [f"resource {quote_hcl(address.kind)} {quote_hcl(address.name)} {{"]
    for name, each in found.items():
        first, *rest = hcl_lines(each, 4, 4)
        lines += [f"    {name:<{width}} = {first}", *rest]
    rows = [Row(line(faint_span(f"# {fact}")), column=0) for fact in _object_facts(owned)]
    rows += [Row(line(each), column=0) for each in [*lines, "}"]]
    return Rows(tuple(rows), title=line(strong_span(f"# {address}:")))


def _object_facts(owned: OwnedObject) -> list[str]:
    """Show facts beside the attributes."""
    return [
        *([f"on {connection_name(owned.provider)}"] if owned.provider else []),
        *([f"uid {owned.uid}"] if owned.uid else []),
        *([f"declared at {owned.declared_at}"] if owned.declared_at else []),
        *(f"also declared by {each}" for each in owned.others),
        *(["protected by prevent_destroy"] if owned.is_protected else []),
        *(["applied, and not yet seen on every broker"] if owned.is_pending else []),
    ]


def owned_data(owned: Sequence[OwnedObject]) -> Data:
    """Write objects under the provider's attribute names."""
    return [_object_data(each) for each in owned]


def state_data(state: State) -> Data:
    """Write a state as `terraform show -json` does, for the tools that read that."""
    found = {"format_version": "1.0", "terraform_version": TERRAFORM_VERSION}
    placed = [(address, _object_data(each)) for address, each in state.owned.items()]
    return {**found, "values": terraform_values(placed, outputs_data(state.outputs))}


def _object_data(owned: OwnedObject) -> dict[str, Data]:
    return {
        **terraform_address(owned.address),
        "schema_version": 0,
        "values": terraform_attributes(owned.address.kind, owned.value, owned.sensitive),
        "sensitive_values": sensitivity(owned.sensitive),
        "kplan": {
            "identity": str(owned.identity),
            **({"provider": connection_name(owned.provider)} if owned.provider else {}),
            "uid": owned.uid,
            "protected": owned.is_protected,
            "pending": owned.is_pending,
            "declared_at": owned.declared_at,
            **({"also_declared": [str(each) for each in owned.others]} if owned.others else {}),
        },
    }


def outputs_data(outputs: Mapping[str, OutputValue]) -> dict[str, Data]:
    """Write every output with its type, as `terraform output -json` does."""
    return {
        name: {
            "sensitive": outputs[name].is_sensitive,
            "type": as_data(outputs[name].type),
            "value": as_data(outputs[name].value),
        }
        for name in sorted(outputs)
    }


def raw_output(output: OutputValue) -> str:
    """Write a string, number or bool bare, for shells.

    Raises:
        UsageError: the value is a collection or null, or is sensitive and so was never stored.

    """
    if output.is_sensitive:
        raise UsageError("The output is sensitive; its value is not stored.")
    match output.value:
        case str():
            return output.value
        case bool() | int() | float():
            return hcl_text(output.value)
        case _:
            raise UsageError(
                "Only strings, numbers and bools can be written raw.", "Use -json instead."
            )


_MAX_ABSENT = 20


def history_document(versions: Sequence[StateVersion]) -> Document:
    """List states, newest first, with the changes of ownership of each."""
    if not versions:
        return Document(())
    rows = tuple(TableRow(tuple(_version_cells(each))) for each in reversed(versions))
    return Document((Table(rows, columns=("serial", "written", "objects", "change"), column=0),))


def _version_cells(each: StateVersion) -> Iterator[Line]:
    if each.read_error:
        yield from (line("?"), line(each.written_at), line("?"), line(each.read_error))
        return
    yield line(strong_span(f"{each.serial:>6}"))
    yield line(each.written_at)
    yield line(f"{each.object_count:>7,}")
    found = each.diff
    signs = (
        () if found is None else (("+", found.added), ("~", found.changed), ("-", found.removed))
    )
    detail = " ".join(f"{sign}{len(addresses):,}" for sign, addresses in signs if addresses)
    current = "current" if each.is_current else ""
    yield line(detail, faint_span(f" {current}" if detail and current else current))


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


def _differences_data(state_diff: StateDiff | None) -> Data:
    if state_diff is None:
        return None
    return {
        "added": [str(each) for each in state_diff.added],
        "changed": [str(each) for each in state_diff.changed],
        "removed": [str(each) for each in state_diff.removed],
    }


def replacement_document(state: State, state_diff: StateDiff, *, is_done: bool) -> Document:
    """Return the changes of ownership when one state replaces another."""
    parts = (
        (Mark.ADD, state_diff.added),
        (Mark.CHANGE, state_diff.changed),
        (Mark.REMOVE, state_diff.removed),
    )
    rows = tuple(Row(line(str(each)), mark) for mark, addresses in parts for each in addresses)
    detail = f"serial {state.serial} and {'owns' if is_done else 'would own'} "
    verb = "The state is at" if is_done else "The state would be at"
    return Document(
        (
            *((Rows(rows, title=line("Ownership:")),) if rows else ()),
            Totals((line(f"{verb} {detail}{count_text(len(state.owned), 'object')}."),)),
        )
    )


def verification_document(
    state: State,
    statuses: Mapping[Address, ObjectStatus],
    *,
    has_journal: bool,
    is_finished: bool = False,
) -> Document:
    """Show the objects that differ from the last applied values, with counts."""
    blocks: list[Block] = []
    others = {at: each for at, each in statuses.items() if each is not ObjectStatus.AS_APPLIED}
    if others:
        blocks.append(
            Table(
                tuple(
                    TableRow(
                        (
                            line(strong_span(str(at))),
                            line(each.value),
                            line(faint_span(_identity_text(state, at))),
                        ),
                        _MARKS.get(each, Mark.ALARM),
                    )
                    for at, each in others.items()
                )
            )
        )
    if has_journal:
        said = "Note: an apply was interrupted. Finish it with: kplan apply -resume"
        if is_finished:
            said = "Note: an apply ended without all answers. Find out what it did: kplan apply"
        blocks.append(Paragraph(said, Tone.WARNING))
    counts: Counter[ObjectStatus] = Counter(others.values())
    detail = "".join(f", {counts[each]:,} {each.value}" for each in ObjectStatus if counts[each])
    good = len(statuses) - len(others)
    return Document(
        (
            *blocks,
            Totals(
                (
                    line(
                        strong_span(f"The state is whole: serial {state.serial}, {state.lineage}.")
                    ),
                    line(
                        f"{good:,} of {count_text(len(statuses), 'object')} as last applied"
                        f"{detail}."
                    ),
                )
            ),
        )
    )


_MARKS = {ObjectStatus.CHANGED: Mark.CHANGE, ObjectStatus.GONE: Mark.REMOVE}


def _identity_text(state: State, address: Address) -> str:
    return str(state.owned[address].identity)


def verification_data(
    state: State, statuses: Mapping[Address, ObjectStatus], *, has_journal: bool
) -> Data:
    """Write the status of every owned object."""
    return {
        "serial": state.serial,
        "lineage": state.lineage,
        "cluster_id": state.cluster_id,
        "interrupted": has_journal,
        "objects": [
            {
                "address": str(at),
                "identity": _identity_text(state, at),
                "standing": each.name.lower(),
                "pending": state.owned[at].is_pending,
            }
            for at, each in statuses.items()
        ],
    }


def adoption_document(
    adopted: Sequence[OwnedObject], absent: Sequence[Address], notes: Sequence[str]
) -> Document:
    """Show the objects that a state would own, and the declared ones that were not found."""
    blocks: list[Block] = []
    if adopted:
        blocks.append(Heading(line("kplan will note in its state, and leave as they are:")))
        blocks.append(
            Table(
                tuple(
                    TableRow(
                        (line(strong_span(str(each.address))), line(str(each.identity))), Mark.ADD
                    )
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
    total = (
        f"{count_text(len(adopted), 'object')} to own." if adopted else "Nothing to own was found."
    )
    return Document((*blocks, Totals((line(strong_span(total)),))))


def import_document(owned: Sequence[OwnedObject], notes: Sequence[str]) -> Document:
    """Count the imported objects per kind, with notes."""
    counts = Counter(each.address.kind for each in owned)
    detail = ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items()))
    total = f"Import successful: {detail} owned now." if owned else "There was nothing to import."
    said = tuple(Row(line(each), column=0) for each in notes)
    return Document((*((Rows(said),) if said else ()), Totals((line(strong_span(total)),))))
