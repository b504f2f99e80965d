"""`kplan state migrate`: move the state between backends."""

from contextlib import chdir
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kplan.cli.exit_code import ExitCode
from kplan.cli.options import InputOptions, StateOptions
from kplan.cli.progress import show_progress
from kplan.cli.terminal import Session
from kplan.cli.verb import verb

if TYPE_CHECKING:
    from kplan.state.store import StateStore
    from kplan.workflow.ports import Project


class Backend(StrEnum):
    """Backends of the state."""

    FILE = "file"
    KAFKA = "kafka"
    S3 = "s3"
    GCS = "gcs"
    AZURE = "azure"


def _check_backend(location: str, to: Backend, *, is_file: bool) -> None:
    from kplan.model.errors import UsageError  # noqa: PLC0415 - help needs none of it

    wanted = Backend.KAFKA if to is Backend.FILE else to
    if is_file:
        raise UsageError(
            "The configuration has no state block with another backend than the file.",
            f'Add state {{ backend = "{wanted}" }} to the configuration; see '
            "kplan state migrate -help.",
        )
    service, colon, _ = location.partition("://")
    if to not in {Backend.FILE, service if colon else Backend.KAFKA}:
        raise UsageError(
            f"The state block of the configuration is not for the backend {to}.",
            f'Set backend = "{to}" in it, or name its backend with -to.',
        )


def _stores(
    session: Session, states: StateOptions, project: "Project", to: Backend
) -> "tuple[StateStore, StateStore]":
    """Return source and destination of the state. Raises UsageError."""
    from kplan.state.file_store import FileStore  # noqa: PLC0415 - help needs none of it

    file = FileStore(states.path(session.environ, project.inputs.workspace))
    remote = project.store
    _check_backend(remote.location, to, is_file=isinstance(remote, FileStore))
    return (remote, file) if to is Backend.FILE else (file, remote)


def _other_store(
    session: Session, inputs: InputOptions, folder: Path, target: "StateStore"
) -> "StateStore":
    """Return where the configuration of another folder stores its state. Raises UsageError."""
    from kplan.cli import wiring  # noqa: PLC0415 - help needs none of these
    from kplan.model.errors import UsageError  # noqa: PLC0415
    from kplan.state.file_store import FileStore  # noqa: PLC0415

    if not folder.is_dir():
        raise UsageError(f"-from={folder} is not a folder.")
    with chdir(folder):
        project = wiring.build_project(session, StateOptions(), inputs)
        found = project.store
    if isinstance(found, FileStore):
        found = FileStore(folder / project.state_path)
    if found.location == target.location:
        raise UsageError(f"{folder} stores its state in {found.location} too.")
    return found


@verb(
    ("kplan state migrate -to kafka", "Run this after adding a state block."),
    ("kplan state migrate -to file", "Run this before removing the state block."),
    ("kplan state migrate -to s3 -from ../before", "Move it from where ../before stores it."),
)
def migrate(
    session: Session,
    to: Annotated[Backend, typer.Option("--to", help="The backend to move the state to.")],
    inputs: InputOptions,
    states: StateOptions,
    from_: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="DIR",
            help="A folder whose configuration names the place to move from, such as a checkout "
            "of before.",
        ),
    ] = None,
) -> int:
    """Move the state between a file, a topic and a bucket.

    A pipeline without a persistent disk can store the state in a topic of the cluster. The
    configuration needs a block "state" with backend = "kafka", and key, which identifies the state
    of this configuration; topic ("__kplan_state", or another name that begins with __kplan_) and
    replication_factor (3, or the number of brokers if smaller) are optional.

    kplan creates the topic with one partition and compaction. It holds the state, the lock, the
    journal of an apply and the last 20 states. Each write is a transaction that fences earlier
    writers. kplan never plans, lists or deletes this topic.

    Required permissions: READ, WRITE and DESCRIBE_CONFIGS on the topic, CREATE if it does not
    exist, and WRITE on the transactional id kplan-state-KEY. With READ alone, kplan plan
    -lock=false works.

    backend = "s3" and "gcs" store the same in a bucket (bucket and key), "azure" in a container
    (account, container and key). Credentials come from the variables AWS_*, GOOGLE_* and AZURE_*.
    Install kplan[objects]. It was tested on servers of the protocols (moto, fake-gcs-server,
    Azurite), not on the services: KMS and roles are untested.

    The state document is identical in both places. A note in the old place names the new one; the
    backups stay in the old place. With -from the state moves directly from the place that another
    folder names. A CI job does not move it to a file that git does not track, which would be lost
    with the job.
    """
    from kplan.cli import wiring  # noqa: PLC0415 - help needs none of these
    from kplan.workflow.state.state import migrate_state  # noqa: PLC0415

    project = wiring.build_project(session, StateOptions(), inputs)
    source, target = _stores(session, states, project, to)
    if from_ is not None:
        source = _other_store(session, inputs, from_, target)
    is_named = bool(states.state or session.environ.get("KPLAN_STATE"))
    with show_progress(session.terminal) as progress:
        ports = wiring.build_ports(session, "state migrate", states, progress)
        done = migrate_state(source, target, ports, is_file_named=is_named)
    session.terminal.write_stdout(
        f"Moved the state (serial {done.state.serial}) from {done.source} to {done.target}."
    )
    if to is Backend.FILE and from_ is None:
        session.terminal.write_stderr("Now remove the state block from the configuration.")
    return ExitCode.DONE
