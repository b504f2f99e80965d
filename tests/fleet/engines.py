"""The sorts of Spark that this suite runs on."""

from dataclasses import dataclass

from kplan.fleet.engine import Engine

MIXED, LOCAL, STANDALONE, CONNECT = "mixed", "local", "standalone", "connect"


@dataclass(frozen=True, slots=True)
class AtWork:
    """A Spark: `engine` for sessions of a test's own process, `options` for commands."""

    name: str
    engine: Engine
    options: tuple[str, ...]
