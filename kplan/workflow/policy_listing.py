"""Use case: list the policies that a plan would be held against, without a cluster."""

from collections.abc import Iterator
from contextlib import contextmanager

from kplan.model.diagnostic import has_errors
from kplan.model.errors import ConfigError
from kplan.workflow.opened import loaded
from kplan.workflow.policies import Bench, bench
from kplan.workflow.project import PolicyOptions, Project


@contextmanager
def policy_list(project: Project, options: PolicyOptions) -> Iterator[Bench]:
    """Gather the policies of a configuration and of the paths that are given.

    Raises:
        ConfigError: one of them cannot be used.

    """
    configuration = loaded(project)
    with bench(configuration, options) as found:
        if has_errors(found.diagnostics):
            raise ConfigError(found.diagnostics, {**configuration.sources, **found.sources})
        yield found
