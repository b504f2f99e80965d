"""What functions need from outside their arguments: files, and somebody who renders templates."""

from collections.abc import Mapping
from typing import Protocol

from kplan.config.functions.access import FileAccess
from kplan.config.values.value import Value


class TemplateError(Exception):
    """A template that yields no value.

    The text is a sentence without full stop, with the place in the template in front. With
    `is_missing` the only fault is a variable that the caller did not give.
    """

    def __init__(self, message: str, *, is_missing: bool = False) -> None:
        super().__init__(message)
        self.is_missing = is_missing


class Host(Protocol):
    """What the evaluator lends to the functions that reach beyond their arguments."""

    @property
    def files(self) -> FileAccess:
        """The files that may be read."""
        ...

    @property
    def in_template(self) -> bool:
        """Whether the call stands in a template that a function renders; those do not nest."""
        ...

    def render(self, template: str, name: str, variables: Mapping[str, Value]) -> Value:
        """Evaluate the text of a template with nothing in sight but the variables.

        `name` stands for the template in error texts.

        Raises:
            TemplateError: the template has an error or lacks a variable.

        """
        ...
