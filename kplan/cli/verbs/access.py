"""`kplan access who-can` and `kplan access of`."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from kplan.cli.exits import Exit
from kplan.cli.options import InputOptions, Json, StateOptions
from kplan.cli.progress import progress
from kplan.cli.session import Session
from kplan.cli.verb import verb

if TYPE_CHECKING:  # help must not wait for what only a run needs
    from kplan.workflow.access_queries import Question


@dataclass(frozen=True, slots=True)
class AskOptions:
    """Which cluster, when, and how the answer is told."""

    provider: Annotated[
        str,
        typer.Option(
            "--provider",
            metavar="ALIAS",
            help="The cluster of this provider block, where several are.",
        ),
    ] = ""
    planned: Annotated[
        bool, typer.Option("--planned", help="As it will be after the plan, not as it is.")
    ] = False
    json: Json = False


@dataclass(frozen=True, slots=True)
class WhatOptions:
    """What is asked for."""

    operation: Annotated[str, typer.Argument(metavar="OPERATION", help="As in read or alter.")]
    resource: Annotated[
        str, typer.Argument(metavar="RESOURCE", help="As in topic:orders, group:app or cluster.")
    ]


@verb(
    ("kplan access who-can read topic:orders", "Everyone who may, and the ACL that says so."),
    ("kplan access who-can alter cluster -json", "Who can change ACLs, for machines."),
    ("kplan access who-can write topic:orders -planned", "After what is declared is applied."),
)
def who_can(
    session: Session,
    what: WhatOptions,
    inputs: InputOptions,
    states: StateOptions,
    ask: AskOptions,
) -> int:
    """Tell who may do something.

    The ACLs are weighed as Kafka's own authorizer weighs them. Nothing is changed anywhere.
    """
    from kplan.workflow.access_queries import Question, resource_of  # noqa: PLC0415 - as above

    operation, resource = resource_of(what.operation, what.resource)
    asked = Question(
        operation=operation, resource=resource, is_planned=ask.planned, provider=ask.provider
    )
    return _told(session, asked, inputs, states, is_json=ask.json)


@verb(
    ("kplan access of User:app", "All that User:app may do, by name and prefix."),
    ("kplan access of 'User:*'", "What everyone may do."),
    ("kplan access of User:app -planned", "After what is declared is applied."),
)
def of(
    session: Session,
    principal: Annotated[str, typer.Argument(metavar="PRINCIPAL", help="As in User:app.")],
    inputs: InputOptions,
    states: StateOptions,
    ask: AskOptions,
) -> int:
    """Tell what somebody may do.

    What everyone may do is included. Nothing is changed anywhere.
    """
    from kplan.model.errors import UsageError  # noqa: PLC0415 - as above
    from kplan.workflow.access_queries import Question  # noqa: PLC0415

    if ":" not in principal:
        raise UsageError(f'"{principal}" is no principal.', hint=f"Write it as User:{principal}.")
    asked = Question(principal=principal, is_planned=ask.planned, provider=ask.provider)
    return _told(session, asked, inputs, states, is_json=ask.json)


def _told(
    session: Session,
    asked: "Question",
    inputs: InputOptions,
    states: StateOptions,
    *,
    is_json: bool,
) -> int:
    from kplan.cli import wiring  # noqa: PLC0415 - as above
    from kplan.report.documents import access as documents  # noqa: PLC0415
    from kplan.report.formats.json_text import json_text  # noqa: PLC0415
    from kplan.report.formats.text import text  # noqa: PLC0415
    from kplan.workflow.access_queries import access  # noqa: PLC0415

    project = wiring.project(session, states, inputs)
    with progress(session.terminal) as shown:
        told = access(project, asked, wiring.ports(session, "access", states, shown))
    look = session.terminal.data_look
    if asked.principal:
        answer = documents.holdings_document(asked.principal, told.holdings, is_super=told.is_super)
        data = documents.holdings_data(asked.principal, told.holdings, is_super=told.is_super)
    else:
        answer = documents.holders_document(asked.operation, asked.resource, told.holders)
        data = documents.holders_data(asked.operation, asked.resource, told.holders)
    session.terminal.data(json_text(data) if is_json else text(answer, look))
    for each in told.unread:
        session.terminal.talk(f"Note: {each}")
    if told.rules.super_users is None and not is_json:
        session.terminal.talk(
            "Note: the brokers have super users, and do not tell who; name them in super_users of "
            'provider "kafka".'
        )
    return Exit.DONE
