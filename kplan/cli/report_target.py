"""Where one report goes."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ReportTarget:
    """A format by its name, and the file it goes to; None is stdout."""

    format: str
    path: Path | None
