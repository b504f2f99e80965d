"""Values of other providers' objects, from a state of Terraform or from `terraform show -json`."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from kplan.config.values.sensitive import mark
from kplan.config.values.value import Value
from kplan.config.values.value_text import json_loads
from kplan.model.address import Address
from kplan.model.dataclass import dataclass

_STATE_VERSION = 4
_MODULE = "module."
_UNTYPED_KINDS = frozenset({"terraform_data", "terraform_remote_state"})
ForeignKey = tuple[tuple[str, ...], str, str]
"""Where a block is: the steps of its module, its type (`data.TYPE` for a data source), its name."""


@dataclass(frozen=True, slots=True)
class ForeignValues:
    """What Terraform knows of objects that kplan does not manage, by block.

    A block without count and for_each has the value of its instance; others a tuple or an object
    of instances. `digest` is that of the file.
    """

    values: Mapping[ForeignKey, Value] = field(default_factory=dict, repr=False)
    digest: str = ""


NO_FOREIGN_VALUES = ForeignValues()


def parse_foreign_values(data: bytes) -> ForeignValues:
    """Read a `terraform.tfstate` (format 4), or the output of `terraform show -json` for a state.

    Raises:
        ValueError: it is neither.

    """
    try:
        found = json_loads(data.decode())
    except (ValueError, RecursionError) as fault:
        raise ValueError(f"it is not valid JSON ({fault})") from None
    if not isinstance(found, dict) or "terraform_version" not in found:
        raise ValueError("it is neither a state of Terraform nor its JSON")
    try:
        if "format_version" in found:
            instances = list(_shown_instances(found))
        elif found.get("version") == _STATE_VERSION:
            instances = list(_state_instances(found))
        else:
            raise ValueError(f"its format is {found.get('version')}, and kplan reads 4")
        blocks: dict[ForeignKey, dict[str | int | None, Value]] = {}
        for key, index, value in instances:
            blocks.setdefault(key, {})[index] = value
        values = {key: _block_value(found) for key, found in blocks.items()}
    except (AttributeError, KeyError, TypeError, RecursionError) as fault:
        raise ValueError(f"it lacks or misplaces something ({fault})") from None
    return ForeignValues(values, hashlib.sha256(data).hexdigest())


def parse_state_outputs(data: bytes) -> dict[str, Value]:
    """Read the outputs of a `terraform.tfstate` (format 4).

    Raises:
        ValueError: it is none.

    """
    try:
        found: Any = json_loads(data.decode())
        if not isinstance(found, dict) or found.get("version") != _STATE_VERSION:
            raise ValueError("it is no state of Terraform in format 4")
        outputs: Any = found.get("outputs") or {}
        return {
            name: mark(outputs[name]["value"], sensitive=outputs[name].get("sensitive") is True)
            for name in sorted(outputs)
        }
    except (AttributeError, KeyError, TypeError, RecursionError) as fault:
        raise ValueError(f"it lacks or misplaces something ({fault})") from None


_Instance = tuple[ForeignKey, str | int | None, Value]


def _state_instances(document: Mapping[str, Any]) -> Iterator[_Instance]:
    for resource in document.get("resources") or ():
        key = _block_key(
            str(resource.get("module") or ""), resource["mode"], resource["type"], resource["name"]
        )
        for each in resource.get("instances") or ():
            if "deposed" in each:
                continue
            secret = {
                str(path[0]["value"]) for path in each.get("sensitive_attributes") or () if path
            }
            attributes = each.get("attributes") or {}
            if resource["type"] in _UNTYPED_KINDS:
                attributes = {name: _plain_value(held) for name, held in attributes.items()}
            yield key, each.get("index_key"), _object_value(attributes, secret)


def _plain_value(held: Any) -> Any:  # noqa: ANN401 - JSON
    """Take the value of an attribute of any type, which a state keeps beside its type."""
    return held["value"] if isinstance(held, dict) and held.keys() == {"value", "type"} else held


def _shown_instances(document: Mapping[str, Any]) -> Iterator[_Instance]:
    values = document.get("values") or (document.get("prior_state") or {}).get("values") or {}
    modules = [values.get("root_module") or {}]
    while modules:
        module = modules.pop()
        modules += module.get("child_modules") or ()
        for each in module.get("resources") or ():
            key = _block_key(
                str(module.get("address") or ""), each["mode"], each["type"], each["name"]
            )
            hidden = each.get("sensitive_values") or {}
            secret = {str(name) for name, is_secret in hidden.items() if is_secret}
            yield key, each.get("index"), _object_value(each.get("values") or {}, secret)


def _block_key(module: str, mode: str, kind: str, name: str) -> ForeignKey:
    steps = Address.parse(f"{module}.any.any").module if module.startswith(_MODULE) else ()
    return steps, f"data.{kind}" if mode == "data" else kind, name


def _object_value(attributes: Mapping[str, Any], secret: set[str]) -> Value:
    """Return the attributes; one with a sensitive part is sensitive as a whole."""
    return {name: mark(attributes[name], sensitive=name in secret) for name in sorted(attributes)}


def _block_value(instances: Mapping[str | int | None, Value]) -> Value:
    if None in instances:
        return instances[None]
    if all(isinstance(each, int) for each in instances):
        return tuple(instances[each] for each in sorted(instances, key=lambda key: int(key or 0)))
    return {str(each): instances[each] for each in sorted(instances, key=str)}
