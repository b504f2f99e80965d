"""Policies of a configuration, of the modules it calls, and of separate folders."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import partial
from pathlib import Path

from kplan.config.declarations.declaration import Declaration
from kplan.config.diagnostic import EvaluationError, error
from kplan.config.evaluation.evaluate import deep_recursion, evaluate
from kplan.config.evaluation.type_constraint import parse_type_name
from kplan.config.inputs import Inputs
from kplan.config.modules.module import Module
from kplan.config.modules.result_cache import ResultCache
from kplan.config.modules.root_module import open_folder
from kplan.config.policies.block import evaluate_policy, policy_problems
from kplan.config.policies.policy import FactCache
from kplan.config.values.conversion import ConversionError, convert
from kplan.config.values.json_value import Json, to_json_value
from kplan.config.values.sensitive import bare
from kplan.config.values.value import Value, is_null
from kplan.kinds.base import ResourceKind
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic, sort_diagnostics
from kplan.model.policy import Policy

POLICY_MODES = ("item", "all")


@dataclass(frozen=True, slots=True)
class PolicySettings:
    """The `policies` block: where more policies are, what refuses the whole plan, settings.

    `paths` are files and folders, from the folder of the configuration, or names of installed
    policies; `mode` is "" where nothing is said.
    """

    paths: tuple[str, ...] = ()
    mode: str = ""
    settings: Mapping[str, Json] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class PolicyFolder:
    """The policies of a folder, with what is wrong with them and the text of its files."""

    policies: tuple[Policy, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict, repr=False)


def evaluate_policies(
    module: Module, ledger: ResultCache, kinds: Mapping[str, ResourceKind], source: str = ""
) -> tuple[Policy, ...]:
    """Work out the policy blocks of a module and of those it calls, in order of their text."""
    found: list[Policy] = []
    converted = FactCache()
    for child in module.modules():
        declared = child.declarations
        ledger.report(policy_problems(declared, kinds))
        for block in declared.policies.values():
            if not block.is_broken:
                scope = child.scope(block.origin)
                each = ledger.attempt(
                    partial(evaluate_policy, block, scope, kinds, source, converted)
                )
                found += [] if each is None else [each]
        if child.path and declared.policy_settings:
            told = "What holds for the whole plan is said where the plan is made."
            ledger.report([error("KP138", declared.policy_settings[0].declared_at, told)])
    return tuple(found)


def evaluate_policy_settings(module: Module, ledger: ResultCache) -> PolicySettings:
    """Work out the `policies` block of the root module."""
    if not module.declarations.policy_settings:
        return PolicySettings()
    found = module.declarations.policy_settings[0]
    read = partial(_evaluate_argument, module, found)
    paths = ledger.attempt(partial(read, "paths", "list(string)"))
    mode = ledger.attempt(partial(read, "mode", "string"))
    settings = ledger.attempt(partial(read, "settings", ""))
    if mode is not None and mode not in POLICY_MODES:
        each, whole = POLICY_MODES
        told = f'The mode is "{each}" (each change by itself) or "{whole}" (all or none).'
        ledger.report([error("KP137", found.value_range("mode"), told)])
    if settings is not None and not isinstance(settings, dict):
        told = "Settings are an object; every Python policy is given it."
        ledger.report([error("KP137", found.value_range("settings"), told)])
        settings = None
    plain = to_json_value(bare(settings)) if settings is not None else {}
    return PolicySettings(
        tuple(map(str, paths)) if isinstance(paths, tuple) else (),
        str(mode or ""),
        plain if isinstance(plain, Mapping) else {},
    )


def _evaluate_argument(module: Module, found: Declaration, name: str, wanted: str) -> Value:
    if name not in found.arguments:
        return None
    value = evaluate(found.arguments[name].value, module.scope(found.origin))
    if is_null(value):
        return None
    if not wanted:
        return value
    try:
        return convert(bare(value), parse_type_name(wanted))
    except ConversionError as fault:
        told = f'"{name}" is a {wanted}: {fault}.'
        raise EvaluationError([error("KP137", found.value_range(name), told)]) from None


def load_policy_folder(folder: Path, kinds: Sequence[ResourceKind], shown: str) -> PolicyFolder:
    """Load the policies of a folder of their own; variables have their defaults or its tfvars.

    `shown` is the folder as it is named in messages.
    """
    with deep_recursion():
        root = open_folder(folder, Inputs(), kinds, shown)
        module, ledger = root.module, root.context.results
        module.evaluate_all()
        found = evaluate_policies(module, ledger, root.context.kinds, shown)
        if module.declarations.resources:
            first = next(iter(module.declarations.resources.values()))
            told = "A folder of policies declares no resources; they would never be planned."
            ledger.report([error("KP137", first.declared_at, told)])
    return PolicyFolder(found, sort_diagnostics(ledger.diagnostics), root.sources)
