"""The plan in the shape of `terraform show -json`, with kplan's own facts under `kplan` keys."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kplan.kinds import KINDS
from kplan.kinds.schema import to_document
from kplan.kinds.scram import ScramCredential
from kplan.model.address import Address
from kplan.model.impact import Impact
from kplan.model.plan import Action, BrokerTransfer, Change, OutputChange, Plan, Reason, Replay
from kplan.model.resource import Path, connection_name
from kplan.model.version import LANGUAGE_VERSION
from kplan.report.data import Data, as_data
from kplan.report.documents.access import access_data
from kplan.report.documents.attribute import SENSITIVE
from kplan.report.documents.diagnostic import diagnostics_data
from kplan.report.documents.policy import policies_data

FORMAT_VERSION = "1.2"
TERRAFORM_VERSION = LANGUAGE_VERSION
"""The Terraform whose plan JSON this is modelled on, and measured against.

Checkov takes a file without `terraform_version` for no plan at all and passes it unseen.
"""
PROVIDER_SOURCE = "registry.terraform.io/mongey/kafka"

ACTIONS: Mapping[Action, list[str]] = {
    Action.CREATE: ["create"],
    Action.UPDATE: ["update"],
    Action.REPLACE: ["delete", "create"],
    Action.DELETE: ["delete"],
    Action.FORGET: ["forget"],
    Action.NO_OP: ["no-op"],
}
_KINDS = {kind.name: kind for kind in KINDS}


def terraform_attributes(
    kind: str, value: object | None, sensitive: frozenset[Path], *, has_id: bool = True
) -> dict[str, Data] | None:
    """Write a value under the provider's attribute names; None stays None.

    Without `has_id` the `id` is left out: only apply will know it.
    """
    if value is None:
        return None
    if isinstance(value, ScramCredential):
        sensitive -= {value.unset_secret}
    found: dict[str, Data] = {"id": str(_KINDS[kind].identify(value))} if has_id else {}
    return {**found, **_redact(to_document(value), (), sensitive)}


def _redact(found: Any, path: Path, sensitive: frozenset[Path]) -> Any:  # noqa: ANN401 - JSON in, JSON out
    if path in sensitive:
        return SENSITIVE
    if isinstance(found, Mapping):
        return {key: _redact(found[key], (*path, key), sensitive) for key in found}
    return found


def sensitivity(paths: Iterable[Path]) -> dict[str, Data]:
    """Write paths as nested objects that end in true: `{"config": {"a": true}}`."""
    found: dict[str, Any] = {}
    all_paths = frozenset(paths)
    for path in sorted(all_paths):
        if any(path[:length] in all_paths for length in range(1, len(path))):
            continue  # part of a secret
        place: Any = found
        for step in path[:-1]:
            place = place.setdefault(step, {})
        place[path[-1]] = True
    return found


def terraform_address(address: Address) -> dict[str, Data]:
    """Write an address and its parts; a part that does not exist is left out."""
    found: dict[str, Data] = {"address": str(address)}
    if address.module:
        found["module_address"] = module_address(address.module)
    found |= {"mode": "managed", "type": address.kind, "name": address.name}
    if address.key is not None:
        found["index"] = address.key
    return {**found, "provider_name": PROVIDER_SOURCE}


def module_address(steps: tuple[str, ...]) -> str:
    """Write the address of a module."""
    return ".".join(f"module.{step}" for step in steps)


def action_reason(change: Change, declared: frozenset[str]) -> str:
    """Return Terraform's reason code, "" if it has none; `declared` has block addresses."""
    match change.action, change.reason:
        case Action.REPLACE, Reason.REPLACE_OPTION:
            return "replace_by_request"
        case Action.REPLACE, _:
            return "replace_because_cannot_update"
        case Action.DELETE, Reason.WRONG_REPETITION:
            return "delete_because_wrong_repetition"
        case Action.DELETE, Reason.NOT_DECLARED if change.address.block_address not in declared:
            return "delete_because_no_resource_config"
        case Action.DELETE, Reason.NOT_DECLARED | Reason.INSTANCE_GONE:
            is_index = isinstance(change.address.key, int)
            return "delete_because_count_index" if is_index else "delete_because_each_key"
        case _:
            return ""


def terraform_values(
    placed: Iterable[tuple[Address, dict[str, Data]]], outputs: Mapping[str, Data]
) -> dict[str, Data]:
    """Put resources into the tree of their modules."""
    root: dict[str, Any] = {"resources": [], "child_modules": {}}
    for address, resource in placed:
        module = root
        for depth in range(len(address.module)):
            name = module_address(address.module[: depth + 1])
            module = module["child_modules"].setdefault(
                name, {"address": name, "resources": [], "child_modules": {}}
            )
        module["resources"].append(resource)
    return {"outputs": outputs, "root_module": _prune(root)}


