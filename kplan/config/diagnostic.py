"""Diagnostics of a configuration, "did you mean" hints, and the exceptions that carry them."""

from bisect import bisect
from collections.abc import Iterable
from typing import Any

from kplan.model.codes import SUMMARIES
from kplan.model.diagnostic import Diagnostic, Severity, SourceRange


def error(code: str, subject: SourceRange | None, detail: str, **more: Any) -> Diagnostic:  # noqa: ANN401 - fields of Diagnostic
    """Make the error of a code, with the title of the code unless `summary` is given."""
    summary = more.pop("summary", "") or SUMMARIES[code]
    return Diagnostic(code, Severity.ERROR, summary, detail, subject=subject, **more)


def warning(code: str, subject: SourceRange | None, detail: str, **more: Any) -> Diagnostic:  # noqa: ANN401
    """Make the warning of a code, with the code's own summary."""
    return Diagnostic(code, Severity.WARNING, SUMMARIES[code], detail, subject=subject, **more)


UNKNOWN_CODES = frozenset({"KP509", "KP510"})
"""Codes of values that exist and are not known: those of other providers, and of later reads."""


class EvaluationError(Exception):
    """An expression has no value.

    `diagnostics` says why; it is empty where the reason has been reported elsewhere already, as for
    everything that depends on a local value that failed. `is_final` says that `try` and `can` must
    not make up for it: it is a mistake in the text itself, or has been reported.
    """

    def __init__(self, diagnostics: Iterable[Diagnostic] = (), *, is_final: bool = False) -> None:
        super().__init__()
        self.diagnostics = tuple(diagnostics)
        self.is_final = is_final or not self.diagnostics
        self._typed: tuple[object, Any] | None = None

    def set_type(self, node: object, value_type: object) -> None:
        """Say which type the value of the node that failed would have had."""
        self._typed = (node, value_type)

    def type_of(self, node: object, default: Any) -> Any:  # noqa: ANN401 - a type of the language
        """Return that type; the default where another node failed, or the type does not show."""
        return self._typed[1] if self._typed is not None and self._typed[0] is node else default

    @property
    def is_unknown(self) -> bool:
        """Whether the value is merely not known in this run; what needs none goes on without it."""
        codes = {each.code for each in self.diagnostics}
        return bool(codes) and codes <= UNKNOWN_CODES


class OperandError(Exception):
    """Values were given to an operation that does not take them; the catcher knows the place.

    `summary` is that of this use of the code, where it is not the code's title. `operand` is the
    one at fault, such as "left operand".
    """

    def __init__(
        self, code: str, detail: str, hint: str = "", *, summary: str = "", operand: str = ""
    ) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.hint = hint
        self.summary = summary
        self.operand = operand


_MAX_COMPARED = 20
"""Names beyond which only those are compared that begin, or else end, much like the one given."""


def suggestion(name: str, known: Iterable[str]) -> str:
    """Suggest the nearest known name: `Did you mean "environment"?`, or nothing."""
    names = sorted(known)
    near = _closest_name(name, names if len(names) <= _MAX_COMPARED else _neighbors(name, names))
    if not near and len(names) > _MAX_COMPARED:
        backwards = _neighbors(name[::-1], sorted([each[::-1] for each in names]))
        near = _closest_name(name, [each[::-1] for each in backwards])
    return f'Did you mean "{near}"?' if near else ""


def _closest_name(name: str, names: list[str]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - only errors need it

    return next(iter(get_close_matches(name, names, n=1)), "")


def _neighbors(name: str, names: list[str]) -> list[str]:
    place = bisect(names, name)
    return names[max(place - _MAX_COMPARED // 2, 0) : place + _MAX_COMPARED // 2]
