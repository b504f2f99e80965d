"""How this room makes diagnostics, and the exception that carries them out of an expression."""

from collections.abc import Iterable
from typing import Any

from kplan.config.codes import SUMMARIES
from kplan.model.diagnostic import Diagnostic, Severity
from kplan.model.source import SourceRange


def error(code: str, subject: SourceRange | None, detail: str, **more: Any) -> Diagnostic:  # noqa: ANN401 - fields of Diagnostic
    """Make the error of a code, with the code's own summary."""
    return Diagnostic(code, Severity.ERROR, SUMMARIES[code], detail, subject=subject, **more)


def warning(code: str, subject: SourceRange | None, detail: str, **more: Any) -> Diagnostic:  # noqa: ANN401
    """Make the warning of a code, with the code's own summary."""
    return Diagnostic(code, Severity.WARNING, SUMMARIES[code], detail, subject=subject, **more)


class Failure(Exception):  # noqa: N818 - not an error of the program
    """An expression has no value.

    `diagnostics` says why; it is empty where the reason has been told elsewhere already, as for
    everything that depends on a local value that failed. `is_final` says that `try` and `can` must
    not make up for it: it is a mistake in the text itself, or has been told.
    """

    def __init__(self, diagnostics: Iterable[Diagnostic] = (), *, is_final: bool = False) -> None:
        super().__init__()
        self.diagnostics = tuple(diagnostics)
        self.is_final = is_final or not self.diagnostics
