"""What kplan owns, and the outputs it remembers."""

from collections.abc import Mapping, Sequence

from kplan.kinds.schema import to_document
from kplan.model.errors import UsageError
from kplan.model.resource import connection_name
from kplan.model.state import OutputValue, OwnedObject, State
from kplan.report.data import Data, as_data
from kplan.report.document import Document, Row, Rows, faint, line, strong
from kplan.report.documents.notation import hcl, hcl_lines, quoted
from kplan.report.documents.terraform import TERRAFORM_VERSION, attributes, place, values


def owned_list(owned: Sequence[OwnedObject]) -> Document:
    """List the addresses, one a line."""
    rows = tuple(Row(line(str(each.address)), column=0) for each in owned)
    return Document((Rows(rows),) if rows else ())


def owned_objects(owned: Sequence[OwnedObject]) -> Document:
    """Show objects as they were last applied, in HCL."""
    return Document(tuple(_object(each) for each in owned))


def _object(owned: OwnedObject) -> Rows:
    address = owned.address
    found = {
        name: each for name, each in to_document(owned.value).items() if each not in (None, {})
    }
    found["id"] = str(owned.identity)
    width = max(len(name) for name in found)
    lines = [f"resource {quoted(address.kind)} {quoted(address.name)} {{"]
    for name, each in found.items():
        first, *rest = hcl_lines(each, 4, 4)
        lines += [f"    {name:<{width}} = {first}", *rest]
    rows = [Row(line(faint(f"# {fact}")), column=0) for fact in _facts(owned)]
    rows += [Row(line(each), column=0) for each in [*lines, "}"]]
    return Rows(tuple(rows), title=line(strong(f"# {address}:")))


def _facts(owned: OwnedObject) -> list[str]:
    """Say what is known beyond the attributes."""
    return [
        *([f"on {connection_name(owned.provider)}"] if owned.provider else []),
        *([f"uid {owned.uid}"] if owned.uid else []),
        *([f"declared at {owned.declared_at}"] if owned.declared_at else []),
        *(["protected by prevent_destroy"] if owned.is_protected else []),
        *(["applied, and not yet seen on every broker"] if owned.is_pending else []),
    ]


def owned_data(owned: Sequence[OwnedObject]) -> Data:
    """Write objects under the provider's attribute names."""
    return [_data(each) for each in owned]


def state_data(state: State) -> Data:
    """Write a state as `terraform show -json` does, for the tools that read that."""
    found = {"format_version": "1.0", "terraform_version": TERRAFORM_VERSION}
    placed = [(address, _data(each)) for address, each in state.owned.items()]
    return {**found, "values": values(placed, outputs_data(state.outputs))}


def _data(owned: OwnedObject) -> dict[str, Data]:
    return {
        **place(owned.address),
        "schema_version": 0,
        "values": attributes(owned.address.kind, owned.value, frozenset()),
        "sensitive_values": {},
        "kplan": {
            "identity": str(owned.identity),
            **({"provider": connection_name(owned.provider)} if owned.provider else {}),
            "uid": owned.uid,
            "protected": owned.is_protected,
            "pending": owned.is_pending,
            "declared_at": owned.declared_at,
        },
    }


def outputs_document(outputs: Mapping[str, OutputValue]) -> Document:
    """Write `name = value` in HCL notation; sensitive values are not told."""
    rows = [
        Row(line(each), column=0)
        for name in sorted(outputs)
        for each in _output(name, outputs[name])
    ]
    return Document((Rows(tuple(rows)),) if rows else ())


def _output(name: str, output: OutputValue) -> list[str]:
    if output.is_sensitive:
        return [f"{name} = <sensitive>"]
    first, *rest = hcl_lines(output.value)
    return [f"{name} = {first}", *rest]


def output_document(output: OutputValue) -> Document:
    """Write the value of one output in HCL notation."""
    lines = ["<sensitive>"] if output.is_sensitive else hcl_lines(output.value)
    return Document((Rows(tuple(Row(line(each), column=0) for each in lines)),))


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


def raw(output: OutputValue) -> str:
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
            return hcl(output.value)
        case _:
            raise UsageError(
                "Only strings, numbers and bools can be written raw.", "Use -json instead."
            )
