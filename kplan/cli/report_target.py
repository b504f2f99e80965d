"""Where one report goes."""

from pathlib import Path

from kplan.model.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ReportTarget:
    """A format by its name, and the file it goes to; None is stdout."""

    format: str
    path: Path | None
