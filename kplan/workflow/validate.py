"""Use case: find every mistake of a configuration, without a cluster."""

from kplan.config.load import Configuration, load
from kplan.kinds import KINDS
from kplan.workflow.project import Project


def validate(project: Project) -> Configuration:
    """Load the configuration with all of its diagnostics; never raises for what they can say."""
    return load(project.folder, project.inputs, KINDS)
