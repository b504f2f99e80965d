"""`kplan state migrate`."""

from enum import StrEnum
from typing import Annotated

import typer

from kplan.cli.exit_code import ExitCode
from kplan.cli.options import InputOptions, StateOptions
from kplan.cli.progress import show_progress
from kplan.cli.session import Session
from kplan.cli.verb import verb


class Backend(StrEnum):
    """Where a state can be kept."""

    FILE = "file"
    KAFKA = "kafka"


@verb(
    ("kplan state migrate -to kafka", "After a state block was added to the configuration."),
    ("kplan state migrate -to file", "Before the state block is removed."),
)
def migrate(
    session: Session,
    to: Annotated[Backend, typer.Option("--to", help="Where the state is to be kept.")],
    inputs: InputOptions,
    states: StateOptions,
) -> int:
    """Move the state to a topic of the cluster, or back.

    A pipeline without a disk of its own keeps the state on the cluster that it is about. The
    configuration says so in a block "state" with the arguments backend = "kafka"; key, which tells
    this configuration's state from others in the topic; topic, "__kplan_state" where it is left
    out, any other name beginning with __kplan_ as well; and replication_factor, three where there
    are as many brokers.

    kplan creates the topic, compacted and of one partition. Besides the state it holds the lock,
    the journal of an apply and the last 20 states. Every write is a transaction that shuts out the
    writers before it, so a run that lost its lock cannot write any more. kplan never plans, lists
    or deletes such a topic.

    Rights it takes: READ, WRITE and DESCRIBE_CONFIGS on the topic, CREATE where it does not exist
    yet, and WRITE on the transactional id kplan-state-KEY. READ alone lets a pull request plan
    with -lock=false.

    The document is the same in both places, byte for byte, with its lineage and serial. Where it
    was a note says where it is now; the states before it stay there.
    """
    from kplan.cli import wiring  # noqa: PLC0415 - help needs none of these
    from kplan.model.errors import UsageError  # noqa: PLC0415
    from kplan.state.file_store import FileStore  # noqa: PLC0415
    from kplan.workflow.state.migrate import migrate_state  # noqa: PLC0415

    file = FileStore(states.path(session.environ))
    remote = wiring.build_project(session, StateOptions(), inputs).store
    if isinstance(remote, FileStore):
        raise UsageError(
            "The configuration does not say in which topic the state is, or is to be.",
            'It takes a state block with backend = "kafka"; see kplan state migrate -help.',
        )
    source, target = (file, remote) if to is Backend.KAFKA else (remote, file)
    with show_progress(session.terminal) as shown:
        ports = wiring.build_ports(session, "state migrate", states, shown)
        done = migrate_state(source, target, ports)
    session.terminal.write_stdout(
        f"The state, at serial {done.state.serial}, is in {done.target} now; {done.source} says so."
    )
    if to is Backend.FILE:
        session.terminal.write_stderr("Remove the state block from the configuration.")
    return ExitCode.DONE
