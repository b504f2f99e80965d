"""The name a resource has in the configuration."""

import json
import re
from typing import Self

from kplan.model.dataclass import dataclass

_NAME = r"[A-Za-z_][A-Za-z0-9_-]*"
_KEY = r'\[(?:"(?:[^"\\]|\\.)*"|[0-9]+)\]'
_ADDRESS = re.compile(
    rf"(?P<modules>(?:module\.{_NAME}(?:{_KEY})?\.)*)(?P<kind>{_NAME})\.(?P<name>{_NAME})(?P<key>{_KEY})?"
)
_MODULE = re.compile(rf"module\.({_NAME}(?:{_KEY})?)\.")
_DEPOSED = "deposed "
_encode_json = json.JSONEncoder(
    ensure_ascii=False
).encode  # `dumps` would make an encoder every time


@dataclass(frozen=True, slots=True)
class Address:
    """Name of one instance of a resource, `module.pay.kafka_topic.orders["eu"]`.

    `module` holds one step per nested module, instance key included (`pay["eu"]`); `key` is a
    string under `for_each`, an integer under `count`, None otherwise.
    """

    kind: str
    name: str
    key: str | int | None = None
    module: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Write the address as Terraform writes it."""
        return f"{self.block_address}{instance_key(self.key)}"

    @property
    def block_address(self) -> str:
        """Address of the instance's block, without the instance key."""
        plain = f"{self.kind}.{self.name}"
        return "".join(f"module.{step}." for step in self.module) + plain if self.module else plain

    @property
    def sort_key(self) -> tuple[tuple[str, ...], str, str, int, str]:
        """Order of display: by module, kind and name; numeric keys as numbers."""
        number, text = (self.key, "") if isinstance(self.key, int) else (-1, self.key or "")
        return (self.module, self.kind, self.name, number, text)

    def depose(self, number: int) -> Self:
        """Return an address for an object whose own one another object has taken.

        No block declares it, so that the object is planned to be deleted, or moved to where it is
        declared.
        """
        return type(self)(self.kind, self.name, f"{_DEPOSED}{number}", self.module)

    @property
    def is_deposed(self) -> bool:
        """Whether the object has lost its own address to another one."""
        key = self.key
        is_marked = isinstance(key, str) and key.startswith(_DEPOSED)
        return is_marked and str(key).removeprefix(_DEPOSED).isdecimal()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse the output of `str`.

        Raises:
            ValueError: the text is no resource address.

        """
        match = _ADDRESS.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is not a resource address")
        modules, kind, name, raw = match["modules"], match["kind"], match["name"], match["key"]
        return cls(kind, name, _parse_key(raw), tuple(_MODULE.findall(modules)) if modules else ())

    @classmethod
    def parse_module(cls, text: str) -> tuple[str, ...]:
        """Parse only the module of an address; raises as `parse`."""
        return cls.parse(text).module if text.startswith("module.") else ()


def _parse_key(raw: str | None) -> str | int | None:
    """Read an instance key; a state has thousands, and few of them need a JSON parser."""
    if raw is None:
        return None
    if raw[1] == '"' and "\\" not in raw:
        return raw[2:-2]
    if raw[1] in "123456789" and raw[1:-1].isdecimal():
        return int(raw[1:-1])
    key: str | int = json.loads(raw[1:-1])
    return key


def instance_key(key: str | int | None) -> str:
    """Write an instance key as it is in an address: `["eu"]`, `[0]`, or nothing."""
    if key is None:
        return ""
    return f"[{key}]" if isinstance(key, int) else f"[{_encode_json(key)}]"
