"""How far a start has come, for whoever wants to show it."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class Stage(StrEnum):
    """The parts of a start, in their order; the first two happen once per Kafka version."""

    FETCH = "fetch"
    WARM = "warm"
    FORMAT = "format"
    START = "start"


@dataclass(frozen=True, slots=True)
class Step:
    """`done` of `total` pieces of a stage (jars, then nodes); a `total` of 0 is unknown."""

    stage: Stage
    detail: str
    done: int
    total: int


Progress = Callable[[Step], None]


def silent(_: Step) -> None:
    """Show nothing."""
