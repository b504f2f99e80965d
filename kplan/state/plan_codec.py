"""The plan as a JSON document with nothing lost, and back.

Every distinct change stands once under `changes`; the plan's own lists refer to it by index:
`shown` in display order, `drift`, and `batches` in order of execution.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import Any

from kplan.model.dataclass import dataclass
from kplan.model.plan import Batch, Change, ObjectKey, Plan, Step
from kplan.state.json_text import compact
from kplan.state.plain import from_plain, plain


@dataclass(slots=True)
class _Table:
    """Distinct changes in order of appearance."""

    rows: list[Change] = field(default_factory=list)
    _places: dict[ObjectKey, list[int]] = field(default_factory=lambda: defaultdict(list))

    def places(self, changes: Iterable[Change]) -> list[int]:
        return [self._place(each) for each in changes]

    def _place(self, change: Change) -> int:
        candidates = self._places[change.key]
        for place in candidates:
            if self.rows[place] is change or self.rows[place] == change:
                return place
        candidates.append(len(self.rows))
        self.rows.append(change)
        return candidates[-1]


def encode_plan(plan: Plan) -> bytes:
    """Write a plan. Secret attributes and values of sensitive outputs are left out."""
    table = _Table()
    shown = table.places(plan.changes)
    drift = table.places(plan.drift)
    batches = [
        {
            "kind": each.kind,
            "step": plain(each.step),
            "changes": table.places(each.changes),
            **({"provider": each.provider} if each.provider else {}),
        }
        for each in plan.batches
    ]
    outputs = tuple(
        replace(each, before=None, after=None) if each.is_sensitive else each
        for each in plan.outputs
    )
    rest = plain(replace(plan, changes=(), drift=(), batches=(), outputs=outputs))
    document = {
        "plan": rest,
        "shown": shown,
        "drift": drift,
        "batches": batches,
        "changes": [plain(each) for each in table.rows],
    }
    return compact(document)


def decode_plan(data: bytes) -> Plan:
    """Read a plan.

    Raises:
        AttributeError, IndexError, KeyError, TypeError, ValueError: the bytes are none.

    """
    document: Mapping[str, Any] = json.loads(data)
    rows = [from_plain(Change, each) for each in document["changes"]]
    return replace(
        from_plain(Plan, document["plan"]),
        changes=tuple(rows[place] for place in document["shown"]),
        drift=tuple(rows[place] for place in document["drift"]),
        batches=tuple(
            Batch(
                each["kind"],
                from_plain(Step, each["step"]),
                tuple(rows[place] for place in each["changes"]),
                str(each.get("provider", "")),
            )
            for each in document["batches"]
        ),
    )
