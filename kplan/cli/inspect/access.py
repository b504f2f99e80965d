"""`kplan access who-can` and `kplan access of`."""

from dataclasses import field
from typing import TYPE_CHECKING, Annotated

import typer

from kplan.cli.exit_code import ExitCode
from kplan.cli.options import InputOptions, Json, Provider, Report, StateOptions
from kplan.cli.progress import show_progress
from kplan.cli.report.option import prepare_reports
from kplan.cli.terminal import Session
from kplan.cli.verb import verb
from kplan.model.dataclass import dataclass

if TYPE_CHECKING:  # help must not wait for what only a run needs
    from kplan.workflow.inspect.access import AccessQuestion


@dataclass(frozen=True, slots=True)
class AccessOptions:
    """The cluster, the time, and the format of the answer."""

    provider: Provider = ""
    planned: Annotated[
        bool,
        typer.Option(
            "--planned", help="Evaluate the permissions after the plan instead of the current ones."
        ),
    ] = False
    json: Json = False
    report: Report = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class OperationOptions:
    """The operation and resource to check."""

    operation: Annotated[
        str, typer.Argument(metavar="OPERATION", help="An operation, for example read or alter.")
    ]
    resource: Annotated[
        str,
        typer.Argument(
            metavar="RESOURCE", help="A resource, for example topic:orders, group:app or cluster."
        ),
    ]


@verb(
    ("kplan access who-can read topic:orders", "List the readers of a topic, with their ACLs."),
    ("kplan access who-can alter cluster -json", "List who can change ACLs, as JSON."),
    (
        "kplan access who-can write topic:orders -planned",
        "Evaluate the permissions after an apply.",
    ),
)
def who_can(
    session: Session,
    what: OperationOptions,
    inputs: InputOptions,
    states: StateOptions,
    ask: AccessOptions,
) -> int:
    """List the principals that can perform an operation.

    kplan evaluates the ACLs as Kafka's authorizer does. Nothing is changed.
    """
    from kplan.workflow.inspect.access import (  # noqa: PLC0415 - as above
        AccessQuestion,
        parse_question,
    )

    operation, resource = parse_question(what.operation, what.resource)
    asked = AccessQuestion(
        operation=operation, resource=resource, is_after_plan=ask.planned, provider=ask.provider
    )
    return _show_access(session, asked, inputs, states, ask)


@verb(
    ("kplan access of User:app", "List the permissions of a principal."),
    ("kplan access of 'User:*'", "List the permissions of all users."),
    ("kplan access of User:app -planned", "Evaluate the permissions after an apply."),
)
def access_of(
    session: Session,
    principal: Annotated[
        str, typer.Argument(metavar="PRINCIPAL", help="A principal, for example User:app.")
    ],
    inputs: InputOptions,
    states: StateOptions,
    ask: AccessOptions,
) -> int:
    """List the operations that a principal can perform.

    Permissions of User:* are included. Nothing is changed.
    """
    from kplan.model.errors import UsageError  # noqa: PLC0415 - as above
    from kplan.workflow.inspect.access import AccessQuestion  # noqa: PLC0415

    if ":" not in principal:
        raise UsageError(
            f'"{principal}" is not a principal.', hint=f"Write it as User:{principal}."
        )
    asked = AccessQuestion(principal=principal, is_after_plan=ask.planned, provider=ask.provider)
    return _show_access(session, asked, inputs, states, ask)


def _show_access(
    session: Session,
    access_question: "AccessQuestion",
    inputs: InputOptions,
    states: StateOptions,
    ask: AccessOptions,
) -> int:
    from kplan.cli import wiring  # noqa: PLC0415 - as above
    from kplan.cli.diagnostics import timestamp  # noqa: PLC0415
    from kplan.report.documents import access as documents  # noqa: PLC0415
    from kplan.report.format import ANSWER_FORMATS  # noqa: PLC0415
    from kplan.report.formats.json_text import json_text  # noqa: PLC0415
    from kplan.report.formats.text import render_text  # noqa: PLC0415
    from kplan.report.subject import answer_report  # noqa: PLC0415
    from kplan.workflow.inspect.access import answer_question  # noqa: PLC0415

    reports = prepare_reports(
        session, "access", ask.report, is_json=ask.json, formats=ANSWER_FORMATS
    )
    project = wiring.build_project(session, states, inputs)
    with reports.report_errors(), show_progress(session.terminal) as progress:
        answers = answer_question(
            project, access_question, wiring.build_ports(session, "access", states, progress)
        )
    look = session.terminal.stdout_style
    unknown = (documents.UNKNOWN_SUPER_USERS,) if answers.rules.super_users is None else ()
    if access_question.principal:
        of_whom = (access_question.principal, answers.permissions, unknown)
        answer = documents.permissions_document(*of_whom, is_super=answers.is_super)
        data = documents.permissions_data(*of_whom, is_super=answers.is_super)
    else:
        of_what = (
            access_question.operation,
            access_question.resource,
            answers.allowed_principals,
            unknown,
        )
        answer, data = (
            documents.allowed_principals_document(*of_what),
            documents.allowed_principals_data(*of_what),
        )
    if not reports.takes_stdout:
        session.terminal.write_stdout(json_text(data) if ask.json else render_text(answer, look))
    report = answer_report(lambda: answer, lambda: data, (data,), timestamp())
    return reports.write(report, ExitCode.DONE)
