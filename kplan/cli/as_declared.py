"""Values that are of the declared type as they were typed, so that typer need not convert them.

For a conversion typer loads pydantic, which takes longer than all else that a small verb does.
"""

from collections.abc import Callable
from functools import partial
from typing import Any


def spared(command: Any) -> Any:  # noqa: ANN401 - a class typer keeps to itself
    """Let a command of typer, with those below it, take such values; others are converted as ever.

    All are, where another typer converts in another way.
    """
    listed = command.get_params

    def params(context: Any) -> list[Any]:  # noqa: ANN401 - as above
        found: list[Any] = listed(context)  # with -help, which is none of the command's own
        for each in found:
            if convert := getattr(type(each), "get_runtime_param", None):
                each.get_runtime_param = AsDeclared(partial(convert, each)).itself
        return found

    command.get_params = params
    for each in getattr(command, "commands", {}).values():
        spared(each)
    return command


class AsDeclared:
    """Stands before typer's own conversion of one parameter."""

    def __init__(self, converting: Callable[[], Any]) -> None:
        self._converting = converting

    def itself(self) -> "AsDeclared":
        """Give what converts."""
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:  # noqa: ANN401 - as typer has it
        """Give the value as the verb takes it. Raises typer's own errors."""
        declared = param.type_descriptor.annotation
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        if type(value) is declared:
            return value
        if declared == list[str] and all(isinstance(each, str) for each in value):
            return list(value)
        return self._converting().coerce(value, param=param, ctx=ctx)
