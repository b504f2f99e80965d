"""`kplan convert`."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kplan.cli.exit_code import ExitCode
from kplan.cli.session import Session
from kplan.cli.verb import verb

if TYPE_CHECKING:  # help needs it not
    from kplan.workflow.convert.convert import Conversion


class SourceTool(StrEnum):
    """Whose files are read."""

    JIKKOU = "jikkou"
    GITOPS = "kafka-gitops"
    JULIE = "julie"
    STRIMZI = "strimzi"


@verb(
    ("kplan convert -out=kafka.tf topics.yaml users.yaml", "A new file of blocks for this folder."),
    ("kplan convert -from=strimzi all.yaml", "To stdout, from files of Strimzi for sure."),
)
def convert(
    session: Session,
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="YAML of another tool.")],
    from_: Annotated[
        SourceTool | None, typer.Option("--from", help="Whose files they are; else each tells.")
    ] = None,
    out: Annotated[
        str, typer.Option("--out", metavar="FILE", help="A new file for the blocks, not stdout.")
    ] = "",
) -> int:
    """Turn YAML of other Kafka tools into HCL.

    Topics, ACLs and quotas of Jikkou, kafka-gitops, julie and Strimzi are carried over, with roles
    and services unfolded to the ACLs that the tool makes of them. What is left out is told on
    stderr, with its place and the reason. No file is written over, no cluster is asked; a file
    with a mistake stops it all.
    """
    from kplan.workflow.convert import convert as workflow  # noqa: PLC0415 - help needs it not

    found = workflow.convert(files, workflow.Format(from_) if from_ else None)
    if out and found.text:
        workflow.write_new_file(Path(out), found.text)
    else:
        session.terminal.write_stdout(found.text, end="")
    session.terminal.write_stderr(_summary(found))
    return ExitCode.DONE


def _summary(found: "Conversion") -> str:
    from kplan.report.documents.notation import count_text  # noqa: PLC0415 - as above

    objects = ", ".join(count_text(count, noun) for noun, count in found.counts.items())
    left_out = f"{len(found.left_out):,} left out" if found.left_out else "nothing left out"
    lines = [f"{each.at}: {each.what}: {each.reason.rstrip('.')}" for each in found.left_out]
    told = [f"Left out: {each}." for each in lines]
    return "\n".join([*told, f"Converted: {objects or 'nothing'}; {left_out}."])
