"""A verb: a function over groups of options, and how typer reads it."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import partial
from typing import Annotated, Any, get_type_hints

import typer

from kplan.model.dataclass import dataclass

VerbFunction = Callable[..., int]
Examples = tuple[tuple[str, str], ...]

_NO_COLOR = Annotated[bool, typer.Option("--no-color", help="Write without colour.")]


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb of the command line.

    `run` takes the `Session` and then typer parameters, or dataclasses whose fields are typer
    parameters; it returns the exit code. `examples` are command lines with what each is for.
    """

    run: VerbFunction
    examples: Examples

    def callback(self) -> Callable[..., int]:
        """Give the function as typer reads it: every field of every group a parameter."""
        plain, grouped = _split_parameters(self.run)

        def call_verb(context: typer.Context, no_color: bool, **given: Any) -> int:  # noqa: ANN401, FBT001 - the session has read it already
            del no_color
            groups = {
                name: group(**{each.name: given.pop(each.name) for each in fields(group)})
                for name, group in grouped.items()
            }
            return self.run(context.obj, **given, **groups)

        flat = [
            *plain,
            *(
                _field_parameter(group, each)
                for group in grouped.values()
                for each in fields(group)
            ),
        ]
        shown = [
            inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context),
            *flat,
            inspect.Parameter(
                "no_color", inspect.Parameter.KEYWORD_ONLY, annotation=_NO_COLOR, default=False
            ),
        ]
        call_verb.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
        call_verb.__annotations__ = {each.name: each.annotation for each in shown}
        call_verb.__doc__ = inspect.getdoc(self.run)
        return call_verb

    def epilog(self) -> str:
        r"""Write the examples; `\b` keeps typer from rewrapping the lines."""
        lines = [
            line for command, why in self.examples for line in (f"  {command}", f"      {why}")
        ]
        return "\n".join(("\b", "Examples:", *lines))


def verb(*examples: tuple[str, str]) -> Callable[[VerbFunction], Verb]:
    """Make a verb from a function; each example is a command line and its purpose."""
    return lambda run: Verb(run, examples)


def _split_parameters(run: VerbFunction) -> tuple[list[inspect.Parameter], Mapping[str, type[Any]]]:
    """Split the parameters of a verb, after the session, into parameters and option groups."""
    hints = get_type_hints(run, include_extras=True)
    plain: list[inspect.Parameter] = []
    grouped: dict[str, type[Any]] = {}
    for each in list(inspect.signature(run).parameters.values())[1:]:
        hint = hints[each.name]
        if is_dataclass(hint) and isinstance(hint, type):
            grouped[each.name] = hint
        else:
            plain.append(each.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hint))
    return plain, grouped


def _field_parameter(group: type[Any], each: Field[Any]) -> inspect.Parameter:
    hint = get_type_hints(group, include_extras=True)[each.name]
    default = each.default
    if each.default_factory is not MISSING:
        default = each.default_factory()
    return inspect.Parameter(
        each.name,
        inspect.Parameter.KEYWORD_ONLY,
        annotation=hint,
        default=inspect.Parameter.empty if default is MISSING else default,
    )


def skip_conversion(command: Any) -> Any:  # noqa: ANN401 - a class typer keeps to itself
    """Let a command of typer, with those below it, take such values; others are converted as ever.

    All are, where another typer converts in another way.
    """
    listed = command.get_params

    def params(context: Any) -> list[Any]:  # noqa: ANN401 - as above
        found: list[Any] = listed(context)  # with -help, which is not one of the command's own
        for each in found:
            if convert := getattr(type(each), "get_runtime_param", None):
                each.get_runtime_param = DeclaredTypeConverter(partial(convert, each)).converter
        return found

    command.get_params = params
    for each in getattr(command, "commands", {}).values():
        skip_conversion(each)
    return command


class DeclaredTypeConverter:
    """Stands before typer's own conversion of one parameter."""

    def __init__(self, converting: Callable[[], Any]) -> None:
        self._typer_converter = converting

    def converter(self) -> "DeclaredTypeConverter":
        """Return the converter of a parameter."""
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
        return self._typer_converter().coerce(value, param=param, ctx=ctx)
