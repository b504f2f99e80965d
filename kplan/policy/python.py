"""Python policies: classes with a method for each operation and kind; legacy ones too."""

import importlib.util
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any

from kplan.kinds import KINDS
from kplan.model.codes import SUMMARIES
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, Severity, SourceRange
from kplan.model.policy import (
    Finding,
    Level,
    Operation,
    Policy,
    PolicyHeader,
    Question,
    RuleEffect,
    RuleReference,
)
from kplan.policy.facts import ClusterState, Request, RequestedTopicState, TopicState, build_request

LEGACY_METHODS = ("create", "alter")
"""The methods of policies of the old shape."""


@dataclass(frozen=True, slots=True)
class CreateMetadata:
    """What a CreateTopicPolicy sees: counts are None beside assignments, and the other way round.

    Kafka leaves out what the request does: so do we, or old policies would judge again.
    """

    topic: str
    num_partitions: int | None
    replication_factor: int | None
    replicas_assignments: Mapping[int, list[int]] | None
    configs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AlterMetadata:
    """What an AlterConfigPolicy sees: the keys that change, with their new values."""

    resource: str
    configs: Mapping[str, str | None] = field(default_factory=dict)


class LegacyPolicyAdapter:
    """An old policy behind the new methods (K201-23)."""

    def __init__(self, old: Any, name: str) -> None:  # noqa: ANN401 - anybody's class or module
        self._old = old
        self.name = str(getattr(old, "name", name))
        self.level = getattr(old, "level", "hard")
        self.order = getattr(old, "order", 0)

    def configure(self, settings: Mapping[str, object]) -> None:
        """Hand the settings on."""
        if callable(inner := getattr(self._old, "configure", None)):
            inner(settings)

    def close(self) -> None:
        """Hand the end on."""
        if callable(inner := getattr(self._old, "close", None)):
            inner()

    def validate_create_topic(self, request: Request, cluster: ClusterState) -> None:
        """Ask both: KRaft asks the AlterConfigPolicy about the configs of a new topic too."""
        del cluster
        wanted = request.requested_state
        assert isinstance(wanted, RequestedTopicState)  # noqa: S101 - so it is for topics
        if wanted.configs:
            self._call("alter", AlterMetadata(request.topic, wanted.configs))
        generated = wanted.generated_replica_assignments
        meta = CreateMetadata(
            request.topic,
            wanted.num_partitions if generated else None,
            wanted.replication_factor if generated else None,
            None if generated else wanted.replicas_assignments,
            wanted.configs,
        )
        self._call("create", meta)

    def validate_alter_topic(self, request: Request, cluster: ClusterState) -> None:
        """Check configs only: Kafka does not call its policy for partitions."""
        del cluster
        after, before = request.requested_state, request.current_state
        assert isinstance(after, TopicState)  # noqa: S101 - as above
        held = before.configs if isinstance(before, TopicState) else {}
        changed: dict[str, str | None] = {
            key: after.configs.get(key)
            for key in sorted({*after.configs, *held})
            if after.configs.get(key) != held.get(key)
        }
        if changed:
            self._call("alter", AlterMetadata(request.topic, changed))

    def _call(self, name: str, meta: object) -> None:
        if callable(inner := getattr(self._old, name, None)):
            inner(meta)


ENTRY_POINT_GROUP = "kplan.policies"
"""The group of entry points under which installed packages offer policies by name."""

_POLICY_ERRORS = (Exception, SystemExit)
"""What a policy may raise: anything, but for what stops kplan itself."""

_RECORDS_METHOD = "validate_delete_records"
_METHOD_PREFIXES = {
    f"validate_{each.value}_": each
    for each in (Operation.CREATE, Operation.ALTER, Operation.DELETE)
}


