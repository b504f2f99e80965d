"""`kplan convert`."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kplan.cli.exit_code import ExitCode
from kplan.cli.terminal import Session
from kplan.cli.verb import verb

if TYPE_CHECKING:  # help needs it not
    from kplan.workflow.convert.convert import ConversionResult


class SourceTool(StrEnum):
    """Tools whose files kplan can read."""

    JIKKOU = "jikkou"
    GITOPS = "kafka-gitops"
    JULIE = "julie"
    STRIMZI = "strimzi"
    TERRAFORM = "terraform"
    TOPICCTL = "topicctl"


@verb(
    ("kplan convert -out=kafka.tf topics.yaml users.yaml", "Convert two files to a new HCL file."),
    ("kplan convert -from=strimzi all.yaml", "Convert files of Strimzi to stdout."),
)
def convert(
    session: Session,
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="YAML files to convert.")],
    from_: Annotated[
        SourceTool | None,
        typer.Option("--from", help="The tool that the files belong to; detected by default."),
    ] = None,
    out: Annotated[
        str, typer.Option("--out", metavar="FILE", help="Write to this new file instead of stdout.")
    ] = "",
) -> int:
    """Convert files of other Kafka tools to HCL.

    kplan converts topics, ACLs and quotas of Jikkou, kafka-gitops, julie, Strimzi and topicctl.
    Roles and services become the ACLs that the tool creates for them, labels and owners become
    comments. Each key that cannot be converted is a warning on stderr with file, line and reason.
    Existing files are not overwritten, and no cluster is needed. An error in one file stops the
    conversion.
    """
    from kplan.workflow.convert import convert as workflow  # noqa: PLC0415 - help needs it not

    found = workflow.convert(files, workflow.SourceFormat(from_) if from_ else None)
    if out and found.text:
        workflow.write_new_file(Path(out), found.text)
    else:
        session.terminal.write_stdout(found.text, end="")
    session.terminal.write_stderr(_summary(found))
    return ExitCode.DONE


def _summary(conversion_result: "ConversionResult") -> str:
    from kplan.report.documents.notation import count_text  # noqa: PLC0415 - as above

    objects = ", ".join(count_text(count, noun) for noun, count in conversion_result.counts.items())
    left_out = (
        f"{len(conversion_result.unconverted):,} left out"
        if conversion_result.unconverted
        else "0 left out"
    )
    lines = [
        f"{each.source_range}: {each.subject}: {each.reason.rstrip('.')}"
        for each in conversion_result.unconverted
    ]
    notes = [f"Warning: {each}." for each in lines]
    return "\n".join([*notes, f"Converted {objects or '0 objects'}; {left_out}."])
