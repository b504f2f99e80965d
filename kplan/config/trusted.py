"""What a configuration that is not trusted does not decide: connections, state and policies.

They are taken from a checkout that is trusted, the branch that a change is for; a change of them is
reported, and comes into force once it is merged.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from kplan.config.declarations.file import configuration_files
from kplan.config.diagnostic import error, warning
from kplan.config.inputs import Inputs, Trust
from kplan.config.load import Configuration, load_configuration
from kplan.config.modules.data_source import DataSourceReader
from kplan.config.modules.provider import Provider
from kplan.config.packages.trust import lock_problems
from kplan.config.policies.block import PolicySettings
from kplan.kinds.base import ResourceKind
from kplan.model.diagnostic import Diagnostic, sort_diagnostics
from kplan.model.errors import ConfigError
from kplan.model.policy import Policy

_HARMLESS = frozenset({"acl_order", "kafka_version", "name", "timeout"})
_REF_HINT = "Give a checkout of the branch that the change is for with -trusted-ref=DIR."


def load_restricted(
    folder: Path,
    inputs: Inputs,
    kinds: Sequence[ResourceKind],
    reader: DataSourceReader | None = None,
) -> Configuration:
    """Load the configuration in a folder within the limits of `inputs.trust`.

    Raises:
        ConfigError: the trusted configuration has errors.

    """
    found = load_configuration(folder, inputs, kinds, reader)
    if inputs.trust is None:
        return found
    if problems := list(lock_problems(folder, inputs.trust)):
        return replace(found, diagnostics=sort_diagnostics([*found.diagnostics, *problems]))
    return restrict_configuration(found, inputs.trust, _load_trusted(inputs.trust, inputs, kinds))


def restrict_configuration(
    found: Configuration, trust: Trust, trusted: Configuration | None
) -> Configuration:
    """Replace connections and policies by those that are trusted, and report what differs.

    Raises:
        ConfigError: the trusted configuration has errors.

    """
    if trusted is None:
        settings = found.policy_settings
        problems = [*_connection_errors(found.providers), *_settings_errors(settings)]
        return replace(
            found,
            policy_settings=replace(settings, paths=()),
            diagnostics=sort_diagnostics([*found.diagnostics, *problems]),
        )
    if any(each.is_error for each in trusted.diagnostics):
        raise ConfigError(trusted.diagnostics, trusted.sources)
    folder = trust.ref
    settings = trusted.policy_settings
    paths = tuple(_trusted_path(each, folder) for each in settings.paths) if folder else ()
    problems = [
        *_provider_changes(found.providers, trusted.providers),
        *_policy_changes(found, trusted),
    ]
    return replace(
        found,
        providers=trusted.providers,
        policies=trusted.policies,
        policy_settings=replace(settings, paths=(), trusted_paths=paths),
        diagnostics=sort_diagnostics([*found.diagnostics, *problems]),
    )


def _trusted_path(path: str, folder: Path) -> str:
    """Return the path of a policy in the trusted checkout; the name of an installed one stays."""
    there = folder / path
    return str(there) if there.exists() else path


def _connection_errors(providers: Sequence[Provider]) -> Iterator[Diagnostic]:
    for each in providers:
        for name in sorted(set(each.arguments) - _HARMLESS):
            detail = f'"{name}" of a provider block is part of the connection.'
            yield error("KP311", each.ranges.get(name, each.declared_at), detail, hint=_REF_HINT)


def _settings_errors(settings: PolicySettings) -> Iterator[Diagnostic]:
    if settings.paths:
        detail = f"The policies block names {', '.join(settings.paths)}."
        yield error("KP311", None, detail, hint=_REF_HINT)


def _provider_changes(own: Sequence[Provider], trusted: Sequence[Provider]) -> Iterator[Diagnostic]:
    known = {each.key: each for each in trusted}
    for each in own:
        other = known.get(each.key)
        if other is None and each.key:
            detail = f'The connection "{each.key}" is not in the trusted configuration.'
            hint = "Merge the provider block first, or plan this change with an apply job."
            yield error("KP311", each.declared_at, detail, hint=hint)
        elif dict(each.arguments) != (dict(other.arguments) if other else {}):
            detail = (
                "The provider block differs from the trusted one, whose connection this plan uses."
            )
            yield warning("KP312", each.declared_at, detail)


def _policy_changes(own: Configuration, trusted: Configuration) -> Iterator[Diagnostic]:
    changed = _changed_policies(own.policies, trusted.policies)
    if own.policy_settings != trusted.policy_settings:
        changed.append("the policies block")
    if changed:
        detail = (
            f"Different from the trusted configuration, whose policies check this plan: "
            f"{', '.join(changed)}."
        )
        yield warning("KP312", None, detail)


def _changed_policies(own: Sequence[Policy], trusted: Sequence[Policy]) -> list[str]:
    def text(policies: Sequence[Policy]) -> dict[str, tuple[object, ...]]:
        return {
            each.header.name: (each.header.level, each.header.operations, each.header.kinds,
                               tuple(rule.label for rule in each.list_rules()))
            for each in policies
        }  # fmt: skip

    ours, theirs = text(own), text(trusted)
    return sorted(name for name in {*ours, *theirs} if ours.get(name) != theirs.get(name))


def _load_trusted(
    trust: Trust, inputs: Inputs, kinds: Sequence[ResourceKind]
) -> Configuration | None:
    """Load the trusted configuration; None where no checkout is given.

    A folder that is new in the change has nothing there: no block, and so the environment decides.
    """
    if trust.ref is None:
        return None
    if not trust.ref.is_dir() or not configuration_files(trust.ref):
        return Configuration((), (), (), {}, (), {}, "")
    return load_configuration(trust.ref, replace(inputs, trust=None), kinds)
