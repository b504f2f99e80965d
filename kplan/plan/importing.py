"""Whether an `import` block can be carried out."""

from kplan.kinds.base import ResourceKind
from kplan.kinds.codes import SUMMARIES
from kplan.model.diagnostic import Diagnostic, Severity
from kplan.model.resource import Resource
from kplan.model.snapshot import Reading
from kplan.plan.ownership import Ownership


def import_fault(
    kind: ResourceKind, resource: Resource, owners: Ownership, reading: Reading
) -> Diagnostic | None:
    """Say why the object that is to be imported to a resource cannot be, if there is such a block.

    The resource says all that names the object, so the block must name the very same.
    """
    wanted = owners.imports.get(resource.address)
    if wanted is None:
        return None
    identity = wanted.identity
    code, detail, hint = "", "", ""
    if identity != resource.identity:
        code = "KP239"
        detail = f'{resource.address} declares {kind.noun} "{resource.identity}", and '
        detail += f'"{identity}" is to be imported to it.'
        hint = "Give both the same name."
    elif (holder := owners.by_identity.get(identity)) is not None:
        code = "KP239"
        detail = f'{kind.noun} "{identity}" is owned at {holder.address} already.'
        hint = f"Remove the import block; a moved block from {holder.address} moves it."
    elif identity not in reading.objects:
        code = "KP238"
        detail = f'The cluster has no {kind.noun} "{identity}" to import to {resource.address}.'
        hint = "Remove the import block to create it."
    if not code:
        return None
    place = wanted.declared_at
    return Diagnostic(code, Severity.ERROR, SUMMARIES[code], detail, hint, resource.address, place)
