"""`kplan quorum describe`, `add-voter` and `remove-voter`."""

from typing import Annotated

import typer

from kplan.cli.options import AutoApprove, InputOptions
from kplan.cli.query import QueryOptions, show_query
from kplan.cli.terminal import Session
from kplan.cli.verb import verb

ADD_QUESTION = """
Do you really want to add controller {node} to the voters?
  The voters change from {before} to {after}.
  Only 'yes' will be accepted to confirm.

  Enter a value: """
REMOVE_QUESTION = """
Do you really want to remove controller {node} from the voters?
  The voters change from {before} to {after}.{leads}
  Only 'yes' will be accepted to confirm.

  Enter a value: """


@verb(
    ("kplan quorum describe", "Show the leader and the lag of other nodes."),
    (
        "kplan quorum describe -bootstrap-controller=c1:9093 -json",
        "Ask a controller while no broker is running.",
    ),
)
def describe(session: Session, inputs: InputOptions, ask: QueryOptions) -> int:
    """Describe the metadata quorum and the lag of its nodes.

    Voters are the controllers, observers are the brokers. Nodes that have not fetched for 10
    seconds are noted; they are usually down. Nothing is changed.
    """
    from kplan.workflow.inspect.cluster import describe_quorum  # noqa: PLC0415 - help needs it not

    return show_query(session, inputs, ask, describe_quorum)


@verb(
    ("kplan quorum add-voter 104@c4:9093", "Add a controller that runs as an observer."),
    (
        "kplan quorum add-voter 104@c4:9093 -auto-approve -json",
        "Add it without asking, in a script.",
    ),
)
def add_voter(
    session: Session,
    voter: Annotated[
        str,
        typer.Argument(metavar="ID@HOST:PORT", help="The id and the address of the controller."),
    ],
    inputs: InputOptions,
    ask: QueryOptions,
    listener: Annotated[
        str,
        typer.Option(
            "--listener",
            metavar="NAME",
            help="The listener of the controller; by default that of the leader.",
        ),
    ] = "",
    *,
    auto_approve: AutoApprove = False,
) -> int:
    """Add a controller to the voters of the quorum (KIP-853).

    The quorum requires kraft.version 1. The storage of the controller was formatted with
    --no-initial-controllers, and the controller has caught up as an observer.
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
    return _show_voters(session, ask, found, f"Added controller {node}")


@verb(
    ("kplan quorum remove-voter 103", "Remove a controller before its shutdown."),
    ("kplan quorum remove-voter 103 -auto-approve -json", "Remove it without asking, in a script."),
)
def remove_voter(
    session: Session,
    node: Annotated[int, typer.Argument(metavar="ID", help="The id of the controller.", min=0)],
    inputs: InputOptions,
    ask: QueryOptions,
    *,
    auto_approve: AutoApprove = False,
) -> int:
    """Remove a controller from the voters (KIP-853).

    The quorum requires kraft.version 1. kplan refuses the change if the running voters would no
    longer be a majority. The controller continues as an observer while it runs.
    """
    from kplan.cli.approval import ClusterChange  # noqa: PLC0415 - help needs none of these
    from kplan.workflow.inspect.quorum import VoterChange, remove_voter  # noqa: PLC0415

    def question(change: VoterChange) -> str:
        leads = "\n  It is the leader; another leader is elected." if change.is_leader else ""
        before, after = _node_list(change.before), _node_list(change.after)
        return REMOVE_QUESTION.format(node=node, before=before, after=after, leads=leads)

    found = ClusterChange(session, inputs, ask, auto_approve).run(
        "quorum remove-voter",
        lambda project, ports, say: remove_voter(
            project, ports, ask.provider, node, lambda change: say(question(change))
        ),
    )
    return _show_voters(session, ask, found, f"Removed controller {node}")


def _parse_voter(text: str) -> tuple[int, str, int]:
    """Read ID@HOST:PORT. Raises UsageError."""
    from kplan.model.errors import UsageError  # noqa: PLC0415 - help needs it not

    node, _, address = text.partition("@")
    host, _, port = address.rpartition(":")
    last = 65_535
    if not (node.isdecimal() and host and port.isdecimal() and 0 < int(port) <= last):
        raise UsageError(
            f'"{text}" is not ID@HOST:PORT.',
            hint="Write it as in controller.quorum.voters: 104@c4:9093.",
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
        session.terminal.write_stdout(f"{what}; the voters are {_node_list(voters)}.\n")
    return ExitCode.DONE