def _prune(module: dict[str, Any]) -> dict[str, Data]:
    """Leave out empty parts, as Terraform does."""
    children = [_prune(each) for _, each in sorted(module.pop("child_modules").items())]
    found: dict[str, Data] = {key: each for key, each in module.items() if each}
    return found | ({"child_modules": children} if children else {})


_ADOPTED = frozenset({Reason.ADOPTED, Reason.ADOPTED_AND_CHANGED})


def plan_data(plan: Plan) -> Mapping[str, Data]:
    """Write the plan so that conftest, Checkov and tools for pull requests take it as it is."""
    declared = frozenset(
        each.address.block_address for each in plan.changes if each.after is not None
    )
    outputs = [each for each in plan.outputs if each.action is not Action.DELETE]
    return {
        "format_version": FORMAT_VERSION,
        "terraform_version": TERRAFORM_VERSION,
        "variables": {},
        "planned_values": terraform_values(
            _addressed_values(plan.changes, "after"), _output_values(outputs)
        ),
        "resource_changes": [change_data(each, declared) for each in plan.changes],
        "resource_drift": [change_data(each, declared) for each in plan.drift],
        "output_changes": {each.name: _output_change(each) for each in plan.outputs},
        "prior_state": {
            "format_version": "1.0",
            "terraform_version": TERRAFORM_VERSION,
            "values": terraform_values(_addressed_values(plan.changes, "before"), {}),
        },
        "configuration": _configuration(plan.changes),
        "checks": [],
        "timestamp": plan.created_at,
        "applyable": plan.is_applyable,
        "complete": plan.is_complete and not plan.has_errors,
        "errored": plan.has_errors,
        "kplan": _kplan_data(plan),
    }


def change_data(change: Change, declared: frozenset[str]) -> dict[str, Data]:
    """Write one change; `declared` has the addresses of blocks that still exist."""
    found = terraform_address(change.address)
    if change.previous is not None:
        found["previous_address"] = str(change.previous)
    found["change"] = _change_values(change)
    if reason := action_reason(change, declared):
        found["action_reason"] = reason
    return {**found, "kplan": _change_facts(change)}


def _change_values(change: Change) -> Data:
    is_new = change.action in {Action.CREATE, Action.REPLACE}
    is_swap = change.action is Action.REPLACE and change.adds_first
    hidden = _hidden_paths(change)
    found: dict[str, Data] = {
        "actions": ACTIONS[change.action][:: -1 if is_swap else 1],
        "before": terraform_attributes(change.kind, change.before, hidden),
        "after": terraform_attributes(change.kind, change.after, hidden, has_id=not is_new),
        "after_unknown": {"id": True} if is_new else {},
        "before_sensitive": _sensitive_data(change.before, hidden),
        "after_sensitive": _sensitive_data(change.after, hidden),
    }
    forcing = [list(each.path) for each in change.attributes if each.forces_replacement]
    if change.action is Action.REPLACE and forcing:
        found["replace_paths"] = forcing
    if change.reason in _ADOPTED or change.reason.is_import:
        found["importing"] = {"id": str(change.identity)}
    return found


def _hidden_paths(change: Change) -> frozenset[Path]:
    """Return what is sensitive, and what was until this change."""
    return change.sensitive | {each.path for each in change.attributes if each.sensitive}


def _sensitive_data(value: object | None, hidden: Iterable[Path]) -> Data:
    return False if value is None else sensitivity(hidden)


def _change_facts(change: Change) -> Data:
    at = change.declared_at
    return {
        "identity": str(change.identity),
        **({"provider": connection_name(change.provider)} if change.provider else {}),
        **({"also_declared": [str(each) for each in change.others]} if change.others else {}),
        "uid": change.uid,
        "reason": change.reason.value,
        "risk": change.risk.value,
        "notes": list(change.notes),
        "protected": change.is_protected,
        **({"impact": impact_data(change.impact)} if change.impact else {}),
        "file": at.file if at else None,
        "line": at.line if at else None,
        "attributes": [
            {
                "path": list(each.path),
                "before": SENSITIVE if each.sensitive else as_data(each.before),
                "after": SENSITIVE if each.sensitive else as_data(each.after),
                "forces_replacement": each.forces_replacement,
                "sensitive": each.sensitive,
            }
            for each in change.attributes
        ],
    }


def impact_data(impact: Impact) -> Data:
    """Write the losses of a change and the affected groups; null is unknown."""
    groups = impact.groups
    return {
        "records": impact.records,
        "size_bytes": impact.size_bytes,
        "age_ms": impact.age_ms,
        "groups": None
        if groups is None
        else [
            {"group": each.group, "live": each.is_live, "members": each.members, "lag": each.lag}
            for each in groups
        ],
        "producers": impact.producers,
        "unread": list(impact.unread),
    }


