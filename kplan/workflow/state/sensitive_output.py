"""The value of a sensitive output, which no state contains: it is evaluated again."""

from kplan.model.errors import UsageError
from kplan.model.state import OutputValue
from kplan.workflow.open_project import load_checked
from kplan.workflow.ports import Project


def sensitive_output(project: Project, name: str) -> OutputValue:
    """Evaluate one output by name, without the cluster.

    The result is for showing and is never stored, so it is not marked sensitive.

    Raises:
        ConfigError: the configuration has no value for it.
        UsageError: it is not declared any more, or its value comes from a data source.

    """
    configuration = load_checked(project)
    for each in configuration.outputs:
        if each.name == name:
            return OutputValue(each.value, each.type)
    reason = (
        "its value comes from a data source, which only plan and apply read"
        if configuration.lacks_data
        else "the configuration does not declare it any more"
    )
    raise UsageError(
        f'The output "{name}" is sensitive, so the state does not store it, and {reason}.',
        "Take the value from where it comes from.",
    )
