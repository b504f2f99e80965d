"""How fast replicas are moved, as it is typed."""

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
    """What moves of replicas may take of the brokers."""

    throttle: Annotated[
        str,
        typer.Option(
            "--throttle",
            metavar="RATE",
            help="What each broker may copy a second while replicas move, as 50M; 0 is no limit.",
        ),
    ] = "120M"
    move_batch: Annotated[
        int,
        typer.Option(
            "--move-batch", metavar="N", min=1, help="Partitions that move at the same time."
        ),
    ] = 50

    def move_limits(self) -> "ReassignmentLimits":
        """Give the pace. Raises UsageError."""
        from kplan.kinds.reassignment import ReassignmentLimits  # noqa: PLC0415 - help needs it not

        found = _RATE.fullmatch(self.throttle.strip())
        if found is None:
            raise UsageError(
                f"-throttle={self.throttle} is no rate.", hint="Bytes a second: 50M, 800k, 0."
            )
        return ReassignmentLimits(int(found[1]) * _UNITS[found[2]], self.move_batch)
