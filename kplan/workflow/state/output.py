"""Outputs of a state: their text, and the values of sensitive ones, which are evaluated again."""

from collections.abc import Mapping
from typing import cast

from kplan.config.values.stored_value import stored_value_text
from kplan.config.values.value_text import Json
from kplan.model.errors import UsageError
from kplan.model.state import OutputValue
from kplan.workflow.open_project import load_checked
from kplan.workflow.ports import Project


def outputs_text(outputs: Mapping[str, OutputValue]) -> str:
    """Write a line or more of `name = value` for each, as `terraform output` does."""
    return "".join(f"{name} = {output_text(outputs[name])}" for name in sorted(outputs))


def output_text(output: OutputValue) -> str:
    """Write the value of one output as `terraform output` does; `<sensitive>` if not stored."""
    if output.is_sensitive:
        return "<sensitive>\n"
    return f"{stored_value_text(cast('Json', output.value), cast('Json', output.type))}\n"


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
