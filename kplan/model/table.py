"""Tables of a report over topics, groups or clusters, with the lineage of every figure."""

from collections.abc import Mapping
from dataclasses import field

from kplan.model.dataclass import dataclass

Cell = str | int | float | bool | None

NO_OWNER = "(nobody)"
"""What owns an object that no state holds."""


@dataclass(frozen=True, slots=True)
class FigureTable:
    """Rows under named columns. `is_cut` says that there are more than are shown."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    is_truncated: bool = False


@dataclass(frozen=True, slots=True)
class Figures:
    """What a job over many clusters came to.

    `lineage` names what every figure was made of: run, time of reading, version of the code.
    `notes` say what a reader must know beside the figures, such as clusters that could not be read.
    `findings` are the sorts of findings there are, also among rows that are not shown.
    """

    title: str
    tables: tuple[FigureTable, ...]
    lineage: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    findings: frozenset[str] = frozenset()
