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
    """Backends of the state."""

    FILE = "file"
    KAFKA = "kafka"


@verb(
    ("kplan state migrate -to kafka", "Run this after adding a state block."),
    ("kplan state migrate -to file", "Run this before removing the state block."),
)
def migrate(
    session: Session,
    to: Annotated[Backend, typer.Option("--to", help="The backend to move the state to.")],
    inputs: InputOptions,
    states: StateOptions,
) -> int:
    """Move the state between a file and a topic of the cluster.

    A pipeline without a persistent disk can store the state in a topic of the cluster. The
    configuration needs a block "state" with these arguments: backend = "kafka"; key, which
    identifies the state of this configuration; topic, "__kplan_state" by default, or another name
    that begins with __kplan_; and replication_factor, 3 by default or the number of brokers if
    smaller.

    kplan creates the topic with one partition and compaction. It holds the state, the lock, the
    journal of an apply and the last 20 states. Each write is a transaction that fences earlier
    writers, so a run that lost its lock cannot write. kplan never plans, lists or deletes this
    topic.

    Required permissions: READ, WRITE and DESCRIBE_CONFIGS on the topic, CREATE if it does not
    exist, and WRITE on the transactional id kplan-state-KEY. With READ alone, kplan plan
    -lock=false works.

    The state document is identical in both places, with its lineage and serial. A note in the old
    place names the new one; the backups stay in the old place.
    """
    from kplan.cli import wiring  # noqa: PLC0415 - help needs none of these
    from kplan.model.errors import UsageError  # noqa: PLC0415
    from kplan.state.file_store import FileStore  # noqa: PLC0415
    from kplan.workflow.state.migrate import migrate_state  # noqa: PLC0415

    file = FileStore(states.path(session.environ))
    remote = wiring.build_project(session, StateOptions(), inputs).store
    if isinstance(remote, FileStore):
        raise UsageError(
            "The configuration has no state block with the Kafka backend.",
            'Add state { backend = "kafka" } to the configuration; see kplan state migrate -help.',
        )
    source, target = (file, remote) if to is Backend.KAFKA else (remote, file)
    with show_progress(session.terminal) as progress:
        ports = wiring.build_ports(session, "state migrate", states, progress)
        done = migrate_state(source, target, ports)
    session.terminal.write_stdout(
        f"Moved the state (serial {done.state.serial}) from {done.source} to {done.target}."
    )
    if to is Backend.FILE:
        session.terminal.write_stderr("Now remove the state block from the configuration.")
    return ExitCode.DONE
