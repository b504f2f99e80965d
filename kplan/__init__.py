"""Plan and apply for Apache Kafka: topics, ACLs and more, declared in HCL.

The names here are the library; everything else in the package is internal and may change, except
`kplan.admin` and `kplan.testing`. Each name is loaded when it is first used.
"""

import sys
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kplan.api.apply import ApplyResult, apply, apply_saved, resume
    from kplan.api.call import Progress
    from kplan.api.drift import Drift, drift
    from kplan.api.import_ import import_, import_all
    from kplan.api.plan import Plan, plan
    from kplan.api.project import Project, load
    from kplan.model.address import Address
    from kplan.model.diagnostic import Diagnostic, Severity, SourceRange
    from kplan.model.errors import (
        AuthError,
        ClusterError,
        ConfigError,
        KplanError,
        PlanRefusedError,
        PolicyDeniedError,
        Refusal,
        RunInterruptedError,
        StalePlanError,
        StateCorruptError,
        StateError,
        StateLockedError,
        UnreachableError,
        UnreadableError,
        UnsupportedError,
        UsageError,
        WrongClusterError,
    )
    from kplan.model.outcome import Outcome, OutcomeStatus
    from kplan.model.plan import Action, AttributeChange, Change, Reason, Risk
    from kplan.model.resource import Identity, Resource
    from kplan.model.state import OwnedObject
    from kplan.model.version import VERSION as __version__  # noqa: N811 - what Python calls it

__all__ = [
    "Action",
    "Address",
    "ApplyResult",
    "AttributeChange",
    "AuthError",
    "Change",
    "ClusterError",
    "ConfigError",
    "Diagnostic",
    "Drift",
    "Identity",
    "KplanError",
    "Outcome",
    "OutcomeStatus",
    "OwnedObject",
    "Plan",
    "PlanRefusedError",
    "PolicyDeniedError",
    "Progress",
    "Project",
    "Reason",
    "Refusal",
    "Resource",
    "Risk",
    "RunInterruptedError",
    "Severity",
    "SourceRange",
    "StalePlanError",
    "StateCorruptError",
    "StateError",
    "StateLockedError",
    "UnreachableError",
    "UnreadableError",
    "UnsupportedError",
    "UsageError",
    "WrongClusterError",
    "__version__",
    "apply",
    "apply_saved",
    "drift",
    "import_",
    "import_all",
    "load",
    "plan",
    "resume",
]

_MODULES = {
    "api.apply": "ApplyResult apply apply_saved resume",
    "api.call": "Progress",
    "api.drift": "Drift drift",
    "api.import_": "import_ import_all",
    "api.plan": "Plan plan",
    "api.project": "Project load",
    "model.address": "Address",
    "model.diagnostic": "Diagnostic Severity SourceRange",
    "model.errors": "AuthError ClusterError ConfigError KplanError PlanRefusedError "
    "PolicyDeniedError Refusal RunInterruptedError StalePlanError StateCorruptError StateError "
    "StateLockedError UnreachableError UnreadableError UnsupportedError UsageError "
    "WrongClusterError",
    "model.outcome": "Outcome OutcomeStatus",
    "model.plan": "Action AttributeChange Change Reason Risk",
    "model.resource": "Identity Resource",
    "model.state": "OwnedObject",
}
_PLACES = {name: module for module, names in _MODULES.items() for name in names.split()}
_PACKAGES = ("admin", "testing")


if not TYPE_CHECKING:  # a type checker knows the names above, and no others

    def __getattr__(name: str) -> object:
        from importlib import import_module  # noqa: PLC0415 - the command needs none of this

        if name == "__version__":
            found: object = import_module("kplan.model.version").VERSION
        elif name in _PACKAGES:
            return import_module(f"kplan.{name}")
        elif name in _PLACES:
            found = getattr(import_module(f"kplan.{_PLACES[name]}"), name)
        else:
            raise AttributeError(f"module 'kplan' has no attribute {name!r}")
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        return sorted({*__all__, *_PACKAGES, *globals()})


class _Package(ModuleType):
    """Keeps `kplan.plan` and `kplan.apply` functions although packages have these names, too.

    The import system sets a package as an attribute of its parent when it is first imported.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _PLACES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
