"""A verb: a function over groups of options, written so that typer can read it."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from typing import Annotated, Any, get_type_hints

import typer

Run = Callable[..., int]
Examples = tuple[tuple[str, str], ...]

_NO_COLOR = Annotated[bool, typer.Option("--no-color", help="Write without colour.")]


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb of the command line.

    `run` takes the `Session` and then typer parameters, or dataclasses whose fields are typer
    parameters; it returns the exit code. `examples` are command lines with what each is for.
    """

    run: Run
    examples: Examples

    def callback(self) -> Callable[..., int]:
        """Give the function as typer reads it: every field of every group a parameter."""
        plain, grouped = _parameters(self.run)

        def called(context: typer.Context, no_color: bool, **given: Any) -> int:  # noqa: ANN401, FBT001 - the session has read it already
            del no_color
            groups = {
                name: group(**{each.name: given.pop(each.name) for each in fields(group)})
                for name, group in grouped.items()
            }
            return self.run(context.obj, **given, **groups)

        flat = [
            *plain,
            *(_parameter(group, each) for group in grouped.values() for each in fields(group)),
        ]
        shown = [
            inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context),
            *flat,
            inspect.Parameter(
                "no_color", inspect.Parameter.KEYWORD_ONLY, annotation=_NO_COLOR, default=False
            ),
        ]
        called.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
        called.__annotations__ = {each.name: each.annotation for each in shown}
        called.__doc__ = inspect.getdoc(self.run)
        return called

    def epilog(self) -> str:
        r"""Write the examples; `\b` keeps typer from filling the lines anew."""
        lines = [
            line for command, why in self.examples for line in (f"  {command}", f"      {why}")
        ]
        return "\n".join(("\b", "Examples:", *lines))


def verb(*examples: tuple[str, str]) -> Callable[[Run], Verb]:
    """Make a verb of a function; each example is a command line and what it is for."""
    return lambda run: Verb(run, examples)


def _parameters(run: Run) -> tuple[list[inspect.Parameter], Mapping[str, type[Any]]]:
    """Split what a verb takes, behind the session, into parameters and groups of them."""
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


def _parameter(group: type[Any], each: Field[Any]) -> inspect.Parameter:
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
