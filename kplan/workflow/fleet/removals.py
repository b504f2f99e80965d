"""HCL to remove what nobody uses, for review: nothing is ever removed because a log is silent."""

import json
from collections.abc import Mapping, Sequence

from kplan.fleet.snapshot import Row
from kplan.kinds import KINDS
from kplan.kinds.schema import from_document
from kplan.model.resource import Identity
from kplan.model.state import State
from kplan.workflow.adopt.topic_block import generate_blocks, is_writable

_OWNED = """\
# Nobody used these. Delete their resource blocks, add this file, and plan: the plan deletes them. A
# block with for_each loses the key instead.
"""
_FOREIGN = """\
# Nobody used these, and kplan does not own them, so that it deletes none of them. To have it delete
# some, add their blocks and apply: that changes nothing but makes kplan their owner. Then take the
# blocks out again and plan.
"""


def write_removals(state: State, unused: Sequence[Row]) -> Mapping[str, str]:
    """Write, by the ending of a file, `removed` blocks for what is owned, and blocks for the rest.

    `unused` are rows of one cluster, `state` is its own.
    """
    owned = {(each.address.kind, each.identity): each.address for each in state.owned.values()}
    named = {(row.kind, Identity(row.identity)): row for row in unused}
    addresses = sorted(
        (owned[key] for key in owned.keys() & named.keys()), key=lambda each: each.sort_key
    )
    blocks = [
        f"removed {{\n  from = {each}\n  lifecycle {{\n    destroy = true\n  }}\n}}\n"
        for each in addresses
    ]
    foreign = [row for key, row in sorted(named.items()) if key not in owned]
    texts = {
        "unused": _OWNED + "\n" + "\n".join(blocks) if blocks else "",
        "unmanaged": _FOREIGN + "\n" + _declared(foreign, state) if foreign else "",
    }
    return {ending: text for ending, text in texts.items() if text}


def _declared(rows: Sequence[Row], state: State) -> str:
    values: dict[str, list[object]] = {}
    taken: dict[str, set[str]] = {}
    for each in state.owned.values():
        taken.setdefault(each.address.kind, set()).add(each.address.name)
    for kind in KINDS:
        found = (row.value for row in rows if row.kind == kind.name and row.value is not None)
        read = (from_document(kind.schema, json.loads(each)) for each in found)
        values[kind.name] = [each for each in read if is_writable(each)]
    return generate_blocks(values, KINDS, taken, "unmanaged.tf")
