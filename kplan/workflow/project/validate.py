"""Use case: find every mistake of a configuration, without a cluster."""

from collections.abc import Iterator
from dataclasses import replace

from kplan.config.load import Configuration
from kplan.config.trusted import load_restricted
from kplan.kafka.settings.resolver import resolve_settings
from kplan.kinds import KINDS
from kplan.model.diagnostic import Diagnostic, sort_diagnostics
from kplan.workflow.access import acl_order_diagnostics
from kplan.workflow.ports import Project

_BLOCK_CODES = frozenset({"KP301", "KP302", "KP305", "KP306", "KP308"})
"""Mistakes of a provider block alone; what is missing may come from where it is planned."""


def validate_project(project: Project) -> Configuration:
    """Load the configuration with all of its diagnostics; never raises for what they can say."""
    found = load_restricted(project.folder, project.inputs, KINDS)
    mistakes = (*_provider_diagnostics(found, project), *acl_order_diagnostics(found))
    problems = [*found.diagnostics, *mistakes]
    return replace(found, diagnostics=sort_diagnostics(problems))


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
