"""Data sources that depend on resources: read before a plan if those do not change, or after it."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from kplan.config.load import Configuration
from kplan.config.modules.deferral import DeferredData
from kplan.model.codes import SUMMARIES
from kplan.model.diagnostic import Diagnostic, Severity
from kplan.model.errors import ConfigError, KplanError
from kplan.model.plan import Action, Change, ObjectKey, Plan, Reason
from kplan.model.state import OutputValue
from kplan.workflow.open_project import OpenProject
from kplan.workflow.ports import Ports


def settle_data(
    project: OpenProject,
    changes: Iterable[Change],
    *,
    is_narrow: bool = False,
    is_destroy: bool = False,
) -> OpenProject:
    """Read the data sources that were left for later, if nothing that they depend on changes.

    As in Terraform they are otherwise read after the changes: outputs that need them are known
    then, and resources that need them are planned then. What else needs them is refused, unless
    the plan `is_narrow`: of targets. Where all is to go, nothing needs them.

    Raises:
        ConfigError: `for_each`, `count` or a block that is no resource needs one of them.

    """
    configuration = project.configuration
    if configuration.deferred is None:
        return project
    if is_destroy:
        return replace(project, configuration=replace(configuration, deferred=None))
    if not _has_pending(configuration.deferred, changes):
        assert project.load_all_data is not None  # noqa: S101 - only such loads defer
        return replace(project, configuration=project.load_all_data())
    if configuration.deferred.problems and not is_narrow:
        problems = [*configuration.deferred.problems, *configuration.diagnostics]
        raise ConfigError(problems, configuration.sources)
    notes = tuple(_notes(configuration.deferred))
    diagnostics = (*configuration.diagnostics, *notes)
    return replace(project, configuration=replace(configuration, diagnostics=diagnostics))


def known_objects(
    project: OpenProject, changes: Iterable[Change], *, is_narrow: bool
) -> frozenset[ObjectKey] | None:
    """Return the objects to plan before the data sources are read; None where that is all.

    Objects of resources that have no value yet look as if they were not declared, so they are left
    out. One of them may also be what a deletion is to make room for, or the other half of an access
    that moves. So nothing is deleted in such a plan, unless it `is_narrow`.

    Raises:
        ConfigError: something would be deleted before all resources are known.

    """
    configuration = project.configuration
    later = configuration.deferred.resources if configuration.deferred else {}
    if not later:
        return None
    known = [
        each
        for each in changes
        if later.keys().isdisjoint(map(str, (*each.addresses, each.previous)))
    ]
    if not is_narrow and any(each.action in _REMOVALS for each in known):
        problems = {one: None for each in later.values() for one in each}
        raise ConfigError([*problems, *configuration.diagnostics], configuration.sources)
    return frozenset(each.key for each in known)


_REMOVALS = frozenset({Action.DELETE, Action.REPLACE, Action.FORGET})


def _has_pending(deferred: DeferredData, changes: Iterable[Change]) -> bool:
    """Whether a change is of a block, or in a module, that a data source waits for."""
    waits = {each for targets in deferred.waits.values() for each in targets}
    return any(
        _belongs_to(str(change.address), target)
        for change in changes
        if change.action is not Action.NO_OP
        for target in waits
    )


def _belongs_to(address: str, target: str) -> bool:
    return address.startswith(target) and address[len(target) :][:1] in {"", "[", "."}


def _notes(deferred: DeferredData) -> Iterator[Diagnostic]:
    for name, targets in sorted(deferred.waits.items()):
        detail = (
            f"{name} will be read during apply (depends on a resource or a module with changes "
            f"pending: {', '.join(targets)})."
        )
        if deferred.outputs:
            known = ", ".join(f"output.{each}" for each in deferred.outputs)
            detail = f"{detail} Known after apply: {known}."
        yield Diagnostic("KP510", Severity.WARNING, SUMMARIES["KP510"], detail)
    for address, reasons in sorted(deferred.resources.items()):
        detail = f"{address} is not in this plan. {reasons[0].detail}"
        hint = "Apply this plan, then plan again. kplan apply without a plan file does both."
        yield Diagnostic("KP625", Severity.WARNING, SUMMARIES["KP625"], detail, hint)


def late_outputs(
    project: OpenProject, configuration: Configuration, plan: Plan, ports: Ports
) -> dict[str, OutputValue]:
    """Read what was left for later, and return the outputs that need it and stay, or are null now.

    Where resources wait, too, outputs may be of objects that do not exist yet.
    """
    deferred = configuration.deferred
    is_destroy = any(each.reason is Reason.DESTROY for each in plan.changes)
    if deferred is None or is_destroy:
        return {}
    names = list(deferred.outputs)
    if not names or deferred.resources or project.load_all_data is None:
        return {}
    try:
        read = project.load_all_data()
    except KplanError as failure:
        ports.progress.note(f"Outputs {', '.join(names)} are not known: {failure.summary}.")
        return {}
    return {
        each.name: OutputValue(
            None if each.sensitive else each.value,
            each.type,
            is_sensitive=each.sensitive and each.value is not None,
        )
        for each in read.outputs
        if each.name in names
    }
