"""Options for the speed of partition reassignments."""

import re
from typing import TYPE_CHECKING, Annotated

import typer

from kplan.model.dataclass import dataclass
from kplan.model.errors import UsageError

if TYPE_CHECKING:
    from kplan.kinds.reassignment import ReassignmentLimits

_RATE = re.compile(r"([0-9]+)\s*([kMG]?)B?(?:/s)?")
_UNITS = {"": 1, "k": 1_000, "M": 1_000_000, "G": 1_000_000_000}


@dataclass(frozen=True, slots=True)
class MoveOptions:
    """Limits of partition reassignments."""

    throttle: Annotated[
        str,
        typer.Option(
            "--throttle",
            metavar="RATE",
            help="Limit the bytes per second that each broker copies, for example 50M; 0 is no "
            "limit.",
        ),
    ] = "120M"
    move_batch: Annotated[
        int,
        typer.Option(
            "--move-batch", metavar="N", min=1, help="Reassign up to N partitions at a time."
        ),
    ] = 50

    def move_limits(self) -> "ReassignmentLimits":
        """Return the limits. Raises UsageError."""
        from kplan.kinds.reassignment import ReassignmentLimits  # noqa: PLC0415 - help needs it not

        found = _RATE.fullmatch(self.throttle.strip())
        if found is None:
            raise UsageError(
                f"-throttle={self.throttle} is not a rate.",
                hint="Write bytes per second as 50M, 800k or 0.",
            )
        return ReassignmentLimits(int(found[1]) * _UNITS[found[2]], self.move_batch)
