"""The arguments of a policy block."""

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import ParamSpec, TypeVar

from kplan.config.declarations.declaration import Declaration
from kplan.config.diagnostic import EvaluationError, error, suggestion
from kplan.config.evaluation.evaluate import evaluate
from kplan.config.evaluation.scope import Scope
from kplan.config.values.conversion import ConversionError, convert
from kplan.config.values.sensitive import bare
from kplan.config.values.value import Type, Value, is_null
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import Diagnostic

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


@dataclass(frozen=True, slots=True)
class ArgumentReader:
    """The arguments of one block, brought to the types they should have.

    `problems` are those of the arguments that were read with `attempt`.
    """

    declaration: Declaration
    scope: Scope
    problems: list[Diagnostic] = field(default_factory=list)

    def attempt(
        self,
        read: Callable[Arguments, Result],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Result | None:
        """Read arguments; where one is wrong keep its problems, and return None."""
        try:
            return read(*args, **kwargs)
        except EvaluationError as failure:
            self.problems.extend(failure.diagnostics)
            return None

    def value(self, name: str, wanted: Type, what: str) -> Value:
        """Evaluate an argument; null where it is left out. Raises EvaluationError."""
        if name not in self.declaration.arguments:
            return None
        value = bare(evaluate(self.declaration.arguments[name].value, self.scope))
        if is_null(value):
            return None
        try:
            return convert(value, wanted)
        except ConversionError as fault:
            why = "" if str(fault) == f"{what} is required" else f": {fault}"
            raise self.argument_error(name, f'"{name}" must be {what}{why}.') from None

    def argument_error(self, name: str, text: str, hint: str = "") -> EvaluationError:
        """Make the failure of an argument."""
        return EvaluationError(
            [error("KP137", self.declaration.value_range(name), text, hint=hint)]
        )

    def choices(self, name: str, known: Sequence[str], what: str) -> tuple[str, ...]:
        """Read a word, or a list of them, out of those that are known."""
        if name not in self.declaration.arguments:
            return ()
        value = bare(evaluate(self.declaration.arguments[name].value, self.scope))
        given = (value,) if isinstance(value, str) else value
        if not isinstance(given, tuple) or not all(isinstance(each, str) for each in given):
            raise self.argument_error(name, f'"{name}" must be {what}, or a list of them.')
        texts = tuple(str(each) for each in given)
        for each in texts:
            if each not in known:
                hint = suggestion(each, known) or f"There is {', '.join(known)}."
                raise self.argument_error(name, f'"{each}" is not {what}.', hint)
        return texts
