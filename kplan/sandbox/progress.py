"""Progress of a start, for whoever shows it."""

from collections.abc import Callable
from enum import StrEnum

from kplan.model.dataclass import dataclass


class Stage(StrEnum):
    """The parts of a start, in their order; the first two happen once per Kafka version."""

    FETCH = "fetch"
    WARM = "warm"
    FORMAT = "format"
    START = "start"


@dataclass(frozen=True, slots=True)
class ProgressStep:
    """`done` of `total` pieces of a stage (jars, then nodes); a `total` of 0 is unknown."""

    stage: Stage
    detail: str
    done: int
    total: int


Progress = Callable[[ProgressStep], None]


def ignore_progress(_: ProgressStep) -> None:
    """Show nothing."""
