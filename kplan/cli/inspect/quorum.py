"""`kplan quorum describe`, `add-voter` and `remove-voter`."""

from typing import Annotated

import typer

from kplan.cli.options import AutoApprove, InputOptions
from kplan.cli.query import QueryOptions, show_query
from kplan.cli.session import Session
from kplan.cli.verb import verb

ADD_QUESTION = """
Do you really want controller {node} to vote?
  Voters are {before} now, and then {after}.
  Only 'yes' will be accepted to confirm.

  Enter a value: """
REMOVE_QUESTION = """
Do you really want controller {node} to vote no more?
  Voters are {before} now, and then {after}.{leads}
  Only 'yes' will be accepted to confirm.

  Enter a value: """


@verb(
    ("kplan quorum describe", "Who leads, and how far all others are."),
    ("kplan quorum describe -bootstrap-controller=c1:9093 -json", "While no broker runs."),
)
def describe(session: Session, inputs: InputOptions, ask: QueryOptions) -> int:
    """Tell the leader of the metadata, and who lags.

    Voters are the controllers, observers the brokers. Nodes that have not fetched for 10 seconds
    are noted: most often they are down. Nothing is changed anywhere.
    """
    from kplan.workflow.inspect.cluster import describe_quorum  # noqa: PLC0415 - help needs it not

    return show_query(session, inputs, ask, describe_quorum)


@verb(
    ("kplan quorum add-voter 104@c4:9093", "A controller that was started as an observer."),
    ("kplan quorum add-voter 104@c4:9093 -auto-approve -json", "In a script."),
)
def add_voter(
    session: Session,
    voter: Annotated[
        str, typer.Argument(metavar="ID@HOST:PORT", help="The controller, and where it listens.")
    ],
    inputs: InputOptions,
    ask: QueryOptions,
    listener: Annotated[
        str,
        typer.Option("--listener", metavar="NAME", help="The listener there; else the leader's."),
    ] = "",
    *,
    auto_approve: AutoApprove = False,
) -> int:
    """Let a controller that follows vote too (KIP-853).

    It takes a quorum of kraft.version 1. The controller is one whose storage was formatted with
    --no-initial-controllers, and that has caught up.
    """
    from kplan.cli.approval import ClusterChange  # noqa: PLC0415 - help needs none of these
    from kplan.workflow.inspect.quorum import NewVoter, add_voter  # noqa: PLC0415

    node, host, port = _parse_voter(voter)
    found = ClusterChange(session, inputs, ask, auto_approve).run(
        "quorum add-voter",
        lambda project, ports, say: add_voter(
            project,
            ports,
            ask.provider,
            NewVoter(node, host, port, listener),
            lambda change: say(
                ADD_QUESTION.format(
                    node=node, before=_node_list(change.before), after=_node_list(change.after)
                )
            ),
        ),
    )
    return _show_voters(session, ask, found, f"Controller {node} votes now")


@verb(
    ("kplan quorum remove-voter 103", "Before it is taken away for good."),
    ("kplan quorum remove-voter 103 -auto-approve -json", "In a script."),
)
def remove_voter(
    session: Session,
    node: Annotated[int, typer.Argument(metavar="ID", help="The id of the controller.", min=0)],
    inputs: InputOptions,
    ask: QueryOptions,
    *,
    auto_approve: AutoApprove = False,
) -> int:
    """Take its vote from a controller (KIP-853).

    It takes a quorum of kraft.version 1. Refused where the voters that are left and run would be no
    majority. The controller goes on as an observer while it runs.
    """
    from kplan.cli.approval import ClusterChange  # noqa: PLC0415 - help needs none of these
    from kplan.workflow.inspect.quorum import VoterChange, remove_voter  # noqa: PLC0415

    def question(change: VoterChange) -> str:
        leads = "\n  It leads now; another one is elected." if change.leads else ""
        before, after = _node_list(change.before), _node_list(change.after)
        return REMOVE_QUESTION.format(node=node, before=before, after=after, leads=leads)

    found = ClusterChange(session, inputs, ask, auto_approve).run(
        "quorum remove-voter",
        lambda project, ports, say: remove_voter(
            project, ports, ask.provider, node, lambda change: say(question(change))
        ),
    )
    return _show_voters(session, ask, found, f"Controller {node} votes no more")


def _parse_voter(text: str) -> tuple[int, str, int]:
    """Read ID@HOST:PORT. Raises UsageError."""
    from kplan.model.errors import UsageError  # noqa: PLC0415 - help needs it not

    node, _, address = text.partition("@")
    host, _, port = address.rpartition(":")
    last = 65_535
    if not (node.isdecimal() and host and port.isdecimal() and 0 < int(port) <= last):
        raise UsageError(
            f'"{text}" is not ID@HOST:PORT.', hint="As in controller.quorum.voters: 104@c4:9093"
        )
    return int(node), host.removeprefix("[").removesuffix("]"), int(port)


def _node_list(nodes: tuple[int, ...]) -> str:
    return ", ".join(map(str, nodes))


def _show_voters(
    session: Session, ask: QueryOptions, voters: tuple[int, ...] | None, what: str
) -> int:
    from kplan.cli.exit_code import ExitCode  # noqa: PLC0415 - help needs none of these
    from kplan.report.formats.json_text import json_text  # noqa: PLC0415

    if voters is None:
        return ExitCode.ERROR
    if ask.json:
        session.terminal.write_stdout(json_text({"voters": list(voters)}))
    else:
        session.terminal.write_stdout(f"{what}; voters are {_node_list(voters)}.\n")
    return ExitCode.DONE
