"""Use case: draw the parts of a configuration and their references."""

from kplan.config.graph import ConfigurationGraph, build_graph
from kplan.kinds import KINDS
from kplan.model.diagnostic import has_errors
from kplan.model.errors import ConfigError
from kplan.workflow.ports import Project


def draw_graph(project: Project) -> ConfigurationGraph:
    """Draw the graph; no variable needs a value, and no cluster is asked.

    Raises:
        ConfigError: the files have mistakes, or refer to what is not declared.

    """
    found = build_graph(project.folder, project.inputs, KINDS)
    if has_errors(found.diagnostics):
        raise ConfigError(found.diagnostics, found.sources)
    return found
