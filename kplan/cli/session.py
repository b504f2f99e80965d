"""One run of the command, as its verbs see it."""

from collections.abc import Mapping

from kplan.cli.signals import Signals
from kplan.cli.terminal import Terminal
from kplan.model.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Session:
    """The environment, terminal and signals of a run.

    `args` is the command line as typer reads it: unlike typer it keeps the order of options.
    """

    environ: Mapping[str, str]
    terminal: Terminal
    signals: Signals
    args: tuple[str, ...] = ()