@dataclass(frozen=True, slots=True)
class LoadedPolicies:
    """The policies of a path, with diagnostics."""

    policies: tuple[Policy, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class PythonPolicy:
    """An instance of a policy class. An exception is its refusal, with its text as the message."""

    header: PolicyHeader
    instance: Any
    methods: Mapping[tuple[Operation, str], str]

    def evaluate(self, question: Question) -> Iterator[Finding]:
        """Call the method for the operation, if the class has one."""
        name = self.methods.get((question.operation, question.kind))
        if name is None:
            return
        try:
            getattr(self.instance, name)(build_request(question), ClusterState(question.cluster))
        except _POLICY_ERRORS as raised:
            yield _finding(raised, self.header)

    def list_rules(self) -> tuple[RuleReference, ...]:
        """Name its methods and the operation of each."""
        return tuple(
            RuleReference(self.header.name, name, self.header.declared_at, decision)
            for decision, name in sorted(self.methods.items(), key=lambda item: item[1])
        )

    def close(self) -> None:
        """Release the policy's resources; failures are ignored by then."""
        closing = getattr(self.instance, "close", None)
        if callable(closing):
            with suppress(Exception):
                closing()


def load_python_policies(path: str, settings: Mapping[str, object]) -> LoadedPolicies:
    """Load the policies at a path: of a file, of every file of a folder, or of an entry point.

    Each class is made once and `configure(settings)` is called once, if it has that.
    """
    place = Path(path)
    if place.is_dir():
        files = sorted(
            each for each in place.glob("*.py") if not each.name.startswith(("_", "test_"))
        )
        if not files and not any(each.suffix in {".hcl", ".tf"} for each in place.iterdir()):
            return LoadedPolicies(
                diagnostics=(_unusable_policy(path, "the folder holds no policy"),)
            )
        found = [_load_file(each, path, settings) for each in files]
    elif place.is_file():
        found = [_load_file(place, path, settings)]
    else:
        found = [_load_entry_point(path, settings)]
    return LoadedPolicies(
        tuple(policy for each in found for policy in each.policies),
        tuple(result for each in found for result in each.diagnostics),
    )


def _load_file(file: Path, source: str, settings: Mapping[str, object]) -> LoadedPolicies:
    name = f"_kplan_policy_{file.stem}_{abs(hash(str(file.resolve()))):x}"
    try:
        module = _import_file(name, file)
    except _POLICY_ERRORS as raised:
        return LoadedPolicies(
            diagnostics=(
                _unusable_policy(
                    str(file), _exception_text(raised), _exception_place(raised, str(file))
                ),
            )
        )
    return _load_module(module, file, source, settings)


def _import_file(name: str, file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError("it is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[name]
    return module


def _load_module(
    module: ModuleType, file: Path, source: str, settings: Mapping[str, object]
) -> LoadedPolicies:
    classes = [
        each
        for each in vars(module).values()
        if isinstance(each, type) and each.__module__ == module.__name__ and _is_policy(each)
    ]
    makers: list[Callable[[], Any]] = list(classes)
    if any(callable(getattr(module, name, None)) for name in LEGACY_METHODS):
        makers.append(lambda: module)
    if not makers:
        detail = "it has no class with a validate_... method"
        return LoadedPolicies(diagnostics=(_unusable_policy(str(file), detail),))
    found = [_create_policy(each, (file, source), settings) for each in makers]
    return LoadedPolicies(
        tuple(policy for each in found for policy in each.policies),
        tuple(detail for each in found for detail in each.diagnostics),
    )


def _is_policy(found: type) -> bool:
    return any(name.startswith("validate_") for name in dir(found)) or any(
        callable(getattr(found, name, None)) for name in LEGACY_METHODS
    )


def _load_entry_point(name: str, settings: Mapping[str, object]) -> LoadedPolicies:
    from importlib.metadata import entry_points  # noqa: PLC0415 - hardly ever needed, and slow

    found = [each for each in entry_points(group=ENTRY_POINT_GROUP) if each.name == name]
    if not found:
        detail = f"no such file or folder exists, and no installed package provides {name!r}"
        return LoadedPolicies(diagnostics=(_unusable_policy(name, detail),))
    try:
        made = found[0].load()
    except _POLICY_ERRORS as raised:
        return LoadedPolicies(diagnostics=(_unusable_policy(name, _exception_text(raised)),))
    file = Path(getattr(sys.modules.get(getattr(made, "__module__", "")), "__file__", "") or name)
    return _create_policy(made, (file, name), settings)


def _create_policy(
    make: Callable[[], Any], place: tuple[Path, str], settings: Mapping[str, object]
) -> LoadedPolicies:
    file, source = place
    try:
        instance = make()
        diagnostics: tuple[Diagnostic, ...] = ()
        if any(callable(getattr(instance, name, None)) for name in LEGACY_METHODS):
            diagnostics = (_legacy_warning(str(file)),)
            instance = LegacyPolicyAdapter(instance, file.stem)
        if callable(configure := getattr(instance, "configure", None)):
            configure(dict(settings))
        if idle := _unknown_method(instance):
            return LoadedPolicies(diagnostics=(_unusable_policy(str(file), idle),))
        return LoadedPolicies((_policy(instance, file, source),), diagnostics)
    except _POLICY_ERRORS as raised:
        return LoadedPolicies(
            diagnostics=(
                _unusable_policy(
                    str(file), _exception_text(raised), _exception_place(raised, str(file))
                ),
            )
        )


def _policy(instance: Any, file: Path, source: str) -> PythonPolicy:  # noqa: ANN401 - anybody's class
    methods = _methods(instance)
    line = _first_line(instance)
    head = PolicyHeader(
        str(getattr(instance, "name", "") or type(instance).__name__),
        frozenset(operation for operation, _ in methods),
        frozenset(kind for _, kind in methods),
        Level(getattr(instance, "level", Level.HARD)),
        int(getattr(instance, "order", 0)),
        source=source,
        declared_at=SourceRange(str(file), line, 1, line, 1),
        description=(type(instance).__doc__ or "").strip().partition("\n")[0],
        is_legacy=isinstance(instance, LegacyPolicyAdapter),
    )
    return PythonPolicy(head, instance, methods)


def _methods(instance: Any) -> Mapping[tuple[Operation, str], str]:  # noqa: ANN401 - as above
    """Derive the operation and kind from the names of methods: `validate_create_topic`."""
    found: dict[tuple[Operation, str], str] = {}
    for name in dir(instance):
        if name == _RECORDS_METHOD:
            found[Operation.DELETE_RECORDS, "kafka_topic"] = name
            continue
        for prefix, operation in _METHOD_PREFIXES.items():
            if name.startswith(prefix):
                found[operation, f"kafka_{name.removeprefix(prefix)}"] = name
    return found


def _unknown_method(instance: Any) -> str:  # noqa: ANN401 - as above
    """Find a method whose name matches no operation or kind: it would never be called."""
    names = {
        f"{prefix}{kind.name.removeprefix('kafka_')}"
        for prefix in _METHOD_PREFIXES
        for kind in KINDS
    }
    names.add(_RECORDS_METHOD)
    for name in dir(instance):
        if name.startswith("validate_") and name not in names:
            near = get_close_matches(name, names, n=1)
            meant = f"; did you mean {near[0]}" if near else ""
            return f"{name} would judge nothing{meant}"
    return ""


def _first_line(instance: Any) -> int:  # noqa: ANN401 - as above
    if isinstance(instance, LegacyPolicyAdapter):
        return 1
    codes = (getattr(each, "__code__", None) for each in vars(type(instance)).values())
    return min((code.co_firstlineno for code in codes if code is not None), default=1)


def _finding(raised: BaseException, head: PolicyHeader) -> Finding:
    file = head.declared_at.file if head.declared_at else ""
    is_meant = type(raised).__name__.endswith("PolicyViolation") or isinstance(
        raised, ValueError | AssertionError
    )
    text = str(raised) if is_meant and str(raised) else _exception_text(raised)
    return Finding(
        RuleEffect.DENY, text, subject=_exception_place(raised, file), is_failure=not is_meant
    )


def _exception_text(raised: BaseException) -> str:
    text = str(raised)
    return f"{type(raised).__name__}: {text}" if text else type(raised).__name__


def _exception_place(raised: BaseException, file: str) -> SourceRange | None:
    """Find the line of the policy that raised."""
    if isinstance(raised, SyntaxError) and raised.lineno:
        at = (raised.lineno, raised.offset or 1)
        return SourceRange(file, *at, *at)
    frames: Sequence[traceback.FrameSummary] = traceback.extract_tb(raised.__traceback__)
    lines = [
        each.lineno
        for each in frames
        if Path(each.filename) == Path(file).resolve() or each.filename == file
    ]
    return SourceRange(file, lines[-1], 1, lines[-1], 1) if lines and lines[-1] else None


def _unusable_policy(path: str, why: str, place: SourceRange | None = None) -> Diagnostic:
    return Diagnostic(
        "KP327",
        Severity.ERROR,
        SUMMARIES["KP327"],
        f"{path}: {why}.",
        "kplan does not plan without the requested policies.",
        subject=place,
    )


def _legacy_warning(file: str) -> Diagnostic:
    return Diagnostic(
        "KP334",
        Severity.WARNING,
        SUMMARIES["KP334"],
        f"{file} has create(meta) or alter(meta), as Kafka's CreateTopicPolicy and "
        "AlterConfigPolicy have. They see no more than those did.",
        "Write validate_create_topic and validate_alter_topic instead.",
    )
