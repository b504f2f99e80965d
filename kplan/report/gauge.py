"""Numbers to watch over time."""

from collections.abc import Mapping
from dataclasses import field

from kplan.model.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Gauge:
    """One number with its name, what it says, and labels; those of a name stand together."""

    name: str
    said: str
    value: float
    labels: Mapping[str, str] = field(default_factory=dict)
