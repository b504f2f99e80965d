"""The `state` block: where the state is stored, if not in a file."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

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
from kplan.config.state_schema import BACKENDS, STATE_ARGUMENTS
from kplan.config.values.sensitive import bare, has_sensitive, unmark
from kplan.config.values.value import Value
from kplan.kinds.base import ResourceKind
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, has_errors
from kplan.model.workspace import workspace_key

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
    for name in (each for each in values if each != "backend" and each in STATE_ARGUMENTS):
        checks = STATE_ARGUMENTS[name].checks
        if backend not in checks:
            owners = " or ".join(f'"{each}"' for each in BACKENDS if each in checks)
            detail = f'The argument "{name}" is for the backend {owners}.'
            yield error("KP135", declaration.value_range(name), detail)
        elif values[name] is not None and (fault := checks[backend](values[name])):
            yield error("KP135", declaration.value_range(name), fault)


def _bucket_problems(
    backend: str, values: Mapping[str, Value], declaration: Declaration
) -> Iterator[Diagnostic]:
    for name, argument in STATE_ARGUMENTS.items():
        if backend in argument.required_by and values.get(name) is None:
            detail = f'The backend "{backend}" requires the argument "{name}".'
            yield error("KP135", declaration.declared_at, detail, hint=f'Set {name} = "..."')
    endpoint = values.get("endpoint")
    if not isinstance(endpoint, str) or not endpoint.startswith("http://"):
        return
    if not is_loopback(endpoint) and values.get("allow_http") is not True:
        detail = "The state would be sent in clear to another machine."
        hint = "Use https://, or set allow_http = true."
        yield error("KP135", declaration.value_range("endpoint"), detail, hint=hint)


def _may_have_state_block(folder: Path) -> bool:
    try:
        return any(_STATE_BLOCK.search(each.read_bytes()) for each in configuration_files(folder))
    except OSError:
        return True  # told when it is read
