"""Diagnostics and the source ranges they point to."""

from collections.abc import Iterable
from enum import StrEnum

from kplan.model.address import Address
from kplan.model.dataclass import dataclass


@dataclass(frozen=True, slots=True, order=True)
class SourceRange:
    """A span of text. Lines and columns (of characters) start at 1; the end is exclusive."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        """Write the start of the span as editors and CI annotations read it."""
        return f"{self.file}:{self.line}:{self.column}"


class Severity(StrEnum):
    """How much a diagnostic stops: an ERROR stops the run, a WARNING does not."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem, reported in the same form everywhere.

    `summary` is the title of the code, or one of `model/summaries.py`: the words of Terraform for
    this use of the code. `detail` says what and why with the particulars; `hint` is the hint.
    `related` holds further spans with a short label each (the first declaration of a duplicate,
    the hops of a cycle).
    `values` holds `(expression, description)` pairs of what the failing expression saw; sensitive
    values are never in it.
    """

    code: str
    severity: Severity
    summary: str
    detail: str = ""
    hint: str = ""
    address: Address | None = None
    subject: SourceRange | None = None
    related: tuple[tuple[str, SourceRange], ...] = ()
    values: tuple[tuple[str, str], ...] = ()

    @property
    def is_error(self) -> bool:
        """Whether this problem stops the run."""
        return self.severity is Severity.ERROR


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    """Return whether any of the problems stops the run."""
    return any(each.is_error for each in diagnostics)


_CONNECTION_CODES = frozenset({"KP911", "KP912"})


def connection_errors(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return the errors of clusters that cannot be had, which do not stop the others."""
    return tuple(each for each in diagnostics if each.code in _CONNECTION_CODES)


def stopping_errors(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return the errors that stop more than what concerns one cluster."""
    found = (each for each in diagnostics if each.is_error)
    return tuple(each for each in found if each.code not in _CONNECTION_CODES)


def sort_diagnostics(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Sort for display: errors first, then by place, code and text; duplicates once."""
    nowhere = SourceRange("", 0, 0, 0, 0)
    return tuple(
        sorted(
            dict.fromkeys(diagnostics),
            key=lambda each: (
                not each.is_error,
                each.subject or nowhere,
                each.code,
                str(each.address or ""),
                each.detail,
            ),
        )
    )
