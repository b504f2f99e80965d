"""What verbs share that change one thing of a cluster, once somebody has said yes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from kplan.cli import approval, wiring
from kplan.cli.asking import AskOptions
from kplan.cli.options import InputOptions, StateOptions
from kplan.cli.progress import progress
from kplan.cli.session import Session
from kplan.model.errors import UsageError
from kplan.workflow.project import Ports, Project

Done = TypeVar("Done")
Say = Callable[[str], bool]
"""Asks a question; only `yes` counts."""


@dataclass(frozen=True, slots=True)
class Desk:
    """Who changes something, where, and whether they said yes already."""

    session: Session
    inputs: InputOptions
    ask: AskOptions
    auto_approve: bool

    def changed(self, verb: str, work: Callable[[Project, Ports, Say], Done]) -> Done:
        """Carry it out under a progress display; neither state nor lock is touched.

        Raises:
            UsageError: nobody can be asked, before any work.

        """
        if not self.auto_approve:
            if self.ask.json:
                raise UsageError("-json needs -auto-approve: it cannot ask.")
            if not (self.inputs.input and self.session.terminal.can_ask):
                raise UsageError("There is nobody to ask.", "-auto-approve says yes at once.")
        states = StateOptions(lock=False)
        with progress(self.session.terminal) as shown:

            def say(question: str) -> bool:
                return self.auto_approve or approval.asked(self.session, shown, question)

            project = wiring.project(self.session, states, self.inputs)
            return work(project, wiring.ports(self.session, verb, states, shown), say)
