"""The contents of a report for programs: plain data, cases, findings and gauges."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum

from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import SourceRange
from kplan.model.table import RunStatus
from kplan.report.document import Document

Data = None | bool | int | float | str | Sequence["Data"] | Mapping[str, "Data"]
"""What JSON can say. Mappings are written in the order in which they are."""


def as_data(value: object) -> Data:
    """Convert a value to JSON types: mappings sorted by key, other values as text."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Mapping():
            return {str(key): as_data(value[key]) for key in sorted(value)}
        case list() | tuple():
            return [as_data(each) for each in value]
        case _:
            return str(value)


EMPTY_DOCUMENT = Document(())
"""The story of what needs none."""


class Level(StrEnum):
    """How much a finding counts: an ERROR stops something, a WARNING needs review."""

    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Counts:
    """The numbers of added, changed and removed objects; a replaced one counts as both."""

    create: int = 0
    update: int = 0
    delete: int = 0


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to know. `summary` is one of those of the code, `detail` the particulars.

    `address` is what it is about, "" where that is no resource. `rule` is its id where a code has
    many rules, such as a policy; `related` are further places with a label each.
    """

    code: str
    level: Level
    summary: str
    detail: str = ""
    hint: str = ""
    source_range: SourceRange | None = None
    address: str = ""
    rule: str = ""
    related: tuple[tuple[str, SourceRange], ...] = ()

    @property
    def rule_id(self) -> str:
        """The id of the rule: its own, or the code."""
        return self.rule or self.code


@dataclass(frozen=True, slots=True)
class Case:
    """A case of a report: a change, an outcome, or a run of a test.

    `group` is its sort, `message` its result in a few words, and `details` all that a person
    should read of it.
    """

    name: str
    group: str
    status: RunStatus
    message: str = ""
    findings: tuple[Finding, ...] = ()
    elapsed_s: float = 0.0
    details: Document = EMPTY_DOCUMENT


@dataclass(frozen=True, slots=True)
class Gauge:
    """One number with name, description and labels; those of one name are grouped."""

    name: str
    description: str
    value: float
    labels: Mapping[str, str] = field(default_factory=dict)
