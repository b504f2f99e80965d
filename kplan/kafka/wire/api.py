"""One API of Kafka: its versions, and kafka-python's classes for its two messages.

A class is built from Kafka's JSON definition, which takes about 2 ms, and most commands use few of
them: each is made when it is first asked for. `kafka`, and the packages in it, import every client
and every message there is; here they are packages whose own code runs when it is needed.
"""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from types import ModuleType, new_class
from typing import Any, TypeAlias

from kplan.kafka.wire import schemas

Message: TypeAlias = Any
"""A message of kafka-python, which has no types of its own."""

_PACKAGES = (
    "kafka",
    "kafka.net",
    "kafka.protocol.admin",
    "kafka.protocol.consumer",
    "kafka.protocol.metadata",
)


@dataclass(frozen=True, slots=True)
class Api:
    """One API of Kafka, with the versions that kplan can speak.

    `module` of `kafka.protocol` has the classes of its messages; "" where `schemas` has their
    definitions, which kafka-python does not ship.
    """

    name: str
    key: int
    oldest: int
    newest: int
    module: str

    @property
    def request(self) -> Message:
        """The class of the request; those of its parts hang on it, under their protocol names."""
        return _message(self.module, f"{self.name}Request")

    @property
    def response(self) -> Message:
        """The class of the answer."""
        return _message(self.module, f"{self.name}Response")


def api_of(name: str, key: int, versions: range, module: str = "") -> Api:
    """Describe an API by its versions and the place of its messages."""
    return Api(name, key, versions.start, versions.stop - 1, module)


@cache
def _message(module: str, name: str) -> Message:
    if module:
        return getattr(import_module(f"kafka.protocol.{module}"), name)
    from kafka.protocol.api_message import ApiMessage

    return new_class(name, (ApiMessage,), {"load_json": schemas})


def _defer(packages: Iterable[str]) -> None:
    """Let packages run their own code no sooner than one of their names is asked for."""
    for name in packages:
        spec = find_spec(name)
        if name not in sys.modules and spec is not None:
            sys.modules[name] = _deferred(module_from_spec(spec))


def _deferred(package: ModuleType) -> ModuleType:
    def run_first(name: str) -> Any:  # noqa: ANN401 - whatever the package has
        if name.startswith("__"):  # what imports look at
            raise AttributeError(name)
        del package.__dict__["__getattr__"]
        package.__spec__.loader.exec_module(package)  # type: ignore[union-attr] # as found
        return getattr(package, name)

    package.__dict__["__getattr__"] = run_first
    return package


_defer(_PACKAGES)
