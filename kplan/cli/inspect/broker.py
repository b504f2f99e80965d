"""`kplan broker unregister`."""

from typing import TYPE_CHECKING, Annotated

import typer

from kplan.cli.exit_code import ExitCode
from kplan.cli.options import AutoApprove, InputOptions
from kplan.cli.query import QueryOptions
from kplan.cli.session import Session
from kplan.cli.verb import verb
from kplan.model.dataclass import dataclass

if TYPE_CHECKING:  # help needs none of these
    from kplan.workflow.inspect.broker import BrokerStatus

QUESTION = """
Do you really want to unregister broker {broker}?
  {why}
  Only 'yes' will be accepted to confirm.

  Enter a value: """


@dataclass(frozen=True, slots=True)
class UnregisterOptions:
    """The broker to unregister, and the approval."""

    broker: Annotated[int, typer.Argument(metavar="ID", help="The id of the broker.", min=0)]
    force: Annotated[
        bool, typer.Option("--force", help="Unregister a broker that is running or has replicas.")
    ] = False
    auto_approve: AutoApprove = False


@verb(
    ("kplan broker unregister 3", "Unregister a broker after its replicas were moved."),
    ("kplan broker unregister 3 -auto-approve -json", "Unregister without asking, in a script."),
)
def unregister(
    session: Session, what: UnregisterOptions, inputs: InputOptions, ask: QueryOptions
) -> int:
    """Unregister a broker that was shut down permanently.

    A broker that is running or has replicas is not unregistered, unless -force is given. A broker
    that starts again registers itself again.
    """
    from kplan.cli.approval import ClusterChange  # noqa: PLC0415 - help needs none of these
    from kplan.report.formats.json_text import json_text  # noqa: PLC0415
    from kplan.workflow.inspect.broker import unregister_broker  # noqa: PLC0415

    def question(standing: "BrokerStatus") -> str:
        why = "; ".join(standing.objections) or "it does not run and has no replicas"
        return QUESTION.format(broker=what.broker, why=f"{why[0].upper()}{why[1:]}.")

    is_done = ClusterChange(session, inputs, ask, what.auto_approve).run(
        "broker unregister",
        lambda project, ports, say: unregister_broker(
            project,
            ports,
            (ask.provider, what.broker),
            lambda standing: say(question(standing)),
            is_forced=what.force,
        ),
    )
    if ask.json:
        session.terminal.write_stdout(json_text({"broker": what.broker, "unregistered": is_done}))
    elif is_done:
        session.terminal.write_stdout(f"Unregistered broker {what.broker}.\n")
    return ExitCode.DONE if is_done else ExitCode.ERROR
