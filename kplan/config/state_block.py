"""The `state` block: where the state is stored, if not in a file."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kplan.cluster.protocol import INT16_MAX
from kplan.cluster.topic import KPLAN_PREFIX, is_own, topic_name_fault
from kplan.cluster.topology import (
    DEFAULT_KEY,
    DEFAULT_TOPIC,
    ObjectService,
    StateBucket,
    StateTopic,
    is_loopback,
)
from kplan.config.declarations.declaration import Declaration
from kplan.config.declarations.file import configuration_files
from kplan.config.diagnostic import EvaluationError, error, suggestion, warning
from kplan.config.evaluation.evaluate import deep_recursion, evaluate
from kplan.config.inputs import Inputs
from kplan.config.modules.module import Module
from kplan.config.modules.provider import Provider, evaluate_providers
from kplan.config.modules.result_cache import ResultCache
from kplan.config.modules.root_module import open_folder
from kplan.config.values.sensitive import bare, has_sensitive, unmark
from kplan.config.values.value import Value
from kplan.kinds.base import ResourceKind
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, has_errors
from kplan.model.workspace import workspace_key

BACKENDS = ("file", "kafka", *ObjectService)

_KEY = re.compile(r"[A-Za-z0-9._-]{1,200}")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_ACCOUNT = re.compile(r"[a-z0-9]{3,24}")
_OBJECT_KEY = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*")
_ENDPOINT = re.compile(r"https?://(\[[0-9A-Fa-f:]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?(/[a-z0-9]*)?")
_STATE_BLOCK = re.compile(rb"\bstate\b[^\n=]*[{:]")


@dataclass(frozen=True, slots=True)
class StateLocation:
    """Where the state is kept: in a topic or a bucket, in a file where both are None.

    `providers` say how to reach the cluster. Where it is not known, because of mistakes in the
    configuration, loading that tells all of them.
    """

    is_known: bool = True
    topic: StateTopic | None = None
    providers: tuple[Provider, ...] = ()
    bucket: StateBucket | None = None


def find_state_location(
    folder: Path, inputs: Inputs, kinds: Sequence[ResourceKind]
) -> StateLocation:
    """Determine the place of the state, evaluating as little as possible.

    A folder without a state block is not even parsed.
    """
    if not _may_have_state_block(folder):
        return StateLocation()
    with deep_recursion():
        root = open_folder(folder, inputs, kinds)
        results, declared = root.context.results, root.module.declarations
        if not declared.state_blocks and not declared.is_incomplete:
            return StateLocation()
        try:
            location = evaluate_state_block(root.module, results)
            is_topic = isinstance(location, StateTopic)
            found = evaluate_providers(root.module, results) if is_topic else ()
        except EvaluationError:
            return StateLocation(is_known=False)
    if has_errors(results.diagnostics):
        return StateLocation(is_known=False)
    if isinstance(location, StateBucket):
        key = workspace_key(location.key, inputs.workspace)
        return StateLocation(bucket=replace(location, key=key))
    if location is not None:
        location = replace(location, key=workspace_key(location.key, inputs.workspace))
    return StateLocation(topic=location, providers=found)


def evaluate_state_block(module: Module, results: ResultCache) -> StateTopic | StateBucket | None:
    """Evaluate the state block; None where there is none, or one for a file.

    Raises:
        EvaluationError: what it says is not known.

    """
    if not module.declarations.state_blocks:
        return None
    found = module.declarations.state_blocks[0]
    values: dict[str, Value] = {}
    problems: list[Diagnostic] = []
    for name, attribute in found.arguments.items():
        value = evaluate(attribute.value, module.scope(found.origin))
        if has_sensitive(value):
            problems.append(error("KP182", found.value_range(name), _SENSITIVE_DETAIL))
        values[name], _ = unmark(bare(value))
    problems += _problems(values, found)
    results.report(problems)
    if has_errors(problems) or found.is_broken or "backend" not in values:
        raise EvaluationError
    if values["backend"] == "file":
        return None
    if values["backend"] in list(ObjectService):
        return _bucket(values)
    copies = values.get("replication_factor")
    return StateTopic(
        str(values.get("topic") or DEFAULT_TOPIC),
        str(values.get("key") or DEFAULT_KEY),
        copies if isinstance(copies, int) else None,
    )


def _bucket(values: Mapping[str, Value]) -> StateBucket:
    endpoint = str(values.get("endpoint") or "")
    return StateBucket(
        str(values.get("bucket") or values.get("container")),
        str(values["key"]),
        str(values.get("region") or ""),
        endpoint,
        allow_http=values.get("allow_http") is True or is_loopback(endpoint),
        service=ObjectService(str(values["backend"])),
        account=str(values.get("account") or ""),
    )


_SENSITIVE_DETAIL = "The value is sensitive, and it is part of messages about the state."


def _problems(values: Mapping[str, Value], declaration: Declaration) -> Iterator[Diagnostic]:
    if "backend" not in values:
        return  # told when the text was checked
    backend = values["backend"]
    if backend not in BACKENDS:
        detail = 'The backend is "file", "kafka", "s3", "gcs" or "azure".'
        hint = suggestion(backend, BACKENDS) if isinstance(backend, str) else ""
        yield error("KP135", declaration.value_range("backend"), detail, hint=hint)
        return
    yield from _argument_problems(str(backend), values, declaration)
    if backend in list(ObjectService):
        yield from _bucket_problems(str(backend), values, declaration)
    if backend == "kafka" and values.get("key") is None:
        detail = "Two configurations with one key on one cluster would share one state."
        yield warning("KP136", declaration.declared_at, detail, hint='Name this one: key = "..."')


def _argument_problems(
    backend: str, values: Mapping[str, Value], declaration: Declaration
) -> Iterator[Diagnostic]:
    taken = _ARGUMENTS[backend]
    for name in (each for each in values if each != "backend"):
        if name not in taken:
            owners = " or ".join(f'"{each}"' for each in BACKENDS if name in _ARGUMENTS[each])
            detail = f'The argument "{name}" is for the backend {owners}.'
            if owners:  # one that no backend has was told when the text was checked
                yield error("KP135", declaration.value_range(name), detail)
        elif values[name] is not None and (fault := taken[name](values[name])):
            yield error("KP135", declaration.value_range(name), fault)


_REQUIRED: Mapping[str, tuple[str, ...]] = {
    ObjectService.S3: ("bucket", "key"),
    ObjectService.GCS: ("bucket", "key"),
    ObjectService.AZURE: ("account", "container", "key"),
}


def _bucket_problems(
    backend: str, values: Mapping[str, Value], declaration: Declaration
) -> Iterator[Diagnostic]:
    for name in _REQUIRED[backend]:
        if values.get(name) is None:
            detail = f'The backend "{backend}" requires the argument "{name}".'
            yield error("KP135", declaration.declared_at, detail, hint=f'Set {name} = "..."')
    endpoint = values.get("endpoint")
    if not isinstance(endpoint, str) or not endpoint.startswith("http://"):
        return
    if not is_loopback(endpoint) and values.get("allow_http") is not True:
        detail = "The state would be sent in clear to another machine."
        hint = "Use https://, or set allow_http = true."
        yield error("KP135", declaration.value_range("endpoint"), detail, hint=hint)


def _topic_problem(value: Value) -> str:
    if not isinstance(value, str):
        return "A topic is named by a string."
    if fault := topic_name_fault(value):
        return f'"{value}" is not a valid topic name: {fault}.'
    if not is_own(value):
        return f"Names of kplan's own topics start with {KPLAN_PREFIX}; it never plans those."
    return ""


def _key_problem(value: Value) -> str:
    if isinstance(value, str) and _KEY.fullmatch(value):
        return ""
    return "A key is of up to 200 letters, digits, dots, underscores and dashes."


def _replication_factor_problem(value: Value) -> str:
    if type(value) is int and 1 <= value <= INT16_MAX:
        return ""
    return "The replication factor is a whole number of 1 or more."


def _bucket_name_problem(value: Value) -> str:
    if isinstance(value, str) and _BUCKET.fullmatch(value):
        return ""
    return "A bucket is named by 3 to 63 lower-case letters, digits, dots and dashes."


def _account_problem(value: Value) -> str:
    if isinstance(value, str) and _ACCOUNT.fullmatch(value):
        return ""
    return "A storage account is named by 3 to 24 lower-case letters and digits."


def _object_key_problem(value: Value) -> str:
    if isinstance(value, str) and _OBJECT_KEY.fullmatch(value):
        return ""
    return (
        "The key of a state in a bucket is of letters, digits, dots, underscores and dashes, in "
        "parts divided by a slash."
    )


def _endpoint_problem(value: Value) -> str:
    if isinstance(value, str) and _ENDPOINT.fullmatch(value):
        return ""
    return "An endpoint is of the form https://HOST:PORT."


def _region_problem(value: Value) -> str:
    return "" if isinstance(value, str) and value else "A region is named by a string."


def _flag_problem(value: Value) -> str:
    return "" if isinstance(value, bool) else "The value is true or false."


_ARGUMENTS: Mapping[str, Mapping[str, Callable[[Value], str]]] = {
    "file": {},
    "kafka": {
        "topic": _topic_problem,
        "key": _key_problem,
        "replication_factor": _replication_factor_problem,
    },
    "s3": {
        "bucket": _bucket_name_problem,
        "key": _object_key_problem,
        "region": _region_problem,
        "endpoint": _endpoint_problem,
        "allow_http": _flag_problem,
    },
    "gcs": {
        "bucket": _bucket_name_problem,
        "key": _object_key_problem,
        "endpoint": _endpoint_problem,
        "allow_http": _flag_problem,
    },
    "azure": {
        "account": _account_problem,
        "container": _bucket_name_problem,
        "key": _object_key_problem,
        "endpoint": _endpoint_problem,
        "allow_http": _flag_problem,
    },
}


def _may_have_state_block(folder: Path) -> bool:
    try:
        return any(_STATE_BLOCK.search(each.read_bytes()) for each in configuration_files(folder))
    except OSError:
        return True  # told when it is read
