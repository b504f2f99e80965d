"""Data sources that depend on resources: read before a plan if those do not change, or after it."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from kplan.config.load import Configuration
from kplan.config.modules.deferral import DeferredData
from kplan.model.codes import SUMMARIES
from kplan.model.diagnostic import Diagnostic, Severity
from kplan.model.errors import ConfigError, KplanError
from kplan.model.plan import Action, Change, Plan, Reason
from kplan.model.state import OutputValue
from kplan.workflow.open_project import OpenProject
from kplan.workflow.ports import Ports


def settle_data(
    project: OpenProject, changes: Iterable[Change], *, is_narrow: bool = False
) -> OpenProject:
    """Read the data sources that were left for later, if nothing that they depend on changes.

    As in Terraform they are otherwise read after the changes: outputs that need them are known
    then, and resources that need them cannot be planned, unless the plan `is_narrow`: of targets.

    Raises:
        ConfigError: a resource needs one that is read after the changes.

    """
    configuration = project.configuration
    if configuration.deferred is None:
        return project
    if not _has_pending(configuration.deferred, changes):
        assert project.load_all_data is not None  # noqa: S101 - only such loads defer
        return replace(project, configuration=project.load_all_data())
    if configuration.deferred.problems and not is_narrow:
        problems = [*configuration.deferred.problems, *configuration.diagnostics]
        raise ConfigError(problems, configuration.sources)
    notes = tuple(_notes(configuration.deferred))
    diagnostics = (*configuration.diagnostics, *notes)
    return replace(project, configuration=replace(configuration, diagnostics=diagnostics))


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


def late_outputs(
    project: OpenProject, configuration: Configuration, plan: Plan, ports: Ports
) -> dict[str, OutputValue]:
    """Read what was left for later, and return the outputs that need it and stay."""
    deferred = configuration.deferred
    is_destroy = any(each.reason is Reason.DESTROY for each in plan.changes)
    names = list(deferred.outputs) if deferred and not is_destroy else []
    if not names or project.load_all_data is None:
        return {}
    try:
        read = project.load_all_data()
    except KplanError as failure:
        ports.progress.note(f"Outputs {', '.join(names)} are not known: {failure.summary}.")
        return {}
    return {
        each.name: OutputValue(
            None if each.sensitive else each.value, each.type, is_sensitive=each.sensitive
        )
        for each in read.outputs
        if each.name in names
    }
