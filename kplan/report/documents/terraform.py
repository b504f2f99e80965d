"""Terraform's words for what kplan knows, as tools for its plan JSON expect them."""

from collections.abc import Iterable, Mapping
from typing import Any

from kplan.kinds import KINDS
from kplan.kinds.schema import to_document
from kplan.model.address import Address
from kplan.model.plan import Action, Change, Reason
from kplan.model.resource import Path
from kplan.report.data import Data
from kplan.report.documents.change import SENSITIVE

FORMAT_VERSION = "1.2"
TERRAFORM_VERSION = "1.11.4"
"""The Terraform whose plan JSON this is modelled on, and measured against.

Checkov takes a file without `terraform_version` for no plan at all and passes it unseen.
"""
PROVIDER = "registry.terraform.io/mongey/kafka"

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
    found: dict[str, Data] = {"id": str(_KINDS[kind].identify(value))} if has_id else {}
    return {**found, **_redacted(to_document(value), (), sensitive)}


def _redacted(found: Any, path: Path, sensitive: frozenset[Path]) -> Any:  # noqa: ANN401 - JSON in, JSON out
    if path in sensitive:
        return SENSITIVE
    if isinstance(found, Mapping):
        return {key: _redacted(found[key], (*path, key), sensitive) for key in found}
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
    """Write an address and its parts; a part that is not there is left out."""
    found: dict[str, Data] = {"address": str(address)}
    if address.module:
        found["module_address"] = module_address(address.module)
    found |= {"mode": "managed", "type": address.kind, "name": address.name}
    if address.key is not None:
        found["index"] = address.key
    return {**found, "provider_name": PROVIDER}


def module_address(steps: tuple[str, ...]) -> str:
    """Write the address of a module."""
    return ".".join(f"module.{step}" for step in steps)


def action_reason(change: Change, declared: frozenset[str]) -> str:
    """Return Terraform's code for why, "" where it has none; `declared` holds block addresses."""
    match change.action, change.reason:
        case Action.REPLACE, Reason.REPLACE_OPTION:
            return "replace_by_request"
        case Action.REPLACE, _:
            return "replace_because_cannot_update"
        case Action.DELETE, Reason.NOT_DECLARED:
            if change.address.block_address not in declared:
                return "delete_because_no_resource_config"
            if isinstance(change.address.key, int):
                return "delete_because_count_index"
            return "delete_because_each_key"
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
    return {"outputs": outputs, "root_module": _pruned(root)}


def _pruned(module: dict[str, Any]) -> dict[str, Data]:
    """Leave out empty parts, as Terraform does."""
    children = [_pruned(each) for _, each in sorted(module.pop("child_modules").items())]
    found: dict[str, Data] = {key: each for key, each in module.items() if each}
    return found | ({"child_modules": children} if children else {})
