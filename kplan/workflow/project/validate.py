"""Use case: find every mistake of a configuration, without a cluster."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kplan.cluster.topic import topic_value_fault
from kplan.config.diagnostic import error, warning
from kplan.config.load import Configuration
from kplan.config.trusted import load_restricted
from kplan.kafka.settings.resolver import resolve_settings
from kplan.kinds import KINDS
from kplan.kinds.base import HIDDEN_VALUE
from kplan.kinds.topic_rules import Topic
from kplan.model.diagnostic import Diagnostic, sort_diagnostics
from kplan.workflow.access import acl_order_diagnostics
from kplan.workflow.platform import platform_argument_diagnostics, platform_diagnostics
from kplan.workflow.ports import Project

_BLOCK_CODES = frozenset({"KP301", "KP302", "KP305", "KP306", "KP308"})
"""Mistakes of a provider block alone; what is missing may come from where it is planned."""


_UNSET = "KP170"


def validate_project(
    project: Project, kafka_version: tuple[int, int] | None = None
) -> Configuration:
    """Load the configuration with all diagnostics; raises nothing that a diagnostic can report.

    With a version of Kafka topic configs are also checked against what that version takes. A
    variable without a value is no mistake: whoever plans gives one. What depends on it is not
    checked.
    """
    found = load_restricted(project.folder, project.inputs, KINDS)
    mistakes = [
        *_provider_diagnostics(found, project),
        *acl_order_diagnostics(found),
        *platform_argument_diagnostics(found),
        *platform_diagnostics(found),
    ]
    if kafka_version is not None:
        mistakes += _version_diagnostics(found, kafka_version)
    problems = [*_forgive_unset(found.diagnostics), *mistakes]
    return replace(found, diagnostics=sort_diagnostics(problems))


def _forgive_unset(diagnostics: Sequence[Diagnostic]) -> Iterator[Diagnostic]:
    """Make one warning of all variables without a value, at the first of them."""
    unset = [each for each in diagnostics if each.code == _UNSET]
    yield from (each for each in diagnostics if each.code != _UNSET)
    if unset:
        names = ", ".join(f"var.{each.detail.split(chr(34))[1]}" for each in unset)
        detail = f"No value is given for {names}. What depends on that is not checked."
        hint = "To check it too, give values with -var-file=FILE, -var or TF_VAR_name."
        yield warning(_UNSET, unset[0].subject, detail, hint=hint)


def _version_diagnostics(
    configuration: Configuration, version: tuple[int, int]
) -> Iterator[Diagnostic]:
    """Find the topic configs that this version does not take and others do."""
    for resource in configuration.resources:
        if not isinstance(topic := resource.value, Topic):
            continue
        for key, value in sorted(topic.config.items()):
            path = ("config", key)
            fault = topic_value_fault(key, value, version)
            if not fault or topic_value_fault(key, value):
                continue  # what no version takes was told when the file was read
            shown = HIDDEN_VALUE if {path, path[:1]} & resource.sensitive else f'"{value}"'
            yield error(
                "KP208",
                resource.ranges.get(path, resource.declared_at),
                f"Kafka {version[0]}.{version[1]}: {key} is {shown}: {fault}.",
                address=resource.address,
            )


def _provider_diagnostics(configuration: Configuration, project: Project) -> Iterator[Diagnostic]:
    for block in configuration.providers:
        resolved = resolve_settings(block, {}, folder=project.folder)
        yield from (
            each
            for each in resolved.diagnostics
            if each.code in _BLOCK_CODES
            and each.subject
            and each.subject.file in configuration.sources
        )
