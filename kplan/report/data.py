"""What a report holds for programs: plain data, cases, findings and gauges."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum

from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import SourceRange
from kplan.model.test_result import RunStatus
from kplan.report.document import Document

Data = None | bool | int | float | str | Sequence["Data"] | Mapping[str, "Data"]
"""What JSON can say. Mappings are written in the order in which they stand."""


def as_data(value: object) -> Data:
    """Take a value as JSON says it: mappings sorted by key, what JSON lacks as its text."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Mapping():
            return {str(key): as_data(value[key]) for key in sorted(value)}
        case list() | tuple():
            return [as_data(each) for each in value]
        case _:
            return str(value)


NOTHING = Document(())
"""The story of what needs none."""


class Level(StrEnum):
    """How much a finding counts: an ERROR stops something, a WARNING wants to be looked at."""

    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to know. `summary` is the same for each finding of a code, `text` the particulars.

    `address` is what it is about, "" where that is no resource.
    """

    code: str
    level: Level
    summary: str
    text: str = ""
    hint: str = ""
    place: SourceRange | None = None
    address: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """One thing that was looked at: a change, an outcome, a run of a test.

    `group` is what it is one of, `said` what became of it in a few words, and `story` all that a
    person should read of it.
    """

    name: str
    group: str
    grade: RunStatus
    said: str = ""
    findings: tuple[Finding, ...] = ()
    elapsed_s: float = 0.0
    story: Document = NOTHING


@dataclass(frozen=True, slots=True)
class Gauge:
    """One number with its name, what it says, and labels; those of a name stand together."""

    name: str
    said: str
    value: float
    labels: Mapping[str, str] = field(default_factory=dict)
