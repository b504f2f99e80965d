"""`kplan validate`."""

import re
from dataclasses import field
from typing import Annotated

import typer

from kplan.cli.diagnostics import show_diagnostics, show_document, timestamp
from kplan.cli.exit_code import ExitCode
from kplan.cli.options import InputOptions, Json, Report, StateOptions
from kplan.cli.report.option import prepare_reports
from kplan.cli.terminal import Session
from kplan.cli.trust_option import TrustOptions
from kplan.cli.verb import verb
from kplan.model.dataclass import dataclass
from kplan.model.diagnostic import has_errors
from kplan.model.errors import UsageError


@dataclass(frozen=True, slots=True)
class ValidationOptions:
    """The version to check for, and the format of the output."""

    kafka_version: Annotated[
        str | None,
        typer.Option(
            help="Check topic configs against what this version of Kafka takes, for example 3.9.",
            metavar="X.Y",
        ),
    ] = None
    json: Json = False
    report: Report = field(default_factory=list)


@verb(
    ("kplan validate", "Show every error of every file, with its line."),
    ("kplan validate -kafka-version=3.9", "Check topic configs for clusters of Kafka 3.9."),
    ("kplan validate -report=sarif=kplan.sarif", "Write a SARIF report for code scanning."),
    ("kplan validate -json", "Write JSON as terraform validate -json does."),
)
def validate(
    session: Session, inputs: InputOptions, trust: TrustOptions, answer: ValidationOptions
) -> int:
    """Check the configuration without a cluster.

    kplan reads all *.tf and *.hcl files of the folder. No network is used. Variables need no
    values; what depends on one without is not checked, unless -var-file or -var gives it.
    """
    from kplan.cli.wiring import build_project  # noqa: PLC0415 - help needs none of these
    from kplan.report.format import UNCOUNTED_FORMATS  # noqa: PLC0415
    from kplan.workflow.project.validate import validate_project  # noqa: PLC0415

    reports = prepare_reports(
        session, "validate", answer.report, is_json=answer.json, formats=UNCOUNTED_FORMATS
    )
    version = _parse_version(answer.kafka_version)
    found = validate_project(build_project(session, StateOptions(), inputs, trust), version)
    has_failed = has_errors(found.diagnostics)
    if answer.json:
        show_document(found.diagnostics, session.terminal, found.sources)
    else:
        show_diagnostics(found.diagnostics, session.terminal, sources=found.sources)
        is_silent = has_failed or reports.takes_stdout
        session.terminal.write_stdout("" if is_silent else "Success! The configuration is valid.")
    code = ExitCode.ERROR if has_failed else ExitCode.DONE
    if not reports.is_requested:
        return code
    from kplan.report.subject import problems_report  # noqa: PLC0415

    report = problems_report("kplan validate", found.diagnostics, found.sources, timestamp())
    return reports.write(report, code)


def _parse_version(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    found = re.fullmatch(r"([0-9]{1,3})\.([0-9]{1,3})(\.[0-9]+)*", text)
    if found is None:
        raise UsageError(f"-kafka-version={text} is not of the form X.Y, for example 3.9.")
    return int(found[1]), int(found[2])
