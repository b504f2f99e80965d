"""The identity of a plan for approval: a digest of everything that an approval covers."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace

from kplan.kinds.schema import to_reviewed_document
from kplan.model.plan import Action, Change, OutputChange, Plan, Reason
from kplan.model.policy import ViolationStatus


def with_checksum(plan: Plan) -> Plan:
    """Return the plan with its digest, and with the short form of it that people compare."""
    digest = plan_digest(plan)
    return replace(plan, digest=digest, checksum=short_checksum(digest))


def short_checksum(digest: str) -> str:
    """Return the first 64 bits in four groups; machines compare all 256."""
    return "-".join(digest[start : start + 4] for start in range(0, 16, 4))


def plan_digest(plan: Plan) -> str:
    """Compute the digest of actions, targets and permissions from the contents of the plan.

    It is the same for the same configuration, clusters, policies and changes, whatever the time,
    the machine and the order of input. A state that no apply has written yet has no lineage.
    """
    digest = hashlib.sha256()
    for line in _lines(plan):
        digest.update(json.dumps(line, sort_keys=True).encode() + b"\n")
    return digest.hexdigest()


def _lines(plan: Plan) -> Iterator[object]:
    basis = plan.based_on
    yield ["cluster", basis.cluster_id, dict(basis.clusters)]
    yield ["configuration", basis.config_digest]
    yield ["lineage", basis.lineage if basis.serial else ""]
    yield ["policies", sorted(each.digest or each.path for each in plan.policy_sources)]
    yield ["principal", plan.policy_principal]
    for each in plan.violations:
        if each.standing is ViolationStatus.OVERRIDDEN:
            yield ["override", each.policy, each.reason]
    yield from _actions(plan)


def has_same_actions(one: Plan, other: Plan) -> bool:
    """Whether two plans make the same changes to the same objects, whatever their inputs."""
    return list(_actions(one)) == list(_actions(other))


def _actions(plan: Plan) -> Iterator[object]:
    lines = (_change_line(each) for each in plan.allowed_changes if is_effective(each))
    yield from sorted(lines, key=str)
    yield from (_output_line(each) for each in plan.outputs if each.action is not Action.NO_OP)


def is_effective(change: Change) -> bool:
    """Whether the change alters cluster or ownership."""
    return change.action is not Action.NO_OP or change.reason is not Reason.NONE


def _change_line(change: Change) -> list[object]:
    """Return all that a change does, as JSON-able data without secrets."""
    before, after = (
        None if value is None else to_reviewed_document(value)
        for value in (change.before, change.after)
    )
    parts: list[object] = [
        str(change.address),
        change.identity,
        change.action,
        change.uid,
        before,
        after,
    ]
    parts += ["adds first"] if change.adds_first else []
    parts += [{"provider": change.provider}] if change.provider else []
    parts += [{"others": [str(each) for each in change.others]}] if change.others else []
    return parts


def _output_line(output: OutputChange) -> list[object]:
    """Leave out a sensitive value, which no saved plan has."""
    parts = [output.name, output.action, None if output.is_sensitive else output.after]
    return [*parts, "known after apply"] if output.is_unknown else parts
