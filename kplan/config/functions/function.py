"""A function: signature, implementation, limits of results, and required context."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Final, Protocol

from kplan.config.functions.file_access import FileAccess
from kplan.config.values.conversion import ConversionError, convert
from kplan.config.values.number import NumberError, clean_text
from kplan.config.values.sensitive import has_sensitive, mark, unmark, unmark_deep
from kplan.config.values.value import ANY, Type, Value
from kplan.model.dataclass import dataclass

_SHORT: Final = {
    "\a": "\\a",
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\v": "\\v",
    "\f": "\\f",
    "\r": "\\r",
    '"': '\\"',
    "\\": "\\\\",
}
_LAST_BYTE: Final = 0x7F
_LAST_SHORT: Final = 0xFFFF


def quote(text: str) -> str:
    """Quote a text, with escapes for non-printable characters."""
    return f'"{"".join(_SHORT.get(each) or _visible_character(each) for each in text)}"'


def _visible_character(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    if code <= _LAST_BYTE:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= _LAST_SHORT else f"\\U{code:08x}"


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
        """Whether the call is in a template that a function renders; such templates do not nest."""
        ...

    def render(self, template: str, name: str, variables: Mapping[str, Value]) -> Value:
        """Evaluate the text of a template with nothing in sight but the variables.

        `name` means the template in error texts.

        Raises:
            TemplateError: the template has an error or lacks a variable.

        """
        ...


class Problem(StrEnum):
    """What went wrong with a call, as the summary of its diagnostic."""

    TOO_FEW = "Not enough function arguments"
    TOO_MANY = "Too many function arguments"
    ARGUMENT = "Invalid function argument"
    CALL = "Error in function call"


class FunctionError(Exception):
    """A call that yields no value.

    `problem` is the summary of the diagnostic, the text its detail. `argument` is the place of the
    argument at fault, counted from 0; None when it is the call as a whole.
    """

    def __init__(self, problem: Problem, message: str, argument: int | None = None) -> None:
        super().__init__(message)
        self.problem = problem
        self.message = message
        self.argument = argument


class Refusal(Exception):  # noqa: N818 - what a function says; `FunctionError` is the error of it
    """Raised by a function to refuse its arguments.

    `reason` may hold `{}` for each value in `shown`, which is how a value gets into an error
    text: where a sensitive argument was given, none of them is shown. `argument` is the place of
    the argument at fault; None blames the call.
    """

    def __init__(self, reason: str, *shown: object, argument: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.shown = shown
        self.argument = argument

    def text(self, *, secret: bool) -> str:
        """Fill in the values, or a placeholder for each of them."""
        if not self.shown:
            return self.reason
        return self.reason.format(*("(sensitive value)" if secret else each for each in self.shown))


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter. `marked` says that the function handles marks on its argument by itself."""

    name: str
    type: Type = ANY
    nullable: bool = False
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the language.

    `implementation` takes the converted arguments one by one, after the host if `hosted`.
    """

    name: str
    parameters: tuple[Parameter, ...]
    implementation: Callable[..., Value]
    variadic: Parameter | None = None
    hosted: bool = False

    def call(self, arguments: Sequence[Value], host: Host) -> Value:
        """Check and convert the arguments, call, and mark the result if a marked value went in.

        Raises:
            FunctionError: too many or too few arguments, one that does not fit, or a refusal.

        """
        self.check_count(len(arguments))
        try:
            return self._call_body(arguments, host)
        except RecursionError:
            raise self._error(Refusal("a value is nested too deeply"), hidden=False) from None

    def _call_body(self, arguments: Sequence[Value], host: Host) -> Value:
        converted = [self._convert_argument(place, each) for place, each in enumerate(arguments)]
        for place, each in enumerate(converted):
            self._check_null(place, each)
        bare = [self._unmark_argument(place, each) for place, each in enumerate(converted)]
        secret = any(has_mark for _, has_mark in bare)
        hosts = (host,) if self.hosted else ()
        try:
            result = self.implementation(*hosts, *(value for value, _ in bare))
        except Refusal as refusal:
            hidden = secret or any(has_sensitive(each) for each in converted)
            raise self._error(refusal, hidden=hidden) from None
        except NumberError as error:
            raise self._error(Refusal(str(error)), hidden=secret) from None
        if isinstance(result, str):
            result = clean_text(result)
        return mark(result, sensitive=secret)

    def check_count(self, count: int) -> None:
        """Refuse a call with too many or too few arguments.

        Raises:
            FunctionError: the count does not fit.

        """
        expected = len(self.parameters)
        if count < expected:
            least = "at least " if self.variadic else ""
            missing = self.parameters[count].name
            raise FunctionError(
                Problem.TOO_FEW,
                f'Function "{self.name}" expects {least}{expected} argument(s). '
                f'Missing value for "{missing}".',
            )
        if count > expected and self.variadic is None:
            raise FunctionError(
                Problem.TOO_MANY,
                f'Function "{self.name}" expects only {expected} argument(s).',
                expected,
            )

    def parameter(self, place: int) -> Parameter:
        """Find the parameter that the argument at this place is for."""
        if place < len(self.parameters) or self.variadic is None:
            return self.parameters[place]
        return self.variadic

    def _convert_argument(self, place: int, value: Value) -> Value:
        try:
            return convert(value, self.parameter(place).type)
        except ConversionError as error:
            # what is in quotes there is a name in the value
            is_secret = has_sensitive(value) and '"' in error.reason
            reason = error.part_reason if is_secret else error.reason
            raise self._bad_argument(place, reason) from None

    def _check_null(self, place: int, value: Value) -> None:
        if unmark(value)[0] is None and not self.parameter(place).nullable:
            raise self._bad_argument(place, "argument must not be null")

    def _unmark_argument(self, place: int, value: Value) -> tuple[Value, bool]:
        return (value, False) if self.parameter(place).marked else unmark_deep(value)

    def _error(self, refusal: Refusal, *, hidden: bool) -> FunctionError:
        text = refusal.text(secret=hidden)
        if refusal.argument is not None:
            return self._bad_argument(refusal.argument, text)
        return FunctionError(Problem.CALL, f'Call to function "{self.name}" failed: {text}.')

    def _bad_argument(self, place: int, reason: str) -> FunctionError:
        name = self.parameter(place).name
        message = f'Invalid value for "{name}" parameter: {reason}.'
        return FunctionError(Problem.ARGUMENT, message, place)


MAX_TEXT: Final = 16 * 2**20
"""Characters of one string."""

MAX_ELEMENTS: Final = 1_000_000
"""Elements of one collection."""


def check_text(length: int) -> None:
    """Refuse to build a string of this length if it is too long."""
    if length > MAX_TEXT:
        raise Refusal(f"the result would have {length} characters, more than {MAX_TEXT}")


def check_elements(count: int) -> None:
    """Refuse to build a collection of this size if it is too large."""
    if count > MAX_ELEMENTS:
        raise Refusal(f"the result would have {count} elements, more than {MAX_ELEMENTS}")
