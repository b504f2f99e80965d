"""The destination of one report."""

from pathlib import Path

from kplan.model.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ReportTarget:
    """A format and its output file; None is stdout."""

    format: str
    path: Path | None
