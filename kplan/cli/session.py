"""One run of the command, as its verbs see it."""

from collections.abc import Mapping

from kplan.cli.signals import Signals
from kplan.cli.terminal import Terminal
from kplan.model.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Session:
    """What a verb needs besides its options: environment, terminal and signals.

    `args` is the command line as typer reads it: it tells the order of options, which typer
    does not.
    """

    environ: Mapping[str, str]
    terminal: Terminal
    signals: Signals
    args: tuple[str, ...] = ()
