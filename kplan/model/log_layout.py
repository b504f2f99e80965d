"""The logs that a fleet file names, and their layouts."""

from kplan.model.dataclass import dataclass

MESSAGE_BEGINNING = "Principal = "
"""What the authorizer's messages begin with."""
KAFKA_SCHEME = "kafka://"
"""What the name of a log begins with that is a topic."""


@dataclass(frozen=True, slots=True)
class LogLayout:
    """How the lines of a log are written; `text` is what the fleet file calls it.

    A line has the layout if it matches `regex`, which Java and Python read alike. Its groups are
    the `fields`: `message`, and those of the time. Without fields the line is taken apart as if no
    layout were named. `zone` is that of times without one; "" is the zone of the broker.
    """

    text: str
    regex: str
    fields: tuple[str, ...] = ()
    zone: str = ""

    @property
    def any_message(self) -> str:
        """Return the regex of lines of all loggers in this layout; it has fields."""
        return self.regex.replace(MESSAGE_BEGINNING, "")


@dataclass(frozen=True, slots=True)
class AuditFiles:
    """Logs of one layout, as patterns of file names."""

    patterns: tuple[str, ...]
    layout: LogLayout