def _addressed_values(
    changes: Iterable[Change], side: str
) -> Iterator[tuple[Any, dict[str, Data]]]:
    for change in changes:
        value = change.after if side == "after" else change.before
        if value is None:
            continue
        is_new = side == "after" and change.action in {Action.CREATE, Action.REPLACE}
        hidden = _hidden_paths(change)
        yield (
            change.address,
            {
                **terraform_address(change.address),
                "schema_version": 0,
                "values": terraform_attributes(change.kind, value, hidden, has_id=not is_new),
                "sensitive_values": sensitivity(hidden),
            },
        )


def _output_values(outputs: Iterable[OutputChange]) -> Mapping[str, Data]:
    return {
        each.name: {"sensitive": each.is_sensitive}
        if each.is_sensitive or each.is_unknown
        else {"sensitive": False, "value": as_data(each.after)}
        for each in outputs
    }


def _output_change(each: OutputChange) -> Data:
    hide = SENSITIVE if each.is_sensitive else None
    return {
        "actions": ACTIONS[each.action],
        "before": None if each.action is Action.CREATE else hide or as_data(each.before),
        "after": None if each.action is Action.DELETE else hide or as_data(each.after),
        "after_unknown": each.is_unknown,
        "before_sensitive": each.is_sensitive,
        "after_sensitive": each.is_sensitive,
    }


def _configuration(changes: Sequence[Change]) -> Data:
    """Name provider and resource blocks: all that a plan still knows of its configuration."""
    blocks = {
        change.address.block_address: change
        for change in changes
        if change.after is not None and not change.address.module
    }
    return {
        "provider_config": _provider_config(changes),
        "root_module": {
            "resources": [
                {
                    "address": block,
                    "mode": "managed",
                    "type": change.kind,
                    "name": change.address.name,
                    "provider_config_key": _block_key(change.provider),
                    "schema_version": 0,
                }
                for block, change in sorted(blocks.items())
            ]
        },
    }


def _block_key(provider: str) -> str:
    """Name a provider block as Terraform does: without the key of an instance."""
    return connection_name(provider.partition("[")[0])


def _provider_config(changes: Sequence[Change]) -> Data:
    found: dict[str, Data] = {"kafka": {"name": "kafka", "full_name": PROVIDER_SOURCE}}
    for alias in sorted({each.provider.partition("[")[0] for each in changes} - {""}):
        found[connection_name(alias)] = {
            "name": "kafka",
            "full_name": PROVIDER_SOURCE,
            "alias": alias,
        }
    return found


def _first_cluster_id(plan: Plan) -> str:
    return plan.cluster.get("id", "") if plan.clusters else plan.based_on.cluster_id


def _clusters_data(plan: Plan) -> Data:
    return {connection_name(key): dict(each) for key, each in plan.clusters.items()}


def _replay_data(replay: Replay) -> Data:
    """Write what logged requests would meet; null is not known."""
    return {
        "denied": replay.denied,
        "allowed": replay.allowed,
        "requests": replay.requests,
        "since": replay.since or None,
        "principals": dict(replay.principals),
    }


def _transfers_data(moves: Sequence[BrokerTransfer]) -> Data:
    """Write the bytes that moves copy in all, and per broker; null is unknown."""
    gains = [each.gains for each in moves if each.gains is not None]
    return {
        "bytes": sum(gains) if len(gains) == len(moves) else None,
        "brokers": [
            {
                **({"provider": connection_name(each.provider)} if each.provider else {}),
                "broker": each.broker,
                "gains_bytes": each.gains,
                "loses_bytes": each.loses,
            }
            for each in moves
        ],
    }


def _kplan_data(plan: Plan) -> Data:
    based_on = plan.based_on
    return {
        "cluster": {**dict(sorted(plan.cluster.items())), "id": _first_cluster_id(plan)},
        **({"clusters": _clusters_data(plan)} if plan.clusters else {}),
        "based_on": {
            "config_digest": based_on.config_digest,
            "lineage": based_on.lineage,
            "serial": based_on.serial,
        },
        "checksum": plan.checksum,
        "digest": plan.digest,
        "batches": [
            {
                "kind": batch.kind,
                "step": batch.step.name,
                "rank": batch.step.rank,
                **({"provider": connection_name(batch.provider)} if batch.provider else {}),
                "resources": [str(change.address) for change in batch.changes],
            }
            for batch in plan.batches
        ],
        "unread": dict(sorted(plan.unread.items())),
        "diagnostics": diagnostics_data(plan.diagnostics, {}),
        **({"moves": _transfers_data(plan.moves)} if plan.moves else {}),
        **({"replay": _replay_data(plan.replay)} if plan.replay else {}),
        **({"access": access_data(plan.access)} if plan.access else {}),
        **({"policies": policies_data(plan.violations)} if plan.violations else {}),
        **({"policy_principal": plan.policy_principal} if plan.policy_principal else {}),
    }
