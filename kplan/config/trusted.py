"""What a configuration that is not trusted does not decide: connections, state and policies.

They are taken from a checkout that is trusted, the branch that a change is for; a change of them is
reported, and comes into force once it is merged.
"""

from collections.abc import Iterator, Mapping, Sequence
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
from kplan.config.policies.policy import rules_text
from kplan.config.state_block import find_state_location
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
    *,
    defers: bool = False,
) -> Configuration:
    """Load the configuration in a folder within the limits of `inputs.trust`.

    Raises:
        ConfigError: the trusted configuration has errors.

    """
    found = load_configuration(folder, inputs, kinds, reader, defers=defers)
    trust = inputs.trust
    if trust is None:
        return found
    if problems := list(lock_problems(folder, trust)):
        return replace(found, diagnostics=sort_diagnostics([*found.diagnostics, *problems]))
    found = restrict_configuration(found, folder, trust, _load_trusted(trust, inputs, kinds))
    if trust.ref is None or _is_same_state(folder, trust.ref, inputs, kinds):
        return found
    detail = "The state block differs from the trusted one, whose state this plan uses."
    diagnostic = warning("KP312", None, detail)
    return replace(found, diagnostics=sort_diagnostics([*found.diagnostics, diagnostic]))


def _is_same_state(folder: Path, ref: Path, inputs: Inputs, kinds: Sequence[ResourceKind]) -> bool:
    one = find_state_location(folder, inputs, kinds)
    other = find_state_location(ref, replace(inputs, trust=None), kinds)
    return (one.is_known, one.topic, one.bucket) == (other.is_known, other.topic, other.bucket)


def restrict_configuration(
    found: Configuration, own: Path, trust: Trust, trusted: Configuration | None
) -> Configuration:
    """Replace connections and policies by those that are trusted, and report what differs.

    `own` is the folder of the configuration.

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
        *_policy_changes(found, trusted, _changed_paths(settings.paths, own, folder)),
    ]
    return replace(
        found,
        providers=tuple(replace(each, folder=folder) for each in trusted.providers),
        policies=trusted.policies,
        policy_settings=replace(settings, paths=(), trusted_paths=paths),
        sources={**found.sources, **trusted.sources},
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
        elif names := _different_arguments(each, other):
            detail = (
                f"The provider block differs from the trusted one in {', '.join(names)}. This plan "
                "uses the trusted connection."
            )
            yield warning("KP312", each.declared_at, detail)


def _different_arguments(own: Provider, other: Provider | None) -> Sequence[str]:
    """Name the arguments that differ; values may be secret."""
    theirs = other.arguments if other else {}
    names = sorted({*own.arguments, *theirs})
    return [each for each in names if own.arguments.get(each) != theirs.get(each)]


def _changed_paths(paths: Sequence[str], folder: Path, ref: Path | None) -> Sequence[str]:
    """Name the policies in other files and folders that the change edits."""
    if ref is None:
        return []
    return [each for each in paths if _contents(folder / each) != _contents(ref / each)]


def _contents(path: Path) -> Mapping[str, bytes]:
    files = [path] if path.is_file() else sorted(path.rglob("*"))
    return {str(each.relative_to(path)): each.read_bytes() for each in files if each.is_file()}


def _policy_changes(
    own: Configuration, trusted: Configuration, folders: Sequence[str]
) -> Iterator[Diagnostic]:
    changed = _changed_policies(own.policies, trusted.policies)
    if own.policy_settings != trusted.policy_settings:
        changed.append("the policies block")
    changed += folders
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
                               rules_text(each))
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
    given = replace(inputs, trust=None)
    # Its files have the same names as those of the change, which must not be quoted for them.
    return load_configuration(trust.ref, given, kinds, shown=str(trust.ref))
